package store

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"

	"github.com/gsimc/gsimc/internal/event"
)

// MaxEmbedding is the largest number of coordinates of an embedding.
const MaxEmbedding = 1024

// The tags of the fields of more.
const (
	tagEmbedding = 1 // coordinates of 4 bytes each, little endian
	tagNumbers   = 2 // for each the length of the name, the name, and 8 bytes, little endian
)

// HasMore reports whether the item has fields that came after the first formats of stores.
func (i *Item) HasMore() bool { return len(i.Embedding) > 0 || len(i.Numbers) > 0 }

// AppendMore appends the fields of an item that came after the first formats of stores. It appends
// nothing if the item has none of them. Each is a tag, the number of bytes and these.
func (i *Item) AppendMore(dst []byte) []byte {
	if len(i.Embedding) > 0 {
		dst = binary.AppendUvarint(append(dst, tagEmbedding), uint64(4*len(i.Embedding)))
		for _, x := range i.Embedding {
			dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(x))
		}
	}
	if len(i.Numbers) > 0 {
		var field []byte
		for _, name := range slices.Sorted(maps.Keys(i.Numbers)) {
			field = append(append(field, byte(len(name))), name...)
			field = binary.LittleEndian.AppendUint64(field, math.Float64bits(i.Numbers[name]))
		}
		dst = binary.AppendUvarint(append(dst, tagNumbers), uint64(len(field)))
		dst = append(dst, field...)
	}
	return dst
}

// ReadMore sets the fields that [Item.AppendMore] appended, and reports whether it could. A field
// of a later program cannot be read.
func (i *Item) ReadMore(b []byte) bool {
	for last := byte(0); len(b) > 0; {
		size, n := binary.Uvarint(b[1:])
		if n <= 0 || b[0] <= last || size == 0 || size > uint64(len(b)-1-n) {
			return false
		}
		last = b[0]
		field := b[1+n:][:size]
		read := last == tagEmbedding && i.readEmbedding(field) ||
			last == tagNumbers && i.readNumbers(field)
		if !read {
			return false
		}
		b = b[1+n+int(size):]
	}
	return GoodEmbedding(i.Embedding) && GoodNumbers(i.Numbers)
}

func (i *Item) readEmbedding(field []byte) bool {
	i.Embedding = make([]float32, len(field)/4)
	for at := range i.Embedding {
		i.Embedding[at] = math.Float32frombits(binary.LittleEndian.Uint32(field[4*at:]))
	}
	return len(field)%4 == 0
}

func (i *Item) readNumbers(field []byte) bool {
	i.Numbers = map[string]float64{}
	for last := ""; len(field) > 0; {
		end := 1 + int(field[0])
		if len(field) < end+8 || string(field[1:end]) <= last {
			return false
		}
		last = string(field[1:end])
		i.Numbers[last] = math.Float64frombits(binary.LittleEndian.Uint64(field[end:]))
		field = field[end+8:]
	}
	return true
}

// GoodEmbedding reports whether an item may have an embedding: none, or up to MaxEmbedding numbers
// whose squares add up to a float32 above 0.
func GoodEmbedding(e []float32) bool {
	square := float32(0)
	for _, x := range e {
		square += float32(x * x) // not fused: alike on all processors
	}
	return len(e) == 0 || len(e) <= MaxEmbedding && square > 0 && square <= math.MaxFloat32
}

// GoodNumbers reports whether an item may have these numbers.
func GoodNumbers(numbers map[string]float64) bool {
	for name, x := range numbers {
		if !GoodNumber(x) || !event.ValidNumberName(name) {
			return false
		}
	}
	return len(numbers) <= event.MaxNumbers
}

// GoodNumber reports whether a number is finite.
func GoodNumber(x float64) bool { return math.Abs(x) <= math.MaxFloat64 }
