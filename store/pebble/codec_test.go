package pebble

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	lsm "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"github.com/gsimc/gsimc/store"
)

const (
	goldenFormat  = "0000666f726d6174 00000000000000024bf3b55c"
	goldenEvents  = "00026162010000000000000007 029c000380c49fd50c2a000000000000f83f026531046974656d04766965778c000080c49fd50c0265320169005a5365e2"
	goldenJournal = "00006a6f75726e616c0000000000000003 0101026162078c000080c49fd50c0265320169000202616214244052"
)

// TestGoldenRows fixes the format on disk: a change of it needs a new version or format number. The bytes wanted were
// computed by another program.
func TestGoldenRows(t *testing.T) {
	e := store.Event{ID: "e1", Item: "item", Type: "view", Time: time.Unix(1_700_000_000, 42).UTC(), Value: 1.5}
	plain := store.Event{ID: "e2", Item: "i", Time: time.Unix(1_700_000_000, 0).UTC(), Value: 1}
	events := func(key []byte) []byte {
		return appendCRC(appendEvent(appendEvent([]byte{eventsVersion}, &e), &plain), key)
	}
	w := &writer{next: 3}
	w.begin(newGeneration(0))
	w.event("ab", 7, &plain)
	w.erase("ab")
	w.closeRow()
	for _, row := range []struct {
		name       string
		key, value []byte
		want       string
	}{
		{"format", formatKey, encodeNumber(nil, formatKey, 2), goldenFormat},
		{"head", headKey(nil, "ab"), encodeNumber(nil, headKey(nil, "ab"), 7), "0002616200 0000000000000007c98944e5"},
		{"events", eventKey(nil, "ab", 7), events(eventKey(nil, "ab", 7)), goldenEvents},
		{"journal", journalKey(nil, w.rows[0].number), w.rows[0].value, goldenJournal},
	} {
		if got := hex.EncodeToString(row.key) + " " + hex.EncodeToString(row.value); got != row.want {
			t.Errorf("%s row:\n got %s\nwant %s", row.name, got, row.want)
		}
	}
}

// encoded returns the event without the length in front.
func encoded(t testing.TB, e store.Event) []byte {
	t.Helper()
	b, rest, err := cutBytes(appendEvent(nil, &e))
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
		"empty":             {nil, "ends too early"},
		"unknown flags":     {change(0, 9), "unknown flags"},
		"cut in the value":  {good[:6], "ends too early"},
		"cut in an id":      {good[:len(good)-2], "ends too early"},
		"too long":          {append(bytes.Clone(good), 0), "1 bytes too many"},
		"too many nanos":    {append([]byte{hasNanos, 0, 0xff, 0xff, 0xff, 0xff, 0x7f}, good[3:]...), "nanoseconds"},
		"length overflows":  {append(bytes.Clone(good[:11]), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01), "ends too early"},
		"varint never ends": {[]byte{0, 0xff, 0xff}, "ends too early"},
	}
	for name, test := range tests {
		_, err := decodeEvent(test.value)
		if !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), test.reason) {
			t.Errorf("%s: got error %v, want ErrCorrupt that says %q", name, err, test.reason)
		}
	}
}

// TestChecksums flips every bit of a row of events and of one of the journal, and puts them under other keys.
func TestChecksums(t *testing.T) {
	e := store.Event{ID: "e", Item: "i", Time: time.Unix(1, 1).UTC(), Value: 1}
	key, other := eventKey(nil, "u", 1), eventKey(nil, "u", 2)
	good := appendCRC(appendEvent([]byte{eventsVersion}, &e), key)
	for i := range good {
		for bit := range 8 {
			flipped := bytes.Clone(good)
			flipped[i] ^= 1 << bit
			if _, err := checkVersioned(key, flipped, eventsVersion); !errors.Is(err, store.ErrCorrupt) {
				t.Errorf("byte %d, bit %d flipped: got error %v, want ErrCorrupt", i, bit, err)
			}
		}
	}
	if _, err := checkVersioned(other, good, eventsVersion); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("under another key: got error %v, want ErrCorrupt", err)
	}
	if _, err := checkVersioned(key, appendCRC(nil, key), eventsVersion); err == nil || !strings.Contains(err.Error(), "too early") {
		t.Errorf("without a body: got error %v", err)
	}
	if _, err := checkVersioned(key, appendCRC([]byte{9}, key), eventsVersion); err == nil || !strings.Contains(err.Error(), "version 9") {
		t.Errorf("of another version: got error %v", err)
	}
}

