package model

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/gsimc/gsimc/internal/file/safetensors"
)

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
func Stat(path string) (Head, error) {
	meta, err := readMeta(path)
	if _, bad := errors.AsType[*badFile](err); bad {
		return Head{}, &FileError{path, err.Error()}
	}
	if err != nil {
		return Head{}, err
	}
	version := meta[checksumKey]
	if len(version) != checksumDigits || meta[formatKey] == "" {
		return Head{}, &FileError{path, (&badFile{errors.New("the header is not that of a model"),
			adviceForeign}).Error()}
	}
	spec := Spec{Provenance: map[string]string{TrainedAtKey: meta[provenancePrefix+TrainedAtKey]}}
	at, _ := spec.TrainedAt()
	return Head{Version: version[:versionDigits], Trained: at}, nil
}

// readMeta reads the metadata in the header of a file.
func readMeta(path string) (map[string]string, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &badFile{errors.New("not a regular file"), adviceForeign}
	}
	var length [safetensors.LengthBytes]byte
	if _, err := io.ReadFull(f, length[:]); err != nil {
		return nil, &badFile{fmt.Errorf("%d bytes long", info.Size()), adviceDamaged}
	}
	n := binary.LittleEndian.Uint64(length[:])
	if n > safetensors.MaxHeader || n > uint64(info.Size()) {
		return nil, &badFile{fmt.Errorf("the header claims %d bytes", n), adviceForeign}
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(f, text); err != nil {
		return nil, &badFile{errors.New("the header is cut short"), adviceDamaged}
	}
	var header struct {
		Meta map[string]string `json:"__metadata__"`
	}
	if err := json.Unmarshal(text, &header); err != nil {
		return nil, &badFile{errors.New("the header cannot be read"), adviceForeign}
	}
	return header.Meta, nil
}
