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
}

type record struct {
	Position // of the record itself
	size     int
	done     bool
}

// Position is the place of a record in its partition.
type Position struct {
	Offset int64
	Epoch  int32 // of the leader that the record came from
}

// Begin notes where the first record is, if that is not known.
func (t *Tracker) Begin(p Position) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.begun {
		t.next, t.begun = p, true
	}
}

// Add adds the next record, of some size, and returns its number for Done.
func (t *Tracker) Add(p Position, size int) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.records = append(t.records, record{Position: p, size: size})
	return t.first + len(t.records) - 1
}

// Done notes that a record is settled for good. Each may be done once, in any order. It returns the
// size of the records that are forgotten by that: all before them are done, too.
func (t *Tracker) Done(number int) (released int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.records[number-t.first].done = true
	for len(t.records) > 0 && t.records[0].done {
		t.next = t.records[0].Position
		t.next.Offset++
		released += t.records[0].size
		t.records = t.records[1:]
		t.first++
	}
	return released
}

// Next returns the position to begin at after a restart, if it is known: all before it are done.
func (t *Tracker) Next() (p Position, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.next, t.begun
}

// Empty reports whether all records are done.
func (t *Tracker) Empty() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.records) == 0
}
