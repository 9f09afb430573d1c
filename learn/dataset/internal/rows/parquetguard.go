package rows

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// The Parquet library allocates as much as the numbers in a file say, and a
// process that runs out of memory cannot be saved by recover. So this file
// checks the numbers before the library uses them: the lengths in the footer and
// in the page headers of the columns to be read, and the sizes of their pages.

const (
	maxFooterBytes     = 256 << 20
	maxPageHeaderBytes = 64 << 10

	// A page may be this large whatever its compressed size, and on top of
	// that maxExpansion times its compressed size.
	freePageBytes = 64 << 20
	maxExpansion  = 1024

	// A page may hold this many values whatever its size: runs of equal values
	// take next to no bytes.
	freePageValues = 16 << 20
)

var errCorruptParquet = errors.New("damaged Parquet file")

// checkFooter checks the file metadata at the end of a Parquet file.
func checkFooter(file io.ReaderAt, size int64) error {
	if size < 12 { // PAR1, footer length, PAR1
		return fmt.Errorf("%w: only %d bytes", errCorruptParquet, size)
	}
	var tail [8]byte
	if _, err := file.ReadAt(tail[:], size-8); err != nil {
		return err
	}
	if string(tail[4:]) != "PAR1" {
		return fmt.Errorf(
			"%w: it does not end with PAR1, it is truncated or still being written",
			errCorruptParquet)
	}
	length := int64(binary.LittleEndian.Uint32(tail[:4]))
	if length > size-12 || length > maxFooterBytes {
		return fmt.Errorf("%w: a footer of %d bytes in a file of %d", errCorruptParquet, length,
			size)
	}
	footer := make([]byte, length)
	if _, err := file.ReadAt(footer, size-8-length); err != nil {
		return err
	}
	_, err := checkThrift(footer)
	return err
}

// checkPages checks the page headers of one column in one row group.
func checkPages(file io.ReaderAt, size int64, column *format.ColumnMetaData) error {
	at := column.DataPageOffset
	if column.DictionaryPageOffset != 0 {
		at = column.DictionaryPageOffset // as the library does
	}
	if at < 0 || column.TotalCompressedSize < 0 || at > size ||
		column.TotalCompressedSize > size-at {
		return fmt.Errorf("%w: a column chunk lies outside the file", errCorruptParquet)
	}
	buf := make([]byte, maxPageHeaderBytes)
	for end := at + column.TotalCompressedSize; at < end; {
		n, err := file.ReadAt(buf[:min(end-at, maxPageHeaderBytes)], at)
		if err != nil && err != io.EOF {
			return err
		}
		length, err := checkThrift(buf[:n])
		if err != nil {
			return fmt.Errorf("page header at byte %d: %w", at, err)
		}
		var header format.PageHeader
		if err := thrift.Unmarshal(&thrift.CompactProtocol{}, buf[:length], &header); err != nil {
			return fmt.Errorf("%w: page header at byte %d: %w", errCorruptParquet, at, err)
		}
		if err := checkPage(&header, column, buf[length:n]); err != nil {
			return fmt.Errorf("page at byte %d: %w", at, err)
		}
		at += int64(length) + int64(header.CompressedPageSize)
	}
	return nil
}

