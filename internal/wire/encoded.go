package wire

import (
	"sync"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
)

// Encoded is a message that is encoded already. A handler returns it in the place of a message, and
// [Codec] sends it as it is. It can be sent once.
type Encoded struct {
	data    *[]byte // of buffers
	message [1]mem.Buffer
}

// Decode decodes the message into m and gives the memory back.
func (e *Encoded) Decode(m proto.Message) error {
	defer e.Free()
	return proto.Unmarshal(*e.data, m)
}

// Free gives the memory back if the message is not to be sent.
func (e *Encoded) Free() { buffers.Put(e.data) }

// send returns the message. Its memory goes back to the pool once it is sent.
func (e *Encoded) send(pool mem.BufferPool) mem.BufferSlice {
	e.message[0] = mem.NewBuffer(e.data, pool)
	return e.message[:]
}

// Follower is told where an answer is.
type Follower interface {
	// Queued is called when the answer is encoded, in this many bytes of memory.
	Queued(bytes int)
	// Gone is called when the answer is written to its connection, or dropped. It is not called for
	// answers that are left when their connection closes.
	Gone()
}

// Followed is an answer that somebody follows. [Codec] sends its message. It can be sent once.
type Followed struct {
	Message any
	By      Follower
}

// encode returns the encoded message and tells the follower of it.
func (f *Followed) encode(c Codec) (mem.BufferSlice, error) {
	e, ok := f.Message.(*Encoded)
	if !ok {
		m, ok := f.Message.(proto.Message)
		if !ok {
			return c.CodecV2.Marshal(f.Message)
		}
		size := proto.Size(m)
		data := buffers.Get(size)
		encoded, err := proto.MarshalOptions{UseCachedSize: true}.MarshalAppend((*data)[:0], m)
		if err != nil {
			buffers.Put(data)
			return nil, err
		}
		*data = encoded
		e = &Encoded{data: data}
	}
	f.By.Queued(cap(*e.data))
	return e.send(f), nil
}

// Get implements [mem.BufferPool].
func (f *Followed) Get(length int) *[]byte { return buffers.Get(length) }

// Put implements [mem.BufferPool].
func (f *Followed) Put(b *[]byte) {
	buffers.Put(b)
	f.By.Gone()
}

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
