package rows

import (
	"bufio"
	"bytes"
	"io"
	"runtime"
	"slices"
	"sync"
)

// blockSize is the length of text that one processor reads at a time, in bytes: enough
// that handing it over does not count, little enough to stay in the caches.
const blockSize = 256 << 10

// A lineForm reads the rows of a text format in which a row is a line, but for
// rows with a certain byte.
type lineForm interface {
	Reader

	// over returns a reader of the same rows from other lines. Its rows are
	// valid as long as the lines.
	over(lines lineReader) Reader

	// multiline is a byte without which a row is a line; 0 if all of them are.
	multiline() byte
}

// blockRows reads rows in blocks of whole lines: one goroutine decompresses and
// cuts the text, a few others read the rows of the blocks, and next hands them
// out in the order of the file. Behind the first block with a row of several
// lines, everything is read in next.
//
// At any time there are two blocks for each processor, 64 bytes for each of
// their rows, and one block in the making.
type blockRows struct {
	form  lineForm
	text  *bufio.Reader
	queue chan *block // in the order of the file; closed after the last one

	now  *block // the one whose rows are handed out
	at   int    // its rows that are through
	rest Reader // reads the text behind the blocks, nil: not yet

	free chan *block
	stop chan struct{} // closed when no more rows are wanted
	done sync.WaitGroup
}

// A block is some lines and what was read of them.
type block struct {
	text   []byte
	line   int64 // number of the line before its first
	whole  bool  // each row is a line
	end    error // why no more lines follow, nil: they do
	rows   []Row
	faults []blockFault
	read   chan struct{} // receives when rows and faults are complete
}

// A blockFault is an error in the place of a row; the last one is io.EOF or
// what ended reading.
type blockFault struct {
	at  int // rows before it
	err error
}

// newBlockRows reads the rows of s that form has not read yet; lines is where
// form stands. Closing s ends the goroutines.
func newBlockRows(s *Source, form lineForm, lines lineReader) *blockRows {
	workers := runtime.GOMAXPROCS(0)
	b := &blockRows{
		form: form, text: s.text,
		queue: make(chan *block, 2*workers), free: make(chan *block, 2*workers),
		stop: make(chan struct{}),
	}
	for range cap(b.free) {
		b.free <- &block{read: make(chan struct{}, 1)}
	}
	work := make(chan *block, cap(b.free))
	b.done.Go(func() { b.cut(lines.line, work) })
	for range workers {
		b.done.Go(func() {
			for x := range work {
				x.parse(b.form)
				x.read <- struct{}{}
			}
		})
	}
	s.closers = slices.Insert(s.closers, 0, func() error {
		close(b.stop)
		b.done.Wait()
		return nil
	})
	return b
}

func (b *blockRows) Ticks() int64 { return b.form.Ticks() }

func (b *blockRows) Next(r *Row) error {
	for {
		if b.rest != nil {
			return b.rest.Next(r)
		}
		if b.now == nil {
			b.now, b.at = <-b.queue, 0
			if !b.now.whole {
				left := io.MultiReader(bytes.NewReader(b.now.text), b.text)
				text := bufio.NewReaderSize(left, MaxRowBytes)
				b.rest = b.form.over(lineReader{text: text, line: b.now.line})
				continue
			}
			<-b.now.read
		}
		if err := b.now.fault(b.at); err != nil {
			return err
		}
		if b.at < len(b.now.rows) {
			*r = b.now.rows[b.at]
			b.at++
			return nil
		}
		b.free <- b.now
		b.now = nil
	}
}

// cut cuts the text into blocks and puts them into the queue and, if a processor
// can read them apart from others, to work. line is the number of the last line
// before.
func (b *blockRows) cut(line int64, work chan<- *block) {
	defer close(work)
	var carry []byte // the beginning of a line whose end was not there yet
	for {
		var x *block
		select {
		case x = <-b.free:
		case <-b.stop:
			return
		}
		x.line = line
		carry = x.fill(b.text, carry)
		many := b.form.multiline()
		x.whole = many == 0 || bytes.IndexByte(x.text, many) < 0 && bytes.IndexByte(carry, many) < 0
		if !x.whole {
			x.text = append(x.text, carry...)
			b.queue <- x
			return
		}
		line += int64(bytes.Count(x.text, []byte{'\n'}))
		end := x.end
		work <- x
		b.queue <- x
		if end != nil {
			return
		}
	}
}

// fill reads carry and what follows as far as whole lines go, and returns the
// beginning of the next one.
func (x *block) fill(text io.Reader, carry []byte) (rest []byte) {
	x.end = nil
	x.text = append(x.text[:0], carry...)
	for size := blockSize; ; size = min(2*size, MaxRowBytes) {
		if x.text, x.end = readUpTo(text, x.text, size); x.end != nil {
			return nil
		}
		if end := bytes.LastIndexByte(x.text, '\n') + 1; end > 0 {
			rest = slices.Clone(x.text[end:])
			x.text = x.text[:end]
			return rest
		}
		if len(x.text) >= MaxRowBytes {
			x.text, x.end = x.text[:0], errRowTooLong
			return nil
		}
	}
}

// readUpTo appends what follows to b until that has size bytes, or there is an
// error.
func readUpTo(text io.Reader, b []byte, size int) ([]byte, error) {
	b = slices.Grow(b, max(0, size-len(b)))
	for len(b) < size {
		n, err := text.Read(b[len(b):size])
		if b = b[:len(b)+n]; err != nil {
			return b, err
		}
	}
	return b, nil
}

// parse reads the rows of the block.
func (x *block) parse(form lineForm) {
	x.rows, x.faults = x.rows[:0], x.faults[:0]
	rows := form.over(lineReader{block: x.text, end: x.end, line: x.line})
	for {
		n := len(x.rows)
		x.rows = append(x.rows, Row{})
		err := rows.Next(&x.rows[n])
		if err == nil {
			continue
		}
		x.rows = x.rows[:n]
		if err == io.EOF && x.end == nil {
			return // the next block goes on
		}
		x.faults = append(x.faults, blockFault{at: n, err: err})
		if _, tolerable := err.(*Error); !tolerable { //nolint:errorlint // as loader.tolerate
			return
		}
	}
}

// fault takes out the error that stands after the first at rows, if there is one.
func (x *block) fault(at int) error {
	if len(x.faults) == 0 || x.faults[0].at != at {
		return nil
	}
	err := x.faults[0].err
	x.faults = x.faults[1:]
	return err
}
