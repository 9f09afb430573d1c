package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	lsm "github.com/cockroachdb/pebble/v2"
	bolt "go.etcd.io/bbolt"

	"github.com/gsimc/gsimc/bench/internal/redis"
	"github.com/gsimc/gsimc/bench/internal/result"
	"github.com/gsimc/gsimc/bench/internal/rounds"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble"
)

const (
	ownStore    = "gsimc store"
	recordBytes = 64
	eventUsers  = 100_000 // among whom the events are drawn
)

// A writer makes batches of events durable, one after the other: it is what one of many concurrent
// callers does.
type writer interface {
	// append returns when all records are safe. users are the owners of the records.
	append(users []string, records [][]byte) error
	close() error
}

// backend makes writers of one storage.
type backend struct {
	kind kind
	name string
	role result.Role
	open func() (writer, error)
}

// kind tells the storages apart that take part in further groups.
type kind int

const (
	otherKind kind = iota
	redisKind
	boltKind
)

// measureDurability writes events of random users with more and more concurrent callers.
func measureDurability(s *session) (err error) {
	backends, closeAll, err := s.backends()
	defer func() { err = errors.Join(err, closeAll()) }()
	if err != nil {
		return err
	}
	s.note("every event is on disk before it is acknowledged; %d bytes each, of %d users",
		recordBytes, eventUsers)
	loads := []struct{ writers, batch int }{{1, 1}, {16, 1}, {50, 1}, {256, 1}, {16, 100}}
	for _, g := range loads {
		group := result.Group{
			Title: fmt.Sprintf("durable appends, %d callers, %d event(s) in a call", g.writers,
				g.batch),
			Params: map[string]float64{"callers": float64(g.writers), "batch": float64(g.batch)},
			Unit:   "events/s", Higher: true, Ours: ownStore,
			Remarks: "The redis figure has its protocol and a socket in it; the others are calls " +
				"within the process. The event ids of all users fit into the memory of " +
				"gsimc's store, as redis has all it knows in memory.",
		}
		if s.left(group.Title) {
			continue
		}
		var contestants []rounds.Contestant
		for _, b := range backends {
			run := func() (float64, error) { return s.writeRate(b, eventUsers, g.writers, g.batch) }
			c := rounds.Contestant{Name: b.name, Role: b.role, Run: run}
			contestants = append(contestants, c)
		}
		if g.batch == 1 {
			contestants = append(contestants, s.syncRate(g.writers))
		}
		if err := s.compete(group, contestants); err != nil {
			return err
		}
	}
	if err := s.eventBytes(); err != nil {
		return err
	}
	return s.measureStreams(backends)
}

// eventBytes adds how much of the disk one event takes once all is written down, to the last group.
// Every event is of another size in another service; these have short ids.
func (s *session) eventBytes() (err error) {
	calls, batch := pick(s, 500, 20), 1000
	own, err := pebble.Open(s.ctx, s.path("bytes"), pebble.Options{})
	if err != nil {
		return err
	}
	if err := errors.Join(writeCalls(own, calls, batch), own.Close()); err != nil {
		return err
	}
	// Opening writes the tables of what only stood in the log.
	if own, err = pebble.Open(s.ctx, s.path("bytes"), pebble.Options{}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, own.Close()) }()
	bytes, err := fileBytes(s.path("bytes"))
	if err != nil {
		return err
	}
	if len(s.file.Groups) == 0 {
		return nil // --only leaves all out
	}
	last := &s.file.Groups[len(s.file.Groups)-1]
	each := float64(bytes) / float64(calls*batch)
	last.Checks = append(last.Checks,
		result.Check{Name: result.BytesOfEvent, Value: each, Text: fmt.Sprintf("%.0f", each)})
	return nil
}

// fileBytes returns the size of the files below a folder, without the space that is reserved behind
// the end of logs: that does not grow with the events.
func fileBytes(dir string) (total int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return ignoreVanished(err)
		}
		info, err := d.Info()
		if err != nil {
			return ignoreVanished(err)
		}
		total += info.Size()
		return nil
	})
	return total, err
}

