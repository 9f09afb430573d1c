package row

import (
	"bytes"
	"encoding/hex"
	"math"
	"testing"
	"time"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/store"
)

const (
	goldenFormat = "0000666f726d6174 00000000000000024bf3b55c"
	goldenEvents = "00026162010000000000000007 " +
		"029c000380c49fd50c2a000000000000f83f026531046974656d0476696577" +
		"8c000080c49fd50c0265320169005a5365e2"
	goldenEmptied  = "0000656d7074696564 000000000000000965a9e01d"
	goldenIdentity = "00006964656e74697479 00000000000000000000000000000001650fb9ce"
	goldenBranch   = "00006272616e6368 0000000000000009c3e20f95"
	goldenHead     = "0002616200 0000000000000007010203040506070860533196"
	goldenJournal  = "00006a6f75726e616c0000000000000003 " +
		"0101026162078c000080c49fd50c026532016900020261620302616201020304050607088c000080c49fd50c" +
		"026532016900bd3cb50f"

	// of format 3
	oldHead    = "0000000000000007c98944e5"
	oldJournal = "0101026162018c000080c49fd50c0265320169008bfedd19"
)

// TestGoldenRows fixes the format on disk: a change of it needs a new version or format number. The
// bytes wanted were computed by another program.
func TestGoldenRows(t *testing.T) {
	e := store.Event{ID: "e1", Item: "item", Type: "view", Time: time.Unix(1_700_000_000, 42).UTC(),
		Value: 1.5}
	plain := store.Event{ID: "e2", Item: "i", Time: time.Unix(1_700_000_000, 0).UTC(), Value: 1}
	events := func(key []byte) []byte {
		return End(AppendEvent(AppendEvent(BeginEvents(nil), &e), &plain), 0, key)
	}
	journal := func(key []byte) []byte {
		b, _ := AppendEntry(BeginJournal(nil), "ab", store.Version{Revision: 7}, &plain)
		b, _ = AppendEntry(AppendErasure(b, "ab"), "ab", store.Version{Revision: 1, Mark: 0x0102030405060708},
			&plain)
		return End(b, 0, key)
	}
	headKey := HeadKey(nil, "ab")
	for _, row := range []struct {
		name       string
		key, value []byte
		want       string
	}{
		{"format", FormatKey, EncodeNumber(nil, FormatKey, 2), goldenFormat},
		{"emptied", EmptiedKey, EncodeNumber(nil, EmptiedKey, 9), goldenEmptied},
		{"identity", IdentityKey, EncodeIdentity([16]byte{15: 1}), goldenIdentity},
		{"branch", BranchKey, EncodeNumber(nil, BranchKey, 9), goldenBranch},
		{"head", headKey,
			EncodeHead(nil, headKey, store.Version{Revision: 7, Mark: 0x0102030405060708}), goldenHead},
		{"events", EventKey(nil, "ab", 7), events(EventKey(nil, "ab", 7)), goldenEvents},
		{"journal", JournalKey(nil, 3), journal(JournalKey(nil, 3)), goldenJournal},
	} {
		got := hex.EncodeToString(row.key) + " " + hex.EncodeToString(row.value)
		check.Same(t, row.want, got, "%s row", row.name)
	}
}

// TestRowsOfFormat3 reads rows without marks.
func TestRowsOfFormat3(t *testing.T) {
	key := HeadKey(nil, "ab")
	if head, err := DecodeHead(key, unhex(t, oldHead)); err != nil ||
		head != (store.Version{Revision: 7}) {
		t.Errorf("head: %v, %v", head, err)
	}
	entries := 0
	value := unhex(t, oldJournal)
	err := EachEntry(JournalKey(nil, 3), value, func(user []byte, v store.Version, at int) {
		entries++
		id, err := EventID(EventAt(value[at:]))
		if string(user) != "ab" || v != (store.Version{Revision: 1}) || string(id) != "e2" || err != nil {
			t.Errorf("entry of %q, %v: %q, %v", user, v, id, err)
		}
	})
	if entries != 1 || err != nil {
		t.Errorf("%d entries, %v", entries, err)
	}
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	return check.Get(hex.DecodeString(s))(t)
}

// encoded returns the event without the length in front.
func encoded(t testing.TB, e store.Event) []byte {
	t.Helper()
	b, rest, err := cut(AppendEvent(nil, &e))
	if err != nil || len(rest) != 0 {
		t.Fatalf("the length of an encoded event is wrong: %v, %d bytes left", err, len(rest))
	}
	return b
}

func TestDecodeRefuses(t *testing.T) {
	good := encoded(t, store.Event{ID: "e", Item: "i", Time: time.Unix(1, 1).UTC(), Value: 2})
	change := func(at int, to byte) []byte { b := bytes.Clone(good); b[at] = to; return b }
	tests := map[string]struct {
		value  []byte
		reason string
	}{
		"empty":            {nil, "ends too early"},
		"unknown flags":    {change(0, 9), "unknown flags"},
		"cut in the value": {good[:6], "ends too early"},
		"cut in an id":     {good[:len(good)-2], "ends too early"},
		"too long":         {append(bytes.Clone(good), 0), "1 bytes too many"},
		"too many nanos": {append([]byte{hasNanos, 0, 0xff, 0xff, 0xff, 0xff, 0x7f},
			good[3:]...), "nanoseconds"},
		"length overflows": {append(bytes.Clone(good[:11]), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
			0xff, 0xff, 0xff, 0x01), "ends too early"},
		"varint never ends": {[]byte{0, 0xff, 0xff}, "ends too early"},
	}
	for name, test := range tests {
		_, err := DecodeEvent(test.value)
		check.Fails(t, err, store.ErrCorrupt, "%s", name)
		check.Says(t, err, test.reason, "%s", name)
	}
}

