package export

import (
	"errors"
	"path/filepath"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/gsimc/gsimc/internal/file/atomicfile"
	"github.com/gsimc/gsimc/store"
)

// Rows of the files.
type (
	eventRow struct {
		User  string  `parquet:"user_id,dict,zstd"`
		Item  string  `parquet:"item_id,dict,zstd"`
		Time  *int64  `parquet:"timestamp,optional,zstd,timestamp(microsecond)"`
		Type  string  `parquet:"event_type,dict,zstd"`
		Value float64 `parquet:"value,zstd"`
		ID    string  `parquet:"event_id,zstd"`
	}
	userRow struct {
		User   string `parquet:"user_id,zstd"`
		Events int64  `parquet:"events,zstd"`
		First  *int64 `parquet:"first_event,optional,zstd,timestamp(microsecond)"`
		Last   *int64 `parquet:"last_event,optional,zstd,timestamp(microsecond)"`
	}
	itemRow struct {
		ID         string             `parquet:"item_id,zstd"`
		Title      string             `parquet:"title,zstd"`
		Categories []string           `parquet:"categories,list,zstd"`
		Labels     []string           `parquet:"labels,list,zstd"`
		Hidden     bool               `parquet:"hidden"`
		From       *int64             `parquet:"available_from,optional,zstd,timestamp(microsecond)"`
		Until      *int64             `parquet:"available_until,optional,zstd,timestamp(microsecond)"`
		Embedding  []float32          `parquet:"embedding,list,zstd"`
		Numbers    map[string]float64 `parquet:"numbers"`
	}
)

// micros is a time in microseconds; nil for none.
func micros(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	return new(t.UnixMicro())
}

// Numbers of rows that are in memory before they are written. An embedding may have 4 kB.
const (
	eventGroup = 1 << 17
	itemGroup  = 1 << 13
)

// table is a Parquet file of rows of one type. It gets its name when it is complete.
type table[R any] struct {
	out    *atomicfile.File
	writer *parquet.GenericWriter[R]
	row    [1]R
	rows   int64
}

func createTable[R any](dir, name string, rowGroup int64) (*table[R], error) {
	out, err := atomicfile.CreatePrivate(filepath.Join(dir, name+".parquet"))
	if err != nil {
		return nil, err
	}
	return &table[R]{out: out,
		writer: parquet.NewGenericWriter[R](out, parquet.MaxRowsPerRowGroup(rowGroup))}, nil
}

func (t *table[R]) add(row R) error {
	t.row[0] = row
	_, err := t.writer.Write(t.row[:])
	t.rows++
	return err
}

// files are those of an export.
type files struct {
	events *table[eventRow]
	users  *table[userRow]
	items  *table[itemRow]

	user        userRow // whose events are being written
	first, last time.Time
}

// create begins the files in a folder.
func create(dir string) (_ *files, err error) {
	f := &files{}
	if f.events, err = createTable[eventRow](dir, "events", eventGroup); err != nil {
		return nil, err
	}
	if f.users, err = createTable[userRow](dir, "users", eventGroup); err != nil {
		return nil, errors.Join(err, f.abort())
	}
	if f.items, err = createTable[itemRow](dir, "items", itemGroup); err != nil {
		return nil, errors.Join(err, f.abort())
	}
	return f, nil
}

// event writes an event. Those of a user come one after the other.
func (f *files) event(user string, e store.Event) error {
	if f.user.Events == 0 || user != f.user.User {
		if err := f.lastUser(); err != nil {
			return err
		}
		f.user.User, f.first, f.last = user, time.Time{}, time.Time{}
	}
	f.user.Events++
	if !e.Time.IsZero() && (f.first.IsZero() || e.Time.Before(f.first)) {
		f.first = e.Time
	}
	if f.last.IsZero() || e.Time.After(f.last) {
		f.last = e.Time
	}
	return f.events.add(eventRow{User: user, Item: e.Item, Time: micros(e.Time), Type: e.Type,
		Value: e.Value, ID: e.ID})
}

// lastUser writes the user whose events have been written.
func (f *files) lastUser() error {
	if f.user.Events == 0 {
		return nil
	}
	f.user.First, f.user.Last = micros(f.first), micros(f.last)
	err := f.users.add(f.user)
	f.user = userRow{}
	return err
}

// close completes the files and gives them their names. After an error some may be new and some of
// an export before.
func (f *files) close() error {
	for _, end := range []func() error{f.events.writer.Close, f.users.writer.Close,
		f.items.writer.Close, f.events.out.Close, f.users.out.Close, f.items.out.Close} {
		if err := end(); err != nil {
			return err
		}
	}
	return nil
}

// abort removes what has no name yet.
func (f *files) abort() (err error) {
	if f.events != nil {
		err = f.events.out.Abort()
	}
	if f.users != nil {
		err = errors.Join(err, f.users.out.Abort())
	}
	if f.items != nil {
		err = errors.Join(err, f.items.out.Abort())
	}
	return err
}
