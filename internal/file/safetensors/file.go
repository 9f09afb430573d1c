// Package safetensors reads files of named arrays in the format of
// https://github.com/huggingface/safetensors, and checks them before it allocates memory by what
// they say of themselves.
//
// # Conventions
//
// A file is the length of a header (8 bytes, little-endian), the header, a JSON object, and the
// arrays one after the other without holes. Numbers are little-endian, arrays are row-major. An
// array is read without a copy, and shares memory with the file.
package safetensors

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Constants of the format.
const (
	LengthBytes = 8        // size of the header length, which stands before the header
	MaxHeader   = 16 << 20 // bytes; the largest header that Parse reads

	MetaKey = "__metadata__" // entry of the header that holds texts instead of an array
)

// DType is a number format: its name and its size in bytes.
type DType struct {
	Name string
	Size int64
}

// The number formats that are read. A file with another one is refused.
var (
	U8  = DType{"U8", 1}
	F32 = DType{"F32", 4}
	F64 = DType{"F64", 8}
	I32 = DType{"I32", 4}
	I64 = DType{"I64", 8}

	dtypes = []DType{U8, F32, F64, I32, I64}
)

// Info describes an array in the header. The offsets count from the end of the header.
type Info struct {
	DType   string  `json:"dtype"`
	Shape   []int64 `json:"shape"`
	Offsets []int64 `json:"data_offsets"`
}

// File is a parsed file. [Parse] has checked that the header describes exactly the bytes of the
// arrays.
type File struct {
	Meta   map[string]string // nil if the file has none
	Arrays map[string]Info
	Body   []byte // the arrays
	JSON   []byte // the header
}

// Error is why bytes are no file of this format.
type Error struct {
	Reason string

	// Foreign tells that the bytes do not look like such a file at all. Otherwise they look like
	// one that is cut off or damaged.
	Foreign bool
}

// Error implements error.
func (e *Error) Error() string { return e.Reason }

func damaged(format string, args ...any) error {
	return &Error{Reason: fmt.Sprintf(format, args...)}
}

func foreign(format string, args ...any) error {
	return &Error{Reason: fmt.Sprintf(format, args...), Foreign: true}
}

// Parse parses the header and checks it against the length of the file. Its memory is bounded by
// the length of the header, and the header is not longer than the file. The error is an *[Error].
func Parse(data []byte) (*File, error) {
	if len(data) <= LengthBytes {
		return nil, damaged("%d bytes long", len(data))
	}
	length := binary.LittleEndian.Uint64(data)
	rest := uint64(len(data) - LengthBytes)
	switch {
	case data[LengthBytes] != '{':
		return nil, foreign("there is no header")
	case length > rest:
		return nil, damaged("the header claims %d bytes, but only %d follow", length, rest)
	case length > MaxHeader:
		return nil, foreign("the header claims %d bytes, more than %d", length, MaxHeader)
	}
	f, err := ParseHeader(data[LengthBytes:LengthBytes+length], int64(rest-length))
	if err != nil {
		return nil, err
	}
	f.Body = data[LengthBytes+length:]
	return f, nil
}

// ParseHeader parses a header alone and checks it against the length of the body behind it, which
// the result lacks. The error is an *[Error].
func ParseHeader(header []byte, bodySize int64) (*File, error) {
	f := &File{JSON: header, Arrays: map[string]Info{}}
	if err := f.parse(); err != nil {
		return nil, foreign("the header is not that of a safetensors file (%s)", shown(err))
	}
	if err := f.checkLayout(bodySize); err != nil {
		return nil, damaged("%s", err)
	}
	return f, nil
}

// shown returns the text of an error that may quote damaged bytes. Question marks replace the
// characters that cannot be printed.
func shown(err error) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !strconv.IsPrint(r) {
			return '?'
		}
		return r
	}, err.Error())
}

// parse reads the JSON object. Unlike json.Unmarshal it refuses a repeated name.
func (f *File) parse() error {
	d := json.NewDecoder(bytes.NewReader(f.JSON))
	d.DisallowUnknownFields()
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return errors.New("want one JSON object")
	}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string) // a key: the decoder takes nothing else here
		if err := f.parseEntry(d, name); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the JSON object")
	}
	return nil
}

func (f *File) parseEntry(d *json.Decoder, name string) error {
	if name == MetaKey {
		if f.Meta != nil {
			return fmt.Errorf("%s comes twice", MetaKey)
		}
		f.Meta = map[string]string{}
		return d.Decode(&f.Meta)
	}
	if _, twice := f.Arrays[name]; twice {
		return fmt.Errorf("tensor %q comes twice", name)
	}
	var t Info
	if err := d.Decode(&t); err != nil {
		return fmt.Errorf("tensor %q: %w", name, err)
	}
	f.Arrays[name] = t
	return nil
}

// checkLayout checks that each array has the size of its shape, and that the arrays fill the body
// without overlaps and holes.
func (f *File) checkLayout(bodySize int64) error {
	// The size is compared first: the error of a truncated file should name the truncation, not an
	// array.
	described := int64(0)
	for _, t := range f.Arrays {
		for _, at := range t.Offsets {
			described = max(described, at)
		}
	}
	if described != bodySize {
		head := uint64(LengthBytes + len(f.JSON))
		return fmt.Errorf("the file has %d bytes, but its header describes %d",
			head+uint64(bodySize), head+uint64(described))
	}
	end := int64(0)
	for _, name := range f.names() {
		t := f.Arrays[name]
		if err := t.check(bodySize); err != nil {
			return fmt.Errorf("tensor %q %w", name, err)
		}
		if t.Offsets[0] != end {
			return fmt.Errorf("tensor %q begins at byte %d, but the one before it ends at %d",
				name, t.Offsets[0], end)
		}
		end = t.Offsets[1]
	}
	return nil // the last one ends at the largest of all offsets, which is the end of the body
}

// names returns the names of the arrays in the order of the file.
func (f *File) names() []string {
	return slices.SortedFunc(maps.Keys(f.Arrays), func(a, b string) int {
		return cmp.Or(slices.Compare(f.Arrays[a].Offsets, f.Arrays[b].Offsets), cmp.Compare(a, b))
	})
}

// check checks the offsets of an array against the size of the body, and its shape against the
// offsets. No number in the header makes the arithmetic overflow.
func (t *Info) check(bodySize int64) error {
	i := slices.IndexFunc(dtypes, func(d DType) bool { return d.Name == t.DType })
	if i < 0 {
		return fmt.Errorf("has type %+q, which no such file has", t.DType)
	}
	if len(t.Offsets) != 2 || t.Offsets[0] < 0 || t.Offsets[1] < t.Offsets[0] ||
		t.Offsets[1] > bodySize {
		return fmt.Errorf("has the offsets %v, want two within the %d bytes of the file",
			t.Offsets, bodySize)
	}
	size := dtypes[i].Size
	for _, d := range t.Shape {
		if d < 0 || (d > 0 && size > math.MaxInt64/d) {
			return fmt.Errorf("has the shape %v, which is no size", t.Shape)
		}
		size *= d
	}
	if size != t.Offsets[1]-t.Offsets[0] {
		return fmt.Errorf("has %d bytes for the shape %v of %s",
			t.Offsets[1]-t.Offsets[0], t.Shape, t.DType)
	}
	return nil
}
