package server

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"unicode/utf8"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	grpcproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// codec is gRPC's codec for protobuf, but for two things. What a handler has encoded itself is sent as it is. And for a message that
// cannot be decoded the library would answer by itself, with INTERNAL, which by our contract asks the client to send the same bytes
// again, for ever. Here such a message comes out empty and marked, and guarded or refuseMalformedStream answers as for every other
// bad field.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2(grpcproto.Name)} }

// malformedMark stands before the name of the field at fault in the unknown fields of a marked message. It is random, so
// that no client can send it.
var malformedMark = []byte(rand.Text())

// Marshal implements encoding.CodecV2.
func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	if e, ok := v.(*encoded); ok {
		return e.buffers[:], nil
	}
	return c.CodecV2.Marshal(v)
}

// Unmarshal implements encoding.CodecV2.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	if d, ok := v.(selfDecoder); ok {
		return d.decode(c, data)
	}
	err := c.CodecV2.Unmarshal(data, v)
	if err == nil {
		return nil
	}
	m, ok := v.(proto.Message)
	if !ok {
		return err
	}
	proto.Reset(m)
	field := invalidUTF8(data.Materialize(), m.ProtoReflect().Descriptor())
	mark := protowire.AppendTag(nil, protowire.MaxValidNumber, protowire.BytesType)
	m.ProtoReflect().SetUnknown(protowire.AppendBytes(mark, append(bytes.Clone(malformedMark), field...)))
	return nil
}

// invalidUTF8 is the path of the first string in the encoded message that is not UTF-8, or empty if there is none before
// the place where the encoding itself is broken. Its recursion ends with the schema: no request contains itself.
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

// malformed is what was wrong with a message that the codec could not decode, and nil for every other.
func malformed(v any) error {
	m, ok := v.(proto.Message)
	if !ok {
		return nil
	}
	unknown := m.ProtoReflect().GetUnknown()
	if len(unknown) == 0 { // all but those of newer clients
		return nil
	}
	_, field, marked := bytes.Cut(unknown, malformedMark)
	switch {
	case !marked:
		return nil
	case len(field) == 0:
		name := string(m.ProtoReflect().Descriptor().FullName())
		return &invalidError{[]fieldFault{{name, "cannot be decoded: the message is not valid protobuf"}}}
	}
	return &invalidError{[]fieldFault{{string(field), "is not valid UTF-8"}}}
}

// refuseMalformedStream makes a message that could not be decoded an error of RecvMsg.
func refuseMalformedStream(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	return next(srv, wellFormedStream{stream})
}

// wellFormedStream is a stream whose messages could all be decoded.
type wellFormedStream struct{ grpc.ServerStream }

// RecvMsg implements grpc.ServerStream.
func (w wellFormedStream) RecvMsg(m any) error {
	if err := w.ServerStream.RecvMsg(m); err != nil {
		return err
	}
	return malformed(m)
}
