package coldstart

import (
	"encoding/binary"
	"errors"
	"math"
)

// Notes begin with a byte that tells their form. A note of another form is taken for a damaged one.
const noteForm = 1

// errDamagedNote is the error of a note that this package cannot have written.
var errDamagedNote = errors.New("a note of new items is damaged, or of another release")

// noteWriter appends values to a note.
type noteWriter struct{ b []byte }

func newNote() *noteWriter { return &noteWriter{[]byte{noteForm}} }

func (w *noteWriter) count(n int)       { w.b = binary.AppendUvarint(w.b, uint64(n)) }
func (w *noteWriter) uint(n uint64)     { w.b = binary.AppendUvarint(w.b, n) }
func (w *noteWriter) int(n int64)       { w.b = binary.AppendVarint(w.b, n) }
func (w *noteWriter) float(x float64)   { w.fixed(math.Float64bits(x)) }
func (w *noteWriter) fixed(bits uint64) { w.b = binary.LittleEndian.AppendUint64(w.b, bits) }

func (w *noteWriter) text(s string) {
	w.count(len(s))
	w.b = append(w.b, s...)
}

func (w *noteWriter) flag(set bool) {
	bit := byte(0)
	if set {
		bit = 1
	}
	w.b = append(w.b, bit)
}

// noteReader reads what a noteWriter has written. After an error it reads zeros.
type noteReader struct {
	b   []byte
	err error
}

func readNote(b []byte) *noteReader {
	r := &noteReader{b: b}
	if form := r.bytes(1); r.err == nil && form[0] != noteForm {
		r.fail()
	}
	return r
}

func (r *noteReader) fail() { r.b, r.err = nil, errDamagedNote }

// end returns the error of the reading, or that something follows.
func (r *noteReader) end() error {
	if r.err == nil && len(r.b) > 0 {
		r.fail()
	}
	return r.err
}

func (r *noteReader) bytes(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.fail()
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *noteReader) uint() uint64 {
	x, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return x
}

// count reads a number of things that follow, each of at least one byte.
func (r *noteReader) count() int {
	n := r.uint()
	if n > uint64(len(r.b)) {
		r.fail()
		return 0
	}
	return int(n)
}

func (r *noteReader) int() int64 {
	x, n := binary.Varint(r.b)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return x
}

func (r *noteReader) text() string { return string(r.bytes(r.count())) }

func (r *noteReader) fixed() uint64 {
	b := r.bytes(8)
	if r.err != nil {
		return 0
	}
	return binary.LittleEndian.Uint64(b)
}

func (r *noteReader) float() float64 { return math.Float64frombits(r.fixed()) }

func (r *noteReader) flag() bool {
	b := r.bytes(1)
	return r.err == nil && b[0] == 1
}
