package pebble

import (
	"time"

	lsm "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Options configure a store. The zero value is good for production.
type Options struct {
	// CacheBytes bounds the cache of blocks read from disk. 0 means 64 MiB. Twice as much bounds the memory for the event ids of
	// users who wrote recently. Besides, the store needs up to 128 MiB for writes that are not yet in tables, half as much for
	// the journal, and some MiB for itself, whatever the number of users.
	CacheBytes int64
	// ReserveBytes is the free disk space below which Append is refused with store.ErrFull, so that the engine itself
	// never runs out of space: it must write to reclaim space, and cannot go on after a failed write of its log.
	// 0 means 256 MiB, room for the log and the tables of all writes held in memory plus some compactions. Negative
	// means no reserve. The free space is looked at once a second and after each ReserveBytes/16 bytes written.
	ReserveBytes int64
	// Events are told what happens inside the store.
	Events Events
	// FS is the file system, for tests. nil means that of the operating system.
	FS vfs.FS

	sortBytes, sortBatch int // tests make them small
}

// Events are functions the store calls to make itself observable. Each may be nil. They must return at once and must not
// call the store, and may be called from several goroutines at the same time.
type Events struct {
	// Synced is called for each durable commit with the time from its start until it was on disk.
	Synced func(took time.Duration)
	// Failed is called once, when the store stops taking writes for good (store.ErrFailed), with the reason.
	Failed func(reason error)
	// Slow is called when a disk operation takes longer than 5 s (it may still be going on) and after writers were held
	// up because tables could not be written fast enough.
	Slow func(what string, took time.Duration)
}

const (
	defaultCacheBytes   = 64 << 20
	defaultReserveBytes = 256 << 20

	// A table in memory has room for a generation of the journal and for the rows made of it, so that the journal's rows are
	// mostly removed before they are written to a table on disk.
	memTableBytes = 64 << 20
	memTables     = 2 // writers wait when so many are full
)

// withDefaults returns the options with every default filled in.
func (o Options) withDefaults() Options {
	if o.CacheBytes == 0 {
		o.CacheBytes = defaultCacheBytes
	}
	if o.ReserveBytes == 0 {
		o.ReserveBytes = defaultReserveBytes
	}
	if o.sortBytes == 0 {
		o.sortBytes, o.sortBatch = sortBytes, sortBatch
	}
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.Events.Synced == nil {
		o.Events.Synced = func(time.Duration) {}
	}
	if o.Events.Failed == nil {
		o.Events.Failed = func(error) {}
	}
	if o.Events.Slow == nil {
		o.Events.Slow = func(string, time.Duration) {}
	}
	return o
}

// engineOptions returns the options of the storage engine. Its log writes are synchronous because every commit asks for it.
func (s *Store) engineOptions() *lsm.Options {
	opts := &lsm.Options{
		// The zero value is the oldest format, whose log cannot tell damage from a torn end.
		FormatMajorVersion:          lsm.FormatNewest,
		FS:                          s.engineFS,
		Logger:                      logger{s},
		EventListener:               s.listener(),
		CacheSize:                   s.opts.CacheBytes,
		MemTableSize:                memTableBytes,
		MemTableStopWritesThreshold: memTables,
		CompactionConcurrencyRange:  func() (int, int) { return 1, 2 },
		// Erased rows should leave the disk in a foreseeable time, so their tombstones do not wait for a full memtable.
		FlushDelayDeleteRange: 10 * time.Second,
		// The manifest holds the first and last key of each table, so it too must not keep erased users for long.
		MaxManifestFileSize: 256 << 10,
	}
	// A Bloom filter of 10 bits a key tells for 99 of 100 new users, without a read, that they are new.
	// Deeper levels inherit it.
	opts.Levels[0].FilterPolicy = bloom.FilterPolicy(10)
	// Compression would make the files a quarter smaller, for an eighth of the processor time of a stream of events.
	opts.Levels[0].Compression = func() *sstable.CompressionProfile { return sstable.NoCompression }
	return opts
}
