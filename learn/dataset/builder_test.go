package dataset

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
)

// TestBuilderIsRead builds random events with repeats, ties and weights and writes them to a file as well: both ways give the same.
func TestBuilderIsRead(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 5))
		opt := Options{MinUserEvents: rng.IntN(4), MinItemEvents: rng.IntN(4)}
		weighted := seed%2 == 0
		b := check.Get(NewBuilder("events", opt))(t)
		file := "user_id,item_id,timestamp,w\n"
		for range 300 {
			user, item, at, w := fmt.Sprint("u", rng.IntN(20)), fmt.Sprint("i", rng.IntN(25)),
				int64(rng.IntN(50)-10), 1.0
			if weighted {
				w = float64(rng.IntN(5)) / 2
			}
			check.Must(t, b.Add(user, item, at, w))
			if w > 0 {
				file += fmt.Sprintf("%s,%s,%d,%v\n", user, item, at, w)
			}
		}
		got, report, err := b.Interactions()
		check.Must(t, err)
		if weighted {
			opt.WeightColumn = "w"
		}
		want, wantReport, err := readBytes("events.csv", []byte(file), opt)
		check.Must(t, err)
		check.Same(t, want, got, "seed %d: interactions differ from those of the file", seed)
		if report.Rows != 300 || report.Unliked != 300-wantReport.Rows ||
			report.Duplicates != wantReport.Duplicates ||
			report.Filtered != wantReport.Filtered || report.Hash != wantReport.Hash {
			t.Errorf("seed %d: report %+v, of the file %+v", seed, report, wantReport)
		}
	}
}

func TestBuilderRefuses(t *testing.T) {
	for _, c := range []struct {
		user, item string
		time       int64
		weight     float64
		want       string
	}{
		{"", "i", 1, 1, "events:2: column user: empty id"},
		{"u", "\xff", 1, 1, "events:2: column item"},
		{"u", "i", math.MaxInt64, 1, "events:2: column time: 9223372036854775807 seconds"},
		{"u", "i", 1, math.NaN(), "events:2: column weight: weight NaN"},
		{"u", "i", 1, math.Inf(1), "events:2: column weight: weight +Inf"},
		{"u", "i", 1, 1e39, "events:2: column weight"},
	} {
		for _, tolerated := range []int64{0, 1} {
			b, err := NewBuilder("events", Options{MaxBadRows: tolerated})
			check.Must(t, err)
			check.Must(t, b.Add("u", "j", 1, 1))
			err = b.Add(c.user, c.item, c.time, c.weight)
			if tolerated == 0 {
				if _, is := errors.AsType[*RowError](err); !is ||
					!strings.Contains(err.Error(), c.want) {
					t.Errorf("%+v: got error %v", c, err)
				}
				continue
			}
			if d, report, err2 := b.Interactions(); err != nil || err2 != nil || d.Len() != 1 ||
				report.BadRows != 1 {
				t.Errorf("%+v tolerated: got %v, %v and %+v", c, err, err2, report)
			}
		}
	}
	if _, err := NewBuilder("events", Options{MinUserEvents: -1}); err == nil {
		t.Error("bad options were taken")
	}
	b := check.Get(NewBuilder("events", Options{}))(t)
	for _, w := range []float64{0, -1} {
		check.Must(t, b.Add("u", "i", 1, w))
	}
	if _, _, err := b.Interactions(); !errors.Is(err, ErrNoData) ||
		!strings.Contains(err.Error(), "2 of a weight") {
		t.Errorf("without a like: got error %v", err)
	}
}
