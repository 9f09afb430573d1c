package filters

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"math"
	"os"
	"reflect"
	"runtime/debug"
	"strings"
	"time"

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
	// ErrSlow is that of [Set.List] too: the disk may hang, in this call or in one before it.
	ErrSlow = errors.New("filters: the disk of the file has not answered in time")
)

// Save writes an entry into the file, or deletes it, and lets the file hold at once. It returns the
// version of the file. After an error that is none of [ErrNoFile], [ErrChanged], [*FileError] and
// [*valid.Error] the file may have the change.
func (s *Set) Save(ctx context.Context, req *pb.SaveNamedFilterRequest) (string, error) {
	if s.files == nil {
		return "", ErrNoFile
	}
	return alone(ctx, s, func() (string, error) { return s.save(ctx, req) })
}

func (s *Set) save(ctx context.Context, req *pb.SaveNamedFilterRequest) (string, error) {
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
	if ctx.Err() != nil { // nobody waits for a change any more
		return "", ctx.Err()
	}
	if !bytes.Equal(before.text, after.text) {
		err = before.replace(after.text)
	}
	s.files.LookNow(ctx)
	return after.version(), err
}

// alone does work on the file while no other call does any. It waits until ctx ends: work that a
// disk holds up goes on then, and keeps others from the file.
func alone[T any](ctx context.Context, s *Set, work func() (T, error)) (value T, err error) {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return value, late(ctx)
	}
	type result struct {
		value    T
		err      error
		panicked any
	}
	done := make(chan result, 1)
	go func() {
		var r result
		defer func() {
			if r.panicked = recover(); r.panicked != nil {
				s.tell(ctx, r.panicked)
			}
			<-s.turn
			done <- r
		}()
		r.value, r.err = work()
	}()
	select {
	case r := <-done:
		if r.panicked != nil {
			panic(r.panicked) // it fails the call, and is counted
		}
		return r.value, r.err
	case <-ctx.Done():
		return value, late(ctx)
	}
}

// tell logs a panic where the stack is still that of the fault. The caller may have left.
// The value may be made of what the file has.
func (s *Set) tell(ctx context.Context, panicked any) {
	s.files.Log.LogAttrs(ctx, slog.LevelError, "panic in work on the file of filters",
		slog.String("cause", fmt.Sprintf("%T", panicked)),
		slog.String("stack", string(debug.Stack())))
}

// late is the error of a call whose context has ended.
func late(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return ErrSlow
	}
	return ctx.Err()
}

// entryOf is the content of a file with this entry only, nil if it is empty.
func entryOf(name, entry string) (*content, error) {
	if entry == "" {
		return nil, nil
	}
	one, err := onlyEntry(name, entry)
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
	case len(want) > maxFilters:
		return nil, valid.Bad("entry", "makes the file bad: "+problem(err))
	case err == nil && len(after.text) > watched.MaxFileBytes:
		return nil, valid.Bad("entry", "makes the file too large")
	case err == nil && reflect.DeepEqual(want, after.entries):
		return after, nil
	}
	// The entry alone is good.
	if other := c.borrower(name); other != "" {
		return nil, &FileError{fmt.Sprintf(
			"uses a part of %s in %s, by an alias: change %[2]s first", name, other)}
	}
	text := "is written in a way that only people can change"
	if err != nil {
		text += ": with the change, " + problem(err)
	}
	return nil, &FileError{text}
}

// borrower is the name of another entry that has an alias of a part of that of name; empty: none.
func (c *content) borrower(name string) string {
	pairs, at := c.root().Content, keyOf(c.root(), name)
	for other := 0; other < len(pairs) && at < len(pairs); other += 2 {
		if other != at && has(pairs[other+1], func(n *yaml.Node) bool {
			return n.Alias != nil &&
				has(pairs[at+1], func(part *yaml.Node) bool { return part == n.Alias })
		}) {
			return pairs[other].Value
		}
	}
	return ""
}

