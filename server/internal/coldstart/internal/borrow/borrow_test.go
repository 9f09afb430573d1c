package borrow

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/model/content"
	"github.com/gsimc/gsimc/server/internal/servertest"
)

var must = check.Must

// shop is a catalogue.
type shop struct {
	documents map[string]content.Document
	hidden    map[string]bool
	changes   uint64
	asked     int           // calls of Document
	slow      time.Duration // of each
}

func (s *shop) Changes() uint64 { return s.changes }
func (s *shop) Size() int       { return len(s.documents) }

func (s *shop) Document(id string) (d content.Document, found bool) {
	s.asked++
	time.Sleep(s.slow)
	d, found = s.documents[id]
	return d, found
}

// Documents come in another order each time.
func (s *shop) Documents(wanted func(string) bool) iter.Seq2[string, content.Document] {
	return func(yield func(string, content.Document) bool) {
		for id, d := range s.documents {
			if !s.hidden[id] && wanted(id) && !yield(id, d) {
				return
			}
		}
	}
}

func (s *shop) put(id string, categories ...string) {
	s.documents[id] = content.Document{Title: "the " + id, Categories: categories}
	s.changes++
}

// newShop has the items of the test model, in threes with a category of their own.
func newShop() *shop {
	s := &shop{documents: map[string]content.Document{}, hidden: map[string]bool{}}
	for i := range servertest.Items {
		s.put(servertest.Item(i), fmt.Sprint("shelf ", i/3))
	}
	return s
}

func newRows(t *testing.T, s *shop, every time.Duration) *Rows {
	r := New(s, every, func(err error) { t.Error(err) })
	r.Begin(servertest.NewModel(t, 1))
	return r
}

func on() error        { return nil }
func none(string) bool { return false }

// renew goes on until there is no more to do.
func renew(t *testing.T, r *Rows) {
	t.Helper()
	for more := true; more; {
		var err error
		more, err = r.Renew(time.Hour, none, on)
		must(t, err)
	}
}

// document is that of the rows.
func (r *Rows) document(t *testing.T) []byte {
	t.Helper()
	return check.Get(r.base.EncodeExtension(slices.Collect(r.Items(none))))(t)
}

func ids(r *Rows) (all []string) {
	for item := range r.Items(none) {
		all = append(all, item.ID)
	}
	return all
}

// Whatever comes, changes and goes in whatever order: the rows are those that a new server makes of
// the catalogue, to the bit, and their version moves when they do.
func TestRowsFollowTheCatalogue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(27, 2))
		s := newShop()
		r := newRows(t, s, time.Minute)
		renew(t, r)
		changed := 0
		for range 150 {
			before, was := r.version, r.document(t)
			for range 2 { // the second time perhaps by the index of before
				for range 1 + rng.IntN(3) {
					change(s, rng)
				}
				time.Sleep(time.Duration(rng.IntN(20)) * time.Second)
				renew(t, r)
			}
			time.Sleep(time.Minute)
			renew(t, r)
			fresh := newRows(t, s, time.Minute)
			renew(t, fresh)
			if !slices.Equal(ids(r), ids(fresh)) ||
				!bytes.Equal(r.document(t), fresh.document(t)) {
				t.Fatalf("%v, want %v", ids(r), ids(fresh))
			}
			if moved := r.version != before; !moved && !bytes.Equal(was, r.document(t)) {
				t.Fatal("other rows have the same version")
			} else if moved {
				changed++
			}
		}
		if changed < 50 {
			t.Errorf("the rows have changed %d times", changed)
		}
	})
}

// change changes an item of a shop, which the model may know.
func change(s *shop, rng *rand.Rand) {
	id := fmt.Sprint("new-", rng.IntN(12))
	if rng.IntN(4) == 0 {
		id = servertest.Item(rng.IntN(servertest.Items))
	}
	switch rng.IntN(4) {
	case 0:
		delete(s.documents, id)
	case 1:
		s.hidden[id] = !s.hidden[id]
	default:
		s.put(id, fmt.Sprint("shelf ", rng.IntN(12)))
	}
	s.changes++
}

// What nobody compares is not read: known items are not without new ones, and rarely otherwise.
func TestKnownItemsAreReadRarely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		r := newRows(t, s, time.Minute)
		renew(t, r)
		if s.asked > 0 || r.index != nil {
			t.Errorf("%d documents were read for no new item", s.asked)
		}
		s.slow = time.Second // 30 items: half a minute for a walk, and a minute for an index
		s.put("new", "shelf 1")
		time.Sleep(time.Minute)
		renew(t, r)
		began := time.Now()
		read := s.asked
		for time.Since(began) < 2*time.Hour {
			s.put(servertest.Item(0), fmt.Sprint("shelf ", time.Since(began)))
			time.Sleep(time.Second)
			renew(t, r)
		}
		if busy := float64(s.asked-read) * s.slow.Seconds() / time.Since(began).Seconds(); busy <
			0.05 || busy > 0.1 {
			t.Errorf("known items are read for %.3f of the time, want a tenth at most", busy)
		}
		s.put("newer", "shelf 2")
		asked := s.asked
		time.Sleep(10 * time.Minute) // from the end of any pass on
		renew(t, r)
		if !slices.Contains(ids(r), "newer") || s.asked == asked {
			t.Errorf("%v, want the newer one", ids(r))
		}
	})
}

