package letters

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

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

// What is done is in the file when it is, as one line a record, behind what was there; the half
// line of a kill is cut off.
func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dead")
	long := bytes.Repeat([]byte("x"), 200<<10) // more than a block from the end
	check.Must(t, os.WriteFile(path, append([]byte("{}\n"), long...), 0o600))
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
	if err := os.Truncate(path, 3); err != nil { // somebody has taken the letters away
		t.Fatal(err)
	}
	put(t, b, "again")
	if lines := read(t, path); len(lines) != 2 || lines[1].Value != "again" {
		t.Errorf("behind a shorter end the file has %+v", lines)
	}
	check.Must(t, os.Truncate(path, 9))
	put(t, b, "over half a line")
	if lines := read(t, path); len(lines) != 2 || lines[1].Value != "over half a line" {
		t.Errorf("behind half a line the file has %+v", lines)
	}
	check.Must(t, os.Rename(path, path+".1"))
	put(t, b, "anew")
	if lines := read(t, path); len(lines) != 1 || lines[0].Value != "anew" {
		t.Errorf("in place of one that was moved the file has %+v", lines)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	b.Put(&kgo.Record{}, "after the end", func() { t.Error("done after the end") })
}

// A record that cannot be kept is not done. It is as soon as it can be.
func TestFileFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dead")
	failures := make(chan error, 100)
	b := check.Get(File(path))(t)
	b.Failed = func(err error) { failures <- err }
	put(t, b, "first")
	f := b.to.(*file)
	whole := f.File
	readonly := check.Get(os.Open(path))(t)
	f.File = readonly // between two letters nobody reads the field
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
	check.Must(t, syscall.Dup3(int(whole.Fd()), int(readonly.Fd()), 0))
	<-done
	// The record is done a moment before the box is whole again.
	check.Await(t, "a box that keeps records says so",
		func() bool { return b.Err() == nil })
	if lines := read(t, path); len(lines) != 2 || lines[1].Value != "second" {
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
