package retrain

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/gsimc/gsimc/learn/train"
)

// killDelay is the time from the signal that ends a training to its death.
const killDelay = 5 * time.Second

// train runs a training on a checkpoint of the store and returns its summary. The error is a
// *train.TooFewError if the training says so. The first model is like no other.
func (l *Loop) train(ctx context.Context, first bool) (got train.Summary, err error) {
	dir, err := l.cfg.Store.Checkpoint(ctx)
	if err != nil {
		return got, err
	}
	// The copy goes even if the server is on its way out.
	defer func() {
		err = errors.Join(err, l.cfg.Store.RemoveCheckpoint(context.WithoutCancel(ctx), dir))
	}()
	t := Training{Checkpoint: filepath.Join(l.cfg.DataDir, dir), Like: l.model, Out: l.fresh()}
	if first {
		t.Like = ""
	}
	cmd := l.cfg.Command(ctx, t)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = killDelay
	ended := runInBackground(cmd)
	unread := json.Unmarshal(stdout.Bytes(), &got)
	switch {
	case unread == nil && got.TooFew != nil:
		return got, got.TooFew
	case unread == nil && got.Failure != "":
		return got, errors.New(got.Failure)
	case ended != nil:
		return got, fmt.Errorf("the training ended early: %w: %s", ended, lastLine(stderr.String()))
	case unread != nil:
		return got, fmt.Errorf("the summary of the training cannot be read: %w", unread)
	}
	return got, nil
}

// lastLine returns the last line that is not empty.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}