// FuzzDecodeEvent decodes anything. What is accepted must say the same after being encoded and decoded again, and the id
// that is read alone is that of the event.
func FuzzDecodeEvent(f *testing.F) {
	for _, e := range []store.Event{
		{}, {ID: "e", Item: "i", Type: "t", Time: time.Unix(-1, 5), Value: -0.5}, {Value: math.Inf(1), Time: time.Time{}}, {Value: 1},
	} {
		f.Add(encoded(f, e))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		e, err := decodeEvent(body)
		if err != nil {
			if !errors.Is(err, store.ErrCorrupt) {
				t.Fatalf("got error %v, want ErrCorrupt", err)
			}
			return
		}
		if id, err := eventID(body); err != nil || string(id) != e.ID {
			t.Fatalf("eventID: got %q, %v, want %q", id, err, e.ID)
		}
		if len(e.ID) > store.MaxIDBytes || len(e.Item) > store.MaxIDBytes || len(e.Type) > store.MaxIDBytes {
			return // never written
		}
		again, err := decodeEvent(encoded(t, e))
		if err != nil {
			t.Fatalf("decoding what was encoded: %v", err)
		}
		sameValue := math.Float64bits(e.Value) == math.Float64bits(again.Value)
		e.Value, again.Value = 0, 0
		if diff := cmp.Diff(e, again); diff != "" || !sameValue {
			t.Fatalf("round trip differs (-want +got):\n%s", diff)
		}
	})
}

// FuzzReadJournal reads anything as a row of the journal, with a right checksum.
func FuzzReadJournal(f *testing.F) {
	w := &writer{}
	w.begin(newGeneration(0))
	w.event("user", 300, &store.Event{ID: "e", Item: "i"})
	w.erase("user")
	w.event("user", 1, &store.Event{ID: "e", Item: "i", Value: 1})
	w.closeRow()
	value := w.rows[0].value
	f.Add(value[:len(value)-crcBytes])
	key := journalKey(nil, 1)
	f.Fuzz(func(t *testing.T, body []byte) {
		value := appendCRC(bytes.Clone(body), key)
		g := &generation{blocks: [][]byte{value}}
		err := readJournal(key, value, func(_ []byte, revision uint64, at int) {
			if revision > 0 {
				g.event(place(at)) // must be within the value
			}
		})
		if err != nil && !errors.Is(err, store.ErrCorrupt) {
			t.Fatalf("got error %v, want ErrCorrupt", err)
		}
	})
}

func FuzzKeys(f *testing.F) {
	f.Add("a", "aa", uint64(1))
	f.Add("\x00", "\x00\x00", uint64(1<<63))
	f.Fuzz(func(t *testing.T, a, b string, revision uint64) {
		if !possible(a) || !possible(b) {
			return
		}
		head, end := headKey(nil, a), endKey(nil, a)
		if user, err := userOfHead(head); err != nil || user != a {
			t.Errorf("userOfHead: got %q, %v, want %q", user, err, a)
		}
		if got, err := revisionOf(eventKey(nil, a, revision), len(a)); err != nil || got != revision {
			t.Errorf("revisionOf: got %d, %v, want %d", got, err, revision)
		}
		for _, key := range [][]byte{headKey(nil, b), eventKey(nil, b, revision)} {
			if inside := bytes.Compare(head, key) <= 0 && bytes.Compare(key, end) < 0; inside != (a == b) {
				t.Errorf("key %x of user %q is among those of %q", key, b, a)
			}
		}
		if bytes.Compare(formatKey, head) >= 0 || bytes.Compare(journalKey(nil, revision), firstUserKey) >= 0 {
			t.Errorf("the rows of the store itself are not below those of %q", a)
		}
		if got, err := journalNumber(journalKey(nil, revision)); err != nil || got != revision {
			t.Errorf("journalNumber: got %d, %v, want %d", got, err, revision)
		}
	})
}

