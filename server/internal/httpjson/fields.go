package httpjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// fieldAt returns the name of what stands at an offset of the JSON text of a message, as methods
// name fields, such as items[3].numbers.price; empty: the message itself. of may be nil.
func fieldAt(text []byte, offset int64, of protoreflect.MessageDescriptor) string {
	f := finder{json.NewDecoder(bytes.NewReader(text)), offset}
	f.UseNumber()
	path, _ := f.value(of, nil)
	return strings.TrimPrefix(path, ".")
}

// A finder reads a JSON text up to an offset.
type finder struct {
	*json.Decoder
	offset int64
}

// next reads a token. It reports whether the offset is in or before it.
func (f *finder) next() (token json.Token, there bool) {
	token, err := f.Token()
	return token, err != nil || f.InputOffset() > f.offset
}

// value reads a value, which is a message, a map or, with neither, something else. It returns the
// path from there to the offset, and whether that is in it.
func (f *finder) value(
	message protoreflect.MessageDescriptor, values protoreflect.FieldDescriptor,
) (path string, there bool) {
	token, there := f.next()
	if there {
		return "", true
	}
	if token != json.Delim('[') && token != json.Delim('{') {
		return "", false
	}
	for i := 0; f.More(); i++ {
		if token == json.Delim('[') {
			if path, there = f.value(message, nil); there {
				return fmt.Sprintf("[%d]%s", i, path), true
			}
			continue
		}
		key, here := f.next()
		name, of, in := member(fmt.Sprint(key), message, values)
		if here {
			return "." + name, true
		}
		if path, there = f.value(of, in); there {
			return "." + name + path, true
		}
	}
	_, there = f.next()
	return "", there
}

// member returns the name of a member of a message or of a map, and what its value is.
func member(
	key string, message protoreflect.MessageDescriptor, values protoreflect.FieldDescriptor,
) (name string, of protoreflect.MessageDescriptor, in protoreflect.FieldDescriptor) {
	if values != nil {
		return printable(key), values.Message(), nil
	}
	if message == nil {
		return printable(key), nil, nil
	}
	field := message.Fields().ByJSONName(key)
	if field == nil {
		field = message.Fields().ByTextName(key)
	}
	switch {
	case field == nil:
		return printable(key), nil, nil
	case field.IsMap():
		return string(field.Name()), nil, field.MapValue()
	}
	return string(field.Name()), field.Message(), nil
}
