package httpjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/protobuf/proto"

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
			err := badBody(l.UnmarshalOptions.Unmarshal(text, m))
			if req, ok := v.(*pb.BatchUpsertItemsRequest); ok {
				return upserted(req, text, err)
			}
			return err
		}
		return badBody(l.Unmarshal(text, v))
	})
}

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

var (
	badValue     = regexp.MustCompile(`: invalid value for (\w+) field (\w+): `)
	unknownField = regexp.MustCompile(`: unknown field "([^"]+)"$`)
	place        = regexp.MustCompile(`^proto:\s+`)
)

// wantedByKind is what a field takes, by the kinds of which protojson tells.
var wantedByKind = map[string]string{
	"string": "a text in quotes",
	"bytes":  "a text of base64 in quotes",
	"bool":   "true or false",
	"enum":   "one of the names that /openapi.json has for it",
	"float":  "a number", "double": "a number",
	"int32": "a whole number", "int64": "a whole number",
	"uint32": "a whole number from 0 on", "uint64": "a whole number from 0 on",
}

// badBody words an error of protojson, which has no parts but its text. A nil error is none.
func badBody(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if m := badValue.FindStringSubmatch(text); m != nil && wantedByKind[m[1]] != "" {
		return &fault{snake(m[2]), "must be " + wantedByKind[m[1]]}
	}
	if m := unknownField.FindStringSubmatch(text); m != nil {
		return &fault{printable(m[1]), "is not a field of this call"}
	}
	return errors.New("the body is not that of this call: " + place.ReplaceAllString(text, ""))
}
