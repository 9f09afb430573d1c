// Package sealed writes and reads safetensors files that hold a checksum of themselves, the SHA-256
// of the whole file with '0' in place of each of its own digits. It also brings files into memory.
package sealed

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/gsimc/gsimc/internal/file/safetensors"
)

const (
	checksumKey    = "checksum" // in the metadata
	checksumDigits = 2 * sha256.Size
	versionDigits  = 16
)

// checksumMark stands before the digits of the checksum in the header. It cannot stand anywhere
// else, because quotes inside a JSON string are escaped.
const checksumMark = `"` + checksumKey + `":"`

// Tensor is a named array. Data may be shared.
type Tensor struct {
	Name  string
	DType safetensors.DType
	Shape []int64
	Data  []byte
}

// Numbers returns a tensor that shares the memory of values. Without a shape it is a vector.
func Numbers[T safetensors.Number](name string, values []T, shape ...int64) Tensor {
	if len(shape) == 0 {
		shape = []int64{int64(len(values))}
	}
	return Tensor{name, safetensors.TypeOf[T](), shape, safetensors.Bytes(values)}
}

// Texts returns the tensors NAME_offsets and NAME_ids, see [safetensors.Reader.Strings].
func Texts(name string, texts []string) []Tensor {
	offsets, packed := make([]int64, 1, len(texts)+1), []byte(nil)
	for _, text := range texts {
		packed = append(packed, text...)
		offsets = append(offsets, int64(len(packed)))
	}
	return []Tensor{
		Numbers(name+"_offsets", offsets),
		{name + "_ids", safetensors.U8, []int64{int64(len(packed))}, packed},
	}
}

// Image is a file: the header, with its length and the checksum, then the tensors one after the
// other.
type Image struct {
	header  []byte
	tensors []Tensor
}

// LayOut makes a file of tensors and metadata, with each tensor at a multiple of alignment, a power
// of two. It computes the checksum, in time proportional to the size, and copies no tensor. It adds
// the checksum to meta.
func LayOut(meta map[string]string, ts []Tensor, alignment int) *Image {
	im := &Image{tensors: padded(ts, alignment)}
	im.header = headerBytes(meta, im.tensors, alignment)
	hash := sha256.New()
	if _, err := im.WriteTo(hash); err != nil {
		panic(err) // a hash does not fail
	}
	at := bytes.Index(im.header, []byte(checksumMark)) + len(checksumMark)
	hex.Encode(im.header[at:at+checksumDigits], hash.Sum(nil))
	return im
}

// Version is the start of the checksum.
func (im *Image) Version() string {
	at := bytes.Index(im.header, []byte(checksumMark)) + len(checksumMark)
	return string(im.header[at : at+versionDigits])
}

// Bytes returns the whole file.
func (im *Image) Bytes() []byte {
	parts := [][]byte{im.header}
	for _, t := range im.tensors {
		parts = append(parts, t.Data)
	}
	return bytes.Join(parts, nil)
}

// WriteTo writes the whole file.
func (im *Image) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(im.header)
	total := int64(n)
	for i := 0; i < len(im.tensors) && err == nil; i++ {
		n, err = w.Write(im.tensors[i].Data)
		total += int64(n)
	}
	return total, err
}

// padded inserts a tensor of zeros after each that does not end at a multiple of alignment. The
// last tensor stays without one.
func padded(ts []Tensor, alignment int) []Tensor {
	var out []Tensor
	pads := 0
	for i, t := range ts {
		out = append(out, t)
		if gap := -len(t.Data) & (alignment - 1); gap > 0 && i < len(ts)-1 {
			name := fmt.Sprintf("pad.%d", pads)
			out = append(out, Tensor{name, safetensors.U8, []int64{int64(gap)}, make([]byte, gap)})
			pads++
		}
	}
	return out
}

// headerBytes returns the bytes before the tensors, a multiple of alignment, with zeros for the
// digits of the checksum.
func headerBytes(meta map[string]string, ts []Tensor, alignment int) []byte {
	meta[checksumKey] = strings.Repeat("0", checksumDigits)
	b := bytes.NewBuffer(make([]byte, safetensors.LengthBytes))
	b.WriteString(`{"` + safetensors.MetaKey + `":`)
	b.Write(mustJSON(meta)) // a map is written in the order of its keys
	begin := int64(0)
	for _, t := range ts {
		end := begin + int64(len(t.Data))
		fmt.Fprintf(b, `,%s:`, mustJSON(t.Name))
		b.Write(mustJSON(safetensors.Info{
			DType: t.DType.Name, Shape: t.Shape, Offsets: []int64{begin, end},
		}))
		begin = end
	}
	b.WriteByte('}')
	for b.Len()%alignment != 0 {
		b.WriteByte(' ')
	}
	binary.LittleEndian.PutUint64(b.Bytes(), uint64(b.Len()-safetensors.LengthBytes))
	return b.Bytes()
}

// mustJSON encodes v, which must be made of strings and integers: their encoding does not fail.
func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
