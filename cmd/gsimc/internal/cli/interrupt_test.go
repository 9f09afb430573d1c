package cli

import (
	"bytes"
	"context"
	"errors"
	"testing"
)

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
	if n, err := (interruptible{ctx, &whole}).Write(text); n != len(text) || err != nil ||
		!bytes.Equal(whole.Bytes(), text) {
		t.Errorf("wrote %d of %d bytes, error %v", n, len(text), err)
	}
	if n, err := (interruptible{ctx, &whole}).Write(nil); n != 0 || err != nil {
		t.Errorf("wrote %d bytes of nothing, error %v", n, err)
	}
	part := &endsDuring{end: cancel}
	if n, err := (interruptible{ctx, part}).Write(text); n != interruptStep || n != part.Len() ||
		!errors.Is(err, ErrInterrupted) {
		t.Errorf("wrote %d bytes, error %v, want %d and an interruption", n, err, interruptStep)
	}
}
