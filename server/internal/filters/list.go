package filters

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"

	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/proto"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/server/internal/watched"
)

// FileError is the outcome of a file that is bad, or cannot be read or written.
type FileError struct{ problem string }

// Error says what is wrong, without the path, which is of no use to a client.
func (e *FileError) Error() string { return "the server's file of filters " + e.problem }

// denied is the [*FileError] of what the system refuses.
func denied(what string, err error) error {
	if reason, ok := errors.AsType[syscall.Errno](err); ok {
		what += ": " + reason.Error()
	}
	return &FileError{what}
}

// content is what the file says at a moment.
type content struct {
	path     string // where links lead to
	text     []byte
	document *yaml.Node
	entries  map[string]conditions
}

// read reads the file, which must be good. The error is a [*FileError].
func (s *Set) read() (*content, error) {
	path, err := filepath.EvalSymlinks(s.files.Paths[0].Name)
	if err != nil {
		return nil, denied("cannot be read", err)
	}
	text, err := watched.ReadFile(path)
	if err != nil {
		return nil, denied("cannot be read", err)
	}
	c, err := contentOf(text)
	if err != nil {
		return nil, &FileError{"is bad now: " + problem(err)}
	}
	c.path = path
	return c, nil
}

// contentOf returns the content that is this text, which must be good.
func contentOf(text []byte) (*content, error) {
	entries, document, err := decode(text)
	if err == nil {
		_, err = tableOf(entries, document)
	}
	return &content{text: text, document: document, entries: entries}, err
}

// problem is what a fault of the file says, without the field that names the file.
func problem(err error) string {
	f, ok := errors.AsType[*fault.Fault](err)
	switch {
	case !ok:
		return err.Error()
	case f.Err != nil:
		return f.Err.Error()
	}
	return f.Problem
}

func (c *content) version() string { return fmt.Sprintf("%x", sha256.Sum256(c.text)) }

// root has the names and the entries in turns.
func (c *content) root() *yaml.Node { return c.document.Content[0] }

// maxListed bounds the bytes of a list: clients take 4 MiB.
const maxListed = 3 << 20

// List returns the entries of the file as it is now. The error is a [*FileError], [ErrSlow] or that
// of ctx.
func (s *Set) List(ctx context.Context) (*pb.ListNamedFiltersResponse, error) {
	if s.files == nil {
		return &pb.ListNamedFiltersResponse{}, nil
	}
	return alone(ctx, s, s.list)
}

func (s *Set) list() (*pb.ListNamedFiltersResponse, error) {
	c, err := s.read()
	if err != nil {
		return nil, err
	}
	r, size := &pb.ListNamedFiltersResponse{Version: c.version()}, 0
	for i := 0; i < len(c.root().Content); i += 2 {
		name := c.root().Content[i].Value
		text, err := encode(c.root().Content[i+1])
		if err != nil {
			return nil, err
		}
		of, read := c.entries[name]
		if !read { // a merge
			return nil, &FileError{"is written in a way that only people can change"}
		}
		f := &pb.NamedFilter{Name: name, Entry: text}
		boost, err := of.boost(name)
		if err != nil {
			return nil, err
		}
		f.Rule = &pb.NamedFilter_Boost{Boost: boost}
		if of.Weight == nil {
			f.Rule = &pb.NamedFilter_Filter{Filter: boost.GetFilter()}
		}
		r.Filters = append(r.Filters, f)
		if size += proto.Size(f); size > maxListed {
			return nil, &FileError{"is too large to be listed"}
		}
	}
	return r, nil
}

func encode(n *yaml.Node) (string, error) {
	var b strings.Builder
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	err := errors.Join(e.Encode(n), e.Close())
	return b.String(), err
}
