package httpjson

import (
	"bytes"
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// fieldAt returns the name of what stands at an offset of the JSON text of a message, as methods
// name fields, such as items[3].numbers.price; empty: the message itself. of may be nil.
func fieldAt(text []byte, offset int64, of protoreflect.MessageDescriptor) string {
	f := finder{json.NewDecoder(bytes.NewReader(text)), offset}
	field, _ := f.value("", of, nil)
	return field
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

// value reads the value of a field, which is a message, a map or, with neither, something else. It
// returns the field of the offset, and whether that is there.
func (f *finder) value(
	field string, message protoreflect.MessageDescriptor, values protoreflect.FieldDescriptor,
) (string, bool) {
	token, there := f.next()
	if there {
		return field, true
	}
	if token != json.Delim('[') && token != json.Delim('{') {
		return "", false
	}
	for i := 0; f.More(); i++ {
		name, of, in := fmt.Sprintf("%s[%d]", field, i), message, protoreflect.FieldDescriptor(nil)
		if token == json.Delim('{') {
			key, here := f.next()
			name, of, in = member(fmt.Sprint(key), message, values)
			if field != "" {
				name = field + "." + name
			}
			if here {
				return name, true
			}
		}
		if inner, there := f.value(name, of, in); there {
			return inner, true
		}
	}
	_, there = f.next()
	return field, there
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
