package letters

import (
	"bytes"
	"context"
	"encoding/json"
	"time"
	"unicode/utf8"

	"github.com/gsimc/gsimc/internal/file/linefile"
)

// file keeps letters as lines of JSON.
type file struct{ *linefile.File }

// File returns a Box that adds lines to a file, which no other program may write to.
func File(path string) (*Box, error) {
	f, err := linefile.Open(path)
	if err != nil {
		return nil, err
	}
	return newBox(file{f}), nil
}

// keep implements keeper: all of them with one sync, or none.
func (f file) keep(_ context.Context, batch []letter) ([]letter, error) {
	var lines bytes.Buffer
	for i := range batch {
		lines.Write(batch[i].line())
	}
	if err := f.Add(lines.Bytes()); err != nil {
		return batch, err
	}
	if err := f.Sync(); err != nil {
		return batch, err
	}
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
