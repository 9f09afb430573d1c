package httpjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
)

// NewDecoder implements [runtime.Marshaler]. The library's own decoder would pass over what follows
// the first document of a body, such as the second of two events.
func (l lines) NewDecoder(r io.Reader) runtime.Decoder {
	return runtime.DecoderFunc(func(v any) error {
		text, err := document(r)
		if received, ok := r.(*body); ok {
			defer received.decoded()
		}
		if err != nil {
			return err
		}
		if m, ok := v.(proto.Message); ok { // without a second copy of a large body
			err := l.UnmarshalOptions.Unmarshal(text, m)
			if req, ok := v.(*pb.BatchUpsertItemsRequest); ok && err == nil {
				return nameFields(req, text)
			}
			return badBody(err, text, m.ProtoReflect().Descriptor())
		}
		return within(badBody(l.Unmarshal(text, v), text, messageAt(v)), messageAt(v))
	})
}

// messageAt is the message that a pointer to a field points to; nil: the field is no message.
func messageAt(v any) protoreflect.MessageDescriptor {
	if m, ok := reflect.ValueOf(v).Elem().Interface().(proto.Message); ok {
		return m.ProtoReflect().Descriptor()
	}
	return nil
}

// within names the field of a fault as the method does: below the message that the body is.
func within(err error, of protoreflect.MessageDescriptor) error {
	if f, ok := errors.AsType[*fault](err); ok && of != nil && f.field != bodyField(of) {
		return &fault{bodyField(of) + "." + f.field, f.text}
	}
	return err
}

// bodyField is the field of a request that has a message as its body.
func bodyField(of protoreflect.MessageDescriptor) string { return snake(string(of.Name()))[1:] }

// document returns the document that a body consists of: a piece of one that has come, which is not
// copied. For an empty body the error is io.EOF, which the library takes for an empty message.
func document(r io.Reader) (text json.RawMessage, err error) {
	if received, ok := r.(*body); ok && json.Valid(received.text) {
		return bytes.TrimSpace(received.text), nil
	}
	d := json.NewDecoder(r)
	if err := d.Decode(&text); errors.Is(err, io.EOF) {
		return nil, err
	} else if err != nil {
		return nil, notJSON(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("the body goes on behind its JSON document; nothing was done")
	}
	return text, nil
}

// notJSON words the error of a text that is not JSON.
func notJSON(err error) error {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("the body is not JSON: see byte %d", syntax.Offset)
	}
	return errors.New("the body is not JSON: it ends too early")
}

// place is where protojson says that a text is wrong. It begins with one of two kinds of space,
// lest anybody read its errors.
var place = regexp.MustCompile(`^proto:[ \x{a0}](?:syntax error )?\(line (\d+):(\d+)\): `)

// halfEscape is what is wrong with a text of half a surrogate pair (RFC 8259, section 8.2).
const halfEscape = `has an escape such as \ud800 that is half of a character`

// badBody words an error of protojson about the text of a message, of which it has no parts but its
// text. A nil error is none.
func badBody(err error, body []byte, of protoreflect.MessageDescriptor) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	m := place.FindStringSubmatch(text)
	if m == nil && strings.HasSuffix(text, "unexpected EOF") { // of a text: the body is JSON
		return errors.New("the body " + halfEscape)
	}
	if m == nil {
		return errors.New("the body is not that of this call: " + text)
	}
	text = text[len(m[0]):]
	field, at := spotAt(body, offset(body, m[1], m[2]), of)
	starts := func(prefix string) bool { return strings.HasPrefix(text, prefix) }
	switch {
	case field == "":
		return errors.New("the body is not that of this call: " + printable(text))
	case starts("unknown field"):
		key := field[strings.LastIndex(field, ".")+1:]
		if of != nil && field == bodyField(of) {
			return &fault{field, "is the body itself: put what is in it there"}
		}
		return &fault{field, "is not a field of this call" + suggestion(key, bodyNames(at.parent))}
	case starts("invalid escape code"):
		return &fault{field, halfEscape}
	case starts("duplicate field"):
		return &fault{field, "is there twice"}
	case at.field == nil:
	case at.field.ContainingOneof() != nil && strings.HasSuffix(text, "is already set"):
		return &fault{field, "stands beside another one: give only one of " +
			oneOf(at.field)}
	case starts("invalid value"), starts("unexpected token"), starts("invalid google.protobuf."),
		strings.Contains(text, "contains invalid path"):
		return &fault{field, "must be " + at.wanted()}
	}
	return &fault{field, "is not what this call takes: " + printable(text)}
}

// oneOf lists the fields of which a call takes one, this field among them.
func oneOf(field protoreflect.FieldDescriptor) string {
	all := field.ContainingOneof().Fields()
	names := make([]string, all.Len())
	for i := range names {
		names[i] = string(all.Get(i).Name())
	}
	return strings.Join(names, ", ")
}

// offset is the number of bytes before a character, whose line and column are counted from 1.
func offset(text []byte, line, column string) int64 {
	lines, _ := strconv.Atoi(line)
	runes, _ := strconv.Atoi(column)
	at := 0
	for ; lines > 1; lines-- {
		at += 1 + bytes.IndexByte(text[at:], '\n')
	}
	for ; runes > 1 && at < len(text); runes-- {
		_, size := utf8.DecodeRune(text[at:])
		at += size
	}
	return int64(at)
}
