package wire

import (
	"sync"

	"google.golang.org/grpc/mem"
)

// Encoded is a message that is encoded already. A handler returns it in the place of a message, and
// [Codec] sends it as it is. It can be sent once.
type Encoded struct{ buffers [1]mem.Buffer }

// newEncoded makes a message of bytes in one of the buffers, which goes back there once it is sent.
func newEncoded(data *[]byte) *Encoded {
	return &Encoded{[1]mem.Buffer{mem.NewBuffer(data, buffers)}}
}

// Free gives the memory back if the message is not to be sent.
func (e *Encoded) Free() { e.buffers[0].Free() }

// Len is the size of the message.
func (e *Encoded) Len() int { return e.buffers[0].Len() }

// bufferPool keeps buffers of encoded messages. It implements [mem.BufferPool].
type bufferPool struct{ pool *sync.Pool }

var buffers = bufferPool{&sync.Pool{}}

const (
	newBuffer  = 4 << 10   // capacity of a new buffer: a hundred items
	keptBuffer = 256 << 10 // larger buffers are not kept
)

// Get returns a buffer of this length.
func (p bufferPool) Get(length int) *[]byte {
	b, _ := p.pool.Get().(*[]byte)
	if b == nil || cap(*b) < length {
		made := make([]byte, max(length, newBuffer))
		b = &made
	}
	*b = (*b)[:length]
	return b
}

// Put takes a buffer back.
func (p bufferPool) Put(b *[]byte) {
	if cap(*b) <= keptBuffer {
		p.pool.Put(b)
	}
}
