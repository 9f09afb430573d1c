package letters

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/gsimc/gsimc/internal/file/linefile"
	"github.com/gsimc/gsimc/internal/test/check"
)

// put puts records and waits until they are done.
func put(t *testing.T, b *Box, values ...string) {
	t.Helper()
	var done sync.WaitGroup
	for i, v := range values {
		done.Add(1)
		b.Put(&kgo.Record{Topic: "t", Partition: 1, Offset: int64(i), Key: []byte("k"),
			Value: []byte(v), Timestamp: time.Unix(0, 0).UTC()}, "because", done.Done)
	}
	done.Wait()
}

// What is done is in the file when it is, as one line a record, behind what was there.
func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dead")
	check.Must(t, os.WriteFile(path, []byte("{}\n"), 0o600))
	b := check.Get(File(path))(t)
	b.Failed = func(err error) { t.Error(err) }
	check.Says(t, check.Err(File(path)), "another program", "two write to one file")
	put(t, b, `{"a":1}`, "\xff", "line\nfeed")
	lines := read(t, path)
	if len(lines) != 4 || lines[1].Value != `{"a":1}` || lines[2].Value != "" ||
		string(lines[2].Bytes) != "\xff" || lines[3].Value != "line\nfeed" ||
		lines[3].Offset != 2 || lines[3].Reason != "because" || lines[3].Key != "k" {
		t.Errorf("the file has %+v", lines)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	b.Put(&kgo.Record{}, "after the end", func() { t.Error("done after the end") })
}

// away is a keeper that fails until it is set to be there.
type away struct {
	keeper
	there atomic.Bool
}

func (a *away) keep(ctx context.Context, batch []letter) ([]letter, error) {
	if !a.there.Load() {
		return batch, errors.New("away")
	}
	return a.keeper.keep(ctx, batch)
}

// A record that cannot be kept is not done. It is as soon as it can be.
func TestFileFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dead")
	failures := make(chan error, 100)
	disk := &away{keeper: file{check.Get(linefile.Open(path))(t)}}
	b := newBox(disk)
	b.Failed = func(err error) { failures <- err }
	done := make(chan struct{})
	b.Put(&kgo.Record{Value: []byte("second")}, "because", func() { close(done) })
	<-failures
	select {
	case <-done:
		t.Error("a record that could not be kept is done")
	default:
	}
	if b.Err() == nil {
		t.Error("a box that cannot keep a record says nothing")
	}
	disk.there.Store(true)
	<-done
	// The record is done a moment before the box is whole again.
	check.Await(t, "a box that keeps records says so",
		func() bool { return b.Err() == nil })
	if lines := read(t, path); len(lines) != 1 || lines[0].Value != "second" {
		t.Errorf("the file has %+v", lines)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

// A reason that quotes a large record is cut between two characters.
func TestLongReason(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dead")
	b := check.Get(File(path))(t)
	done := make(chan struct{})
	b.Put(&kgo.Record{}, "x"+strings.Repeat("é", 1<<20), func() { close(done) })
	<-done
	if got := read(t, path)[0].Reason; got != "x"+strings.Repeat("é", mostReason/2-1) {
		t.Errorf("the reason has %d bytes, want %d: %.20q", len(got), mostReason-1, got)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

// written is a line of a file.
type written struct {
	Offset             int64
	Reason, Key, Value string
	Bytes              []byte `json:"value_base64"`
}

func read(t *testing.T, path string) (lines []written) {
	t.Helper()
	text := check.Get(os.ReadFile(path))(t)
	for line := range bytes.Lines(text) {
		var l written
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		lines = append(lines, l)
	}
	return lines
}