// TestChecksums flips every bit of a row of events and of one of the journal, and puts them under
// other keys.
func TestChecksums(t *testing.T) {
	e := store.Event{ID: "e", Item: "i", Time: time.Unix(1, 1).UTC(), Value: 1}
	key, other := EventKey(nil, "u", 1), EventKey(nil, "u", 2)
	good := End(AppendEvent(BeginEvents(nil), &e), 0, key)
	for i := range good {
		for bit := range 8 {
			flipped := bytes.Clone(good)
			flipped[i] ^= 1 << bit
			_, err := Events(key, flipped)
			check.Fails(t, err, store.ErrCorrupt, "byte %d, bit %d flipped", i, bit)
		}
	}
	check.Fails(t, check.Err(Events(other, good)), store.ErrCorrupt, "under another key")
	check.Says(t, check.Err(Events(key, End(nil, 0, key))), "too early", "without a body")
	check.Says(t, check.Err(Events(key, End([]byte{9}, 0, key))), "version 9", "of another version")
}

// FuzzDecodeEvent decodes anything. What is accepted must say the same after being encoded and
// decoded again, and the id that is read alone is that of the event.
func FuzzDecodeEvent(f *testing.F) {
	for _, e := range []store.Event{
		{}, {ID: "e", Item: "i", Type: "t", Time: time.Unix(-1, 5), Value: -0.5},
		{Value: math.Inf(1), Time: time.Time{}}, {Value: 1},
	} {
		f.Add(encoded(f, e))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		e, err := DecodeEvent(body)
		if err != nil {
			check.Fails(t, err, store.ErrCorrupt, "DecodeEvent")
			return
		}
		if id, err := EventID(body); err != nil || string(id) != e.ID {
			t.Fatalf("EventID: got %q, %v, want %q", id, err, e.ID)
		}
		if len(e.ID) > store.MaxIDBytes || len(e.Item) > store.MaxIDBytes ||
			len(e.Type) > store.MaxIDBytes {
			return // never written
		}
		again := check.Get(DecodeEvent(encoded(t, e)))(t)
		check.Same(t, math.Float64bits(e.Value), math.Float64bits(again.Value), "bits of the value")
		e.Value, again.Value = 0, 0
		check.Same(t, e, again, "what was decoded again")
	})
}

// FuzzReadJournal reads anything as a row of the journal, with a right checksum.
func FuzzReadJournal(f *testing.F) {
	key := JournalKey(nil, 1)
	b, _ := AppendEntry(BeginJournal(nil), "user", store.Version{Revision: 300}, &store.Event{ID: "e", Item: "i"})
	b, _ = AppendEntry(AppendErasure(b, "user"), "user", store.Version{Revision: 1, Mark: 9},
		&store.Event{ID: "e", Item: "i", Value: 1})
	f.Add(b)
	f.Fuzz(func(t *testing.T, body []byte) {
		value := End(bytes.Clone(body), 0, key)
		err := EachEntry(key, value, func(_ []byte, v store.Version, at int) {
			if v.Revision > 0 {
				EventAt(value[at:]) // must be within the value
			}
		})
		if err != nil {
			check.Fails(t, err, store.ErrCorrupt, "EachEntry")
		}
	})
}

func FuzzKeys(f *testing.F) {
	f.Add("a", "aa", uint64(1))
	f.Add("\x00", "\x00\x00", uint64(1<<63))
	f.Fuzz(func(t *testing.T, a, b string, revision uint64) {
		if !Possible(a) || !Possible(b) {
			return
		}
		head, end := HeadKey(nil, a), EndKey(nil, a)
		check.Same(t, a, check.Get(UserOfHead(head))(t), "UserOfHead")
		if got, err := RevisionOf(EventKey(nil, a, revision), len(a)); err != nil ||
			got != revision {
			t.Errorf("RevisionOf: got %d, %v, want %d", got, err, revision)
		}
		for _, key := range [][]byte{HeadKey(nil, b), EventKey(nil, b, revision)} {
			if inside := bytes.Compare(head, key) <= 0 &&
				bytes.Compare(key, end) < 0; inside != (a == b) {
				t.Errorf("key %x of user %q is among those of %q", key, b, a)
			}
		}
		if bytes.Compare(FormatKey, head) >= 0 ||
			bytes.Compare(EmptiedKey, JournalPrefix) >= 0 ||
			bytes.Compare(IdentityKey, JournalPrefix) >= 0 ||
			bytes.Compare(JournalKey(nil, revision), FirstUserKey) >= 0 {
			t.Errorf("the rows of the store itself are not below those of %q", a)
		}
		check.Same(t, revision, check.Get(JournalNumber(JournalKey(nil, revision)))(t),
			"JournalNumber")
	})
}
