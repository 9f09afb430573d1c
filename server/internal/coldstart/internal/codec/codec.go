// Package codec is the form of what the servers of a store write for each other about new items,
// and a server for its next start.
package codec

import (
	"encoding/binary"
	"errors"
	"math"
)

// A note begins with a byte that tells its form. A note of another form is taken for a damaged one.
const form = 1

// errDamaged is the error of a note that this package cannot have written.
var errDamaged = errors.New("a note of new items is damaged, or of another release")

// A Writer appends values to a note.
type Writer struct{ b []byte }

// New returns the writer of an empty note.
func New() *Writer { return &Writer{[]byte{form}} }

// Bytes returns the note.
func (w *Writer) Bytes() []byte { return w.b }

// Count appends the number of things that follow.
func (w *Writer) Count(n int) { w.Uint(uint64(n)) }

// Uint appends a number that is small as a rule.
func (w *Writer) Uint(n uint64) { w.b = binary.AppendUvarint(w.b, n) }

// Int appends a number that is near 0 as a rule.
func (w *Writer) Int(n int64) { w.b = binary.AppendVarint(w.b, n) }

// Float appends a number with all of its bits.
func (w *Writer) Float(x float64) { w.Fixed(math.Float64bits(x)) }

// Fixed appends 64 bits.
func (w *Writer) Fixed(bits uint64) { w.b = binary.LittleEndian.AppendUint64(w.b, bits) }

// Text appends a string.
func (w *Writer) Text(s string) {
	w.Count(len(s))
	w.b = append(w.b, s...)
}

// Flag appends a truth value.
func (w *Writer) Flag(set bool) {
	bit := byte(0)
	if set {
		bit = 1
	}
	w.b = append(w.b, bit)
}

// A Reader reads what a [Writer] has written. After an error it reads zeros.
type Reader struct {
	b   []byte
	err error
}

// Read returns the reader of a note.
func Read(b []byte) *Reader {
	r := &Reader{b: b}
	if first := r.bytes(1); r.err == nil && first[0] != form {
		r.Fail()
	}
	return r
}

// Fail takes the note for a damaged one.
func (r *Reader) Fail() { r.b, r.err = nil, errDamaged }

// Err returns the error of the reading so far.
func (r *Reader) Err() error { return r.err }

// End returns the error of the reading, or that something follows.
func (r *Reader) End() error {
	if r.err == nil && len(r.b) > 0 {
		r.Fail()
	}
	return r.err
}

func (r *Reader) bytes(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.Fail()
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

// Uint reads what Uint has written.
func (r *Reader) Uint() uint64 {
	x, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.Fail()
		return 0
	}
	r.b = r.b[n:]
	return x
}

// Count reads a number of things that follow, each of at least one byte.
func (r *Reader) Count() int {
	n := r.Uint()
	if n > uint64(len(r.b)) {
		r.Fail()
		return 0
	}
	return int(n)
}

// Int reads what Int has written.
func (r *Reader) Int() int64 {
	x, n := binary.Varint(r.b)
	if n <= 0 {
		r.Fail()
		return 0
	}
	r.b = r.b[n:]
	return x
}

// Text reads a string.
func (r *Reader) Text() string { return string(r.bytes(r.Count())) }

// Rest reads all that is left, which is part of the note.
func (r *Reader) Rest() []byte { return r.bytes(len(r.b)) }

// Fixed reads 64 bits.
func (r *Reader) Fixed() uint64 {
	b := r.bytes(8)
	if r.err != nil {
		return 0
	}
	return binary.LittleEndian.Uint64(b)
}

// Float reads what Float has written.
func (r *Reader) Float() float64 { return math.Float64frombits(r.Fixed()) }

// Flag reads a truth value.
func (r *Reader) Flag() bool {
	b := r.bytes(1)
	return r.err == nil && b[0] == 1
}
