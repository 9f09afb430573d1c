package rows

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zip"
)

// What is read of a zip archive: https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT
const (
	// maxZipDirectory bounds the list of files at the end of an archive, in bytes: it is read into
	// memory. That is enough for about ten thousand files.
	maxZipDirectory = 1 << 20

	// An archive may unpack to this many bytes, and on top of that to maxZipExpansion times its
	// size. CSV rarely shrinks to less than a fiftieth.
	freeZipBytes    = 64 << 20
	maxZipExpansion = 256

	encryptedFlag = 1
)

var errZip = errors.New("damaged zip archive")

// isZip reports whether a file that begins with b is a zip archive, perhaps an empty one.
func isZip(b []byte) bool {
	return bytes.HasPrefix(b, []byte("PK\x03\x04")) || bytes.HasPrefix(b, []byte("PK\x05\x06"))
}

// eachEntry calls do for each data file in the archive at name, in the order of the archive. All of
// them must be of one format and, if they are tables with a header, have the same one.
func eachEntry(
	name string, archive *countingFile, size int64, form Form, do func(*Source) error,
) error {
	files, err := zipFiles(archive, size)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	first := ""
	for i, f := range files {
		err := withEntry(name, archive, size, f, func(s *Source) error {
			kind, err := s.kind(form)
			if i == 0 {
				first = kind
			}
			if kind == first {
				return err
			}
			return fmt.Errorf("%s: %s and %s have different columns: "+
				"unpack the archive and name the files to read", name,
				entryName(files[0]), entryName(f))
		})
		if err != nil {
			return err
		}
	}
	for _, f := range files {
		if err := withEntry(name, archive, size, f, do); err != nil {
			return err
		}
	}
	return nil
}

// kind returns the format of s and the beginning of the header, if it has one.
func (s *Source) kind(form Form) (string, error) {
	if s.Format != FormatCSV || form.Names != nil {
		return s.Format, nil
	}
	first, err := s.text.Peek(4096)
	if err != nil && err != io.EOF {
		return "", s.wrap(err)
	}
	header, _, _ := bytes.Cut(bytes.TrimLeft(first, "\r\n"), []byte("\n"))
	return s.Format + string(trimEOL(header)), nil
}

// withEntry opens a file of an archive for do.
func withEntry(
	name string, archive *countingFile, size int64, f *zip.File, do func(*Source) error,
) error {
	s := &Source{Path: name + "/" + entryName(f), Size: size, Compression: "zip", file: archive}
	unpacked, err := f.Open()
	if err != nil {
		return s.wrap(err)
	}
	s.closers = append(s.closers, unpacked.Close)
	// It fails at the size that the archive gives if there is more.
	s.text = bufio.NewReaderSize(unpacked, MaxRowBytes)
	if err = s.recognise(); err == nil {
		err = do(s)
	}
	return errors.Join(err, s.Close())
}

// entryName is the name of a file in an archive as it can be printed.
func entryName(f *zip.File) string {
	if quoted := strconv.Quote(f.Name); quoted[1:len(quoted)-1] != f.Name {
		return quoted
	}
	return f.Name
}

// zipFiles returns the data files of an archive. A file that cannot be read refuses the archive.
func zipFiles(archive io.ReaderAt, size int64) (files []*zip.File, err error) {
	if err := checkZipDirectory(archive, size); err != nil {
		return nil, err
	}
	z, err := zip.NewReader(archive, size)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errZip, err)
	}
	total := uint64(0)
	for _, f := range z.File {
		if noData(f.Name) {
			continue
		}
		switch {
		case f.Flags&encryptedFlag != 0:
			return nil, fmt.Errorf("%s is encrypted: unpack the archive first", entryName(f))
		case f.Method != zip.Store && f.Method != zip.Deflate:
			return nil, fmt.Errorf("%s is compressed by method %d, want deflate: "+
				"unpack the archive first", entryName(f), f.Method)
		case f.UncompressedSize64 > math.MaxInt64-total:
			return nil, errZip
		}
		total += f.UncompressedSize64
		files = append(files, f)
	}
	if total > freeZipBytes && (total-freeZipBytes)/maxZipExpansion > uint64(size) {
		return nil, fmt.Errorf("an archive of %d bytes that unpacks to %d: unpack it first if "+
			"that is right",
			size, total)
	}
	if some := slices.DeleteFunc(slices.Clone(files), isEmpty); len(some) > 0 {
		files = some // if all are empty, reading the first one says so
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("the archive holds no file: %w", ErrNoData)
	}
	return files, nil
}

// noData tells whether an entry is a folder or a file that desktops and Spark add: names that begin
// with a dot or, as _SUCCESS does, with an underscore.
func noData(name string) bool {
	base := path.Base(name)
	return strings.HasSuffix(name, "/") || strings.HasPrefix(name, "__MACOSX/") ||
		strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")
}

// isEmpty tells whether an entry has no bytes. The checksum of none is 0.
func isEmpty(f *zip.File) bool { return f.UncompressedSize64 == 0 && f.CRC32 == 0 }

// checkZipDirectory checks the size of the list of files before it is read into memory.
func checkZipDirectory(archive io.ReaderAt, size int64) error {
	const recordBytes, locatorBytes, record64Bytes, maxComment = 22, 20, 56, 1<<16 - 1
	tail := make([]byte, min(size, recordBytes+maxComment))
	if _, err := archive.ReadAt(tail, size-int64(len(tail))); err != nil && err != io.EOF {
		return err
	}
	at := bytes.LastIndex(tail, []byte("PK\x05\x06"))
	if at < 0 || len(tail)-at < recordBytes {
		return fmt.Errorf(
			"%w: it has no list of its files, it is truncated or still being written", errZip)
	}
	files := uint64(binary.LittleEndian.Uint16(tail[at+10:]))
	length := uint64(binary.LittleEndian.Uint32(tail[at+12:]))
	locator := at - locatorBytes
	if locator >= 0 && bytes.HasPrefix(tail[locator:], []byte("PK\x06\x07")) {
		var record [record64Bytes]byte
		from := binary.LittleEndian.Uint64(tail[locator+8:])
		if from > uint64(size) {
			return errZip
		}
		if _, err := archive.ReadAt(record[:], int64(from)); err != nil {
			return fmt.Errorf("%w: %w", errZip, err)
		}
		files = binary.LittleEndian.Uint64(record[32:])
		length = binary.LittleEndian.Uint64(record[40:])
	}
	const entryBytes = 46 // at least
	if length > maxZipDirectory || files > maxZipDirectory/entryBytes {
		return fmt.Errorf("an archive of %d files, too many: unpack it first", files)
	}
	return nil
}
