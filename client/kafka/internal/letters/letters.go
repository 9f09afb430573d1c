// Package letters keeps the records that cannot become events, each with the reason, in a file or a
// topic. A record that is kept twice, after a kill, is there twice.
package letters

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"time"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Box keeps letters.
type Box interface {
	// Put keeps a record with the reason, and calls done as soon as it is durable. It may wait, and
	// it tries again until Close.
	Put(r *kgo.Record, reason string, done func())
	// Close ends the box. What was put and is not durable by then is never done.
	Close() error
}

// retryAfter is the wait after a failure.
const retryAfter = time.Second

// letter is a line of a file.
type letter struct {
	line []byte
	done func()
}

// file is a Box of lines of JSON.
type file struct {
	f      *os.File
	size   int64 // of whole lines
	failed func(error)
	in     chan letter
	stop   chan struct{}
	ended  chan struct{}
}

// File returns a Box that adds lines to a file, which no other program writes to. The end of the
// file is cut off if a kill left it as half a line. failed is told why nothing could be written.
func File(path string, failed func(error)) (Box, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	b := &file{f: f, failed: failed, in: make(chan letter, 256), stop: make(chan struct{}),
		ended: make(chan struct{})}
	if b.size, err = wholeLines(f); err == nil {
		err = f.Truncate(b.size)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	go b.run()
	return b, nil
}

// wholeLines returns the number of bytes up to the last line feed.
func wholeLines(f *os.File) (int64, error) {
	end, err := f.Seek(0, io.SeekEnd)
	for buffer := make([]byte, 64<<10); err == nil && end > 0; {
		from := max(0, end-int64(len(buffer)))
		var n int
		if n, err = f.ReadAt(buffer[:end-from], from); err == nil {
			if i := bytes.LastIndexByte(buffer[:n], '\n'); i >= 0 {
				return from + int64(i) + 1, nil
			}
			end = from
		}
	}
	return 0, err
}

// Put implements Box.
func (b *file) Put(r *kgo.Record, reason string, done func()) {
	fields := map[string]any{"topic": r.Topic, "partition": r.Partition, "offset": r.Offset,
		"time": r.Timestamp, "reason": reason}
	for name, content := range map[string][]byte{"key": r.Key, "value": r.Value} {
		if utf8.Valid(content) {
			fields[name] = string(content)
		} else {
			fields[name+"_base64"] = content // as json writes bytes
		}
	}
	line, err := json.Marshal(fields)
	if err != nil { // a time that JSON cannot tell
		delete(fields, "time")
		line, _ = json.Marshal(fields)
	}
	select {
	case b.in <- letter{append(line, '\n'), done}:
	case <-b.stop:
	}
}

// Close implements Box.
func (b *file) Close() error {
	close(b.stop)
	<-b.ended
	return b.f.Close()
}

// run writes what is there with one sync.
func (b *file) run() {
	defer close(b.ended)
	for {
		var batch []letter
		select {
		case l := <-b.in:
			batch = append(batch, l)
		case <-b.stop:
			return
		}
		for len(b.in) > 0 {
			batch = append(batch, <-b.in)
		}
		for err := b.write(batch); err != nil; err = b.write(batch) {
			b.failed(err)
			select {
			case <-time.After(retryAfter):
			case <-b.stop:
				return
			}
		}
		for _, l := range batch {
			l.done()
		}
	}
}

// write writes behind the last whole line, over what a failure left there.
func (b *file) write(batch []letter) error {
	var lines bytes.Buffer
	for _, l := range batch {
		lines.Write(l.line)
	}
	if _, err := b.f.WriteAt(lines.Bytes(), b.size); err != nil {
		return err
	}
	if err := b.f.Sync(); err != nil {
		return err
	}
	b.size += int64(lines.Len())
	return nil
}
