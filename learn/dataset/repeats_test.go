package dataset

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
)

// TestWhole merges first places and repeats of random data, through every step from the rows to
// the training users, and compares them with the rows.
func TestWhole(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	type row struct {
		item   string
		time   int64
		weight float32
	}
	for trial := range 30 {
		text, rows := "user_id,item_id,timestamp,w\n", map[string][]row{}
		for range 40 + rng.IntN(200) {
			user, r := fmt.Sprint("u", rng.IntN(12)), row{fmt.Sprint("i", rng.IntN(9)),
				rng.Int64N(50), float32(1 + rng.IntN(3))}
			text += fmt.Sprintf("%s,%s,%d,%g\n", user, r.item, r.time, r.weight)
			rows[user] = append(rows[user], r)
		}
		least := rng.IntN(6)
		d, _, err := readBytes("f", []byte(text), Options{WeightColumn: "w",
			MinUserEvents: least, MinItemEvents: least})
		if err != nil {
			continue // the filters left nothing
		}
		whole := func(what, user string, items []string, got []Row, until int64) {
			var want, have []row
			for _, r := range rows[user] {
				if slices.Contains(items, r.item) && r.time < until {
					want = append(want, r)
				}
			}
			slices.SortStableFunc(want, func(a, b row) int { return int(a.time - b.time) })
			for _, r := range got {
				have = append(have, row{items[r.Item], r.Time, r.Weight})
			}
			check.Same(t, fmt.Sprint(want), fmt.Sprint(have),
				"trial %d, %s, user %s", trial, what, user)
		}
		for u, user := range d.Users {
			whole("read", user, d.Items, d.Whole(u), 50)
			whole("before", user, d.Items, d.Before(20).Whole(u), 20)
		}
		split := make(Split, len(d.Users))
		for u := range split {
			split[u] = Role(rng.IntN(3))
		}
		split[rng.IntN(len(split))] = Train
		p := check.Get(d.Partition(split))(t)
		for k, u := range p.Train.User {
			whole("training", d.Users[u], p.Items, p.Train.Whole(k), 50)
		}
		u := rng.IntN(len(d.Users))
		last := d.Time[d.Ptr[u+1]-1]
		if slices.Contains(d.Time[d.Ptr[u]:d.Ptr[u+1]-1], last) {
			continue
		}
		d.HoldOutLast([]int32{int32(u)})
		got := d.Whole(u)
		for len(got) > 0 && got[len(got)-1].Time == last { // in the same second, but before it
			got = got[:len(got)-1]
		}
		whole("held out", d.Users[u], d.Items, got, last)
	}
}

// Rows whose order is all that is known of their times have no repeats: nobody could tell which are
// the newest.
func TestRepeatsNeedTimes(t *testing.T) {
	for header, row := range map[string]string{
		"user_id,item_id": "\nu,i", "user_id,item_id,timestamp": "\nu,i,1",
	} {
		text := header + strings.Repeat(row, 3)
		d, report, err := readBytes("f", []byte(text), Options{TimeUnit: "auto"})
		check.Must(t, err)
		if d.Repeats != nil || report.Duplicates != 2 {
			t.Errorf("%s: repeats %v of %d", header, d.Repeats, report.Duplicates)
		}
	}
}
