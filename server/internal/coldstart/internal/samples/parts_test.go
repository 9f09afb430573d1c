package samples

import (
	"encoding/hex"
	"fmt"
	"runtime"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
)

// threeItems are items with three users each.
func threeItems() *Items {
	n := New()
	for u := range 9 {
		n.Note(fmt.Sprint("user-", u), fmt.Sprint("item-", u%3))
	}
	return n
}

// placed is the number of users that any item was placed by.
func placed(string) float64 { return 1.5 }

// The notes of parts are read by servers of other releases: their bytes stay as they are.
func TestFormOfParts(t *testing.T) {
	n := New()
	n.Note("user-1", "item")
	n.Note("user-2", "item")
	n.Renew()
	const want = "0101046974656d01000000000000f83f0206757365722d3206757365722d31"
	if got := hex.EncodeToString(n.EncodePart(55, placed)); got != want || partOf("item") != 55 {
		t.Errorf("the note of part %d is %s, want that of 55, %s", partOf("item"), got, want)
	}
}

// What is read back are the same samples. Of a note that is cut nothing is taken over.
func TestPartsAreRead(t *testing.T) {
	want, got := threeItems(), New()
	want.SampleOf("item-1") // as if it had been placed; the others are stale
	want.Drop("user-2", "item-2")
	for part := range Parts {
		note := want.EncodePart(part, placed)
		for cut := range note {
			if _, err := New().ReadPart(note[:cut]); err == nil {
				t.Fatalf("%d of %d bytes are taken for a part", cut, len(note))
			}
		}
		before := got.Census()
		if _, err := got.ReadPart(note[:len(note)-1]); err == nil {
			t.Fatal("a part without its last byte is taken for a whole one")
		}
		check.MustSame(t, before, got.Census(),
			"a damaged part has changed the samples (-before +after)")
		of := check.Get(got.ReadPart(note))(t)
		for item, users := range of {
			check.Same(t, placed(item), users, "users by which %s was placed", item)
		}
	}
	check.Same(t, want.Census(), got.Census(), "the state that is read")
	for i := range 3 {
		item := fmt.Sprint("item-", i)
		check.Same(t, want.SampleOf(item), got.SampleOf(item), "the sample of %s", item)
	}
}

// Every change of a sample, and nothing else, marks the part of its item as changed.
func TestChangedParts(t *testing.T) {
	n := threeItems()
	n.KeepChanges(true)
	if parts := n.TakeChanged(); len(parts) != Parts {
		t.Errorf("%d parts are to be written at first, want all %d", len(parts), Parts)
	}
	wantChange := func(what, item string, change func()) {
		t.Helper()
		change()
		var want []int
		if item != "" {
			want = []int{partOf(item)}
		}
		check.Same(t, want, n.TakeChanged(), "%s: changed parts", what)
	}
	wantChange("the same user again", "", func() { n.Note("user-0", "item-0") })
	wantChange("users of the store", "", func() { n.Add(3) })
	wantChange("another user", "item-0", func() { n.Note("user", "item-0") })
	wantChange("an item that is placed", "item-1", func() { n.SampleOf("item-1") })
	wantChange("a user without the item", "", func() { n.Drop("nobody", "item-1") })
	wantChange("a user without the event", "item-1", func() { n.Drop("user-1", "item-1") })
	wantChange("an erased user", "item-0", func() { n.Forget("user"); n.Purge() })
	wantChange("an item that is known", "item-2", func() {
		n.Keep(func(item string) bool { return item != "item-2" })
	})
	wantChange("a part that was not written", "item-0", func() {
		n.MustWrite([]int{partOf("item-0")})
	})
}

// What is taken out is all there is, and it is wanted anew.
func TestEmpty(t *testing.T) {
	n := threeItems()
	n.Add(9)
	if n.Wants("user-0", "item-0") || !n.Wants("user-1", "item-0") {
		t.Error("want another user for the sample, and not the one that it has")
	}
	pairs, users := n.Empty()
	if len(pairs) != 3 || len(pairs["item-0"]) != 3 || users != 9 {
		t.Errorf("%v of %d users are taken out, want three items of 9", pairs, users)
	}
	if now := n.Census(); len(now.Counts) != 0 || now.Users != 0 {
		t.Errorf("%v of %d users are left", now.Counts, now.Users)
	}
	if !n.Wants("user-0", "item-0") {
		t.Error("a user who was taken out is not wanted again")
	}
}

func FuzzParts(f *testing.F) {
	n := threeItems()
	for part := range Parts {
		f.Add(n.EncodePart(part, placed))
	}
	f.Fuzz(func(t *testing.T, note []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _ = New().ReadPart(note)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > uint64(500*len(note)+1<<20) {
			t.Errorf("%d bytes allocated for a note of %d", took, len(note))
		}
	})
}