// checkPage checks one page header; data is the beginning of the page.
func checkPage(h *format.PageHeader, column *format.ColumnMetaData, data []byte) error {
	compressed, size := int64(h.CompressedPageSize), int64(h.UncompressedPageSize)
	if compressed < 0 || size < 0 || size > freePageBytes+maxExpansion*compressed {
		return fmt.Errorf("%w: a page of %d bytes that unpacks to %d", errCorruptParquet,
			compressed, size)
	}
	values, most := int64(0), freePageValues+8*size
	levels := int64(0) // bytes ahead of the compressed part
	switch h.Type {
	case format.DictionaryPage:
		values, most = int64(h.DictionaryPageHeader.V.NumValues), size
	case format.DataPage:
		values = int64(h.DataPageHeader.V.NumValues)
	case format.DataPageV2:
		v2 := &h.DataPageHeaderV2.V
		values = int64(v2.NumValues)
		rep, def := int64(v2.RepetitionLevelsByteLength), int64(v2.DefinitionLevelsByteLength)
		levels = rep + def
		if rep < 0 || def < 0 || levels > compressed {
			return fmt.Errorf("%w: levels longer than their page", errCorruptParquet)
		}
	}
	if values < 0 || values > most {
		return fmt.Errorf("%w: a page of %d bytes with %d values", errCorruptParquet, size, values)
	}
	compression := h.DataPageHeaderV2.V.IsCompressed
	stored := h.Type == format.DataPageV2 && compression.Valid && !compression.V
	if column.Codec == format.Snappy && !stored && levels < int64(len(data)) {
		// Snappy allocates what its own first number asks for.
		if n, k := binary.Uvarint(data[levels:]); k <= 0 || n > uint64(size) {
			return fmt.Errorf("%w: a Snappy page longer than its header says", errCorruptParquet)
		}
	}
	return nil
}

// checkThrift checks that one struct of the Thrift compact protocol at the
// start of b asks for nothing that b does not hold, and returns its length.
// https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
func checkThrift(b []byte) (length int, err error) {
	t := thriftChecker{b: b}
	if !t.structure(0) {
		return 0, fmt.Errorf("%w: its metadata makes no sense", errCorruptParquet)
	}
	return len(b) - len(t.b), nil
}

// maxThriftDepth is more than twice what Parquet's own metadata needs.
const maxThriftDepth = 16

// Types of the compact protocol.
const (
	thriftStop = iota
	thriftTrue
	thriftFalse
	thriftByte
	thriftI16
	thriftI32
	thriftI64
	thriftDouble
	thriftBinary
	thriftList
	thriftSet
	_ // map
	thriftStruct
)

// thriftChecker walks over b; its methods report whether that went well.
type thriftChecker struct{ b []byte }

func (t *thriftChecker) skip(n uint64) bool {
	if n > uint64(len(t.b)) {
		return false
	}
	t.b = t.b[n:]
	return true
}

func (t *thriftChecker) varint() (uint64, bool) {
	x, n := binary.Uvarint(t.b)
	if n <= 0 {
		return 0, false
	}
	t.b = t.b[n:]
	return x, true
}

func (t *thriftChecker) structure(depth int) bool {
	for len(t.b) > 0 && depth < maxThriftDepth {
		head := t.b[0]
		t.b = t.b[1:]
		kind := head & 15
		if kind == thriftStop {
			return true
		}
		if head>>4 == 0 { // the field number follows instead of a difference
			if _, ok := t.varint(); !ok {
				return false
			}
		}
		if kind == thriftTrue || kind == thriftFalse {
			continue // the type is the value
		}
		if !t.value(kind, depth) {
			return false
		}
	}
	return false
}

func (t *thriftChecker) value(kind byte, depth int) bool {
	switch kind {
	case thriftTrue, thriftFalse, thriftByte:
		return t.skip(1)
	case thriftI16, thriftI32, thriftI64:
		_, ok := t.varint()
		return ok
	case thriftDouble:
		return t.skip(8)
	case thriftBinary:
		n, ok := t.varint()
		return ok && t.skip(n)
	case thriftList, thriftSet:
		return t.list(depth)
	case thriftStruct:
		return t.structure(depth + 1)
	}
	return false // a map or a kind that Parquet does not use
}

func (t *thriftChecker) list(depth int) bool {
	if len(t.b) == 0 || depth >= maxThriftDepth {
		return false
	}
	head := t.b[0]
	t.b = t.b[1:]
	n, ok := uint64(head>>4), true
	if n == 15 {
		n, ok = t.varint()
	}
	if !ok || n > uint64(len(t.b)) || n > math.MaxInt32 { // no element takes less than a byte
		return false
	}
	for ; n > 0; n-- {
		if !t.value(head&15, depth+1) {
			return false
		}
	}
	return true
}

// recovered turns a panic of the Parquet library into an error.
func recovered(err *error) {
	if recover() != nil { // what the library says, such as "index out of range", helps no user
		*err = errCorruptParquet
	}
}
