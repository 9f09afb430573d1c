package dataset

import (
	"slices"
	"strings"
)

// index numbers ids in the order in which they come.
type index struct {
	number map[string]int32
	ids    []string
}

func newIndex() *index { return &index{number: make(map[string]int32)} }

// of returns the number of an id, a new one if it was not seen before. Only
// new ids are copied.
func (x *index) of(id []byte) int32 {
	if i, ok := x.number[string(id)]; ok {
		return i
	}
	s, i := string(id), int32(len(x.ids))
	x.number[s] = i
	x.ids = append(x.ids, s)
	return i
}

// sorted returns the ids in bytewise order and, for each number, the position
// of its id. The index is used up.
func (x *index) sorted() (ids []string, rank []int32) {
	order := make([]int32, len(x.ids))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return strings.Compare(x.ids[a], x.ids[b]) })
	ids, rank = make([]string, len(order)), make([]int32, len(order))
	for position, i := range order {
		ids[position], rank[i] = x.ids[i], int32(position)
	}
	*x = index{}
	return ids, rank
}
