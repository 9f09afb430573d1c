package model

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
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

// header is the header of a file and the tensors behind it. [readHeader] has checked that the
// header describes exactly the bytes of the tensors.
type header struct {
	meta    map[string]string
	tensors map[string]tensorInfo
	body    []byte // the tensors
	json    []byte
}

// readHeader parses the header of a safetensors file and checks it against the length of the file.
// Its memory is bounded by the length of the header, and the header is not longer than the file.
func readHeader(data []byte) (*header, error) {
	if len(data) < lengthBytes {
		return nil, fmt.Errorf("%d bytes long; %s", len(data), adviceDamaged)
	}
	length := binary.LittleEndian.Uint64(data)
	rest := uint64(len(data) - lengthBytes)
	switch {
	case rest > 0 && data[lengthBytes] != '{':
		return nil, errors.New("there is no header; " + adviceForeign)
	case length > rest:
		return nil, fmt.Errorf("the header claims %d bytes, but only %d follow; %s",
			length, rest, adviceDamaged)
	case length > maxHeader:
		return nil, fmt.Errorf("the header claims %d bytes, more than the %d of any model; %s",
			length, maxHeader, adviceForeign)
	}
	h := &header{
		json:    data[lengthBytes : lengthBytes+length],
		body:    data[lengthBytes+length:],
		tensors: map[string]tensorInfo{},
	}
	if err := h.parse(); err != nil {
		return nil, fmt.Errorf("the header is not that of a safetensors file (%s); %s",
			shown(err), adviceForeign)
	}
	if err := h.checkLayout(); err != nil {
		return nil, fmt.Errorf("%w; %s", err, adviceDamaged)
	}
	return h, nil
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
func (h *header) parse() error {
	d := json.NewDecoder(bytes.NewReader(h.json))
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
		if err := h.parseEntry(d, name); err != nil {
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

func (h *header) parseEntry(d *json.Decoder, name string) error {
	if name == metaKey {
		if h.meta != nil {
			return fmt.Errorf("%s comes twice", metaKey)
		}
		h.meta = map[string]string{}
		return d.Decode(&h.meta)
	}
	if _, twice := h.tensors[name]; twice {
		return fmt.Errorf("tensor %q comes twice", name)
	}
	var t tensorInfo
	if err := d.Decode(&t); err != nil {
		return fmt.Errorf("tensor %q: %w", name, err)
	}
	h.tensors[name] = t
	return nil
}

// checkLayout checks that each tensor has the size of its shape, and that the tensors fill the body
// without overlaps and holes.
func (h *header) checkLayout() error {
	// The size is compared first: the error of a truncated file should name the truncation, not a
	// tensor.
	described := int64(0)
	for _, t := range h.tensors {
		for _, at := range t.Offsets {
			described = max(described, at)
		}
	}
	if described != int64(len(h.body)) {
		head := uint64(lengthBytes + len(h.json))
		return fmt.Errorf("the file has %d bytes, but its header describes %d",
			head+uint64(len(h.body)), head+uint64(described))
	}
	names := slices.SortedFunc(maps.Keys(h.tensors), func(a, b string) int {
		if c := slices.Compare(h.tensors[a].Offsets, h.tensors[b].Offsets); c != 0 {
			return c
		}
		return strings.Compare(a, b)
	})
	end := int64(0)
	for _, name := range names {
		t := h.tensors[name]
		if err := t.check(int64(len(h.body))); err != nil {
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

// dtypes are the number formats of model files. A file with another format is not a model.
var dtypes = []dtype{dtypeU8, dtypeF32, dtypeF64, dtypeI32, dtypeI64}

// check checks the offsets of a tensor against the size of the body, and its shape against the
// offsets. No number in the header makes the arithmetic overflow.
func (t *tensorInfo) check(bodySize int64) error {
	i := slices.IndexFunc(dtypes, func(d dtype) bool { return d.name == t.DType })
	if i < 0 {
		return fmt.Errorf("has type %+q, which no model has", t.DType)
	}
	if len(t.Offsets) != 2 || t.Offsets[0] < 0 || t.Offsets[1] < t.Offsets[0] ||
		t.Offsets[1] > bodySize {
		return fmt.Errorf("has the offsets %v, want two within the %d bytes of the file",
			t.Offsets, bodySize)
	}
	size := dtypes[i].size
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

// dimensions takes n and k from the basis. The shapes of all other tensors are checked against
// them.
func (h *header) dimensions() (n, k int64, err error) {
	t, ok := h.tensors["basis"]
	if !ok || len(t.Shape) != 2 {
		return 0, 0, errors.New(`there is no matrix "basis"`)
	}
	n, k = t.Shape[0], t.Shape[1]
	if k < 1 || k > n || n > math.MaxInt32 {
		return 0, 0, fmt.Errorf("the basis has %d items and rank %d, want 1 ≤ rank ≤ items ≤ %d",
			n, k, math.MaxInt32)
	}
	return n, k, nil
}

// verify compares the checksum in the header with the checksum of the file. It returns the version,
// the start of the checksum.
func (h *header) verify(data []byte) (version string, err error) {
	if bytes.Count(h.json, []byte(checksumMark)) != 1 {
		return "", errors.New("the header has no checksum; " + adviceForeign)
	}
	at := lengthBytes + bytes.Index(h.json, []byte(checksumMark)) + len(checksumMark)
	end := at + checksumDigits
	if end > len(data)-len(h.body) {
		return "", errors.New("the checksum is cut short; " + adviceDamaged)
	}
	hash := sha256.New()
	hash.Write(data[:at])
	hash.Write(bytes.Repeat([]byte{'0'}, checksumDigits))
	hash.Write(data[end:])
	if want := hex.EncodeToString(hash.Sum(nil)); string(data[at:end]) != want {
		return "", errors.New("the checksum does not match; " + adviceDamaged)
	}
	return string(data[at : at+versionDigits]), nil
}
