package train

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/internal/test/check"
)

// signalled is the content of a file during whose writing a SIGTERM comes.
type signalled struct{}

// WriteTo implements [io.WriterTo]. It writes until that fails.
func (signalled) WriteTo(w io.Writer) (written int64, err error) {
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		return 0, err
	}
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(
		time.Millisecond) {
		n, err := w.Write(make([]byte, 1000))
		written += int64(n)
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

// A signal that comes while the model file is written leaves neither a temporary file nor half a
// model.
func TestWriteModelInterrupted(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "model.gsimc")
	check.Must(t, os.WriteFile(path, []byte("old"), 0o600))
	check.Fails(t, writeModel(path, signalled{}), cli.ErrInterrupted, "writing")
	check.Same(t, 1, len(check.Get(os.ReadDir(dir))(t)), "files of the folder")
	check.Same(t, "old", string(check.Get(os.ReadFile(path))(t)), "the old model")
}
