package model

import (
	"errors"
	"fmt"
	"io"

	"github.com/gsimc/gsimc/internal/file/atomicfile"
)

// WriteTo implements [io.WriterTo]: it writes the model as a file, see the package comment.
func (m *Model) WriteTo(w io.Writer) (int64, error) { return newImage(m).WriteTo(w) }

// WriteFile writes the model to path so that a reader finds either what was there before or the
// whole new file, after a crash too: a temporary file in the same directory is written, synced and
// renamed, and the directory synced. The temporary file is removed if anything fails.
//
// A file that is open as a model must be replaced in this way, never rewritten in place: it is
// mapped into memory.
func (m *Model) WriteFile(path string) error {
	if err := m.writeFile(path); err != nil {
		return fmt.Errorf("write model file %s: %w", path, err)
	}
	return nil
}

func (m *Model) writeFile(path string) error {
	f, err := atomicfile.Create(path)
	if err != nil {
		return err
	}
	if _, err := m.WriteTo(f); err != nil {
		return errors.Join(err, f.Abort())
	}
	return f.Close()
}
