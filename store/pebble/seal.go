package pebble

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gsimc/gsimc/store"
)

// The seal is a list of the engine's files that is written when the store is closed, and checked and removed when it is
// opened. The engine takes damage at the end of its log, and anywhere in its list of tables, for a write that a crash has
// cut off, and goes on without what comes after. In a store that was closed properly there are no such writes, so there
// the seal tells damage from crashes. A store that was not closed has no seal.
//
// One line for each file: CRC-32C of the content, size in bytes, name. Tables have "-" in place of the CRC, because the
// engine notices damage in them. The last line is the CRC of all lines before.
const (
	sealName        = "SEAL"
	writingSealName = "SEAL.new"
)

// seal lists the files in data, the folder of the engine.
func seal(fs vfs.FS, data string) ([]byte, error) {
	names, err := fs.List(data)
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	var lines bytes.Buffer
	for _, name := range names {
		if name == lockName {
			continue
		}
		line, err := sealLine(fs, data, name)
		if err != nil {
			return nil, err
		}
		lines.WriteString(line)
	}
	fmt.Fprintf(&lines, "%08x\n", crc32.Checksum(lines.Bytes(), castagnoli))
	return lines.Bytes(), nil
}

func sealLine(fs vfs.FS, data, name string) (string, error) {
	file, err := fs.Open(fs.PathJoin(data, name))
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }() // it was only read
	if strings.HasSuffix(name, ".sst") {
		info, err := file.Stat()
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("- %d %s\n", info.Size(), name), nil
	}
	crc := crc32.New(castagnoli)
	size, err := io.Copy(crc, file)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%08x %d %s\n", crc.Sum32(), size, name), nil
}

// writeSeal seals a closed store.
func writeSeal(fs vfs.FS, dir string) error {
	// What the engine has made and removed must be as durable as the seal that lists it.
	if err := syncDir(fs, fs.PathJoin(dir, dataName)); err != nil {
		return err
	}
	content, err := seal(fs, fs.PathJoin(dir, dataName))
	if err != nil {
		return err
	}
	writing := fs.PathJoin(dir, writingSealName)
	file, err := fs.Create(writing, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := fs.Rename(writing, fs.PathJoin(dir, sealName)); err != nil {
		return err
	}
	return syncDir(fs, dir)
}

// breakSeal compares the files with the seal, if there is one, and removes it.
func breakSeal(fs vfs.FS, dir string) error {
	names, err := fs.List(dir)
	if err != nil || !slices.Contains(names, sealName) {
		return err
	}
	if err := checkSeal(fs, dir); err != nil {
		return err
	}
	if err := fs.Remove(fs.PathJoin(dir, sealName)); err != nil {
		return err
	}
	return syncDir(fs, dir)
}

// checkSeal compares the files with the seal, if there is one.
func checkSeal(fs vfs.FS, dir string) error {
	path := fs.PathJoin(dir, sealName)
	names, err := fs.List(dir)
	if err != nil || !slices.Contains(names, sealName) {
		return err
	}
	sealed, err := readAll(fs, path)
	if err != nil {
		return err
	}
	found, err := seal(fs, fs.PathJoin(dir, dataName))
	if err != nil {
		return err
	}
	if what := sealDifference(string(sealed), string(found)); what != "" {
		return fmt.Errorf("%w: %s since the store was closed: restore the store from a backup, or remove %q to go on with what is left",
			store.ErrCorrupt, what, path)
	}
	return nil
}

// sealDifference says how the files found fall short of those sealed, or "". Files beyond those sealed take nothing away:
// the engine knows by its own list which files count.
func sealDifference(sealed, found string) string {
	if sealed == found {
		return ""
	}
	body := sealed[:strings.LastIndexByte(strings.TrimSuffix(sealed, "\n"), '\n')+1]
	if sealed[len(body):] != fmt.Sprintf("%08x\n", crc32.Checksum([]byte(body), castagnoli)) {
		return "the list of its files has been damaged"
	}
	for line := range strings.Lines(body) {
		if !strings.Contains(found, line) {
			return fmt.Sprintf("the file %s has been changed or removed", line[strings.LastIndexByte(line, ' ')+1:len(line)-1])
		}
	}
	return ""
}

func readAll(fs vfs.FS, path string) ([]byte, error) {
	file, err := fs.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	return io.ReadAll(file)
}
