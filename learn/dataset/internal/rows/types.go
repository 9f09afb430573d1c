package rows

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/gsimc/gsimc/internal/event"
)

// maxTypes is the largest number of event types, in all spellings. More come from a column of
// something else.
const maxTypes = 1024

// Types numbers the event types of a column in the order in which they come. Several goroutines use
// it: reading a type that was there before takes no lock.
type Types struct {
	known atomic.Pointer[map[string]uint16] // number of each spelling
	mutex sync.Mutex                        // for growing
	names atomic.Pointer[[]string]          // spelled properly, by number
}

// NewTypes returns no types yet.
func NewTypes() *Types {
	t := &Types{}
	t.known.Store(&map[string]uint16{})
	t.names.Store(&[]string{})
	return t
}

// of returns the number of a type and its name.
func (t *Types) of(spelling []byte) (number uint16, name string, err error) {
	number, ok := (*t.known.Load())[string(spelling)]
	if !ok {
		if number, err = t.grow(string(spelling)); err != nil {
			return 0, "", err
		}
	}
	return number, (*t.names.Load())[number], nil
}

// grow adds a spelling. The maps in use are replaced, not changed.
func (t *Types) grow(spelling string) (number uint16, err error) {
	name := cmp.Or(strings.ToLower(spelling), event.DefaultType)
	if !event.ValidType(name) {
		return 0, Refusef("event type %s must match %s", Quote([]byte(spelling)), event.TypePattern)
	}
	t.mutex.Lock()
	defer t.mutex.Unlock()
	known, names := *t.known.Load(), *t.names.Load()
	if number, ok := known[spelling]; ok {
		return number, nil
	}
	if len(known) == maxTypes {
		return 0, Refusef("event type %s is one of more than %d", Quote([]byte(spelling)), maxTypes)
	}
	at := slices.Index(names, name)
	if at < 0 {
		at = len(names)
		names = append(slices.Clone(names), name)
		t.names.Store(&names) // before the number can be found
	}
	known = maps.Clone(known)
	known[spelling] = uint16(at)
	t.known.Store(&known)
	return uint16(at), nil
}

// Names returns the names by number. They must not be changed.
func (t *Types) Names() []string { return *t.names.Load() }

// Sorted returns the names in bytewise order and, for each number, the position of its name.
func (t *Types) Sorted() (names []string, rank []uint16) {
	names = slices.Sorted(slices.Values(*t.names.Load()))
	for _, name := range *t.names.Load() {
		at, _ := slices.BinarySearch(names, name)
		rank = append(rank, uint16(at))
	}
	return names, rank
}
