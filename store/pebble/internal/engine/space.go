package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gsimc/gsimc/store"
)

// spaceInterval is how long a look at the free disk space is good for.
const spaceInterval = time.Second

// spaceGuard refuses writes while there is little disk space left. It recovers by itself.
type spaceGuard struct {
	fs      vfs.FS
	dir     string
	reserve int64 // negative: none

	mu      sync.Mutex
	checked time.Time // of the last look
	written int64     // bytes admitted since
	reason  string    // why writes are refused, "": they are not
}

// Admit counts bytes that are about to be written. It returns an error that wraps [store.ErrFull]
// if there is too little space.
func (e *Engine) Admit(bytes int64) error { return e.space.admit(bytes) }

func (g *spaceGuard) admit(bytes int64) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.written += bytes
	due := time.Since(g.checked) >= spaceInterval || g.reserve > 0 && g.written > g.reserve/16
	if due {
		g.checked, g.written = time.Now(), 0
		g.reason = g.look()
	}
	if g.reason != "" {
		return fmt.Errorf("%w: %s; writes resume by themselves when there is room",
			store.ErrFull, g.reason)
	}
	return nil
}

// Refusal returns why writes are refused at present, or nil. It wraps [store.ErrFull].
func (e *Engine) Refusal() error { return e.space.admit(0) }

// Room returns the free bytes of the disk, those of them that writes leave, and those that may be
// written before writes are refused; all are -1 if the file system cannot say how full it is.
func (e *Engine) Room() (free, reserve, room int64) {
	usage, err := e.space.fs.GetDiskUsage(e.space.dir)
	if err != nil {
		return -1, -1, -1
	}
	free, reserve = int64(usage.AvailBytes), max(0, e.space.reserve)
	return free, reserve, max(0, free-reserve)
}

// look returns why there is too little space, or "". A file system that cannot say how full it is
// counts as roomy: a write that fails for lack of space is still noticed.
func (g *spaceGuard) look() string {
	if g.reserve < 0 {
		return ""
	}
	usage, err := g.fs.GetDiskUsage(g.dir)
	if err != nil || usage.AvailBytes >= uint64(g.reserve) {
		return ""
	}
	return fmt.Sprintf("%d MiB are free, %d MiB are kept in reserve",
		usage.AvailBytes>>20, g.reserve>>20)
}

// exhausted notes why the engine could not write; it tries again.
func (g *spaceGuard) exhausted(reason string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.checked, g.reason = time.Now(), reason
}

// full reports whether writes were refused at the last look.
func (g *spaceGuard) full() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.reason != "" && time.Since(g.checked) < 2*spaceInterval
}

// missing returns the free space, and how much there must be besides for a number of bytes and the
// reserve.
func (g *spaceGuard) missing(bytes int64) (free, missing int64) {
	usage, err := g.fs.GetDiskUsage(g.dir)
	if err != nil {
		return 0, 0
	}
	free = int64(usage.AvailBytes)
	return free, max(bytes, g.reserve) - free
}

// SmallError is the error of opening an engine on a volume that can never have its reserve free, so
// that no write would ever be admitted. It is a [store.ErrFull].
type SmallError struct {
	// Dir is the folder of the store.
	Dir string
	// Volume and Reserve are the size of its volume and the space to be kept free, in bytes.
	Volume, Reserve int64
}

// Error names the folder and the sizes.
func (e *SmallError) Error() string {
	return fmt.Sprintf("the volume of %q has %d MiB: with %d MiB kept free it never takes an event",
		e.Dir, e.Volume>>20, e.Reserve>>20)
}

// Unwrap makes errors.Is(err, store.ErrFull) true.
func (e *SmallError) Unwrap() error { return store.ErrFull }