// ignoreVanished returns err unless it says that a file is gone, as the store removes some.
func ignoreVanished(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// writeCalls appends events of random users, batch of them in a call.
func writeCalls(own store.Store, calls, batch int) error {
	w := &storeWriter{store: own}
	rng := rand.New(rand.NewPCG(1, 1))
	users, records := make([]string, batch), make([][]byte, batch)
	for range calls {
		for j := range records {
			users[j] = "user-" + strconv.Itoa(rng.IntN(eventUsers))
			records[j] = binary.LittleEndian.AppendUint64(nil, rng.Uint64())
		}
		if err := w.append(users, records); err != nil {
			return err
		}
	}
	return nil
}

// backends opens every storage in the temporary folder; the function closes those that were opened.
func (s *session) backends() ([]backend, func() error, error) {
	var closers []func() error
	closeAll := func() error {
		var failed []error
		for _, c := range closers {
			failed = append(failed, c())
		}
		return errors.Join(failed...)
	}
	own, err := pebble.Open(s.ctx, s.path("gsimc"), pebble.Options{CacheBytes: storeCache})
	if err != nil {
		return nil, closeAll, err
	}
	closers = append(closers, own.Close)
	all := []backend{
		{
			otherKind,
			ownStore,
			result.Own,
			func() (writer, error) { return &storeWriter{store: own}, nil },
		},
	}
	if s.noPeers {
		return all, closeAll, nil
	}
	plain, err := lsm.Open(s.path("pebble"),
		&lsm.Options{FormatMajorVersion: lsm.FormatNewest, Logger: silent{}})
	if err != nil {
		return nil, closeAll, err
	}
	closers = append(closers, plain.Close)
	tree, err := bolt.Open(s.path("bbolt"), 0o600, nil)
	if err != nil {
		return nil, closeAll, err
	}
	closers = append(closers, tree.Close)
	create := func(tx *bolt.Tx) error { _, err := tx.CreateBucket(bucket); return err }
	if err := tree.Update(create); err != nil {
		return nil, closeAll, err
	}
	all = append(
		all,
		backend{
			otherKind,
			"pebble, Set and Sync",
			result.Peer,
			func() (writer, error) { return &pebbleWriter{db: plain}, nil },
		},
		backend{
			boltKind,
			"bbolt, Update",
			result.Peer,
			func() (writer, error) { return &boltWriter{run: tree.Update}, nil },
		},
		backend{
			otherKind,
			"bbolt, Batch",
			result.Peer,
			func() (writer, error) { return &boltWriter{run: tree.Batch}, nil },
		},
	)
	if err := os.Mkdir(s.path("redis"), 0o755); err != nil {
		return nil, closeAll, err
	}
	server, err := redis.Start(s.ctx, s.path("redis"))
	switch {
	case errors.Is(err, redis.ErrNotInstalled):
		s.note("redis is skipped: %v", err)
	case err != nil:
		return nil, closeAll, err
	default:
		closers = append(closers, server.Close)
		name := "redis " + server.Version + ", appendfsync always"
		all = append(all, backend{redisKind, name, result.Peer, func() (writer, error) {
			conn, err := redis.Dial(server.Address)
			return redisWriter{conn}, err
		}})
	}
	return all, closeAll, nil
}

// writeRate lets the given number of writers append events for a while, each event of a random one
// of the users, and returns the events per second.
func (s *session) writeRate(b backend, users, writers, batch int) (float64, error) {
	open := make([]writer, writers)
	for i := range open {
		var err error
		if open[i], err = b.open(); err != nil {
			return 0, err
		}
	}
	var done atomic.Int64
	failed := make(chan error, writers)
	begin := time.Now()
	deadline := begin.Add(s.measuringTime())
	var wg sync.WaitGroup
	for i, w := range open {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(i), uint64(batch)))
			owners, records := make([]string, batch), make([][]byte, batch)
			for j := range records {
				records[j] = make([]byte, recordBytes)
			}
			for time.Now().Before(deadline) {
				for j := range records {
					owners[j] = "user-" + strconv.Itoa(rng.IntN(users))
					binary.LittleEndian.PutUint64(records[j], rng.Uint64())
				}
				if err := w.append(owners, records); err != nil {
					failed <- err
					return
				}
				done.Add(int64(batch))
			}
		})
	}
	wg.Wait()
	rate := float64(done.Load()) / time.Since(begin).Seconds()
	for _, w := range open {
		if err := w.close(); err != nil {
			return 0, err
		}
	}
	select {
	case err := <-failed:
		return 0, err
	default:
		return rate, nil
	}
}

