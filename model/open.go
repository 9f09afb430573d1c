package model

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"time"

	"github.com/gsimc/gsimc/internal/file/safetensors"
	"github.com/gsimc/gsimc/model/internal/sealed"
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
func Open(path string) (*Model, error) { return open(path, sealed.Map) }

// Load reads a model file into memory of its own and checks it as [Open] does. Nothing that happens
// to the file afterwards changes the model, and a change during Load gives a *FileError. So a model
// that serves for long is loaded.
func Load(path string) (*Model, error) { return open(path, sealed.Copy) }

// open brings the file into memory by read, sealed.Map or sealed.Copy.
func open(path string, read func(f *os.File, size int) (sealed.Memory, error)) (*Model, error) {
	file, err := readFile(path, read)
	if err != nil {
		return nil, err
	}
	m, err := decode(file.Data)
	if err != nil {
		if closeErr := file.Close(); closeErr != nil {
			return nil, closeErr
		}
		return nil, &FileError{Path: path, Reason: err.Error()}
	}
	m.memory = file
	return m, nil
}

// readFile brings a regular file into memory. Other files give a *FileError.
func readFile(
	path string, read func(f *os.File, size int) (sealed.Memory, error),
) (file sealed.Memory, err error) {
	f, err := sealed.OpenFile(path)
	if err != nil {
		return file, err
	}
	defer f.Close() //nolint:errcheck // only read; the memory outlives the descriptor
	info, err := f.Stat()
	if err != nil {
		return file, err
	}
	if !info.Mode().IsRegular() {
		return file, &FileError{path,
			"not a regular file: give the file that `gsimc train` wrote"}
	}
	if info.Size() < safetensors.LengthBytes || info.Size() > math.MaxInt {
		return file, &FileError{path, fmt.Sprintf("%d bytes long; %s",
			info.Size(), adviceDamaged)}
	}
	file, err = read(f, int(info.Size()))
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return file, &FileError{path, "became shorter while it was read; " + adviceDamaged}
	}
	return file, err
}

// decode builds a model from the bytes of a file. The model keeps using their memory.
func decode(data []byte) (*Model, error) {
	f, err := safetensors.Parse(data)
	if err != nil {
		return nil, advised(err)
	}
	switch format := f.Meta[formatKey]; format {
	case formatVersion, formatWithoutLocal:
	case "":
		return nil, fmt.Errorf("the metadata have no %q; %s", formatKey, adviceForeign)
	default:
		return nil, fmt.Errorf("format version %q, but this program reads %q: "+
			"use the release that wrote it, or train again", format, formatVersion)
	}
	version, err := sealed.Verify(f, data)
	if err != nil {
		return nil, advised(err)
	}
	m, err := modelOf(f)
	if err != nil {
		// The checksum is right, so the file is not damaged: another program than WriteFile wrote
		// it.
		return nil, fmt.Errorf("%w; train a new model", err)
	}
	m.version = version
	return m, nil
}

// advised adds a remedy to the error of bytes that are no whole file.
func advised(err error) error {
	advice := adviceDamaged
	if bad, ok := errors.AsType[*safetensors.Error](err); ok && bad.Foreign {
		advice = adviceForeign
	}
	return fmt.Errorf("%w; %s", err, advice)
}

// modelOf puts a Model together from the tensors and metadata of a verified file.
func modelOf(f *safetensors.File) (*Model, error) {
	spec, err := specOf(f.Meta)
	if err != nil {
		return nil, err
	}
	n, k, err := dimensions(f)
	if err != nil {
		return nil, err
	}
	m := &Model{spec: spec, n: int(n), k: int(k)}
	r := &safetensors.Reader{File: f}
	m.basis = safetensors.Array[float32](r, "basis", n, k)
	m.kappa = safetensors.Array[float64](r, "eigenvalues", k)
	m.lambda = safetensors.Array[float64](r, "lambda", k)
	m.response = safetensors.Array[float32](r, "response", k)
	m.degrees = safetensors.Array[int64](r, "degrees", n)
	m.encoderScale = safetensors.Array[float32](r, "encoder_scale", n)
	m.decoderScale = safetensors.Array[float32](r, "decoder_scale", n)
	m.graphScale = safetensors.Array[float64](r, "graph_scale", n)
	m.insideAtTraining = r.Number("inside_at_training")
	m.readTransition(r)
	m.readLocal(r)
	if m.ids = r.Strings("item", n); r.Err != nil {
		return nil, r.Err
	}
	return m, m.finish()
}

// dimensions takes n and k from the basis. The shapes of all other tensors are checked against
// them.
func dimensions(f *safetensors.File) (n, k int64, err error) {
	t, ok := f.Arrays["basis"]
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

// Head is what the header of a model file says of it.
type Head struct {
	// Version is what [Model.Version] is, if the file is whole.
	Version string
	// Trained is the time of the training, zero if the file does not say.
	Trained time.Time
}

// Newer reports whether h was trained after o. Of two that were trained in the same second the one
// of the larger version counts as newer, so that everybody finds the same one.
func (h Head) Newer(o Head) bool {
	if c := h.Trained.Compare(o.Trained); c != 0 {
		return c > 0
	}
	return h.Version > o.Version
}

// Stat reads the header of a model file and nothing else. A file without one gives a *FileError.
// The rest may be damaged all the same: [Open] and [Load] find that out.
func Stat(path string) (Head, error) { return stat(path, false) }

// StatWhole is [Stat], but a file that is not as long as its header says gives a *FileError too.
func StatWhole(path string) (Head, error) { return stat(path, true) }

func stat(path string, whole bool) (Head, error) {
	meta, version, err := sealed.ReadHead(path, whole)
	if _, bad := errors.AsType[*safetensors.Error](err); bad {
		return Head{}, &FileError{path, advised(err).Error()}
	}
	if err != nil {
		return Head{}, err
	}
	if meta[formatKey] == "" {
		return Head{}, &FileError{path, "the header is not that of a model; " + adviceForeign}
	}
	spec := Spec{Provenance: map[string]string{TrainedAtKey: meta[provenancePrefix+TrainedAtKey]}}
	at, _ := spec.TrainedAt()
	return Head{Version: version, Trained: at}, nil
}
