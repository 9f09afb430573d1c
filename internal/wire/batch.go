package wire

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	statuspb "google.golang.org/genproto/googleapis/rpc/status"
)

// A Batch is the answer of one BatchRecommend, which is encoded list by list and never stands in
// memory as messages. It has the bytes that the library would give.
type Batch struct {
	data  *[]byte // of buffers
	spare []byte  // a result before its length is known
}

// NewBatch returns an answer without results. It must be freed or sent.
func NewBatch() *Batch { return &Batch{data: buffers.Get(0)} }

// Free gives the memory back if the answer is not to be sent.
func (b *Batch) Free() { buffers.Put(b.data) }

// Add adds a list as the next result, unless the answer would then have more than limit bytes. It
// reports whether it did.
func (b *Batch) Add(l *List, limit int) (added bool, err error) {
	if b.spare, err = l.AppendTo(b.spare[:0]); err != nil {
		return false, err
	}
	return b.result(resultResponse, limit), nil
}

// AddError is Add for an error.
func (b *Batch) AddError(st *statuspb.Status, limit int) (added bool, err error) {
	if b.spare, err = (proto.MarshalOptions{}).MarshalAppend(b.spare[:0], st); err != nil {
		return false, err
	}
	return b.result(resultError, limit), nil
}

// result adds what is in spare.
func (b *Batch) result(t tag, limit int) bool {
	size := tagSize + protowire.SizeBytes(len(b.spare))
	if len(*b.data)+tagSize+protowire.SizeBytes(size) > limit {
		return false
	}
	out := appendLength(*b.data, batchResults, size)
	*b.data = append(appendLength(out, t, len(b.spare)), b.spare...)
	return true
}

// ErrorSize is the number of bytes that AddError adds for an error.
func ErrorSize(st *statuspb.Status) int {
	return tagSize + protowire.SizeBytes(tagSize+protowire.SizeBytes(proto.Size(st)))
}

// UnknownSize is the number of bytes that Encode adds for these unknown ids.
func UnknownSize(ids []string) (size int) {
	for _, id := range ids {
		size += sizeString(id)
	}
	return size
}

// Encode adds the unknown ids and returns the answer in the form that [Codec] sends as it is. The
// batch must not be used any more.
func (b *Batch) Encode(unknown []string) *Encoded {
	for _, id := range unknown {
		*b.data = appendString(*b.data, batchUnknownItemIDs, id)
	}
	return &Encoded{data: b.data}
}
