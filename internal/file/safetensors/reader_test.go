package safetensors

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gsimc/gsimc/internal/test/check"
)

// fileOf returns a file of a header and a body.
func fileOf(header string, body []byte) []byte {
	data := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(data, header...), body...)
}

const twoNames = `{"__metadata__":{"a":"b"},` +
	`"item_offsets":{"dtype":"I64","shape":[3],"data_offsets":[0,24]},` +
	`"item_ids":{"dtype":"U8","shape":[4],"data_offsets":[24,28]}}`

func TestStrings(t *testing.T) {
	for _, c := range []struct {
		name    string
		offsets []int64
		n       int64
		want    []string
		err     string
	}{
		{"two", []int64{0, 1, 4}, 2, []string{"x", "yzw"}, ""},
		{"an empty one", []int64{0, 0, 4}, 2, []string{"", "xyz"}, ""},
		{"falling", []int64{0, 5, 4}, 2, nil, "item_offsets[2] is 4, below the one before it"},
		{"too short", []int64{0, 1, 3}, 2, nil, "item_offsets run from 0 to 3, want 0 to the 4"},
		{"too late", []int64{1, 2, 4}, 2, nil, "item_offsets run from 1 to 4"},
		{"another number", []int64{0, 1, 4}, 3, nil, `"item_offsets" has shape [3], want [4]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := "xyzw"
			if c.name == "an empty one" {
				text, c.want[1] = "wxyz", "wxyz"
			}
			f := check.Get(Parse(fileOf(twoNames, append(Bytes(c.offsets), text...))))(t)
			r := &Reader{File: f}
			got := r.Strings("item", c.n)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if c.err == "" && r.Err != nil || c.err != "" &&
				(r.Err == nil || !strings.Contains(r.Err.Error(), c.err)) {
				t.Errorf("error %v, want one with %q", r.Err, c.err)
			}
			if r.Err != nil && (r.Number("item_ids") != 0 || r.Read("item_ids", U8, -1) != nil) {
				t.Error("a reader reads on after an error")
			}
		})
	}
}

// TestView: arrays that do not begin at a multiple of their element's size are copied.
func TestView(t *testing.T) {
	want := []float64{1, 2.5, -3}
	for shift := range 8 {
		raw := append(make([]byte, shift), Bytes(want)...)
		check.Same(t, want, View[float64](raw[shift:]), "shifted by %d", shift)
	}
	if View[float32](nil) != nil || Bytes[int32](nil) != nil {
		t.Error("nothing is not nothing")
	}
}

// TestErrorsTellForeignFiles: the tests of package model have the damaged ones.
func TestErrorsTellForeignFiles(t *testing.T) {
	for data, foreign := range map[string]bool{
		"":                             false,
		"PK\x03\x04\x00\x00\x00\x00":   false, // the length of a header alone
		"user_id,item_id\n":            true,
		string(fileOf(`{"x":1}`, nil)): true,
		string(fileOf(twoNames, nil)):  false,
	} {
		_, err := Parse([]byte(data))
		bad, ok := err.(*Error) //nolint:errorlint // the type that is documented
		if !ok || bad.Foreign != foreign {
			t.Errorf("%q: %v, want foreign %t", data, err, foreign)
		}
	}
}
