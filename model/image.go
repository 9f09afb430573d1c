package model

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

// Constants of the file format, see the package comment.
const (
	formatVersion = "4"
	// formatWithoutLocal is the older format that Open still reads.
	formatWithoutLocal = "3"
	pageSize           = 4096
	checksumDigits     = 2 * sha256.Size
	versionDigits      = 16

	formatKey   = "gsimc.format"
	checksumKey = "checksum"
)

// checksumMark stands before the digits of the checksum in the header. It cannot stand anywhere
// else, because quotes inside a JSON string are escaped.
const checksumMark = `"` + checksumKey + `":"`

// The number formats of model files.
type dtype = safetensors.DType

var (
	dtypeU8  = safetensors.U8
	dtypeF32 = safetensors.F32
	dtypeF64 = safetensors.F64
	dtypeI32 = safetensors.I32
	dtypeI64 = safetensors.I64
)

// tensor is a named array of the file. data shares memory with the model.
type tensor struct {
	name  string
	dtype dtype
	shape []int64
	data  []byte
}

// image is a model in the form of its file: the header, with its length and the checksum, then the
// tensors one after the other.
type image struct {
	header  []byte
	tensors []tensor
}

// newImage lays the file out and computes the checksum, in time proportional to the size of the
// file. It copies no tensor that m has in memory.
func newImage(m *Model) *image { return layOut(m.metadata(), m.tensors(), pageSize) }

// layOut is newImage of tensors with these metadata, each at a multiple of alignment in the file.
func layOut(meta map[string]string, ts []tensor, alignment int) *image {
	im := &image{tensors: padded(ts, alignment)}
	im.header = headerBytes(meta, im.tensors, alignment)
	hash := sha256.New()
	if _, err := im.WriteTo(hash); err != nil {
		panic(err) // a hash does not fail
	}
	at := bytes.Index(im.header, []byte(checksumMark)) + len(checksumMark)
	hex.Encode(im.header[at:at+checksumDigits], hash.Sum(nil))
	return im
}

// version is the start of the checksum.
func (im *image) version() string {
	at := bytes.Index(im.header, []byte(checksumMark)) + len(checksumMark)
	return string(im.header[at : at+versionDigits])
}

// WriteTo writes the whole file.
func (im *image) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(im.header)
	total := int64(n)
	for i := 0; i < len(im.tensors) && err == nil; i++ {
		n, err = w.Write(im.tensors[i].data)
		total += int64(n)
	}
	return total, err
}

// tensors lists the arrays in the order of the file.
func (m *Model) tensors() []tensor {
	n, k := int64(m.n), int64(m.k)
	offsets, ids := packIDs(m.ids)
	ts := []tensor{{"basis", dtypeF32, []int64{n, k}, safetensors.Bytes(m.basis)}}
	ts = append(ts, m.transition.tensors(&m.table)...)
	ts = append(ts, m.localTensors()...)
	return append(ts,
		tensor{"eigenvalues", dtypeF64, []int64{k}, safetensors.Bytes(m.kappa)},
		tensor{"lambda", dtypeF64, []int64{k}, safetensors.Bytes(m.lambda)},
		tensor{"response", dtypeF32, []int64{k}, safetensors.Bytes(m.response)},
		tensor{"degrees", dtypeI64, []int64{n}, safetensors.Bytes(m.degrees)},
		tensor{"encoder_scale", dtypeF32, []int64{n}, safetensors.Bytes(m.encoderScale)},
		tensor{"decoder_scale", dtypeF32, []int64{n}, safetensors.Bytes(m.decoderScale)},
		tensor{"graph_scale", dtypeF64, []int64{n}, safetensors.Bytes(m.graphScale)},
		tensor{
			"inside_at_training", dtypeF64, []int64{1},
			safetensors.Bytes([]float64{m.insideAtTraining}),
		},
		tensor{"item_offsets", dtypeI64, []int64{n + 1}, safetensors.Bytes(offsets)},
		tensor{"item_ids", dtypeU8, []int64{int64(len(ids))}, ids})
}

// packIDs concatenates the ids. Id i is packed[offsets[i]:offsets[i+1]].
func packIDs(ids []string) (offsets []int64, packed []byte) {
	offsets = make([]int64, 1, len(ids)+1)
	for _, id := range ids {
		packed = append(packed, id...)
		offsets = append(offsets, int64(len(packed)))
	}
	return offsets, packed
}

// padded inserts a tensor of zeros after each that does not end at a multiple of alignment, a
// power of two. The last tensor stays without one.
func padded(ts []tensor, alignment int) []tensor {
	var out []tensor
	pads := 0
	for i, t := range ts {
		out = append(out, t)
		if gap := -len(t.data) & (alignment - 1); gap > 0 && i < len(ts)-1 {
			name := fmt.Sprintf("pad.%d", pads)
			out = append(out, tensor{name, dtypeU8, []int64{int64(gap)}, make([]byte, gap)})
			pads++
		}
	}
	return out
}

// headerBytes returns the bytes before the tensors, a multiple of alignment, with zeros for the
// digits of the checksum.
func headerBytes(meta map[string]string, ts []tensor, alignment int) []byte {
	meta[checksumKey] = strings.Repeat("0", checksumDigits)
	b := bytes.NewBuffer(make([]byte, safetensors.LengthBytes))
	b.WriteString(`{"` + safetensors.MetaKey + `":`)
	b.Write(mustJSON(meta)) // a map is written in the order of its keys
	begin := int64(0)
	for _, t := range ts {
		end := begin + int64(len(t.data))
		fmt.Fprintf(b, `,%s:`, mustJSON(t.name))
		b.Write(mustJSON(safetensors.Info{
			DType: t.dtype.Name, Shape: t.shape, Offsets: []int64{begin, end},
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
