package postgres

import (
	"crypto/rand"
	"encoding/binary"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/gsimc/gsimc/store"
)

// columns are events, one column after the other.
type columns struct {
	ids, items, kinds [][]byte
	received          []bool
	seconds           []int64
	nanos             []int32 // -1: no time
	values            []float64
	marks             []int64
}

func newColumns(n int) *columns {
	return &columns{make([][]byte, 0, n), make([][]byte, 0, n), make([][]byte, 0, n),
		make([]bool, 0, n), make([]int64, 0, n), make([]int32, 0, n), make([]float64, 0, n),
		make([]int64, 0, n)}
}

func (c *columns) add(e *store.Event, received bool, mark int64) {
	c.ids = append(c.ids, []byte(e.ID))
	c.items = append(c.items, []byte(e.Item))
	c.kinds = append(c.kinds, []byte(e.Type))
	c.received = append(c.received, received)
	seconds, nanos := int64(0), int32(-1)
	if !e.Time.IsZero() {
		seconds, nanos = e.Time.Unix(), int32(e.Time.Nanosecond())
	}
	c.seconds, c.nanos = append(c.seconds, seconds), append(c.nanos, nanos)
	c.values = append(c.values, e.Value)
	c.marks = append(c.marks, mark)
}

func (c *columns) addAll(d *columns) {
	c.ids, c.items = append(c.ids, d.ids...), append(c.items, d.items...)
	c.kinds, c.received = append(c.kinds, d.kinds...), append(c.received, d.received...)
	c.seconds, c.nanos = append(c.seconds, d.seconds...), append(c.nanos, d.nanos...)
	c.values, c.marks = append(c.values, d.values...), append(c.marks, d.marks...)
}

// drawMarks returns random marks, none of which is 0.
func drawMarks(n int) []int64 {
	random, marks := make([]byte, 8*n), make([]int64, n)
	_, _ = rand.Read(random) // never fails
	for i := range marks {
		marks[i] = int64(max(binary.LittleEndian.Uint64(random[8*i:]), 1))
	}
	return marks
}

// row is an event as it is scanned.
type row struct {
	revision, mark, seconds int64
	nanos                   int32
	value                   float64
	id, item, kind          pgtype.DriverBytes // valid until the next row
}

// fields are the targets of a scan of a revision and eventColumns.
func (r *row) fields() []any {
	return []any{&r.revision, &r.mark, &r.id, &r.item, &r.kind, &r.seconds, &r.nanos, &r.value}
}

func (r *row) event() store.Event {
	e := store.Event{ID: string(r.id), Item: string(r.item), Type: string(r.kind), Value: r.value}
	if r.nanos >= 0 {
		e.Time = time.Unix(r.seconds, int64(r.nanos)).UTC()
	}
	return e
}

func (r *row) version() store.Version {
	return store.Version{Revision: uint64(r.revision), Mark: uint64(r.mark)}
}
