package mark

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Interval is the time from a commit until the mark that counts it is written. Commits of that time
// share the write.
const Interval = 100 * time.Millisecond

// Keeper writes the mark of an open store while commits become durable. Use [Keep].
type Keeper struct {
	every  time.Duration
	failed func(error)
	latest atomic.Pointer[durable]
	armed  atomic.Bool // the mark will be written

	mu      sync.Mutex // held while the disk is used
	file    vfs.File   // nil: closed
	turn    uint64
	mark    Mark
	trouble bool // the last write failed
}

// durable is the last durable commit, with the number of users as of it.
type durable struct {
	commit uint64
	users  int64
}

// Keep begins to keep the mark in the folder, whose file must be there. The mark is written every
// so often, at most. failed is called with the error of a write after one that did not fail; the
// mark then stays behind until a later write.
func Keep(fs vfs.FS, dir string, every time.Duration, failed func(error)) (*Keeper, error) {
	m, turn, found, err := read(fs, dir)
	if err == nil && !found {
		err = ErrDamaged
	}
	if err != nil {
		return nil, err
	}
	file, err := fs.OpenReadWrite(fs.PathJoin(dir, Name), vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, err
	}
	k := &Keeper{every: every, failed: failed, file: file, turn: turn, mark: m}
	k.latest.Store(&durable{m.Commit, m.Users})
	return k, nil
}

// Durable notes that all commits up to a number are durable, and how many users there are then;
// negative: not known. It does not wait for the disk.
func (k *Keeper) Durable(commit uint64, users int64) {
	if commit <= k.latest.Load().commit { // it is called by one goroutine
		return
	}
	k.latest.Store(&durable{commit, users})
	if !k.armed.Load() && k.armed.CompareAndSwap(false, true) {
		time.AfterFunc(k.every, func() {
			k.mu.Lock()
			defer k.mu.Unlock()
			k.armed.Store(false) // now: behind a write that hangs, one more waits and no others
			k.write()
		})
	}
}

// Mark returns the mark as of now, which may not be written yet.
func (k *Keeper) Mark() Mark {
	latest := k.latest.Load()
	return Mark{ID: k.mark.ID, Commit: latest.commit, Users: latest.users, At: time.Now()}
}

// write writes the mark if commits have come since the last one.
func (k *Keeper) write() {
	m := k.Mark()
	if k.file == nil || m.Commit == k.mark.Commit {
		return
	}
	turn := k.turn + 1
	// Turn 1 is in the first slot.
	_, err := k.file.WriteAt(m.encode(turn), int64((turn+1)%2)*slotPlace)
	if err == nil {
		err = k.file.SyncData()
	}
	if err != nil { // the same slot again next time: the other one is whole
		if !k.trouble {
			k.trouble = true
			go k.failed(err)
		}
		return
	}
	k.turn, k.mark.Commit, k.trouble = turn, m.Commit, false
}

// Close writes the last mark.
func (k *Keeper) Close() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.write()
	err := k.file.Close()
	k.file = nil
	return err
}
