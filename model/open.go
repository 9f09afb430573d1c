package model

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/gsimc/gsimc/internal/file/safetensors"
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
	if info.Size() < safetensors.LengthBytes || info.Size() > math.MaxInt {
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
	switch format := h.Meta[formatKey]; format {
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
	spec, err := specOf(h.Meta)
	if err != nil {
		return nil, err
	}
	n, k, err := h.dimensions()
	if err != nil {
		return nil, err
	}
	m := &Model{spec: spec, n: int(n), k: int(k)}
	r := &tensorReader{safetensors.Reader{File: h.File}}
	m.basis = safetensors.View[float32](r.Read("basis", dtypeF32, n, k))
	m.kappa = safetensors.View[float64](r.Read("eigenvalues", dtypeF64, k))
	m.lambda = safetensors.View[float64](r.Read("lambda", dtypeF64, k))
	m.response = safetensors.View[float32](r.Read("response", dtypeF32, k))
	m.degrees = safetensors.View[int64](r.Read("degrees", dtypeI64, n))
	m.encoderScale = safetensors.View[float32](r.Read("encoder_scale", dtypeF32, n))
	m.decoderScale = safetensors.View[float32](r.Read("decoder_scale", dtypeF32, n))
	m.graphScale = safetensors.View[float64](r.Read("graph_scale", dtypeF64, n))
	m.insideAtTraining = r.Number("inside_at_training")
	r.readTransition(m)
	r.readLocal(m)
	if m.ids = r.Strings("item", n); r.Err != nil {
		return nil, r.Err
	}
	return m, m.finish()
}

// tensorReader reads the tensors of a file.
type tensorReader struct{ safetensors.Reader }