// syncRate is what the disk allows: one write and fdatasync after the other, with all waiting
// callers' records in each.
func (s *session) syncRate(writers int) rounds.Contestant {
	name := fmt.Sprintf("one fdatasync after the other, %d record(s) in each", writers)
	return rounds.Contestant{Name: name, Role: result.Limit, Run: func() (rate float64, err error) {
		f, err := os.Create(filepath.Join(s.tmp, "sync"))
		if err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		buf := make([]byte, writers*recordBytes)
		if _, err := f.Write(make([]byte, 1<<20)); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, err
		}
		seconds, err := rounds.Median(s.use(), func(i int) error {
			if _, err := f.WriteAt(buf, int64(i*len(buf)%(1<<19))); err != nil {
				return err
			}
			return dataSync(f)
		})
		return float64(writers) / seconds, err
	}}
}

// storeWriter writes to gsimc's own store.
type storeWriter struct {
	store   store.Store
	records []store.Record
}

func (w *storeWriter) append(users []string, records [][]byte) error {
	w.records = w.records[:0]
	for i, user := range users {
		// The id takes the place of the record's bytes: it differs from event to event as they do.
		id := fmt.Sprintf("%016x%08x", binary.LittleEndian.Uint64(records[i]), sequence.Add(1))
		w.records = append(
			w.records,
			store.Record{
				User:  user,
				Event: store.Event{ID: id, Item: "item-1234567", Type: "view", Value: 1},
			},
		)
	}
	_, err := w.store.Append(context.Background(), w.records)
	return err
}

func (w *storeWriter) close() error { return nil }

// sequence makes keys that differ from call to call.
var sequence atomic.Uint64

func key(
	user string,
) []byte {
	return binary.BigEndian.AppendUint64([]byte(user+"/"), sequence.Add(1))
}

// pebbleWriter writes keys of user and sequence number.
type pebbleWriter struct{ db *lsm.DB }

func (w *pebbleWriter) append(users []string, records [][]byte) error {
	batch := w.db.NewBatch()
	for i, user := range users {
		if err := batch.Set(key(user), records[i], nil); err != nil {
			return err
		}
	}
	return batch.Commit(lsm.Sync)
}

func (w *pebbleWriter) close() error { return nil }

// silent drops what pebble says about its files.
type silent struct{}

func (silent) Infof(string, ...any)           {}
func (silent) Errorf(string, ...any)          {}
func (silent) Fatalf(format string, a ...any) { panic(fmt.Sprintf(format, a...)) }

var bucket = []byte("events")

// boltWriter writes the same keys as pebbleWriter in transactions of its own, or of bbolt's
// batches.
type boltWriter struct {
	run func(func(*bolt.Tx) error) error
}

func (w *boltWriter) append(users []string, records [][]byte) error {
	return w.run(func(tx *bolt.Tx) error {
		for i, user := range users {
			if err := tx.Bucket(bucket).Put(key(user), records[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

func (w *boltWriter) close() error { return nil }

// redisWriter appends to a list for each user, in one pipeline for a call.
type redisWriter struct{ conn *redis.Conn }

func (w redisWriter) append(users []string, records [][]byte) error {
	return w.conn.Append(users, records)
}
func (w redisWriter) close() error { return w.conn.Close() }
