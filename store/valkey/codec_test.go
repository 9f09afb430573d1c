package valkey

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/valkey/internal/cluster"
)

func FuzzUnpackEvent(f *testing.F) {
	f.Add(packEvent(1, &store.Event{ID: "e", Item: "i", Type: "t", Value: 1}))
	f.Add("")
	f.Fuzz(func(t *testing.T, p string) {
		mark, e, err := unpackEvent(p)
		if err != nil {
			check.Fails(t, err, store.ErrCorrupt, "a damaged event")
			return
		}
		again, same, err := unpackEvent(packEvent(mark, &e))
		if err != nil || again != mark || same != e && e.Value == e.Value {
			t.Errorf("%v packed again is %v, %v", e, same, err)
		}
	})
}

func TestItemsRoundTrip(t *testing.T) {
	long := strings.Repeat("x", store.MaxIDBytes)
	for _, want := range []store.Item{
		{ID: "i"},
		{ID: "i", Title: strings.Repeat("ü", 100), Categories: []string{"a", long},
			Labels: []string{"b"}, Hidden: true, From: time.UnixMicro(5).UTC(),
			Until: time.UnixMicro(-5).UTC()},
	} {
		got, err := unpackItem("i", packItem(&want))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
}

func FuzzUnpackItem(f *testing.F) {
	f.Add(packItem(&store.Item{Title: "t", Categories: []string{"a"}, Labels: []string{"b"}}))
	f.Add("")
	f.Fuzz(func(t *testing.T, p string) {
		i, err := unpackItem("i", p)
		if err != nil {
			check.Fails(t, err, store.ErrCorrupt, "a damaged item")
			return
		}
		again, err := unpackItem("i", packItem(&i))
		if diff := cmp.Diff(i, again); err != nil || diff != "" {
			t.Errorf("packed again: %v\n%s", err, diff)
		}
	})
}

// The keys of a call have one slot, whatever the id of the user, and no user has the keys of
// another, or of the store.
func TestKeys(t *testing.T) {
	k := newKeys("n")
	owner := map[string]string{}
	for _, key := range append(k.catalogue("t"), append(k.topic("t", "t", "l"), k.meta)...) {
		owner[key] = "the store"
	}
	for _, user := range []string{"u", "}", "{", "}h", "u}h", "/meta}", "\x00", "{n:u}h", "1", "/1",
		strings.Repeat("x", store.MaxIDBytes)} {
		keys := k.once(user, "t")
		for _, key := range keys {
			if cluster.Slot(key) != cluster.Slot(keys[0]) {
				t.Errorf("%q: keys of several slots: %q", user, keys)
			}
		}
		for _, key := range k.history(user) {
			if other, taken := owner[key]; taken {
				t.Errorf("%q and %q have the key %q", user, other, key)
			}
			owner[key] = user
		}
		if got, ok := k.userOf(keys[0]); got != user || !ok {
			t.Errorf("the user of %q: %q, %v", keys[0], got, ok)
		}
		if got, ok := k.userOf(keys[1]); ok {
			t.Errorf("the ids of %q are taken for the history of %q", user, got)
		}
	}
}

// An error of a whole call says that nothing was applied only if that is so of all users.
func TestErrorsOfCalls(t *testing.T) {
	for _, test := range []struct {
		errs []error
		want error
	}{
		{[]error{store.ErrFull, store.ErrUnavailable}, store.ErrUnavailable},
		{[]error{store.ErrUnavailable, store.ErrFull}, store.ErrUnavailable},
		{[]error{store.ErrFull, store.ErrFull}, store.ErrFull},
		{[]error{store.ErrFull, nil}, nil},
		{[]error{store.ErrCorrupt, store.ErrUnavailable}, nil},
	} {
		check.Fails(t, ofAll(test.errs), test.want, "of %v", test.errs)
	}
}
