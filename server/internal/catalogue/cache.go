package catalogue

import (
	"encoding/binary"
	"math"
	"sync"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/gsimc/gsimc/internal/ranking"
)

// cache keeps what filters that come again and again evaluate to, before the items that must not be
// shown at the moment. What was evaluated before the last change of the catalogue does not count.
type cache struct {
	mu sync.Mutex
	// By the key of the filter. A filter gets memory when it comes for the second time: nil before.
	known map[string]*evaluated
}

// evaluated is a filter's outcome; one of the sets is nil.
type evaluated struct {
	changes uint64          // of the catalogue at that time
	few     *roaring.Bitmap // the only rows that pass
	skip    *ranking.Set    // the rows that do not pass
}

const (
	// cacheBytes is about the memory of the sets of one cache.
	cacheBytes = 16 << 20
	// maxKeyBytes bounds the key of a filter that is cached.
	maxKeyBytes = 8 << 10

	leastCached, mostCached = 16, 512 // filters
)

// find returns what a filter evaluated to. known is set if it came before.
func (c *cache) find(key []byte, changes uint64) (e *evaluated, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, known = c.known[string(key)]
	if e != nil && e.changes != changes {
		e = nil
	}
	return e, known
}

// put keeps what a filter evaluates to, nil for one that came for the first time, in place of any
// other one if there is no more room.
func (c *cache) put(key []byte, e *evaluated, most int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		c.known = make(map[string]*evaluated)
	}
	if _, there := c.known[string(key)]; !there && len(c.known) >= most {
		for other := range c.known {
			delete(c.known, other)
			break
		}
	}
	c.known[string(key)] = e
}

// cachedFilters is the number of filters that a cache for n rows may hold.
func cachedFilters(n int) int {
	return min(max(cacheBytes/(n/8+1), leastCached), mostCached)
}

// key returns the key of a filter, in the memory of dst. Filters with equal keys let the same rows
// pass. listed: see [View.Select].
func (f *Filter) key(dst []byte, listed bool) []byte {
	dst = append(dst[:0], 0)
	if listed {
		dst[0] = 1
	}
	dst = f.appendLists(dst)
	for _, other := range f.And {
		dst = other.appendLists(dst)
	}
	return dst
}

// appendLists appends the lists and ranges of a filter. All filters have as many lists, so that no
// two rows of filters append the same.
func (f *Filter) appendLists(dst []byte) []byte {
	for _, names := range f.lists() {
		dst = binary.AppendUvarint(dst, uint64(len(names)))
		for _, name := range names {
			dst = binary.AppendUvarint(dst, uint64(len(name)))
			dst = append(dst, name...)
		}
	}
	dst = binary.AppendUvarint(dst, uint64(len(f.Ranges)))
	for _, r := range f.Ranges {
		dst = append(binary.AppendUvarint(dst, uint64(len(r.Name))), r.Name...)
		dst = binary.AppendUvarint(dst, uint64(len(r.AnyOf)))
		for _, number := range append([]float64{r.Least, r.Most}, r.AnyOf...) {
			dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(number))
		}
	}
	return f.Near.appendTo(dst)
}