// CheckVolume returns a [*SmallError] if the volume of a folder is too small for the reserve.
func CheckVolume(fs vfs.FS, dir string, reserve int64) error {
	usage, err := fs.GetDiskUsage(dir)
	if err != nil || reserve <= 0 || usage.TotalBytes >= uint64(reserve+openingSlack) {
		return nil // a file system that cannot say how large it is counts as roomy
	}
	return &SmallError{Dir: dir, Volume: int64(usage.TotalBytes), Reserve: reserve}
}

// openingSlack is how much opening writes besides the tables of the events in the log.
const openingSlack = 16 << 20

// openingBytes is about how much opening an engine writes.
func openingBytes(fs vfs.FS, dir string) int64 {
	total := int64(openingSlack)
	for _, data := range []string{DataName, CreatingName} {
		// An error leaves a lower bound.
		_ = walk(fs, fs.PathJoin(dir, data), func(name string, info vfs.FileInfo) {
			if strings.HasSuffix(name, ".log") {
				total += info.Size()
			}
		})
	}
	return total
}

// Bytes returns the disk space of the directory, with the space that is reserved for logs and with
// the copies, as far as these do not share it. It looks at each file. When the context ends first,
// as on a disk that does not answer, it returns the figure of the last measurement.
func (e *Engine) Bytes(ctx context.Context) (int64, error) {
	m := e.size.measure(e.measureBytes)
	select {
	case <-m.done:
		return m.bytes, m.err
	case <-ctx.Done():
		return e.size.last.Load(), nil
	}
}

// LastBytes returns the figure of the last measurement.
func (e *Engine) LastBytes() int64 { return e.size.last.Load() }

// LastDebt returns an estimate of the bytes that compactions had yet to write then.
func (e *Engine) LastDebt() int64 { return e.size.debt.Load() }

// measureBytes adds up the files of the directory, and measures the debt.
func (e *Engine) measureBytes() (total int64, err error) {
	_ = Safely(func() error { // a hanging disk may have held this lock until Pebble was closed
		e.size.debt.Store(int64(e.DB.Metrics().Compact.EstimatedDebt))
		return nil
	})
	linked := map[fileID]bool{}
	err = walk(e.fs, e.dir, func(_ string, info vfs.FileInfo) {
		bytes, id, shared := occupied(info)
		if shared && linked[id] {
			return
		}
		if shared {
			linked[id] = true
		}
		total += bytes
	})
	if err != nil {
		return 0, fmt.Errorf("measuring the store: %w", err)
	}
	return total, nil
}

// size shares one measurement among all callers, so that a disk that does not answer holds one
// goroutine and not one for each probe.
type size struct {
	mu      sync.Mutex
	running *measurement // nil: none
	last    atomic.Int64 // bytes of the last measurement without an error
	debt    atomic.Int64 // of compactions, likewise
}

type measurement struct {
	done  chan struct{} // closed when bytes and err are there
	bytes int64
	err   error
}

// measure joins the measurement that is running, or starts one.
func (s *size) measure(count func() (int64, error)) *measurement {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running != nil {
		return s.running
	}
	m := &measurement{done: make(chan struct{})}
	s.running = m
	go func() {
		m.bytes, m.err = count()
		if m.err == nil {
			s.last.Store(m.bytes)
		}
		s.mu.Lock()
		s.running = nil
		s.mu.Unlock()
		close(m.done)
	}()
	return m
}

// fileID tells the files of a disk apart, whatever their names.
type fileID struct{ device, number uint64 }

// walk calls fn for each file below a directory, of which some may vanish meanwhile.
func walk(disk vfs.FS, dir string, fn func(name string, info vfs.FileInfo)) error {
	names, err := disk.List(dir)
	if err != nil {
		return ignoreVanished(err)
	}
	for _, name := range names {
		path := disk.PathJoin(dir, name)
		info, err := disk.Stat(path)
		switch {
		case err != nil:
			err = ignoreVanished(err)
		case info.IsDir():
			err = walk(disk, path, fn)
		default:
			fn(name, info)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func ignoreVanished(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
