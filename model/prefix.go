package model

import (
	"slices"
	"strings"
)

// ItemsByPrefix returns the first n of the items whose ids begin with prefix, in the bytewise order
// of their ids. O(n + log of the number of items).
func (m *Model) ItemsByPrefix(prefix string, n int) []int32 {
	found := m.table.byPrefix(prefix, 0, n)
	if m.extension == nil {
		return found
	}
	found = append(found, m.extension.byPrefix(prefix, int32(m.n), n)...)
	slices.SortFunc(found, func(a, b int32) int {
		return strings.Compare(m.ItemID(a), m.ItemID(b))
	})
	return found[:min(n, len(found))]
}

// byPrefix is ItemsByPrefix for the items of one table, of which the first has the index first.
func (t *table) byPrefix(prefix string, first int32, n int) []int32 {
	at, _ := slices.BinarySearch(t.ids, prefix)
	var found []int32
	for ; at < len(t.ids) && len(found) < n && strings.HasPrefix(t.ids[at], prefix); at++ {
		found = append(found, first+int32(at))
	}
	return found
}
