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
	"unsafe"
)

// Constants of the file format, see the package comment.
const (
	formatVersion = "4"
	// formatWithoutLocal is the older format that Open still reads.
	formatWithoutLocal = "3"
	pageSize           = 4096
	lengthBytes        = 8        // size of the header length, which stands before the header
	maxHeader          = 16 << 20 // bytes; the largest header that Open reads
	checksumDigits     = 2 * sha256.Size
	versionDigits      = 16

	metaKey     = "__metadata__"
	formatKey   = "gsimc.format"
	checksumKey = "checksum"
)

// checksumMark stands before the digits of the checksum in the header. It cannot stand anywhere
// else, because quotes inside a JSON string are escaped.
const checksumMark = `"` + checksumKey + `":"`

// dtype is a number format: its name in safetensors and its size in bytes.
type dtype struct {
	name string
	size int64
}

var (
	dtypeU8  = dtype{"U8", 1}
	dtypeF32 = dtype{"F32", 4}
	dtypeF64 = dtype{"F64", 8}
	dtypeI32 = dtype{"I32", 4}
	dtypeI64 = dtype{"I64", 8}
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
func newImage(m *Model) *image {
	im := &image{tensors: padded(m.tensors())}
	im.header = headerBytes(m.metadata(), im.tensors)
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
	ts := []tensor{{"basis", dtypeF32, []int64{n, k}, bytesOf(m.basis)}}
	ts = append(ts, m.transition.tensors(&m.table)...)
	ts = append(ts, m.localTensors()...)
	return append(ts,
		tensor{"eigenvalues", dtypeF64, []int64{k}, bytesOf(m.kappa)},
		tensor{"lambda", dtypeF64, []int64{k}, bytesOf(m.lambda)},
		tensor{"response", dtypeF32, []int64{k}, bytesOf(m.response)},
		tensor{"degrees", dtypeI64, []int64{n}, bytesOf(m.degrees)},
		tensor{"encoder_scale", dtypeF32, []int64{n}, bytesOf(m.encoderScale)},
		tensor{"decoder_scale", dtypeF32, []int64{n}, bytesOf(m.decoderScale)},
		tensor{"graph_scale", dtypeF64, []int64{n}, bytesOf(m.graphScale)},
		tensor{"inside_at_training", dtypeF64, []int64{1}, bytesOf([]float64{m.insideAtTraining})},
		tensor{"item_offsets", dtypeI64, []int64{n + 1}, bytesOf(offsets)},
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

// padded inserts a tensor of zeros after each tensor that does not end on a page boundary. The last
// tensor stays without one.
func padded(ts []tensor) []tensor {
	var out []tensor
	pads := 0
	for i, t := range ts {
		out = append(out, t)
		if gap := -len(t.data) & (pageSize - 1); gap > 0 && i < len(ts)-1 {
			name := fmt.Sprintf("pad.%d", pads)
			out = append(out, tensor{name, dtypeU8, []int64{int64(gap)}, make([]byte, gap)})
			pads++
		}
	}
	return out
}

// headerBytes returns the bytes before the tensors, with zeros for the digits of the checksum.
func headerBytes(meta map[string]string, ts []tensor) []byte {
	meta[checksumKey] = strings.Repeat("0", checksumDigits)
	b := bytes.NewBuffer(make([]byte, lengthBytes))
	b.WriteString(`{"` + metaKey + `":`)
	b.Write(mustJSON(meta)) // a map is written in the order of its keys
	begin := int64(0)
	for _, t := range ts {
		end := begin + int64(len(t.data))
		fmt.Fprintf(b, `,%s:`, mustJSON(t.name))
		b.Write(mustJSON(tensorInfo{t.dtype.name, t.shape, []int64{begin, end}}))
		begin = end
	}
	b.WriteByte('}')
	for b.Len()%pageSize != 0 {
		b.WriteByte(' ')
	}
	binary.LittleEndian.PutUint64(b.Bytes(), uint64(b.Len()-lengthBytes))
	return b.Bytes()
}

// tensorInfo describes a tensor in the header. The offsets count from the end of the header.
type tensorInfo struct {
	DType   string  `json:"dtype"`
	Shape   []int64 `json:"shape"`
	Offsets []int64 `json:"data_offsets"`
}

// mustJSON encodes v, which must be made of strings and integers: their encoding does not fail.
func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// number is the type of the elements of a tensor.
type number interface {
	~float32 | ~float64 | ~int32 | ~int64
}

// littleEndian reports whether this processor stores numbers in the byte order of the file. It is
// true on all platforms of the releases.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// bytesOf returns the memory of s.
func bytesOf[T number](s []T) []byte {
	if len(s) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&s[0])), len(s)*int(unsafe.Sizeof(s[0])))
}

// viewOf returns the numbers in b. It copies them only if b is not aligned; the tensors of a mapped
// file are.
func viewOf[T number](b []byte) []T {
	var zero T
	size := int(unsafe.Sizeof(zero))
	n := len(b) / size
	if n == 0 {
		return nil
	}
	if uintptr(unsafe.Pointer(&b[0]))%uintptr(size) != 0 {
		s := make([]T, n)
		copy(bytesOf(s), b)
		return s
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&b[0])), n)
}
