package filters

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/file/atomicfile"
	"github.com/gsimc/gsimc/server/internal/valid"
	"github.com/gsimc/gsimc/server/internal/watched"
)

// keptFiles is the number of former contents that are kept beside the file. That with .1 is the
// newest, as of logs that rotate.
const keptFiles = 10

// Errors of [Set.Save], beside a [FileError] and those of fields.
var (
	ErrNoFile  = errors.New("filters: there is no file")
	ErrChanged = errors.New("filters: the file is another one by now")
)

// Save writes an entry into the file, or deletes it, and lets the file hold at once. It returns the
// version of the file. After an error that is none of [ErrNoFile], [ErrChanged], [*FileError] and
// [*valid.Error] the file may have the change.
func (s *Set) Save(ctx context.Context, req *pb.SaveNamedFilterRequest) (string, error) {
	if s.files == nil {
		return "", ErrNoFile
	}
	s.saving.Lock()
	defer s.saving.Unlock()
	before, err := s.read()
	if err != nil {
		return "", err
	}
	if before.version() != req.GetVersion() {
		return "", ErrChanged
	}
	after, err := before.with(req.GetName(), req.GetEntry())
	if err != nil {
		return "", err
	}
	if !bytes.Equal(before.text, after.text) {
		err = before.replace(after.text)
	}
	s.files.LookNow(ctx)
	return after.version(), err
}

// with returns the content with an entry under a name, or without that name if the entry is empty.
func (c *content) with(name, entry string) (*content, error) {
	if c.root().Style&yaml.FlowStyle != 0 && len(c.entries) > 0 {
		return nil, &FileError{"has all entries within one {…}: give each a line of its own"}
	}
	want := maps.Clone(c.entries)
	delete(want, name)
	if entry != "" {
		one, err := alone(name, entry)
		if err != nil {
			return nil, valid.Bad("entry", problem(err))
		}
		entry, want[name] = string(one.text), one.entries[name]
	}
	after, err := contentOf(c.splice(name, entry))
	switch {
	case err != nil:
		return nil, valid.Bad("entry", "makes the file bad: "+problem(err))
	case len(after.text) > watched.MaxFileBytes:
		return nil, valid.Bad("entry", "makes the file too large")
	case !reflect.DeepEqual(want, after.entries):
		return nil, &FileError{"is written in a way that only people can change"}
	}
	return after, nil
}

// alone is the content of a file with this entry only.
func alone(name, entry string) (*content, error) {
	var value yaml.Node
	d := yaml.NewDecoder(strings.NewReader(entry))
	if err := d.Decode(&value); errors.Is(err, io.EOF) {
		return nil, errors.New("has no conditions")
	} else if err != nil {
		return nil, err
	}
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("has more than one document")
	}
	key := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: name}
	text, err := encode(&yaml.Node{Kind: yaml.MappingNode,
		Content: []*yaml.Node{key, value.Content[0]}})
	if err != nil {
		return nil, err
	}
	return contentOf([]byte(text))
}

// splice returns the text with these lines in place of the entry of a name. All other lines stay,
// but comments right above an entry that is deleted, unless they begin the file.
func (c *content) splice(name, entry string) []byte {
	lines := strings.SplitAfter(strings.TrimSuffix(string(c.text), "\n")+"\n", "\n")
	lines = lines[:len(lines)-1] // nothing
	pairs, begin, end := c.root().Content, len(lines), len(lines)
	at := 0
	for at < len(pairs) && pairs[at].Value != name {
		at += 2
	}
	if len(pairs) == 0 && entry != "" { // {}
		begin, end = c.root().Line-1, c.root().Line
	} else if at < len(pairs) {
		begin = pairs[at].Line - 1
	}
	if at+2 < len(pairs) {
		end = pairs[at+2].Line - 1
	}
	// YAML has more ends of lines than these: with others the result is found to be wrong.
	begin, end = min(begin, len(lines)), min(end, len(lines))
	if at < len(pairs) {
		for end > begin+1 && outside(lines[end-1]) {
			end--
		}
		for entry == "" && at > 0 && strings.HasPrefix(lines[begin-1], "#") {
			begin--
		}
		if entry == "" && len(pairs) == 2 {
			entry = "{}\n"
		}
	}
	if pad := strings.Repeat(" ", c.root().Column-1); entry != "" {
		entry = pad + strings.ReplaceAll(strings.TrimSuffix(entry, "\n"), "\n", "\n"+pad) + "\n"
	}
	return []byte(strings.Join(lines[:begin], "") + entry + strings.Join(lines[end:], ""))
}

// outside reports whether a line behind an entry is no part of it.
func outside(line string) bool {
	return strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") ||
		strings.HasPrefix(line, "...")
}

// replace writes the file, and keeps what it was. The error is a [*FileError], or tells that a
// power cut may undo the change.
func (c *content) replace(text []byte) error {
	info, err := os.Stat(c.path)
	if err != nil {
		return denied("cannot be written", err)
	}
	former := func(n int) string { return fmt.Sprintf("%s.%d", c.path, n) }
	// Both are on the disk before a former one moves.
	newest, err := begin(former(1), c.text, info.Mode().Perm())
	if err != nil {
		return denied("cannot be written", err)
	}
	defer func() { _ = newest.Abort() }()
	file, err := begin(c.path, text, info.Mode().Perm())
	if err != nil {
		return denied("cannot be written", err)
	}
	defer func() { _ = file.Abort() }()
	for n := keptFiles; n > 1 && err == nil; n-- {
		if err = os.Rename(former(n-1), former(n)); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	if err == nil {
		err = newest.Close()
	}
	if err != nil {
		return denied("cannot be written", err)
	}
	err = file.Close()
	if now, _ := watched.ReadFile(c.path); err != nil && !bytes.Equal(now, text) {
		return denied("cannot be written", err)
	}
	return err
}

// begin starts a file with a text.
func begin(path string, text []byte, mode fs.FileMode) (*atomicfile.File, error) {
	f, err := atomicfile.CreateMode(path, mode)
	if err != nil {
		return nil, err
	}
	if _, err = f.Write(text); err != nil {
		return nil, errors.Join(err, f.Abort())
	}
	return f, nil
}
