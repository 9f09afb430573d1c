// Package offsets keeps, for one partition, up to which offset all records are done. It knows no
// broker.
package offsets

import "sync"

// Tracker is the order of the records of one partition. The zero value is empty. All methods may be
// called from several goroutines.
type Tracker struct {
	mu      sync.Mutex
	records []record // from the first that is not done on
	first   int      // number of the first of them
	next    Position // behind the last record before which all are done
	begun   bool     // next is known
	moved   bool     // next has changed since Next
	empty   chan struct{}
}

type record struct {
	Position // of the record itself
	done     bool
}

// Position is the place of a record in its partition.
type Position struct {
	Offset int64
	Epoch  int32 // of the leader that the record came from
}

// Add adds the next record and returns its number for Done.
func (t *Tracker) Add(p Position) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.begun {
		t.next, t.begun = p, true
	}
	t.records = append(t.records, record{Position: p})
	return t.first + len(t.records) - 1
}

// Done notes that a record is settled for good. Each may be done once, in any order.
func (t *Tracker) Done(number int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.records[number-t.first].done = true
	for len(t.records) > 0 && t.records[0].done {
		t.next, t.moved = t.records[0].Position, true
		t.next.Offset++
		t.records = t.records[1:]
		t.first++
	}
	if len(t.records) == 0 && t.empty != nil {
		close(t.empty)
		t.empty = nil
	}
}

// Next returns the position to begin at after a restart: all before it are done. It is not moved
// if that is so since the last Next that was.
func (t *Tracker) Next() (p Position, moved bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p, moved, t.moved = t.next, t.moved, false
	return p, moved
}

// Again makes the next Next report its position again, since it could not be committed.
func (t *Tracker) Again() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.moved = t.first > 0 // the first record at least is done
}

// Offset is that of the next position, or unknown if there is none.
func (t *Tracker) Offset(unknown int64) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.begun {
		return unknown
	}
	return t.next.Offset
}

// Empty returns a channel that is closed when all records are done.
func (t *Tracker) Empty() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.empty == nil {
		t.empty = make(chan struct{})
	}
	empty := t.empty
	if len(t.records) == 0 {
		close(t.empty)
		t.empty = nil
	}
	return empty
}
