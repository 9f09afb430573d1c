package main

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/internal/file/atomicfile"
)

// prepare looks at where an object is and where it goes. The command goes on with Every until ctx
// ends.
func (c *getCommand) prepare() (transfer, error) {
	from, err := placeOf("From", c.From)
	if err != nil {
		return nil, err
	}
	if c.Every != 0 && c.Every < time.Second {
		return nil, fault.New("Every", c.Every, "at least 1s")
	}
	to := filepath.Clean(c.To)
	if info, err := os.Stat(filepath.Dir(to)); err != nil || !info.IsDir() {
		return nil, fault.New("To", c.To,
			"a place in a folder that is there: make "+filepath.Dir(to))
	}
	if info, err := os.Stat(to); err == nil && info.IsDir() {
		return nil, fault.New("To", c.To,
			"the name of a file, or of a folder that is not there yet: this folder is")
	}
	return func(ctx context.Context, s *store) error {
		atomicfile.Sweep(to)
		last := ""
		err := s.bring(ctx, from, to, &last)
		if c.Every == 0 || errors.As(err, new(*fault.Fault)) {
			return err
		}
		s.follow(ctx, from, to, c.Every, &last, err)
		return nil
	}, nil
}

// follow brings an object whenever it is another. What fails is told once, and tried again.
func (s *store) follow(
	ctx context.Context, at place, to string, every time.Duration, last *string, err error,
) {
	next := time.NewTicker(every)
	defer next.Stop()
	for told := ""; ; err = s.bring(ctx, at, to, last) {
		switch {
		case err == nil:
			told = ""
		case ctx.Err() == nil && err.Error() != told:
			told = err.Error()
			s.log.Error("not brought", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-next.C:
		}
	}
}

// bring brings an object that is not the last one, unless the file has its content already. It is
// the last one then.
func (s *store) bring(ctx context.Context, from place, to string, last *string) error {
	info, err := s.StatObject(ctx, from.bucket, from.key, minio.StatObjectOptions{})
	if minio.ToErrorResponse(err).Code == minio.NoSuchKey {
		return fmt.Errorf("%v: there is no such object, or no such bucket: put it there, or name "+
			"another one", from)
	} else if err != nil {
		return told(from, err)
	}
	mark := info.ETag + info.LastModified.String()
	mode, err := modeOf(to)
	if err == nil && mark == *last || has(to, info.UserMetadata[sumKey]) {
		*last = mark
		return nil
	}
	into := func(r io.Reader) (end, error) { return intoFile(to, mode, r) }
	if info.UserMetadata[kindKey] == ofFolder {
		into = func(r io.Reader) (end, error) { return intoFolder(to, r) }
	}
	if err := s.read(ctx, from, &info, into); err != nil {
		return told(from, err)
	}
	s.log.Info("brought", "from", from, "to", to, "bytes", info.Size)
	*last = mark
	return nil
}

// has tells whether a file has a content.
func has(file, sum string) bool {
	h := sha256.New()
	return sum != "" && fileAt(file)(h) == nil && textOf(h) == sum
}

// modeOf is the mode of a file, or that of a new one.
func modeOf(file string) (fs.FileMode, error) {
	info, err := os.Stat(file)
	if err != nil {
		return 0o644, err
	}
	return info.Mode().Perm(), nil
}

// end gives what was read its name, or removes it.
type end struct {
	keep   func() error
	remove func() error
}

// read reads an object into a place that is kept if the object is whole and undamaged.
func (s *store) read(ctx context.Context, from place, info *minio.ObjectInfo,
	into func(io.Reader) (end, error),
) error {
	var options minio.GetObjectOptions
	if info.ETag != "" {
		if err := options.SetMatchETag(info.ETag); err != nil {
			return err
		}
	}
	ctx, moving := whileMoving(ctx, s.patience)
	defer moving.end()
	object, err := s.GetObject(ctx, from.bucket, from.key, options)
	if err != nil {
		return moving.why(err)
	}
	defer func() { _ = object.Close() }()
	sum, size := sha256.New(), new(counter)
	all := io.TeeReader(moving.reader(object), io.MultiWriter(sum, size))
	e, err := into(all)
	if err == nil {
		_, err = io.Copy(io.Discard, all) // what is behind the end of a tar
	}
	switch want := info.UserMetadata[sumKey]; {
	case err != nil:
		err = moving.why(err)
	case int64(*size) != info.Size:
		err = fmt.Errorf("it has %d bytes, and %d came: get it again", info.Size, *size)
	case want != "" && textOf(sum) != want:
		err = fmt.Errorf("it is damaged: its SHA-256 is %s, and was %s when it was sent: "+
			"put it again", textOf(sum), want)
	default:
		return e.keep()
	}
	if e.remove != nil {
		err = errors.Join(err, e.remove())
	}
	return err
}

// intoFile writes a file, which gets its name when it is kept.
func intoFile(to string, mode fs.FileMode, r io.Reader) (end, error) {
	f, err := atomicfile.CreateMode(to, mode)
	if err != nil {
		return end{}, &fault.Fault{Field: "To", Err: fault.PathError(err)}
	}
	_, err = io.Copy(f, r)
	return end{f.Close, f.Abort}, err
}

// intoFolder writes the files of a tar to a folder, which gets its name when it is kept.
func intoFolder(to string, r io.Reader) (end, error) {
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return end{}, fault.New("To", to, "a folder that is not there yet")
	}
	part := filepath.Join(filepath.Dir(to), "."+filepath.Base(to)+".part")
	if err := errors.Join(os.RemoveAll(part), os.Mkdir(part, 0o700)); err != nil {
		return end{}, &fault.Fault{Field: "To", Err: fault.PathError(err)}
	}
	return end{
		keep:   func() error { return os.Rename(part, to) },
		remove: func() error { return os.RemoveAll(part) },
	}, unpack(part, r)
}

// unpack writes the files of a tar below a folder, and nowhere else.
func unpack(folder string, r io.Reader) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	for t := tar.NewReader(r); ; {
		header, err := t.Next()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case header.Typeflag == tar.TypeDir:
			err = root.MkdirAll(path.Clean(header.Name), 0o700)
		case header.Typeflag == tar.TypeReg:
			err = write(root, path.Clean(header.Name), t)
		}
		if err != nil {
			return err
		}
	}
}

// write writes a file of a folder, durably.
func write(root *os.Root, name string, content io.Reader) error {
	if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Sync(), f.Close())
}
