package catalogue

import (
	"context"
	"slices"
	"strings"
)

// titlesAtOnce is the number of titles that are looked at under one lock, for which writes wait: a
// fraction of a millisecond.
const titlesAtOnce = 4096

// FindTitles returns the first n ids, sorted, of items whose titles have query, in small or capital
// letters, without those of except. It looks at all titles, which are in memory, and at those of
// one call at a time, so that searches keep one processor busy at most. The error is that of ctx.
func (c *Catalogue) FindTitles(
	ctx context.Context, query string, n int, except []string,
) (ids []string, err error) {
	select {
	case c.searching <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-c.searching }()
	query = folded(query)
	for from, more := 0, true; more; from += titlesAtOnce {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c.mu.RLock()
		entries := c.items.entries[min(from, len(c.items.entries)):]
		more = len(entries) > titlesAtOnce
		for i := range entries[:min(titlesAtOnce, len(entries))] {
			e := &entries[i]
			if strings.Contains(e.title, query) && !slices.Contains(except, e.id) {
				ids = insert(ids, e.id, n)
			}
		}
		c.mu.RUnlock()
	}
	return ids, nil
}

// insert adds an id to the n first ones of a sorted list. An item that has been deleted and written
// anew meanwhile may come twice, or not at all.
func insert(ids []string, id string, n int) []string {
	at, there := slices.BinarySearch(ids, id)
	if there || at == n {
		return ids
	}
	ids = slices.Insert(ids, at, id)
	return ids[:min(n, len(ids))]
}