// TestDamagedHistory damages rows of one user: an Append that meets one says which record it is, and goes without it.
func TestDamagedHistory(t *testing.T) {
	disk := vfs.NewMem()
	s := mustOpen(t, "store", Options{FS: disk})
	for _, user := range []string{"good", "bad head", "bad events"} {
		mustAppend(t, s, user, 0, 2)
	}
	flush(t, s)
	for _, key := range [][]byte{headKey(nil, "bad head"), eventKey(nil, "bad events", 1)} {
		if err := s.db.Set(key, []byte("damaged"), lsm.Sync); err != nil {
			t.Fatal(err)
		}
	}
	mustClose(t, s) // and forget what is in memory
	s = mustOpen(t, "store", Options{FS: disk})
	for _, test := range []struct {
		user  string
		event int
		want  []store.Result // of the record, nil: ErrCorrupt
	}{
		{"good", 1, []store.Result{{Revision: 2, Duplicate: true}}},
		{"good", 2, []store.Result{{Revision: 3}}},
		{"bad head", 2, nil},
		{"bad events", 0, nil},
		{"bad events", 2, nil}, // nobody knows whether it is new
	} {
		first := store.Record{User: "first " + test.user, Event: testEvent(test.event)}
		before, err := s.Revision(context.Background(), first.User)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Append(context.Background(), []store.Record{first, {User: test.user, Event: testEvent(test.event)}})
		if test.want != nil {
			if err != nil || !cmp.Equal(test.want, got[1:]) {
				t.Errorf("%s, event %d: got %v, %v, want %v", test.user, test.event, got, err, test.want)
			}
			continue
		}
		damaged, ok := errors.AsType[*store.CorruptError](err)
		if !ok || damaged.Index != 1 || !errors.Is(err, store.ErrCorrupt) || strings.Contains(err.Error(), test.user) {
			t.Errorf("%s, event %d: got %v, %v, want a CorruptError of record 1 without ids", test.user, test.event, got, err)
		}
		if after, err := s.Revision(context.Background(), first.User); after != before || err != nil {
			t.Errorf("%s, event %d: the other record of the refused call was applied (%v)", test.user, test.event, err)
		}
	}
	for _, user := range []string{"bad head", "bad events"} {
		if n, err := s.Erase(context.Background(), user); n == 0 || err != nil {
			t.Errorf("erasing %s: %d, %v", user, n, err)
		}
		mustAppend(t, s, user, 0, 1)
		if revision, err := s.Revision(context.Background(), user); revision != 1 || err != nil {
			t.Errorf("%s after an erasure and an event: revision %d, %v, want 1", user, revision, err)
		}
	}
	mustClose(t, s)
}

// TestDamagedHeadOfJournal damages the head of a user whose newest events are in the journal: none of them is lost.
func TestDamagedHeadOfJournal(t *testing.T) {
	disk := vfs.NewMem()
	s := mustOpen(t, "store", Options{FS: disk})
	mustAppend(t, s, "u", 0, 3)
	flush(t, s)
	mustAppend(t, s, "u", 3, 5)
	if err := s.db.Set(headKey(nil, "u"), []byte("damaged"), lsm.Sync); err != nil {
		t.Fatal(err)
	}
	mustClose(t, s)
	for _, when := range []string{"in the journal", "in rows"} {
		s = mustOpen(t, "store", Options{FS: disk})
		if rows := journalRows(t, s); (rows > 0) != (when == "in the journal") {
			t.Fatalf("%s: the journal has %d rows", when, rows)
		}
		var got []string
		if err := s.Read(context.Background(), "u", 0, func(_ uint64, e store.Event) error {
			got = append(got, e.ID)
			return nil
		}); err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		var want []string
		for i := range 5 {
			want = append(want, testEvent(i).ID)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
		flush(t, s)
		mustClose(t, s)
	}
}
