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

// TestGoldenRows fixes the format on disk: a change of it needs a new version or format number. The bytes wanted were
// computed by another program.
func TestGoldenRows(t *testing.T) {
	e := store.Event{ID: "e1", Item: "item", Type: "view", Time: time.Unix(1_700_000_000, 42).UTC(), Value: 1.5}
	for _, row := range []struct {
		name       string
		key, value []byte
		want       string
	}{
		{"format", formatKey, encodeNumber(nil, formatKey, 1), "0000666f726d6174 0000000000000001bf00e54f"},
		{"head", headKey(nil, "ab"), encodeNumber(nil, headKey(nil, "ab"), 7), "0002616200 0000000000000007c98944e5"},
		{"event id", eventIDKey(nil, "ab", "e1"), encodeNumber(nil, eventIDKey(nil, "ab", "e1"), 7), "00026162026531 0000000000000007b18fe3aa"},
		{"event", eventKey(nil, "ab", 7), encodeEvent(nil, eventKey(nil, "ab", 7), e),
			"00026162010000000000000007 0180c49fd50c2a000000000000f83f026531046974656d0476696577522bee0f"},
	} {
		if got := hex.EncodeToString(row.key) + " " + hex.EncodeToString(row.value); got != row.want {
			t.Errorf("%s row:\n got %s\nwant %s", row.name, got, row.want)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	key := eventKey(nil, "u", 1)
	good := encodeEvent(nil, key, store.Event{ID: "e", Item: "i", Time: time.Unix(1, 1).UTC(), Value: 1})
	body := good[:len(good)-4]
	seal := func(b []byte) []byte { return appendCRC(bytes.Clone(b), key) }
	change := func(at int, to byte) []byte { b := bytes.Clone(body); b[at] = to; return b }
	tests := map[string]struct {
		value  []byte
		reason string
	}{
		"empty":             {nil, "checksum"},
		"other key":         {encodeEvent(nil, eventKey(nil, "u", 2), store.Event{ID: "e", Item: "i"}), "checksum"},
		"no body":           {seal(nil), "ends too early"},
		"other version":     {seal(change(0, 9)), "version 9"},
		"cut in the value":  {seal(body[:6]), "ends too early"},
		"cut in an id":      {seal(body[:len(body)-2]), "ends too early"},
		"too long":          {seal(append(bytes.Clone(body), 0)), "1 bytes too many"},
		"too many nanos":    {seal(append([]byte{1, 0, 0xff, 0xff, 0xff, 0xff, 0x7f}, body[3:]...)), "nanoseconds"},
		"length overflows":  {seal(append(bytes.Clone(body[:11]), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01)), "ends too early"},
		"varint never ends": {seal([]byte{1, 0xff, 0xff}), "ends too early"},
	}
	for name, test := range tests {
		_, err := decodeEvent(key, test.value)
		if !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), test.reason) {
			t.Errorf("%s: got error %v, want ErrCorrupt that says %q", name, err, test.reason)
		}
	}
	for i := range good {
		for bit := range 8 {
			flipped := bytes.Clone(good)
			flipped[i] ^= 1 << bit
			if _, err := decodeEvent(key, flipped); !errors.Is(err, store.ErrCorrupt) {
				t.Errorf("byte %d, bit %d flipped: got error %v, want ErrCorrupt", i, bit, err)
			}
		}
	}
}

// FuzzDecodeEvent decodes anything, with a right checksum put at the end so that the code behind it is reached. What is
// accepted must say the same after being encoded and decoded again.
func FuzzDecodeEvent(f *testing.F) {
	key := eventKey(nil, "u", 1)
	for _, e := range []store.Event{
		{}, {ID: "e", Item: "i", Type: "t", Time: time.Unix(-1, 5), Value: -0.5}, {Value: math.Inf(1), Time: time.Time{}},
	} {
		v := encodeEvent(nil, key, e)
		f.Add(v[:len(v)-4])
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if e, err := decodeEvent(key, body); err == nil && e != (store.Event{}) {
			return // the fuzzer found a checksum
		}
		e, err := decodeEvent(key, appendCRC(bytes.Clone(body), key))
		if err != nil {
			if !errors.Is(err, store.ErrCorrupt) {
				t.Fatalf("got error %v, want ErrCorrupt", err)
			}
			return
		}
		again, err := decodeEvent(key, encodeEvent(nil, key, e))
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

func FuzzKeys(f *testing.F) {
	f.Add("a", "aa", "e", uint64(1))
	f.Add("\x00", "\x00\x00", "\x01", uint64(1<<63))
	f.Fuzz(func(t *testing.T, a, b, id string, revision uint64) {
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
		for _, key := range [][]byte{headKey(nil, b), eventKey(nil, b, revision), eventIDKey(nil, b, id)} {
			if inside := bytes.Compare(head, key) <= 0 && bytes.Compare(key, end) < 0; inside != (a == b) {
				t.Errorf("key %x of user %q is among those of %q", key, b, a)
			}
		}
		if bytes.Compare(formatKey, head) >= 0 {
			t.Errorf("format key is not below the rows of %q", a)
		}
	})
}

// TestDamagedHistory damages rows of one user: an Append that meets one says which record it is, and goes without it.
func TestDamagedHistory(t *testing.T) {
	s := mustOpen(t, "store", Options{FS: vfs.NewMem()})
	mustAppend(t, s, "good", 0, 1)
	mustAppend(t, s, "bad head", 0, 1)
	mustAppend(t, s, "bad event", 0, 2)
	for _, key := range [][]byte{headKey(nil, "bad head"), eventKey(nil, "bad event", 1)} {
		if err := s.db.Set(key, []byte("damaged"), lsm.Sync); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		user  string
		event int
		want  []store.Result // of the record, nil: ErrCorrupt
	}{
		{"good", 1, []store.Result{{Revision: 2}}},
		{"bad head", 1, nil},
		{"bad event", 0, nil}, // it cannot be compared with the first of its id
		{"bad event", 1, []store.Result{{Revision: 2, Duplicate: true}}},
		{"bad event", 2, []store.Result{{Revision: 3}}},
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
	mustClose(t, s)
}
