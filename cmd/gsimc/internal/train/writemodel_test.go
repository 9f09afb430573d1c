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
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("the folder holds %v (%v), want the old model alone", entries, err)
	}
	if old, err := os.ReadFile(path); err != nil || string(old) != "old" {
		t.Errorf("the old model is %q, %v", old, err)
	}
}
