package ranking

import (
	"cmp"
	"slices"
)

// Scored is an item with its score.
type Scored struct {
	Item  int32   // index of the item
	Score float32 // larger is better
}

// Before reports whether a comes before b in the order of results: by a larger score or, with equal
// scores, by a smaller index. The scores must not be NaN.
func Before(a, b Scored) bool {
	return a.Score > b.Score || (a.Score == b.Score && a.Item < b.Item)
}

// Compare returns a negative number if a comes before b in the order of results, a positive number
// if b comes before a, and 0 if item and score are equal. It is a comparison for [slices.SortFunc].
func Compare(a, b Scored) int { return compare(a.Item, b.Item, a.Score, b.Score) }

// compare is Compare for scores of any type.
func compare[T cmp.Ordered](itemA, itemB int32, scoreA, scoreB T) int {
	if c := cmp.Compare(scoreB, scoreA); c != 0 {
		return c
	}
	return cmp.Compare(itemA, itemB)
}

// Order returns the items 0 … len(scores)-1 in the order of results. O(n log n).
func Order[T cmp.Ordered](scores []T) []int32 {
	items := make([]int32, len(scores))
	for i := range items {
		items[i] = int32(i)
	}
	Sort(items, func(i int32) T { return scores[i] })
	return items
}

// Sort sorts items, by their scores, into the order of results.
func Sort[T cmp.Ordered](items []int32, score func(item int32) T) {
	slices.SortFunc(items, func(a, b int32) int { return compare(a, b, score(a), score(b)) })
}

// Merge returns the items of a and b in the order of results. Both must be in that order already.
// O(len(a) + len(b)).
func Merge[T cmp.Ordered](a, b []int32, score func(item int32) T) []int32 {
	merged := make([]int32, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if compare(a[0], b[0], score(a[0]), score(b[0])) <= 0 {
			merged, a = append(merged, a[0]), a[1:]
		} else {
			merged, b = append(merged, b[0]), b[1:]
		}
	}
	return append(append(merged, a...), b...)
}

// Of returns the rank, from 1, of the target among the items that are not in skip, in the order of
// results; scores[i] is the score of item i. The target counts even if it is in skip. skip may be
// nil. O(n).
func Of[T cmp.Ordered](scores []T, target int32, skip *Set) int {
	rank, goal := 1, scores[target]
	noNumber := goal != goal // NaN: all numbers come first
	for i, s := range scores {
		ahead := s > goal || s == goal && i < int(target)
		if noNumber {
			ahead = s == s || i < int(target)
		}
		if ahead && !skip.Has(int32(i)) {
			rank++
		}
	}
	return rank
}
