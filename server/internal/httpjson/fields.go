package httpjson

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/gsimc/gsimc/server/internal/valid"
)

// spot is a place in the JSON text of a message.
type spot struct {
	message protoreflect.MessageDescriptor // what stands there; nil: no message
	// of what stands there, or of the list or the map that has it; nil: there is no such field
	field  protoreflect.FieldDescriptor
	inner  bool                           // an element of the list, or a value of the map
	parent protoreflect.MessageDescriptor // if there is no such field: what might have it
}

// spotAt returns the name of what stands at an offset of the JSON text of a message, as methods
// name fields, such as items[3].numbers.price; empty: the message itself. of may be nil.
func spotAt(text []byte, offset int64, of protoreflect.MessageDescriptor) (string, spot) {
	f := finder{Decoder: json.NewDecoder(bytes.NewReader(text)), offset: offset}
	f.UseNumber()
	path, _ := f.value(spot{message: of})
	return strings.TrimPrefix(path, "."), f.found
}

// A finder reads a JSON text up to an offset.
type finder struct {
	*json.Decoder
	offset int64
	found  spot
}

// next reads a token at a spot. It reports whether the offset is in or before it.
func (f *finder) next(at spot) (token json.Token, there bool) {
	token, err := f.Token()
	if there = err != nil || f.InputOffset() > f.offset; there {
		f.found = at
	}
	return token, there
}

// value reads the value of a spot. It returns the path from there to the offset, and whether that
// is in it.
func (f *finder) value(at spot) (path string, there bool) {
	token, there := f.next(at)
	if there {
		return "", true
	}
	if token != json.Delim('[') && token != json.Delim('{') {
		return "", false
	}
	for i := 0; f.More(); i++ {
		if token == json.Delim('[') {
			element := spot{message: at.message, field: at.field, inner: true}
			if path, there = f.value(element); there {
				return fmt.Sprintf("[%d]%s", i, path), true
			}
			continue
		}
		key, err := f.Token()
		name, of := at.member(fmt.Sprint(key))
		if err != nil || f.InputOffset() > f.offset {
			f.found = of
			return "." + name, true
		}
		if path, there = f.value(of); there {
			return "." + name + path, true
		}
	}
	_, there = f.next(at)
	return "", there
}

// member returns the name of a member of an object, and where it is.
func (s spot) member(key string) (name string, of spot) {
	if s.field != nil && s.field.IsMap() {
		return printable(key), spot{field: s.field.MapValue(), inner: true}
	}
	if s.message == nil {
		return printable(key), spot{}
	}
	field := s.message.Fields().ByJSONName(key)
	if field == nil {
		field = s.message.Fields().ByTextName(key)
	}
	switch {
	case field == nil:
		return printable(key), spot{parent: s.message}
	case field.IsMap():
		return string(field.Name()), spot{field: field}
	}
	return string(field.Name()), spot{message: field.Message(), field: field}
}

// bodyNames are the names in JSON of the fields of a message, which may be nil, and those of its
// parts with their paths. A list is a part if it is the first field: the call is about its
// elements.
func bodyNames(of protoreflect.MessageDescriptor) (names []string) {
	if of == nil {
		return nil
	}
	var parts []string // behind the fields, of which one that is as near is meant
	for i := range of.Fields().Len() {
		field := of.Fields().Get(i)
		name := field.JSONName()
		names = append(names, name)
		if field.Message() == nil || field.IsList() && i > 0 || field.IsMap() ||
			wantedByMessage[field.Message().FullName()] != "" {
			continue
		}
		if field.IsList() {
			name += "[0]"
		}
		for j := range field.Message().Fields().Len() {
			parts = append(parts, name+"."+field.Message().Fields().Get(j).JSONName())
		}
	}
	return append(names, parts...)
}

// wantedByKind is what a field of a kind takes.
var wantedByKind = map[protoreflect.Kind]string{
	protoreflect.StringKind: "a text in quotes",
	protoreflect.BytesKind:  "a text of base64 in quotes",
	protoreflect.BoolKind:   "true or false",
	protoreflect.FloatKind:  "a number", protoreflect.DoubleKind: "a number",
	protoreflect.Int32Kind:  "a whole number below 2147483648",
	protoreflect.Int64Kind:  "a whole number below 2^63",
	protoreflect.Uint32Kind: "a whole number from 0 on, below 4294967296",
	protoreflect.Uint64Kind: "a whole number from 0 on, below 2^64",
}

// wantedByMessage is what a field takes of a message that is a text in JSON.
var wantedByMessage = map[protoreflect.FullName]string{
	"google.protobuf.Timestamp": `a time such as "2026-01-31T09:30:00Z"`,
	"google.protobuf.Duration":  `a number of seconds such as "90s"`,
	"google.protobuf.FieldMask": `names with commas between them, such as "title,availableFrom"`,
}

// wanted is what may stand there. Requires a field.
func (s spot) wanted() string {
	switch {
	case s.field.IsList() && !s.inner:
		return "a list"
	case s.field.Enum() != nil:
		return valid.OneOf(s.field.Enum())
	case s.field.Message() == nil:
		return wantedByKind[s.field.Kind()]
	}
	return cmp.Or(wantedByMessage[s.field.Message().FullName()], "an object")
}
