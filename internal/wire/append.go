package wire

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// appendLength appends the start of a field of size bytes.
func appendLength(b []byte, t tag, size int) []byte {
	return protowire.AppendVarint(append(b, t), uint64(size))
}

// appendString appends a string that is not empty.
func appendString(b []byte, t tag, s string) []byte {
	return append(appendLength(b, t, len(s)), s...)
}

// appendUint appends a field without presence: 0 is left out.
func appendUint(b []byte, t tag, v uint64) []byte {
	if v == 0 {
		return b
	}
	return protowire.AppendVarint(append(b, t), v)
}

func appendDouble(b []byte, t tag, v float64) []byte {
	return protowire.AppendFixed64(append(b, t), math.Float64bits(v))
}

func appendMessage(b []byte, t tag, m proto.Message) ([]byte, error) {
	return proto.MarshalOptions{UseCachedSize: true}.MarshalAppend(appendLength(b, t,
		proto.Size(m)), m)
}

// Sizes in bytes.
const (
	tagSize    = 1
	doubleSize = tagSize + 8
	floatSize  = 4
)

// sizeUint returns the size of a field without presence, with its tag.
func sizeUint(v uint64) int {
	if v == 0 {
		return 0
	}
	return tagSize + protowire.SizeVarint(v)
}

// sizeString returns the size of a string with its tag.
func sizeString(s string) int { return tagSize + protowire.SizeBytes(len(s)) }

// sizeFloats returns the size of n packed floats with their tag.
func sizeFloats(n int) int {
	if n == 0 {
		return 0
	}
	return tagSize + protowire.SizeBytes(floatSize*n)
}

// sizeMessage returns the size of a message with its tag.
func sizeMessage(m proto.Message) int { return tagSize + protowire.SizeBytes(proto.Size(m)) }
