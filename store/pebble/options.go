package pebble

import (
	"cmp"
	"time"

	lsm "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gsimc/gsimc/store/pebble/internal/engine"
	"github.com/gsimc/gsimc/store/pebble/internal/mark"
	"github.com/gsimc/gsimc/store/pebble/internal/recent"
	"github.com/gsimc/gsimc/store/pebble/internal/row"
)

// Options configure a store. The zero value is good for production.
type Options struct {
	// CacheBytes bounds the cache of blocks read from disk. 0 means 64 MiB. Twice as much bounds
	// the memory for the event ids of users who wrote recently. Besides, the store needs up to 128
	// MiB for writes that are not yet in tables, half as much for the journal, and some MiB for
	// itself, whatever the number of users.
	CacheBytes int64
	// ReserveBytes is the free disk space below which Append is refused with [store.ErrFull], so
	// that the engine itself never runs out of space: it must write to reclaim space, and cannot go
	// on after a failed write of its log. 0 means 256 MiB, room for the log and the tables of all
	// writes held in memory plus some compactions. Negative means no reserve. The free space is
	// looked at once a second and after each ReserveBytes/16 bytes written.
	ReserveBytes int64
	// OpenTables is about how many tables are open at a time. Each takes a file descriptor. 0 means
	// 1000.
	OpenTables int
	// Events are told of things that happen inside the store.
	Events Events
	// AcceptLoss opens what is there of a store that has lost acknowledged events ([LossError]) or
	// whose files have changed since it was closed ([SealError]), and forgets what was lost.
	AcceptLoss bool
	// FS is the file system, for tests. nil means that of the operating system.
	FS vfs.FS

	// Tests make these small. 0 means the constant of the same name.
	sortBytes, sortBatch int
	closePatience        time.Duration
	markEvery, roomEvery time.Duration
	stallAfter           time.Duration
	eraseDelay           time.Duration

	rest bool // read on behind damage to the store's own rows, see Salvage
}

// Events are functions that the store calls to make itself observable. Each may be nil. They must
// return at once and must not call the store, and may be called from several goroutines at the same
// time.
type Events struct {
	// Synced is called for each durable commit with the time from its start until it was on disk.
	Synced func(took time.Duration)
	// Failed is called once, when the store stops taking writes for good (store.ErrFailed), with
	// the reason. It is called while a store is opened too, if the disk is full or failed.
	Failed func(reason error)
	// Damaged is called with the name of each damaged table: once, and once more when a store that
	// was opened to read is opened to write (see OpenOrWait). The store goes on.
	Damaged func(file string)
	// Unmarked is called when the mark of durable commits could not be written and
	// so stays behind. The store goes on.
	Unmarked func(error)
	// Slow is called when a disk operation takes longer than 5 s, which it may still do, and after
	// writers were held up because tables could not be written fast enough.
	Slow func(operation string, took time.Duration)
}

// DefaultCacheBytes is the size of the cache of options without one.
const DefaultCacheBytes = 64 << 20

// DefaultReserveBytes is the reserve of options without one.
const DefaultReserveBytes = 256 << 20

// DefaultOpenTables is the number of open tables of options without one.
const DefaultOpenTables = 1000

const (
	// sortBatch is about how much the sorter gives to the engine at once. An erasure waits for it.
	sortBatch = 1 << 20

	// closePatience is how long closing waits for an engine that has failed and may never finish.
	closePatience = 5 * time.Second
)

// withDefaults returns the options with every default filled in.
func (o Options) withDefaults() Options {
	o.CacheBytes = cmp.Or(o.CacheBytes, DefaultCacheBytes)
	o.ReserveBytes = cmp.Or(o.ReserveBytes, DefaultReserveBytes)
	o.OpenTables = cmp.Or(o.OpenTables, DefaultOpenTables)
	if o.sortBytes == 0 {
		o.sortBytes, o.sortBatch = recent.SortBytes, sortBatch
	}
	o.closePatience = cmp.Or(o.closePatience, closePatience)
	o.markEvery = cmp.Or(o.markEvery, mark.Interval)
	o.roomEvery = cmp.Or(o.roomEvery, roomInterval)
	o.eraseDelay = cmp.Or(o.eraseDelay, eraseDelay)
	o.stallAfter = cmp.Or(o.stallAfter, stallAfter)
	o.FS = cmp.Or(o.FS, vfs.Default)
	if o.Events.Synced == nil {
		o.Events.Synced = func(time.Duration) {}
	}
	if o.Events.Failed == nil {
		o.Events.Failed = func(error) {}
	}
	if o.Events.Damaged == nil {
		o.Events.Damaged = func(string) {}
	}
	if o.Events.Unmarked == nil {
		o.Events.Unmarked = func(error) {}
	}
	if o.Events.Slow == nil {
		o.Events.Slow = func(string, time.Duration) {}
	}
	return o
}

// engine returns the options of the storage engine.
func (o Options) engine() engine.Options {
	return engine.Options{
		CacheBytes:    o.CacheBytes,
		ReserveBytes:  o.ReserveBytes,
		OpenTables:    o.OpenTables,
		ClosePatience: o.closePatience,
		FS:            o.FS,
		Create:        func(db *lsm.DB, id mark.ID) error { return header{id: id}.write(db) },
		SplitAt:       row.FirstUserKey,
		AcceptLoss:    o.AcceptLoss,
		MarkEvery:     o.markEvery,
		MarkFailed:    o.Events.Unmarked,
		Damaged:       o.Events.Damaged,
		Failed:        o.Events.Failed,
		Slow:          o.Events.Slow,
	}
}