// A pass rests between the documents of the known items and those of new ones, too: an index of many
// takes long to sort.
func TestIndexingRests(t *testing.T) {
	s := newShop()
	r := newRows(t, s, time.Hour)
	s.put("new", "shelf 1")
	rests := 0
	for more := true; more; {
		var err error
		more, err = r.Renew(time.Hour, none, func() error {
			rests++
			return nil
		})
		must(t, err)
	}
	if r.index == nil || rests < 2*servertest.Items+100 {
		t.Errorf("a pass rests %d times", rests)
	}
}

// New items do not wait for the known ones to be read again, and these do not wait when there are
// many more than before.
func TestNewItemsComeAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		r := newRows(t, s, time.Hour)
		s.put("first", "shelf 1")
		renew(t, r)
		if r.Due() {
			t.Error("Renew is due without a change")
		}
		asked := s.asked
		s.put("second", "shelf 2")
		if r.Due() {
			t.Error("Renew is due right after a pass")
		}
		time.Sleep(leastRest)
		if !r.Due() || r.Due() {
			t.Error("Renew is not due once after a change")
		}
		renew(t, r)
		if len(ids(r)) != 2 || s.asked != asked {
			t.Errorf("%v by %d documents, want both items and none", ids(r), s.asked-asked)
		}
		for i := range 16 {
			s.put(fmt.Sprint("further-", i), "shelf 3")
		}
		time.Sleep(leastRest)
		if renew(t, r); s.asked == asked {
			t.Error("a catalogue that has grown by half is not read")
		}
	})
}

// A pass that takes long goes on where it was, and changes nothing before its end. An error ends it
// for a while, another base for good.
func TestPassGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		r := newRows(t, s, time.Minute)
		s.put("first", "shelf 1")
		renew(t, r)
		want := r.document(t)
		s.put("second", "shelf 2")
		s.put(servertest.Item(0), "shelf 2")
		s.slow = time.Second
		time.Sleep(time.Minute)
		calls, broken := 0, errors.New("broken")
		for more := true; more; calls++ {
			var err error
			if calls == 3 {
				if _, err = r.Renew(5*time.Second, none, func() error { return broken }); err != broken {
					t.Errorf("%v, want the error", err)
				}
			}
			if !bytes.Equal(r.document(t), want) {
				t.Fatal("rows change in the middle of a pass")
			}
			more, err = r.Renew(5*time.Second, none, on)
			must(t, err)
		}
		if len(ids(r)) != 2 || calls < 10 || s.asked != 4*servertest.Items {
			t.Errorf("%v after %d calls, which have read %d documents", ids(r), calls, s.asked)
		}
		s.put("third", "shelf 3")
		time.Sleep(time.Hour)
		if more, err := r.Renew(time.Second, none, on); !more || err != nil {
			t.Errorf("more %t, %v", more, err)
		}
		r.Begin(nil)
		if more, err := r.Renew(time.Second, none, on); more || err != nil || len(ids(r)) > 0 || r.Due() {
			t.Errorf("without a base: more %t, %v, rows of %v", more, err, ids(r))
		}
	})
}

// Of two rests the longer one holds. What changes during a pass is due after it, also if somebody
// asked for work in between.
func TestChangesDuringPassesAreDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		r := newRows(t, s, time.Hour)
		s.slow = time.Second // an index takes a minute
		s.put("first", "shelf 1")
		if more, err := r.Renew(time.Second, none, on); !more || err != nil {
			t.Fatalf("more %t, %v", more, err)
		}
		s.put("second", "shelf 2")
		r.Due()
		renew(t, r)
		r.Rest(0)
		time.Sleep(2 * leastRest)
		if r.Due() {
			t.Error("a short rest ends a long one")
		}
		time.Sleep(10 * time.Minute)
		if !r.Due() {
			t.Error("a change during a pass is forgotten")
		}
	})
}

// Of more items than there may be those with the closest neighbours borrow a row; when one of them
// goes, the next one does.
func TestMostBorrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		r := newRows(t, s, time.Minute)
		const far = 300
		for i := range 2*Most + far {
			id := fmt.Sprintf("new-%05d", i)
			s.documents[id] = content.Document{Categories: []string{"shelf 1"}}
			if i < far {
				s.documents[id] = content.Document{Title: "like no other",
					Categories: []string{"shelf 1"}}
			}
		}
		s.changes++
		renew(t, r)
		check := func(first int) {
			t.Helper()
			got := ids(r)
			if len(got) != Most || got[0] != fmt.Sprintf("new-%05d", first) ||
				got[Most-1] != fmt.Sprintf("new-%05d", first+Most-1) || !slices.IsSorted(got) {
				t.Errorf("%d rows, from %s to %s", len(got), got[0], got[len(got)-1])
			}
			check.Same(t, len(s.documents)-servertest.Items, len(r.items), "items are remembered")
		}
		check(far)
		delete(s.documents, fmt.Sprintf("new-%05d", far))
		s.changes++
		time.Sleep(time.Minute)
		renew(t, r)
		check(far + 1)
	})
}

// Rows of items that users have are made when they are asked for after all.
func TestTakenItemsWait(t *testing.T) {
	s := newShop()
	r := newRows(t, s, time.Minute)
	s.put("taken", "shelf 1")
	s.put("new", "shelf 1")
	taken := func(id string) bool { return id == "taken" }
	if more, err := r.Renew(time.Hour, taken, on); more || err != nil {
		t.Errorf("more %t, %v", more, err)
	}
	if at := r.place["taken"]; r.rows[at].item.ID != "" || r.Near("taken") == nil {
		t.Errorf("%+v has a row, or no neighbours", r.rows[at])
	}
	if n := len(slices.Collect(r.Items(taken))); n != 1 || len(ids(r)) != 2 {
		t.Errorf("%d rows of other items, and %v", n, ids(r))
	}
}
