package filters

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
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

// maxParts bounds the names and values of an entry: far more than all lists of one may have.
const maxParts = 6000

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
	if err := s.enter(ctx); err != nil {
		return "", err
	}
	defer s.leave()
	before, err := s.read()
	if err != nil {
		return "", err
	}
	if before.version() != req.GetVersion() {
		return "", ErrChanged
	}
	one, err := entryOf(req.GetName(), req.GetEntry())
	if err != nil {
		return "", err
	}
	after, err := before.with(req.GetName(), one)
	if err != nil {
		return "", err
	}
	if !bytes.Equal(before.text, after.text) {
		err = before.replace(after.text)
	}
	s.files.LookNow(ctx)
	return after.version(), err
}

// enter waits until no other call reads or changes the file, or ctx ends.
func (s *Set) enter(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Set) leave() { <-s.turn }

// entryOf is the content of a file with this entry only, nil if it is empty.
func entryOf(name, entry string) (*content, error) {
	if entry == "" {
		return nil, nil
	}
	one, err := alone(name, entry)
	if err != nil {
		return nil, valid.Bad("entry", problem(err))
	}
	return one, nil
}

// with returns the content with the entry of one under a name, or without that name if one is nil.
func (c *content) with(name string, one *content) (*content, error) {
	if c.root().Style&yaml.FlowStyle != 0 && len(c.entries) > 0 {
		return nil, &FileError{"has all entries within one {…}: give each a line of its own"}
	}
	want := maps.Clone(c.entries)
	delete(want, name)
	entry := ""
	if one != nil {
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
	if parts := partsOf(&value); parts > maxParts {
		return nil, fmt.Errorf("has aliases, or more than %d names and values", maxParts)
	}
	key := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: name}
	text, err := encode(&yaml.Node{Kind: yaml.MappingNode,
		Content: []*yaml.Node{key, value.Content[0]}})
	if err != nil {
		return nil, err
	}
	return contentOf([]byte(text))
}

// partsOf is the number of names and values of a node. An alias is more than any bound, as it may
// stand for very many.
func partsOf(n *yaml.Node) int {
	if n.Kind == yaml.AliasNode {
		return math.MaxInt32
	}
	sum := 1
	for _, part := range n.Content {
		sum += partsOf(part)
	}
	return sum
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
		for entry == "" && at > 0 && begin > 0 && strings.HasPrefix(lines[begin-1], "#") {
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
	if err := c.keep(info.Mode().Perm()); err != nil {
		return denied("cannot be written", err)
	}
	err = writeFile(c.path, text, info.Mode().Perm())
	if now, _ := watched.ReadFile(c.path); err != nil && !bytes.Equal(now, text) {
		return denied("cannot be written", err)
	}
	return err
}

// keep makes the newest former file of the content, unless it is that by an attempt that failed
// later. It is on the disk before any other one moves.
func (c *content) keep(mode fs.FileMode) error {
	former := func(n int) string { return fmt.Sprintf("%s.%d", c.path, n) }
	if text, err := watched.ReadFile(former(1)); err == nil && bytes.Equal(text, c.text) {
		return nil
	}
	err := writeFile(former(0), c.text, mode)
	for n := keptFiles; n > 0 && err == nil; n-- {
		if err = os.Rename(former(n-1), former(n)); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	return err
}

// writeFile writes a file as a whole.
func writeFile(path string, text []byte, mode fs.FileMode) error {
	f, err := atomicfile.CreateMode(path, mode)
	if err != nil {
		return err
	}
	_, _ = f.Write(text) // Close tells
	return f.Close()
}
