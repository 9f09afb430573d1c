// Package learntest has data of users whose next items are known, for tests of training and of
// evaluation.
package learntest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/learn/dataset"
)

// Checkerboard is a catalogue in which even users have even items and odd users odd ones, so that
// the right answers are known. Each user has six of the twelve items of a colour.
func Checkerboard() *dataset.Partition {
	const items, trainUsers, testUsers = 24, 40, 10
	p := &dataset.Partition{}
	for i := range items {
		p.Items = append(p.Items, fmt.Sprintf("%02d", i))
	}
	fill := func(h *dataset.Histories, users int) {
		h.Ptr = []int64{0}
		for u := range users {
			h.User = append(h.User, int32(u))
			for j := range 6 {
				h.Item = append(h.Item, int32((u%2+2*(j+u*5))%items))
			}
			h.Ptr = append(h.Ptr, int64(len(h.Item)))
		}
	}
	fill(&p.Train, trainUsers)
	fill(&p.Validation, testUsers)
	fill(&p.Test, testUsers)
	return p
}

// Returning are users who come one after the other and make twelve visits each, to one of four
// shelves of 50 items. A share of the visits is to an item that the user had, one of the newest
// above all, but to none of the newest ones, as many as skipped.
func Returning(tb testing.TB, share float64, skipped int) *dataset.Interactions {
	tb.Helper()
	rng := rand.New(rand.NewPCG(7, 8))
	b := check.Get(dataset.NewBuilder("test", dataset.Options{}))(tb)
	for u := range 400 {
		mine, shelf := rng.Perm(50), 50*rng.IntN(4)
		var h []int
		for j := range 12 {
			i := shelf + mine[j]
			if j > 1 && rng.Float64() < share {
				i = h[max(0, len(h)-1-skipped-min(rng.IntN(6), rng.IntN(6)))]
			}
			h = append(h, i)
			check.Must(tb, b.Add(fmt.Sprintf("u%03d", u), fmt.Sprintf("i%03d", i),
				int64(86_400*u+3600*j), 1))
		}
	}
	d, _, err := b.Interactions()
	check.Must(tb, err)
	return d
}
