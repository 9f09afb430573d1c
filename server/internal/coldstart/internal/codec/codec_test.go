package codec

import (
	"encoding/hex"
	"math"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
)

// Every value is read as it was written, and the bytes stay what servers of other releases read.
func TestNote(t *testing.T) {
	w := New()
	w.Count(300)
	w.Uint(math.MaxUint64)
	w.Int(-3)
	w.Float(1.5)
	w.Fixed(7)
	w.Text("ab")
	w.Flag(true)
	w.Flag(false)
	w.b = append(w.b, make([]byte, 300)...) // the things that were counted
	const want = "01ac02ffffffffffffffffff0105000000000000f83f07000000000000000261620100"
	check.Same(t, want, hex.EncodeToString(w.Bytes()[:len(want)/2]), "the note begins with")
	r := Read(w.Bytes())
	check.Same(t, 300, r.Count(), "things")
	if got := r.Uint(); got != math.MaxUint64 {
		t.Errorf("a number: %v, want %v", got, uint64(math.MaxUint64))
	}
	if n, x, bits := r.Int(), r.Float(), r.Fixed(); n != -3 || x != 1.5 || bits != 7 {
		t.Errorf("numbers %d, %v and %d, want -3, 1.5 and 7", n, x, bits)
	}
	if s, yes, no := r.Text(), r.Flag(), r.Flag(); s != "ab" || !yes || no {
		t.Errorf("%q, %t and %t, want ab, true and false", s, yes, no)
	}
	if err := r.End(); err == nil {
		t.Error("what follows the last value is overlooked")
	}
}

// A note that is cut, of another form, or that counts more than it has is damaged. What is read of
// it is zero.
func TestDamagedNote(t *testing.T) {
	w := New()
	w.Text("text")
	w.Float(1)
	for cut := range w.Bytes() {
		r := Read(w.Bytes()[:cut])
		r.Text()
		if x := r.Float(); x != 0 || r.End() == nil {
			t.Errorf("%d bytes are read as %v, error %v", cut, x, r.Err())
		}
	}
	for _, damaged := range [][]byte{nil, {form + 1}, {form, 2, 'a'}, {form, 0xff}} {
		r := Read(damaged)
		if s := r.Text(); s != "" || r.End() == nil {
			t.Errorf("%v is read as %q, error %v", damaged, s, r.Err())
		}
	}
}
