package state

import (
	"cmp"
	"slices"
)

// A SeenItem says that a user had an event of a type on an item.
type SeenItem struct {
	Item int32 // index in the model
	Kind Kind
	Time int64 // of the newest such event, in seconds
}

// A SeenList holds the seen items of one user, in no order. A pair of item and kind may be listed
// several times. Duplicates are merged whenever the list would have to grow, so its memory stays
// within four times that of the pairs.
type SeenList []SeenItem

func (l *SeenList) add(s SeenItem) {
	if len(*l) == cap(*l) {
		l.merge()
		if 2*len(*l) > cap(*l) {
			*l = slices.Grow(*l, max(len(*l), 8))
		}
	}
	*l = append(*l, s)
}

// merge leaves the newest entry of each pair of item and kind.
func (l *SeenList) merge() {
	slices.SortFunc(*l, func(a, b SeenItem) int {
		return cmp.Or(cmp.Compare(a.Item, b.Item), cmp.Compare(a.Kind, b.Kind),
			cmp.Compare(b.Time, a.Time)) // newest first: Compact keeps the first
	})
	*l = slices.CompactFunc(*l,
		func(a, b SeenItem) bool { return a.Item == b.Item && a.Kind == b.Kind })
}
