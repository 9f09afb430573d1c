package engine

import (
	"io"
	"sync/atomic"
)

const (
	// maxAhead is how far a log is filled with zeroes beyond its written part.
	maxAhead = 1 << 20
	// minSyncs is how many syncs the last part of a log must have had for the next one to be
	// filled. The cost of the sync of a large piece is its bytes, and zeroes would double them.
	minSyncs = 32
)

var zeroes [maxAhead]byte

// logFile is a log of the engine. While little is written for each sync it is kept filled with
// zeroes beyond its written part, so that most syncs find nothing changed but the data of blocks
// that the file has had before. For a file that grows, or whose blocks are only reserved, the file
// system must note the blocks too, which takes several times as long.
//
// The engine takes zeroes for the end of its last log, because a crash leaves zeroes in reserved
// blocks. An older log must end with a trailer, which Close of the engine's writer puts there. The
// engine writes and syncs a log by one goroutine at a time.
type logFile struct {
	vitalFile
	name    string
	written atomic.Int64
	next    int64 // size at which the log is filled again
	syncs   int   // since it was filled
}

func newLogFile(file vitalFile, name string) *logFile {
	f := &logFile{vitalFile: file, name: name}
	f.e.logs.Store(name, f)
	return f
}

func (f *logFile) Write(p []byte) (int, error) {
	n, err := f.vitalFile.Write(p)
	written := f.written.Add(int64(n))
	if written < f.next {
		return n, err
	}
	ahead := min(written, maxAhead) // a small log stays small
	if written < maxAhead || f.syncs >= minSyncs {
		// If it fails, the log grows as it is written, and a fault of the disk shows then.
		_, _ = f.File.WriteAt(zeroes[:ahead], written)
	}
	f.next, f.syncs = written+ahead, 0
	return n, err
}

func (f *logFile) SyncData() error {
	f.syncs++
	return f.vitalFile.SyncData()
}

func (f *logFile) Close() error {
	err := f.vitalFile.Close()
	f.e.logs.Delete(f.name)
	return err
}

// logReader reads a log up to the part that was written when it was opened. A copy that is made
// while others write could otherwise read zeroes, and then events that were written behind them
// meanwhile; that is damage.
type logReader struct {
	readFile
	rest int64
}

func (r *logReader) Read(p []byte) (int, error) {
	if r.rest <= 0 {
		return 0, io.EOF
	}
	n, err := r.readFile.Read(p[:min(int64(len(p)), r.rest)])
	r.rest -= int64(n)
	return n, err
}
