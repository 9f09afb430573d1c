package client

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"google.golang.org/protobuf/encoding/protodelim"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/internal/file/atomicfile"
	"github.com/gsimc/gsimc/internal/file/lock"
)

// A cursor is how far a reader of changes has come: a token for each user with a history. Its file
// is a list of messages UserHistory, and behind it the CRC-32C of the list, in four bytes.
type cursor struct {
	path  string // empty: nothing is kept
	known map[string]place
	last  os.FileInfo // of what this program has written
	lock  io.Closer   // of it
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
	c := &cursor{path: path, known: map[string]place{}, lock: io.NopCloser(nil)}
	if path == "" {
		return c, nil
	}
	if leadsTo, err := filepath.EvalSymlinks(path); err == nil {
		c.path = leadsTo // a link stays
	} else if _, err := os.Readlink(path); err == nil {
		return nil, c.problem(errNowhere)
	}
	err := c.take()
	if err == nil {
		err = c.read()
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		atomicfile.Sweep(c.path)
		err = c.write()
	}
	if err != nil {
		_ = c.lock.Close()
		return nil, c.problem(err)
	}
	return c, nil
}

var (
	errShared  = errors.New("another program writes it too: each copy needs a cursor of its own")
	errDamaged = errors.New("damaged, or no file of this program: without it all events come " +
		"again, so empty the copy too")
	errNoFile  = errors.New("a folder, device or pipe, want a file")
	errNowhere = errors.New("a link that leads nowhere, want one to a file, or a file")
)

// problem is the fault for an error about the file, which may have a temporary name.
func (c *cursor) problem(err error) error {
	if known := new(fault.Fault); errors.As(err, &known) {
		return err
	}
	if errors.Is(err, lock.ErrTaken) {
		err = errShared
	}
	return &fault.Fault{Field: "Cursor", Err: fmt.Errorf("%s: %w", c.path, fault.Cause(err))}
}

// take locks the file that is there.
func (c *cursor) take() error {
	info, err := os.Stat(c.path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errNoFile
	}
	taken, err := lock.Take(c.path)
	if err == nil {
		c.lock = taken
	}
	return err
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// read reads what write has written.
func (c *cursor) read() error {
	file, err := os.Open(c.path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	end, err := file.Seek(-crc32.Size, io.SeekEnd)
	if err != nil {
		return errDamaged
	}
	sum, given := crc32.New(castagnoli), make([]byte, crc32.Size)
	_, err = io.Copy(sum, io.NewSectionReader(file, 0, end))
	if _, failed := file.ReadAt(given, end); err != nil || failed != nil {
		return errors.Join(err, failed)
	}
	if !bytes.Equal(sum.Sum(nil), given) {
		return errDamaged
	}
	for r := bufio.NewReader(io.NewSectionReader(file, 0, end)); ; {
		var u pb.UserHistory
		switch err := protodelim.UnmarshalFrom(r, &u); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return errDamaged
		}
		token := string(u.GetSessionToken())
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
		return c.problem(errShared)
	}
	file, err := atomicfile.CreatePrivate(c.path)
	if err != nil {
		return c.problem(err)
	}
	defer func() { _ = file.Abort() }()
	w, sum := bufio.NewWriterSize(file, 1<<16), crc32.New(castagnoli)
	for user, at := range c.known {
		_, _ = protodelim.MarshalTo(io.MultiWriter(w, sum), &pb.UserHistory{UserId: user,
			SessionToken: []byte(at.token)})
	}
	_, _ = w.Write(sum.Sum(nil))
	if err := w.Flush(); err != nil { // it has the errors of all before it
		return c.problem(err)
	}
	taken, err := lock.Take(file.TempName()) // before others find the file under its name
	if err != nil {
		return c.problem(err)
	}
	if err := file.Close(); err != nil {
		return c.problem(errors.Join(err, taken.Close()))
	}
	_ = c.lock.Close()
	c.lock = taken
	if c.last, err = os.Stat(c.path); err != nil {
		return c.problem(err)
	}
	return nil
}
