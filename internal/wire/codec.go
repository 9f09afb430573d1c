package wire

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"strings"
	"unicode/utf8"

	"google.golang.org/grpc/encoding"
	grpcproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Codec is gRPC's codec for protobuf with four differences. It sends an [Encoded] as it is, tells
// the follower of a [Followed], and decodes a [StreamMessage]. It counts elements before it decodes
// them, see [Limits]. A message that cannot be decoded comes out empty and marked, see [Malformed]:
// the library itself would answer with INTERNAL, and a client that follows it would send the same
// bytes again, for ever.
type Codec struct {
	encoding.CodecV2

	counters *counters
}

// NewCodec returns a codec that decodes no message beyond the limits.
func NewCodec(limits Limits) Codec {
	return Codec{encoding.GetCodecV2(grpcproto.Name), &counters{limits: limits}}
}

// malformedMark stands before the name of the field at fault and its problem in the unknown fields
// of a marked message. It is random, so that no client can send it.
var malformedMark = []byte(rand.Text())

// problemMark stands between the two: no name has it.
const problemMark = ":"

// Marshal implements encoding.CodecV2.
func (c Codec) Marshal(v any) (mem.BufferSlice, error) {
	switch v := v.(type) {
	case *Followed:
		return v.encode(c)
	case *Encoded:
		return v.send(buffers), nil
	}
	return c.CodecV2.Marshal(v)
}

// Unmarshal implements encoding.CodecV2.
func (c Codec) Unmarshal(data mem.BufferSlice, v any) error {
	if m, ok := v.(*StreamMessage); ok {
		return m.decode(c, data)
	}
	m, ok := v.(proto.Message)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	message := m.ProtoReflect().Descriptor()
	if counter := c.counters.of(message); counter != nil {
		whole := data.MaterializeToBuffer(mem.DefaultBufferPool())
		defer whole.Free()
		data = mem.BufferSlice{whole}
		var counts [maxCounted]int
		if path, limit := counter.excess(whole.ReadOnlyData(), &counts); limit > 0 {
			mark(m, path, tooMany(limit))
			return nil
		}
	}
	if c.CodecV2.Unmarshal(data, v) == nil {
		return nil
	}
	proto.Reset(m)
	if field := invalidUTF8(data.Materialize(), message); field != "" {
		mark(m, field, "is not valid UTF-8")
	} else {
		mark(m, string(message.FullName()), "cannot be decoded: the message is not valid protobuf")
	}
	return nil
}

// mark marks an empty message as malformed.
func mark(m proto.Message, field, problem string) {
	text := string(malformedMark) + field + problemMark + problem
	m.ProtoReflect().SetUnknown(protowire.AppendString(
		protowire.AppendTag(nil, protowire.MaxValidNumber, protowire.BytesType), text))
}

// A MalformedError is a message that could not be decoded.
type MalformedError struct {
	Field   string // path of the field at fault, or the name of the message
	Problem string // what is wrong with it; it never repeats a value
}

// Error names the field and the problem.
func (e *MalformedError) Error() string { return e.Field + " " + e.Problem }

// Malformed returns what was wrong with a message that [Codec] could not decode, as a
// [MalformedError], and nil for every other value.
func Malformed(v any) error {
	m, ok := v.(proto.Message)
	if !ok {
		return nil
	}
	unknown := m.ProtoReflect().GetUnknown()
	if len(unknown) == 0 { // all messages, except those of newer clients
		return nil
	}
	_, text, marked := bytes.Cut(unknown, malformedMark)
	if !marked {
		return nil
	}
	field, problem, _ := strings.Cut(string(text), problemMark)
	return &MalformedError{field, problem}
}

// invalidUTF8 returns the path of the first string in the encoded message that is not UTF-8, or
// nothing if there is none before the place where the encoding itself is broken. Its recursion ends
// with the schema: no request contains itself.
func invalidUTF8(b []byte, message protoreflect.MessageDescriptor) string {
	seen := map[protowire.Number]int{}
	for len(b) > 0 {
		number, kind, tagLen := protowire.ConsumeTag(b)
		if tagLen < 0 {
			return ""
		}
		valueLen := protowire.ConsumeFieldValue(number, kind, b[tagLen:])
		if valueLen < 0 {
			return ""
		}
		value := b[tagLen : tagLen+valueLen]
		b = b[tagLen+valueLen:]
		field := message.Fields().ByNumber(number)
		if field == nil || kind != protowire.BytesType {
			continue
		}
		path := string(field.Name())
		if field.IsList() {
			path += fmt.Sprintf("[%d]", seen[number])
			seen[number]++
		}
		content, _ := protowire.ConsumeBytes(value)
		switch field.Kind() {
		case protoreflect.StringKind:
			if !utf8.Valid(content) {
				return path
			}
		case protoreflect.MessageKind:
			if inner := invalidUTF8(content, field.Message()); inner != "" {
				return path + "." + inner
			}
		}
	}
	return ""
}