// onlyEntry is the content of a file with this entry only.
func onlyEntry(name, entry string) (*content, error) {
	var value yaml.Node
	d := yaml.NewDecoder(strings.NewReader(entry))
	if err := d.Decode(&value); errors.Is(err, io.EOF) {
		return nil, errors.New("has no conditions")
	} else if err != nil {
		return nil, notYAML([]byte(entry), err)
	}
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("has more than one document")
	}
	if parts := partsOf(&value); parts > maxParts {
		return nil, fmt.Errorf("has aliases, or more than %d names and values", maxParts)
	}
	text, err := encodeEntry(name, spread(value.Content[0]))
	if err != nil {
		return nil, err
	}
	if _, err = contentOf(text); err != nil {
		if f, ok := errors.AsType[faults](err); ok {
			moveLines(f, text, value.Content[0])
		}
		return nil, err
	}
	if text, err = encodeEntry(name, value.Content[0]); err != nil {
		return nil, err
	}
	return contentOf(text)
}

func encodeEntry(name string, value *yaml.Node) ([]byte, error) {
	key := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: name}
	text, err := encode(&yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{key, value}})
	return []byte(text), err
}

// has tells whether a node or a part of it is what is sought.
func has(n *yaml.Node, sought func(*yaml.Node) bool) bool {
	found, _ := seek(n, sought)
	return found != nil
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
// but comments right above an entry that is deleted, unless they begin the file. New lines end as
// those of the file do.
func (c *content) splice(name, entry string) []byte {
	text, lineEnd := string(c.text), "\n"
	if strings.Contains(text, "\r\n") {
		lineEnd = "\r\n"
	}
	if !strings.HasSuffix(text, "\n") {
		text += lineEnd
	}
	lines := strings.SplitAfter(text, "\n")
	lines = lines[:len(lines)-1] // nothing
	pairs, begin, end := c.root().Content, len(lines), len(lines)
	at := keyOf(c.root(), name)
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
	entry = strings.ReplaceAll(entry, "\n", lineEnd)
	return []byte(strings.Join(lines[:begin], "") + entry + strings.Join(lines[end:], ""))
}

// outside reports whether a line behind an entry is no part of it.
func outside(line string) bool {
	return strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") ||
		strings.HasPrefix(line, "...")
}

// replace writes the file, and keeps what it was. The error is [ErrChanged], a [*FileError], or
// tells that a power cut may undo the change.
func (c *content) replace(text []byte) error {
	info, err := os.Stat(c.path)
	if err != nil {
		return denied("cannot be written", err)
	}
	if err := c.keep(info.Mode().Perm()); err != nil {
		return denied("cannot be written", err)
	}
	err = writeFile(c.path, text, info.Mode().Perm(), c.same)
	if errors.Is(err, ErrChanged) {
		return err
	}
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
	err := writeFile(former(0), c.text, mode, func() error { return nil })
	for n := keptFiles; n > 0 && err == nil; n-- {
		if err = os.Rename(former(n-1), former(n)); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	return err
}

// same is [ErrChanged] if the file is not that of the content any more.
func (c *content) same() error {
	if now, err := watched.ReadFile(c.path); err != nil || !bytes.Equal(now, c.text) {
		return ErrChanged
	}
	return nil
}

// writeFile writes a file as a whole, if check lets it right before that. What killed writers of
// the file have left goes, but not what another server on the same volume is writing.
func writeFile(path string, text []byte, mode fs.FileMode, check func() error) error {
	f, err := atomicfile.CreateMode(path, mode)
	if err != nil {
		return err
	}
	f.SweepOlder(time.Minute)
	_, _ = f.Write(text) // Sync tells
	if err = f.Sync(); err == nil {
		err = check()
	}
	if err != nil {
		return errors.Join(err, f.Abort())
	}
	return f.Close()
}
