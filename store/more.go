package store

import (
	"encoding/binary"
	"math"
)

// MaxEmbedding is the largest number of coordinates of an embedding.
const MaxEmbedding = 1024

// tagEmbedding is that of the coordinates of an embedding, 4 bytes each, little endian.
const tagEmbedding = 1

// AppendMore appends the fields of an item that came after the first formats of stores. It appends
// nothing if the item has none of them. Each is a tag, the number of bytes and these.
func (i *Item) AppendMore(dst []byte) []byte {
	if len(i.Embedding) == 0 {
		return dst
	}
	dst = binary.AppendUvarint(append(dst, tagEmbedding), uint64(4*len(i.Embedding)))
	for _, x := range i.Embedding {
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(x))
	}
	return dst
}

// ReadMore sets the fields that [Item.AppendMore] appended, and reports whether it could. A field
// of a later program cannot be read.
func (i *Item) ReadMore(b []byte) bool {
	for len(b) > 0 {
		size, n := binary.Uvarint(b[1:])
		if n <= 0 || b[0] != tagEmbedding || size%4 != 0 || size > uint64(len(b)-1-n) {
			return false
		}
		field := b[1+n:][:size]
		i.Embedding = make([]float32, size/4)
		for at := range i.Embedding {
			i.Embedding[at] = math.Float32frombits(binary.LittleEndian.Uint32(field[4*at:]))
		}
		b = b[1+n+int(size):]
	}
	return GoodEmbedding(i.Embedding)
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
