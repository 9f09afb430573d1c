package state

import (
	"strings"
	"testing"
)

func TestSeenListStaysSmall(t *testing.T) {
	var l SeenList
	for i := range 10_000 {
		l.add(SeenItem{Item: int32(i % 7), Kind: KindOf(strings.Repeat("x", i%3)), Time: int64(i)})
	}
	if cap(l) > 4*21 {
		t.Errorf("capacity %d for 21 pairs of item and type", cap(l))
	}
	l.merge()
	if len(l) != 21 {
		t.Fatalf("%d pairs, want 21", len(l))
	}
	for _, s := range l {
		if s.Time < 10_000-21 {
			t.Errorf("item %d has time %d, not its newest", s.Item, s.Time)
		}
	}
}
