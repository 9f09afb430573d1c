// Package manifest keeps the list of the files of a backup, and copies files by it.
//
// The file BACKUP.json in the folder of the backup says what the backup is, and of each file the
// size and the SHA-256. Its last line is the SHA-256 of everything before it. It knows nothing of
// what is in the files.
package manifest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble/internal/smallfile"
)

// Name is the name of the file.
const Name = "BACKUP.json"

// version is that of the layout of the file.
const version = 1

// A Manifest says what a backup is.
type Manifest struct {
	Version int       `json:"version"`
	Made    time.Time `json:"made"`
	Store   string    `json:"store"`  // its name, as errors tell it
	Format  uint64    `json:"format"` // of the store
	Commit  uint64    `json:"commit"` // number of the last one
	Users   int64     `json:"users"`
	Events  int64     `json:"events"`
	Files   []File    `json:"files"`
}

// A File is one of the files of a backup.
type File struct {
	Name   string `json:"name"` // relative to the folder, with slashes
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// A FileError says which file of a backup is not what it was. It is a [store.ErrCorrupt].
type FileError struct {
	File    string
	Problem string
}

// Error names the file.
func (e *FileError) Error() string {
	return fmt.Sprintf("the file %s of the backup %s: use another backup", e.File, e.Problem)
}

// Unwrap makes errors.Is(err, store.ErrCorrupt) true.
func (e *FileError) Unwrap() error { return store.ErrCorrupt }

// Write writes a manifest into a folder, durably.
func Write(fs vfs.FS, dir string, m Manifest) error {
	m.Version = version
	content, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return err
	}
	content = append(content, '\n')
	content = append(content, sum(content)...)
	return smallfile.Replace(fs, dir, Name, content)
}

func sum(content []byte) string {
	hash := sha256.Sum256(content)
	return hex.EncodeToString(hash[:]) + "\n"
}

// Read reads the manifest in a folder. A damaged one is a [*FileError].
func Read(fs vfs.FS, dir string) (m Manifest, err error) {
	content, err := smallfile.Read(fs, fs.PathJoin(dir, Name))
	if err != nil {
		return m, err
	}
	at := bytes.LastIndexByte(bytes.TrimSuffix(content, []byte("\n")), '\n') + 1
	if string(content[at:]) != sum(content[:at]) {
		return m, &FileError{Name, "has been changed"}
	}
	if err := json.Unmarshal(content[:at], &m); err != nil {
		return m, &FileError{Name, "has been changed"}
	}
	if m.Version != version {
		return m, fmt.Errorf("the backup has a manifest of version %d, this program knows "+
			"version %d: use the version of the program that wrote it", m.Version, version)
	}
	return m, nil
}

// Copy copies a file between folders, durably, and returns what it has copied. It calls progress
// with the bytes of each piece.
func Copy(
	ctx context.Context, fs vfs.FS, from, to, name string, progress func(bytes int64),
) (f File, err error) {
	in, err := fs.Open(fs.PathJoin(from, name))
	if err != nil {
		return f, err
	}
	defer func() { _ = in.Close() }() // it was only read
	out, err := fs.Create(fs.PathJoin(to, name), vfs.WriteCategoryUnspecified)
	if err != nil {
		return f, err
	}
	hash := sha256.New()
	f.Name = name
	f.Bytes, err = io.Copy(io.MultiWriter(out, hash, told{ctx, progress}), in)
	f.SHA256 = hex.EncodeToString(hash.Sum(nil))
	return f, errors.Join(err, out.Sync(), out.Close())
}

// told is a writer that tells how much comes, until its context ends.
type told struct {
	ctx      context.Context
	progress func(bytes int64)
}

func (w told) Write(p []byte) (int, error) {
	w.progress(int64(len(p)))
	return len(p), w.ctx.Err()
}

// CopyBack copies the files of a backup to a folder that has the folders for them. A file that is
// missing, or not what it was, is a [*FileError].
func (m Manifest) CopyBack(
	ctx context.Context, fs vfs.FS, from, to string, progress func(done, total int64),
) error {
	var done, total int64
	for _, f := range m.Files {
		total += f.Bytes
	}
	for _, want := range m.Files {
		if _, err := fs.Stat(fs.PathJoin(from, want.Name)); err != nil {
			return &FileError{want.Name, fmt.Sprintf("is not there (%v)", err)}
		}
		got, err := Copy(ctx, fs, from, to, want.Name, func(bytes int64) {
			done += bytes
			progress(done, total)
		})
		if err != nil {
			return fmt.Errorf("copying %s of the backup: %w", want.Name, err)
		}
		if got != want {
			return &FileError{want.Name, fmt.Sprintf("has been changed (%d bytes, want %d; "+
				"SHA-256 %.16s…, want %.16s…)", got.Bytes, want.Bytes, got.SHA256, want.SHA256)}
		}
	}
	return nil
}

// Local reports whether all files are directly in the folder or in a folder of it.
func (m Manifest) Local(folder string) bool {
	for _, f := range m.Files {
		if dir := path.Dir(f.Name); dir != "." && dir != folder || path.Clean(f.Name) != f.Name {
			return false
		}
	}
	return true
}
