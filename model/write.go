package model

import (
	"errors"
	"fmt"
	"io"

	"github.com/gsimc/gsimc/internal/file/atomicfile"
	"github.com/gsimc/gsimc/model/internal/sealed"
)

// Constants of the file format, see the package comment.
const (
	formatVersion = "4"
	// formatWithoutLocal is the older format that Open still reads.
	formatWithoutLocal = "3"
	pageSize           = 4096

	formatKey = "gsimc.format"
)

// image lays the file out.
func (m *Model) image() *sealed.Image { return sealed.LayOut(m.metadata(), m.tensors(), pageSize) }

// WriteTo implements [io.WriterTo]: it writes the model as a file, see the package comment.
func (m *Model) WriteTo(w io.Writer) (int64, error) { return m.image().WriteTo(w) }

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

// tensors lists the arrays in the order of the file.
func (m *Model) tensors() []sealed.Tensor {
	n, k := int64(m.n), int64(m.k)
	ts := []sealed.Tensor{sealed.Numbers("basis", m.basis, n, k)}
	ts = append(ts, m.transition.tensors(&m.table)...)
	ts = append(ts, m.localTensors()...)
	ts = append(ts,
		sealed.Numbers("eigenvalues", m.kappa, k),
		sealed.Numbers("lambda", m.lambda, k),
		sealed.Numbers("response", m.response, k),
		sealed.Numbers("degrees", m.degrees, n),
		sealed.Numbers("encoder_scale", m.encoderScale, n),
		sealed.Numbers("decoder_scale", m.WithoutTrends().decoderScale, n),
		sealed.Numbers("graph_scale", m.graphScale, n),
		sealed.Numbers("inside_at_training", []float64{m.insideAtTraining}, 1))
	return append(ts, sealed.Texts("item", m.ids)...)
}
