package server

import (
	"sync"

	"google.golang.org/grpc/mem"
)

// encoded is a message that is encoded already; handlers return it in the place of one, and the codec sends it as it is.
type encoded struct{ buffers [1]mem.Buffer }

// newEncoded makes a message of bytes in a buffer of replyBuffers, which goes back there once it is sent.
func newEncoded(data *[]byte) *encoded {
	return &encoded{[1]mem.Buffer{mem.NewBuffer(data, replyBuffers)}}
}

// bufferPool keeps buffers of encoded messages. It implements [mem.BufferPool].
type bufferPool struct{ pool *sync.Pool }

var replyBuffers = bufferPool{&sync.Pool{}}

const (
	newBuffer  = 4 << 10   // capacity of a new buffer: a hundred items
	keptBuffer = 256 << 10 // a buffer larger than that is not kept
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
