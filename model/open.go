package model

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
)

// FileError is the error of a file that is no valid model. Reason names the problem and a remedy.
type FileError struct {
	Path   string
	Reason string
}

func (e *FileError) Error() string { return fmt.Sprintf("model file %s: %s", e.Path, e.Reason) }

// Remedies for a bad file.
const (
	adviceDamaged = "the file is cut off or damaged: copy it again or train a new model"
	adviceForeign = "this is a damaged file or not a gsimc model file: " +
		"give the file that `gsimc train` wrote, or copy it again"
)

// Open maps a model file into memory, read-only, and checks all of it: sizes, the checksum over
// every byte, and all numbers. A file that is not a whole and valid model gives a *FileError. Open
// checks the header before it allocates memory by it. A file that cannot be read gives the error of
// the operating system.
//
// Processes that open the same file share its memory. An open file may be replaced or removed, but
// not changed in place; see [Load].
func Open(path string) (*Model, error) { return open(path, mapData) }

// Load reads a model file into memory of its own and checks it as [Open] does. Nothing that happens
// to the file afterwards changes the model, and a change during Load gives a *FileError. So a model
// that serves for long is loaded.
func Load(path string) (*Model, error) { return open(path, copyData) }

// open brings the file into memory by read, mapData or copyData.
func open(path string, read func(f *os.File, size int) (mapping, error)) (*Model, error) {
	file, err := readFile(path, read)
	if err != nil {
		return nil, err
	}
	m, err := decode(file.data)
	if err != nil {
		if closeErr := file.close(); closeErr != nil {
			return nil, closeErr
		}
		return nil, &FileError{Path: path, Reason: err.Error()}
	}
	m.mapping = file
	return m, nil
}

// readFile brings a regular file into memory. Other files give a *FileError.
func readFile(path string, read func(f *os.File, size int) (mapping, error)) (mapping, error) {
	f, err := openFile(path)
	if err != nil {
		return mapping{}, err
	}
	defer f.Close() //nolint:errcheck // only read; the memory outlives the descriptor
	info, err := f.Stat()
	if err != nil {
		return mapping{}, err
	}
	if !info.Mode().IsRegular() {
		return mapping{}, &FileError{path,
			"not a regular file: give the file that `gsimc train` wrote"}
	}
	if info.Size() < lengthBytes || info.Size() > math.MaxInt {
		return mapping{}, &FileError{path, fmt.Sprintf("%d bytes long; %s",
			info.Size(), adviceDamaged)}
	}
	file, err := read(f, int(info.Size()))
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return mapping{}, &FileError{path, "became shorter while it was read; " + adviceDamaged}
	}
	return file, err
}

// decode builds a model from the bytes of a file. The model keeps using their memory.
func decode(data []byte) (*Model, error) {
	h, err := readHeader(data)
	if err != nil {
		return nil, err
	}
	switch format := h.meta[formatKey]; format {
	case formatVersion, formatWithoutLocal:
	case "":
		return nil, fmt.Errorf("the metadata have no %q; %s", formatKey, adviceForeign)
	default:
		return nil, fmt.Errorf("format version %q, but this program reads %q: "+
			"use the release that wrote it, or train again", format, formatVersion)
	}
	version, err := h.verify(data)
	if err != nil {
		return nil, err
	}
	m, err := h.model()
	if err != nil {
		// The checksum is right, so the file is not damaged: another program than WriteFile wrote
		// it.
		return nil, fmt.Errorf("%w; train a new model", err)
	}
	m.version = version
	return m, nil
}

// model puts a Model together from the tensors and metadata of a verified file.
func (h *header) model() (*Model, error) {
	spec, err := specOf(h.meta)
	if err != nil {
		return nil, err
	}
	n, k, err := h.dimensions()
	if err != nil {
		return nil, err
	}
	m := &Model{spec: spec, n: int(n), k: int(k)}
	r := &tensorReader{header: h}
	m.basis = viewOf[float32](r.read("basis", dtypeF32, n, k))
	m.kappa = viewOf[float64](r.read("eigenvalues", dtypeF64, k))
	m.lambda = viewOf[float64](r.read("lambda", dtypeF64, k))
	m.response = viewOf[float32](r.read("response", dtypeF32, k))
	m.degrees = viewOf[int64](r.read("degrees", dtypeI64, n))
	m.encoderScale = viewOf[float32](r.read("encoder_scale", dtypeF32, n))
	m.decoderScale = viewOf[float32](r.read("decoder_scale", dtypeF32, n))
	m.graphScale = viewOf[float64](r.read("graph_scale", dtypeF64, n))
	m.insideAtTraining = r.readNumber("inside_at_training")
	r.readTransition(m)
	r.readLocal(m)
	offsets := viewOf[int64](r.read("item_offsets", dtypeI64, n+1))
	packed := r.read("item_ids", dtypeU8, -1)
	if r.err != nil {
		return nil, r.err
	}
	if m.ids, err = unpackIDs(offsets, packed); err != nil {
		return nil, err
	}
	return m, m.finish()
}

// unpackIDs copies the packed ids into one new string and cuts it, so that no id points into the
// file.
func unpackIDs(offsets []int64, packed []byte) ([]string, error) {
	n := len(offsets) - 1
	if offsets[0] != 0 || offsets[n] != int64(len(packed)) {
		return nil, fmt.Errorf("item_offsets run from %d to %d, want 0 to the %d bytes of item_ids",
			offsets[0], offsets[n], len(packed))
	}
	for i := range n {
		if offsets[i] > offsets[i+1] {
			return nil, fmt.Errorf("item_offsets[%d] is %d, below the one before it",
				i+1, offsets[i+1])
		}
	}
	all := string(packed)
	ids := make([]string, n)
	for i := range ids {
		ids[i] = all[offsets[i]:offsets[i+1]]
	}
	return ids, nil
}

// tensorReader reads tensors. It keeps the first error and reads nothing after it.
type tensorReader struct {
	header *header
	err    error
}

// has reports whether there is a tensor of the name.
func (r *tensorReader) has(name string) bool {
	_, ok := r.header.tensors[name]
	return ok
}

// read returns the bytes of the named tensor, or nil after an error. The type and the shape must
// match; −1 in shape matches any dimension.
func (r *tensorReader) read(name string, want dtype, shape ...int64) []byte {
	if r.err != nil {
		return nil
	}
	t, ok := r.header.tensors[name]
	switch {
	case !ok:
		r.err = fmt.Errorf("there is no tensor %q", name)
	case t.DType != want.name:
		r.err = fmt.Errorf("tensor %q has type %s, want %s", name, t.DType, want.name)
	case !sameShape(t.Shape, shape):
		r.err = fmt.Errorf("tensor %q has shape %v, want %v", name, t.Shape, shape)
	default:
		return r.header.body[t.Offsets[0]:t.Offsets[1]]
	}
	return nil
}

// readNumber returns the number in a tensor of one float64, or 0 after an error.
func (r *tensorReader) readNumber(name string) float64 {
	if v := viewOf[float64](r.read(name, dtypeF64, 1)); len(v) == 1 {
		return v[0]
	}
	return 0
}

func sameShape(got, want []int64) bool {
	if len(got) != len(want) {
		return false
	}
	for i := range got {
		if got[i] != want[i] && want[i] != -1 {
			return false
		}
	}
	return true
}
