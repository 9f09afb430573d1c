package engine

import (
	"bytes"
	"math"
	"time"

	lsm "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gsimc/gsimc/store/pebble/internal/mark"
)

// Options configure an engine. All fields are required.
type Options struct {
	// CacheBytes bounds the cache of blocks read from disk.
	CacheBytes int64
	// ReserveBytes is the free disk space below which [Engine.Admit] refuses. Negative: none.
	ReserveBytes int64
	// OpenTables is about how many tables are open at a time.
	OpenTables int
	// ClosePatience is how long closing waits for an engine that has failed and may never finish.
	ClosePatience time.Duration
	// FS is the file system.
	FS vfs.FS
	// Create writes the first rows of a new engine, with its id.
	Create func(*lsm.DB, mark.ID) error
	// SplitAt is a key that parts the tables: none holds keys both below and from it on. So damage
	// to the rows of one side harms none of the other.
	SplitAt []byte
	// AcceptLoss opens what is there, even if the seal or the mark says that something is missing.
	AcceptLoss bool
	// MarkEvery is the interval at which the mark is written, see [mark.Interval].
	MarkEvery time.Duration
	// MarkFailed is called with the error of writing the mark, see [mark.Keep].
	MarkFailed func(error)
	// Damaged is called with the name of each table that is found to be damaged, once.
	Damaged func(name string)
	// Failed is called once, in a goroutine of its own, when the engine fails.
	Failed func(reason error)
	// Slow is called when a disk operation takes longer than 5 s, which it may still do, and after
	// writers were held up because tables could not be written fast enough.
	Slow func(operation string, took time.Duration)
}

const (
	// TableBytes is the size of a table in memory. It has room for a generation of the journal and
	// for the rows made of it, so that the journal's rows are mostly removed before they are
	// written to a table on disk.
	TableBytes = 64 << 20
	// Tables is how many of them there can be. Writers wait when all are full.
	Tables = 2

	// eraseFlush is how long the tombstones of erased rows wait for a table in memory to be full.
	eraseFlush = 10 * time.Second
	// maxManifest is the size at which the engine writes its list of tables anew, if there were
	// also more changes to it than tables. The list names the first and last key of each table, so
	// it must not keep erased users: the number of changes alone counts. See [Engine.Forget].
	maxManifest = 1
	// bloomBits is the size of the Bloom filter for a key. It tells for 99 of 100 new users,
	// without a read, that they are new.
	bloomBits = 10
)

// engineOptions returns the options of Pebble. Its log writes are synchronous because every commit
// asks for it.
func (e *Engine) engineOptions() *lsm.Options {
	opts := &lsm.Options{
		// The zero value is the oldest format, whose log cannot tell damage from a torn end.
		FormatMajorVersion:          lsm.FormatNewest,
		FS:                          e.watched.FS,
		Logger:                      logger{e},
		EventListener:               e.listener(),
		CacheSize:                   e.opts.CacheBytes,
		MaxOpenFiles:                e.opts.OpenTables,
		MemTableSize:                TableBytes,
		MemTableStopWritesThreshold: Tables,
		CompactionConcurrencyRange:  func() (int, int) { return 1, 2 },
		FlushDelayDeleteRange:       eraseFlush,
		MaxManifestFileSize:         maxManifest,
		Cleaner:                     cleaner{},
		// Pebble would hold up writers for ever when nothing is compacted any more: see Pace.
		L0StopWritesThreshold: math.MaxInt32,
		// The statistics of tables serve compactions only, and are tried again and again.
		DisableTableStats: e.damage.known.Load(),
	}
	opts.Experimental.CompactionScheduler = &scheduler{damage: &e.damage}
	if split := e.opts.SplitAt; len(split) > 0 {
		opts.Experimental.SpanPolicyFunc = splitAt(split)
	}
	// Deeper levels inherit both.
	opts.Levels[0].FilterPolicy = bloom.FilterPolicy(bloomBits)
	// Compression would make the files a quarter smaller, for an eighth of the processor time of a
	// stream of events.
	opts.Levels[0].Compression = func() *sstable.CompressionProfile { return sstable.NoCompression }
	return opts
}

// cleaner deletes each file once the engine has no use for it. Pebble would keep some logs to write
// over them, and the bytes of erased users would live on there. It does not if a cleaner may want
// to read them, as one that archives files does.
type cleaner struct {
	lsm.DeleteCleaner
	reader
}

// reader lies one level below DeleteCleaner, whose methods come first.
type reader struct{ lsm.ArchiveCleaner }

// splitAt returns the policy that begins a new table at a key.
func splitAt(key []byte) lsm.SpanPolicyFunc {
	return func(start []byte) (policy lsm.SpanPolicy, end []byte, err error) {
		if bytes.Compare(start, key) < 0 {
			return policy, key, nil
		}
		return policy, nil, nil
	}
}
