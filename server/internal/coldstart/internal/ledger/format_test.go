package ledger

import (
	"encoding/hex"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/server/internal/coldstart/internal/codec"
)

// A file of a form before has nothing for this one, and is not damaged.
func TestFormerFilesArePassedOver(t *testing.T) {
	for _, begin := range []string{"0123456789abcdef", "new items 2"} {
		w := codec.New()
		w.Text(begin)
		w.Text("and what follows")
		if k, err := decodeKept(w.Bytes()); err != nil || k.base != "" {
			t.Errorf("the file that begins with %q is of %q: %v", begin, k.base, err)
		}
	}
}

// The notes in a store are read by servers of other releases: their bytes stay as they are.
func TestFormOfNotes(t *testing.T) {
	told := notice{users: -3, erased: []string{"gone"}, pairs: map[string][]string{
		"item": {"user-1", "user-2"}, "other": {"user-1"}},
		changed: map[string]struct{}{"here": {}}, halved: 2}
	h := head{searched: true, counted: true, users: 300, weights: 7, merges: 200,
		posters: map[string]posted{"a": {1, 2}, "b": {300, 4}}}
	k := kept{base: "b", trends: []byte("y"), weights: 7, users: map[string]float64{"i": 2},
		by: map[string]placing{"i": {-3, 9}}}
	for name, note := range map[string]struct{ want, got string }{
		"notice": {"01050104676f6e6502046974656d0206757365722d3106757365722d32" +
			"056f746865720106757365722d31" + "01046865726502", hex.EncodeToString(told.encode())},
		"kept": {"010b6e6577206974656d7320330162017907000000000000000101690000000000000040" +
			"050900000000000000",
			hex.EncodeToString(k.begin())},
		"head": {"010101d8040700000000000000c80102016101020162ac0204",
			hex.EncodeToString(h.encode())},
		"names": {"poster-0000000000000102! part-55 ext-base-0000000003-0000000012",
			noticeName("poster", 258, true) + " " + partName(55) + " " + documentName("base", 3, 12)},
	} {
		check.Same(t, note.want, note.got, "%s", name)
	}
}
