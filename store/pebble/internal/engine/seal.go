package engine

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
	"github.com/gsimc/gsimc/store/pebble/internal/smallfile"
)

// The seal is a list of the engine's files that is written when the engine is closed, and checked
// and removed when it is opened. Pebble takes damage at the end of its log, and anywhere in its
// list of tables, for a write that a crash has cut off, and goes on without the rest. In an engine
// that was closed properly there are no such writes, so there the seal tells damage from crashes.
// An engine that was not closed has no seal.
//
// One line for each file: CRC-32C of the content, size in bytes, name. Tables have "-" in place of
// the CRC, because Pebble notices damage in them. The last line is the CRC of all lines before.

// SealName is the file of the seal, beside the folder of the engine's files.
const SealName = "SEAL"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seal returns the list of the files in data, the folder of the engine.
func seal(fs vfs.FS, data string) ([]byte, error) {
	names, err := fs.List(data)
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	var lines bytes.Buffer
	for _, name := range names {
		if name == LockName {
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

// writeSeal seals a closed engine.
func writeSeal(fs vfs.FS, dir string) error {
	// Files that are new or gone must be so on disk before the seal that lists them.
	if err := smallfile.SyncDir(fs, fs.PathJoin(dir, DataName)); err != nil {
		return err
	}
	content, err := seal(fs, fs.PathJoin(dir, DataName))
	if err != nil {
		return err
	}
	return smallfile.Replace(fs, dir, SealName, content)
}

// SealError is the error of opening an engine whose files have changed since it was closed. It is a
// [store.ErrCorrupt].
type SealError struct {
	// Change says what is wrong with which file.
	Change string
	// Tables says that only tables have changed.
	Tables bool
}

// Error says what has changed and the way out.
func (e *SealError) Error() string {
	return fmt.Sprintf("%v: %s since the store was closed: restore the store from a backup",
		store.ErrCorrupt, e.Change)
}

// Unwrap makes errors.Is(err, store.ErrCorrupt) true.
func (e *SealError) Unwrap() error { return store.ErrCorrupt }

// breakSeal compares the files with the seal, if there is one, and removes it. If accept is true, a
// difference is told and is no error.
func breakSeal(fs vfs.FS, dir string, accept bool) (differs bool, err error) {
	names, err := fs.List(dir)
	if err != nil || !slices.Contains(names, SealName) {
		return false, err
	}
	if err := checkSeal(fs, dir); err != nil {
		if !accept || !errors.Is(err, store.ErrCorrupt) {
			return false, err
		}
		differs = true
	}
	if err := fs.Remove(fs.PathJoin(dir, SealName)); err != nil {
		return false, err
	}
	return differs, smallfile.SyncDir(fs, dir)
}

// checkSeal compares the files with the seal, if there is one.
func checkSeal(fs vfs.FS, dir string) error {
	path := fs.PathJoin(dir, SealName)
	names, err := fs.List(dir)
	if err != nil || !slices.Contains(names, SealName) {
		return err
	}
	sealed, err := smallfile.Read(fs, path)
	if err != nil {
		return err
	}
	found, err := seal(fs, fs.PathJoin(dir, DataName))
	if err != nil {
		return err
	}
	if difference := sealDifference(string(sealed), string(found)); difference != nil {
		return difference
	}
	return nil
}

// sealDifference says how the files found fall short of the sealed ones, or is nil. Further files
// take nothing away: Pebble knows by its own list which files count.
func sealDifference(sealed, found string) (tables *SealError) {
	if sealed == found {
		return nil
	}
	body := sealed[:strings.LastIndexByte(strings.TrimSuffix(sealed, "\n"), '\n')+1]
	if sealed[len(body):] != fmt.Sprintf("%08x\n", crc32.Checksum([]byte(body), castagnoli)) {
		return &SealError{Change: "the list of its files has been damaged"}
	}
	for line := range strings.Lines(body) {
		if strings.Contains(found, line) {
			continue
		}
		name := line[strings.LastIndexByte(line, ' ')+1 : len(line)-1]
		change := fmt.Sprintf("the file %s has been changed or removed", name)
		if !strings.HasSuffix(name, ".sst") {
			return &SealError{Change: change}
		}
		if tables == nil {
			tables = &SealError{Change: change, Tables: true}
		}
	}
	return tables
}
