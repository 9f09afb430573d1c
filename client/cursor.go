package client

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"strconv"

	"google.golang.org/protobuf/encoding/protodelim"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/internal/file/atomicfile"
)

// A cursor is how far a reader of changes has come: a token for each user with a history. Its file
// is a list of messages UserHistory; the last one has no user, and their number as its token.
type cursor struct {
	path  string // empty: nothing is kept
	known map[string]place
	last  os.FileInfo // of what this program has written
}

// place is what is known of a history.
type place struct {
	token string // empty: nothing is known
	// The program before may have given lines of the user, and has kept no token of them.
	given  bool
	listed uint32 // number of the pass that has found the user last
}

// openCursor reads the file, and writes it anew, so that one that cannot be kept is refused at the
// start. Without the file the cursor is at the beginning.
func openCursor(path string) (*cursor, error) {
	c := &cursor{path: path, known: map[string]place{}}
	if path == "" {
		return c, nil
	}
	file, err := os.Open(path)
	if err == nil {
		err = c.read(file)
		_ = file.Close()
	}
	if bad := new(fault.Fault); errors.As(err, &bad) {
		return nil, err
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, &fault.Fault{Field: "Cursor", Err: err}
	}
	atomicfile.Sweep(path)
	return c, c.write()
}

// read reads what write has written.
func (c *cursor) read(file *os.File) error {
	for r := bufio.NewReader(file); ; {
		var u pb.UserHistory
		err := protodelim.UnmarshalFrom(r, &u)
		if failed := new(fs.PathError); errors.As(err, &failed) {
			return err
		}
		token := string(u.GetSessionToken())
		if err == nil && u.GetUserId() == "" && token == strconv.Itoa(len(c.known)) {
			if _, err = r.ReadByte(); errors.Is(err, io.EOF) {
				return nil
			}
		}
		if err != nil || u.GetUserId() == "" {
			return &fault.Fault{Field: "Cursor", Got: c.path,
				Problem: "is damaged, or no file of this program: without it all events come " +
					"again, so empty the copy too"}
		}
		c.known[u.GetUserId()] = place{token: token, given: token == ""}
	}
}

// write puts the cursor in the place of the file. Only its owner may read it, as it has the ids of
// all users.
func (c *cursor) write() error {
	if c.path == "" {
		return nil
	}
	if there, err := os.Stat(c.path); err == nil && c.last != nil && !os.SameFile(there, c.last) {
		return &fault.Fault{Field: "Cursor", Got: c.path,
			Problem: "is written by another program too: each copy needs a cursor of its own"}
	}
	file, err := atomicfile.CreatePrivate(c.path)
	if err != nil {
		return &fault.Fault{Field: "Cursor", Err: err}
	}
	defer func() { _ = file.Abort() }()
	w := bufio.NewWriterSize(file, 1<<16)
	put := func(user, token string) {
		_, _ = protodelim.MarshalTo(w, &pb.UserHistory{UserId: user, SessionToken: []byte(token)})
	}
	for user, at := range c.known {
		put(user, at.token)
	}
	put("", strconv.Itoa(len(c.known)))
	if err = errors.Join(w.Flush(), file.Close()); err == nil { // Flush has the errors of put
		c.last, err = os.Stat(c.path)
	}
	if err != nil {
		return &fault.Fault{Field: "Cursor", Err: err}
	}
	return nil
}
