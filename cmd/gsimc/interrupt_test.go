package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// signalled is the content of a file during whose writing a SIGTERM comes.
type signalled struct{}

// WriteTo implements [io.WriterTo]. It writes until that fails.
func (signalled) WriteTo(w io.Writer) (written int64, err error) {
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		return 0, err
	}
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		n, err := w.Write(make([]byte, 1000))
		written += int64(n)
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

// A signal that comes while the model file is written leaves neither a temporary file nor half a model.
func TestWriteModelInterrupted(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "model.gsimc")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writeModel(path, signalled{}); !errors.Is(err, errInterrupted) {
		t.Errorf("error %v, want that it was interrupted", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("the folder holds %v (%v), want the old model alone", entries, err)
	}
	if old, err := os.ReadFile(path); err != nil || string(old) != "old" {
		t.Errorf("the old model is %q, %v", old, err)
	}
}

// endsDuring ends a context at the first write.
type endsDuring struct {
	bytes.Buffer
	end context.CancelFunc
}

func (w *endsDuring) Write(p []byte) (int, error) {
	defer w.end()
	return w.Buffer.Write(p)
}

// What comes in one large piece is not written to its end.
func TestInterruptibleWrite(t *testing.T) {
	text := bytes.Repeat([]byte("0123456789"), interruptStep/4)
	ctx, cancel := context.WithCancel(context.Background())
	var whole bytes.Buffer
	if n, err := (interruptible{ctx, &whole}).Write(text); n != len(text) || err != nil || !bytes.Equal(whole.Bytes(), text) {
		t.Errorf("wrote %d of %d bytes, error %v", n, len(text), err)
	}
	if n, err := (interruptible{ctx, &whole}).Write(nil); n != 0 || err != nil {
		t.Errorf("wrote %d bytes of nothing, error %v", n, err)
	}
	part := &endsDuring{end: cancel}
	if n, err := (interruptible{ctx, part}).Write(text); n != interruptStep || n != part.Len() || !errors.Is(err, errInterrupted) {
		t.Errorf("wrote %d bytes, error %v, want %d and an interruption", n, err, interruptStep)
	}
}
