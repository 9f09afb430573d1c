package rows

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Names of formats.
const (
	FormatCSV     = "csv"
	FormatTSV     = "tsv"
	FormatJSONL   = "jsonl"
	FormatParquet = "parquet"
)

// First bytes of compressed files.
var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
)

// maxZstdWindow bounds what a zstd frame header can make the decoder allocate.
// 128 MiB is what "zstd --long" writes.
const maxZstdWindow = 128 << 20

// countingFile counts the bytes read of a file, for the progress bar. The zstd
// decoder reads ahead in a goroutine of its own, hence the atomic.
type countingFile struct {
	file io.Reader
	at   io.ReaderAt
	read atomic.Int64
}

func (c *countingFile) Read(p []byte) (int, error) {
	n, err := c.file.Read(p)
	c.read.Add(int64(n))
	return n, err
}

func (c *countingFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.at.ReadAt(p, off)
	c.read.Add(int64(n))
	return n, err
}

// Source is an opened input: the text of it, decompressed, or for Parquet the file itself.
type Source struct {
	Path        string
	Size        int64  // bytes on disk, 0 if unknown
	Format      string // FormatCSV stands for both CSV and TSV until the header is read
	Compression string
	Delimiter   string   // of a table, once its header is read
	Columns     []string // names of the columns in the file, set by NewReader

	file    *countingFile
	text    *bufio.Reader // nil for Parquet; its size is MaxRowBytes
	closers []func() error
}

// BytesRead returns the number of bytes of the file, as it lies on disk, that were read.
func (s *Source) BytesRead() int64 { return s.file.read.Load() }

// With calls do for what the path names, a file, or stdin for "-" unless it is nil, and closes it
// after that.
func With(path string, stdin io.Reader, do func(*Source) error) error {
	if path == Stdin && stdin != nil {
		s, err := NewSource(StdinName, stdin, nil, 0)
		if err != nil {
			return err
		}
		return errors.Join(do(s), s.Close())
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	info, err := f.Stat()
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%s: is a directory, want a file", path)
	}
	s, err := NewSource(path, f, f, info.Size())
	if err != nil {
		return err
	}
	return errors.Join(do(s), s.Close())
}

// NewSource recognises compression and format of the size bytes in file. at is nil if file is a
// stream.
func NewSource(path string, file io.Reader, at io.ReaderAt, size int64) (_ *Source, err error) {
	s := &Source{Path: path, Size: size, Compression: "none"}
	s.file = &countingFile{file: file, at: at}
	defer func() {
		if err != nil {
			_ = s.Close() // it was only read
		}
	}()
	raw := bufio.NewReaderSize(s.file, 64<<10)
	magic, err := raw.Peek(4)
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	switch {
	case len(magic) == 0:
		return nil, s.empty()
	case isZip(magic):
		return nil, fmt.Errorf("%s: zip archives are not read: unpack it first, "+
			"or on the way, with unzip -p to standard input", path)
	case foreign(magic) != "":
		return nil, fmt.Errorf("%s: %s", path, foreign(magic))
	case at == nil && string(magic) == "PAR1":
		return nil, fmt.Errorf("%s: Parquet cannot be read from a stream: "+
			"write the data to a file", path)
	case string(magic) == "PAR1":
		s.Format = FormatParquet
		return s, nil
	}
	text, err := s.decompress(raw, magic)
	if err != nil {
		return nil, err
	}
	s.text = bufio.NewReaderSize(text, MaxRowBytes)
	return s, s.recognise()
}

// foreign says what to do with a file that begins with these four bytes; empty: nothing is known
// against it.
func foreign(b []byte) string {
	packed := "%s is not read: unpack it first, or on the way, with %s -dc to standard input"
	switch {
	case bytes.HasPrefix(b, []byte("BZh")) && len(b) > 3 && '1' <= b[3] && b[3] <= '9':
		return fmt.Sprintf(packed, "bzip2", "bzip2")
	case bytes.Equal(b, []byte("\xfd7zX")):
		return fmt.Sprintf(packed, "xz", "xz")
	case bytes.HasPrefix(b, []byte("\xff\xfe")), bytes.HasPrefix(b, []byte("\xfe\xff")):
		return "the text is in UTF-16: write it in UTF-8, as iconv -f UTF-16 -t UTF-8 does"
	}
	return ""
}

// isZip reports whether a file that begins with b is a zip archive, perhaps an empty one.
func isZip(b []byte) bool {
	return bytes.HasPrefix(b, []byte("PK\x03\x04")) || bytes.HasPrefix(b, []byte("PK\x05\x06"))
}

func (s *Source) empty() error { return &emptyError{s.Path} }

