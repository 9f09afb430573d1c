package main

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"os"
	"path/filepath"

	"github.com/minio/minio-go/v7"

	"github.com/gsimc/gsimc/internal/fault"
)

// content writes what an object is to be, the same each time.
type content func(io.Writer) error

// prepare looks at what is to be sent: a file, or the folder of a backup as one object.
func (c *putCommand) prepare() (transfer, error) {
	to, err := placeOf("To", c.To)
	if err != nil {
		return nil, err
	}
	content, kind := fileAt(c.From), ""
	info, err := os.Stat(c.From)
	switch {
	case err != nil:
		return nil, &fault.Fault{Field: "From", Err: fault.PathError(err),
			Want: "a file, or the folder of a backup"}
	case info.IsDir():
		content, kind = folderAt(c.From), ofFolder
		if _, err := os.Stat(filepath.Join(c.From, manifest)); err != nil {
			return nil, fault.New("From", c.From,
				"a file, or a backup of gsimc backup, which has a "+manifest)
		}
	}
	return func(ctx context.Context, s *store) error { return s.send(ctx, to, content, kind) }, nil
}

// fileAt is the content of a file.
func fileAt(path string) content {
	return func(w io.Writer) error {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		_, err = io.Copy(w, f)
		return err
	}
}

// folderAt is a tar of a folder.
func folderAt(path string) content {
	return func(w io.Writer) error {
		t := tar.NewWriter(w)
		if err := t.AddFS(os.DirFS(path)); err != nil {
			return err
		}
		return t.Close()
	}
}

// send makes an object, which is there when all of it is. The content is read twice: for its size
// and its SHA-256, which stand before it, and to be sent.
func (s *store) send(ctx context.Context, to place, from content, kind string) error {
	sum, size := sha256.New(), new(counter)
	if err := from(io.MultiWriter(sum, size)); err != nil {
		return fault.PathError(err)
	}
	options := minio.PutObjectOptions{ContentType: "application/octet-stream",
		UserMetadata: map[string]string{sumKey: textOf(sum)}}
	if kind != "" {
		options.UserMetadata[kindKey] = kind
	}
	r, w := io.Pipe()
	go func() { w.CloseWithError(from(w)) }()
	defer func() { _ = r.Close() }()
	ctx, moving := whileMoving(ctx, s.patience)
	defer moving.end()
	body := &unchanged{of: moving.reader(r), sum: textOf(sum), now: sha256.New(),
		left: int64(*size)}
	if _, err := s.PutObject(ctx, to.bucket, to.key, body, int64(*size), options); err != nil {
		return told(to, moving.why(err))
	}
	s.log.Info("sent", "to", to, "bytes", int64(*size))
	return nil
}

// counter counts what is written.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

func textOf(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)) }

// unchanged reads a content and keeps its end back if it is not what was read before, so that no
// object is made of it.
type unchanged struct {
	of   io.Reader
	sum  string
	now  hash.Hash
	left int64
}

var errChanged = errors.New("what is to be sent was changed meanwhile: put it again")

func (u *unchanged) Read(p []byte) (int, error) {
	n, err := u.of.Read(p)
	u.now.Write(p[:n])
	u.left -= int64(n)
	if u.left < 0 || err != nil && u.left > 0 || u.left == 0 && textOf(u.now) != u.sum {
		if err == nil || err == io.EOF {
			err = errChanged
		}
		return 0, err
	}
	return n, err
}
