package model

import (
	"errors"
	"time"

	"github.com/gsimc/gsimc/internal/file/safetensors"
	"github.com/gsimc/gsimc/model/internal/sealed"
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
	meta, version, err := sealed.ReadHead(path)
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
