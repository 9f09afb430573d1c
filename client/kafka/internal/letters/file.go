package letters

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"
	"unicode/utf8"
)

// file keeps letters as lines of JSON.
type file struct {
	*os.File
	size int64 // of whole lines
}

// File returns a Box that adds lines to a file, which no other program may write to. The end of the
// file is cut off if a kill left it as half a line.
func File(path string) (*Box, error) {
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	return newBox(f), nil
}

func open(path string) (*file, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	k := &file{File: f}
	if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		err = fmt.Errorf("%s: another program writes to it: %w", path, err)
	} else if k.size, err = wholeLines(f); err == nil {
		err = f.Truncate(k.size)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return k, nil
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

// keep implements keeper: all of them with one sync, or none. It writes behind the last whole line,
// over what a failure left there. If somebody has made the file shorter that is before its end, and
// if it has been moved away it is made anew.
func (f *file) keep(_ context.Context, batch []letter) ([]letter, error) {
	var lines bytes.Buffer
	for i := range batch {
		lines.Write(batch[i].line())
	}
	info, err := f.Stat()
	if err != nil {
		return batch, err
	}
	there, err := os.Stat(f.Name())
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return batch, err
	case err != nil || !os.SameFile(there, info):
		other, err := open(f.Name())
		if err != nil {
			return batch, err
		}
		_ = f.Close()
		*f = *other
	case info.Size() < f.size:
		if f.size, err = wholeLines(f.File); err != nil {
			return batch, err
		}
	}
	if _, err := f.WriteAt(lines.Bytes(), f.size); err != nil {
		return batch, err
	}
	if err := f.Sync(); err != nil {
		return batch, err
	}
	f.size += int64(lines.Len())
	for _, l := range batch {
		l.done()
	}
	return nil, nil
}

func (l *letter) line() []byte {
	fields := map[string]any{"topic": l.Topic, "partition": l.Partition, "offset": l.Offset,
		"time": l.Timestamp.Format(time.RFC3339Nano), "reason": l.reason}
	for name, content := range map[string][]byte{"key": l.Key, "value": l.Value} {
		if utf8.Valid(content) {
			fields[name] = string(content)
		} else {
			fields[name+"_base64"] = content // as json writes bytes
		}
	}
	line, _ := json.Marshal(fields) // texts and numbers always can be
	return append(line, '\n')
}
