package ranking

import (
	"cmp"
	"slices"
)

// Boost is an addition to the score of an item.
type Boost struct {
	Item  int32   // index of the item
	Score float32 // what is added, of either sign
}

// AddBoosts adds boosts to the scores of all items. Their items must exist.
func AddBoosts(scores []float32, boosts []Boost) {
	for _, b := range boosts {
		scores[b.Item] += b.Score
	}
}

// MultiplyBoosts multiplies the scores of boosts by the factors of their items; nil: by 1.
func MultiplyBoosts(boosts []Boost, factors []float32) {
	if factors == nil {
		return
	}
	for j := range boosts {
		boosts[j].Score *= factors[boosts[j].Item]
	}
}

// BoostOf returns the boost of an item, 0 if it has none.
func BoostOf(boosts []Boost, item int32) float32 {
	for _, b := range boosts {
		if b.Item == item {
			return b.Score
		}
	}
	return 0
}

// SortBoosts orders boosts by item.
func SortBoosts(boosts []Boost) {
	slices.SortFunc(boosts, func(a, b Boost) int { return cmp.Compare(a.Item, b.Item) })
}

// Request asks for the N best items of a query, and takes the answer. With neither Skip nor
// Among, all items are candidates.
type Request struct {
	Query []float32 // k finite numbers, k the rank of the model
	N     int       // number of items wanted; 0 or less asks for none
	Skip  *Set      // items that must not be returned; nil stands for none

	// Among, unless nil, holds the only items that may be returned. They may come in any order and
	// several times, and items that the model does not have are ignored.
	Among []int32

	// Boosts holds additions to the scores: the score of an item in it is the rounded float32 sum
	// of its score without Boosts and its addition. The items must be distinct and the additions
	// finite. They may come in any order, and items that the model does not have are ignored.
	Boosts []Boost

	Top []Scored // the answer in the order of results, stored from Top[:0] on
}
