package model

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// WriteFile writes the model to path so that a reader finds either what was there before or the whole new file, after a
// crash too: a temporary file in the same directory is written, synced and renamed, and the directory synced. The
// temporary file is removed if anything fails.
//
// A file that is open as a model must be replaced in this way, never rewritten in place: it is mapped into memory.
func (m *Model) WriteFile(path string) error {
	if err := m.writeFile(path); err != nil {
		return fmt.Errorf("write model file %s: %w", path, err)
	}
	return nil
}

func (m *Model) writeFile(path string) error {
	dir := filepath.Dir(path)
	temp, err := writeTemp(dir, "."+filepath.Base(path)+".*.tmp", newImage(m))
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		if temp != "" {
			err = errors.Join(err, os.Remove(temp))
		}
		return err
	}
	if err := syncDir(dir); err != nil {
		return fmt.Errorf("the file is complete, but a power cut may undo its renaming: %w", err)
	}
	return nil
}

// writeTemp returns the name of the file as soon as it exists, with an error too.
func writeTemp(dir, pattern string, im *image) (name string, err error) {
	f, err := os.CreateTemp(dir, pattern)
	if err != nil {
		return "", err
	}
	if err := writeSync(f, im); err != nil {
		return f.Name(), errors.Join(err, f.Close())
	}
	return f.Name(), f.Close()
}

func writeSync(f *os.File, im *image) error {
	if _, err := im.WriteTo(f); err != nil {
		return err
	}
	if err := f.Chmod(0o644); err != nil { // CreateTemp makes it private; a model is read by other users' servers
		return err
	}
	return f.Sync()
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