// decompress returns the text behind raw, whose first bytes are magic.
func (s *Source) decompress(raw io.Reader, magic []byte) (io.Reader, error) {
	switch {
	case bytes.HasPrefix(magic, gzipMagic):
		s.Compression = "gzip"
		z, err := gzip.NewReader(raw)
		if err != nil {
			return nil, s.wrap(err)
		}
		return z, nil
	case bytes.Equal(magic, zstdMagic):
		s.Compression = "zstd"
		z, err := zstd.NewReader(raw, zstd.WithDecoderMaxWindow(maxZstdWindow))
		if err != nil {
			return nil, s.wrap(err)
		}
		s.closers = append(s.closers, func() error { z.Close(); return nil })
		return z, nil
	}
	return raw, nil
}

// recognise tells the text formats apart by their first characters.
func (s *Source) recognise() error {
	// More than any sane amount of leading space, less than the buffer.
	start, err := s.text.Peek(4096)
	if err != nil && err != io.EOF {
		return s.wrap(err)
	}
	if bytes.HasPrefix(start, []byte("\xef\xbb\xbf")) { // byte order mark
		_, _ = s.text.Discard(3) // they have been peeked at
		start = start[3:]
	}
	first := bytes.TrimLeft(start, " \t\r\n")
	switch {
	case len(start) == 0:
		return s.empty()
	case bytes.HasPrefix(start, []byte("PAR1")):
		return fmt.Errorf("%s: a Parquet file inside %s; Parquet compresses its pages itself: "+
			"unpack the file first", s.Path, s.Compression)
	case bytes.HasPrefix(start, gzipMagic), bytes.HasPrefix(start, zstdMagic), isZip(start):
		return fmt.Errorf("%s: compressed twice: unpack the file once", s.Path)
	case strings.EqualFold(filepath.Ext(s.Path), ".parquet"):
		return fmt.Errorf("%s: is not a Parquet file: it does not start with PAR1", s.Path)
	case bytes.HasPrefix(first, []byte("{")):
		s.Format = FormatJSONL
	case bytes.HasPrefix(first, []byte("[")):
		return fmt.Errorf("%s: starts with '[': a JSON array is not read, "+
			"write one object per line (JSON Lines)", s.Path)
	default:
		s.Format = FormatCSV
	}
	return nil
}

// wrap adds the path to an error of the file or its decompression.
func (s *Source) wrap(err error) error {
	if s.Compression == "none" {
		return fmt.Errorf("%s: %w", s.Path, err)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: the %s data ends early, the file is truncated: "+
			"fetch or write it again: %w",
			s.Path, s.Compression, err)
	}
	return fmt.Errorf("%s: damaged %s data, fetch or write the file again: %w",
		s.Path, s.Compression, err)
}

// Close releases the decompressor and the file.
func (s *Source) Close() error {
	var errs []error
	for _, c := range s.closers {
		errs = append(errs, c())
	}
	s.closers = nil
	return errors.Join(errs...)
}

var errRowTooLong = fmt.Errorf("row longer than %d bytes", MaxRowBytes)

// lineReader cuts text into lines: a stream, or a block of memory.
type lineReader struct {
	text *bufio.Reader // nil: the block
	line int64         // number of the line that was read last, from 1

	block []byte
	end   error // what follows the block; nil and io.EOF: nothing
}

// next returns the next line with its end-of-line characters. It is valid
// until the following call. The error is io.EOF only when nothing is left.
func (l *lineReader) next() ([]byte, error) {
	if l.text == nil {
		return l.nextOfBlock()
	}
	line, err := l.text.ReadSlice('\n')
	switch {
	case err == nil, err == io.EOF && len(line) > 0:
		l.line++
		return line, nil
	case err == bufio.ErrBufferFull:
		l.line++
		return nil, errRowTooLong
	}
	return nil, err
}

// nextOfBlock is next for a block. A line without an end is one only if nothing
// follows.
func (l *lineReader) nextOfBlock() (line []byte, err error) {
	end := bytes.IndexByte(l.block, '\n') + 1
	if end == 0 && (l.end == nil || l.end == io.EOF) {
		end = len(l.block)
	}
	if end > 0 {
		line, l.block = l.block[:end], l.block[end:]
		l.line++
		return line, nil
	}
	switch l.end {
	case nil:
		return nil, io.EOF
	case errRowTooLong:
		l.line++
	}
	return nil, l.end
}

// trimEOL cuts "\n", "\r\n" or a last lone "\r" off a line.
func trimEOL(line []byte) []byte {
	if n := len(line); n > 0 && line[n-1] == '\n' {
		line = line[:n-1]
	}
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	return line
}
