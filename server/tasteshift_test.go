package server

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/event"
	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/model"
)

// direction returns the spectrum that events give beyond that of a new user, of length 1, or nil if
// they give none.
func direction(m *model.Model, est model.Estimator, events []model.Event) []float64 {
	spectrum := func(s *kalman.State) []float32 {
		q := m.NewQuery()
		m.QueryTo(q, s, est)
		return q.Spectrum
	}
	s := m.NewState()
	for _, e := range events {
		m.Fold(s, e)
	}
	d, fresh, sum := make([]float64, m.Rank()), spectrum(m.NewState()), 0.0
	for l, x := range spectrum(s) {
		d[l] = float64(x) - float64(fresh[l])
		sum += d[l] * d[l]
	}
	if sum == 0 {
		return nil
	}
	for l := range d {
		d[l] /= math.Sqrt(sum)
	}
	return d
}

// The shift of a taste is half of the squared distance between the directions of all events and of
// those that are old, whatever their order, weights and items are.
func TestTasteShift(t *testing.T) {
	t.Parallel()
	weights := event.Weights{"view": 0.25, "dislike": -1, "seen": 0}
	overModels(t, func(t *testing.T, open opened) {
		ts := start(t, setup{open: open, config: func(c *Config) { c.EventWeights = weights }})
		m := ts.arms.Main().Models.Acquire()
		defer m.Release()
		r := rand.New(rand.NewPCG(1, 2))
		told := 0
		for u := range 30 {
			user := fmt.Sprint("u", u)
			var all, old []model.Event
			var times []int64
			for range 1 + r.IntN(12) {
				times = append(times, 1_600_000_000+r.Int64N(int64(70*24*time.Hour/time.Second)))
			}
			until := slices.Max(times) - 30*24*60*60
			if times[0] > until && times[0] != slices.Max(times) {
				times[0] = until // as old as the rule asks for, and no older
			}
			for _, at := range times {
				i := r.IntN(testItems + 3) // the last ones are not in the model
				e := newEvent(user, i)
				e.EventType = []string{"like", "view", "dislike", "seen"}[r.IntN(4)]
				e.EventTime = &timestamppb.Timestamp{Seconds: at}
				ts.observe(t, e)
				index, known := m.ItemIndex(item(i))
				w := weights.Of(e.GetEventType(), 1)
				if !known || w == 0 {
					continue
				}
				of := model.Event{Item: index, Weight: w, Time: at}
				all = append(all, of)
				if at <= until {
					old = append(old, of)
				}
			}
			got := reply(t, ts.users.GetUser, &pb.GetUserRequest{UserId: user})
			a := direction(m.Model, ts.cfg.Estimator, all)
			b := direction(m.Model, ts.cfg.Estimator, old)
			if a == nil || b == nil {
				if got.GetUser().TasteShift != nil {
					t.Errorf("%s: a shift of %v with %d events, %d of them old", user,
						got.GetUser().GetTasteShift(), len(all), len(old))
				}
				continue
			}
			want := 0.0
			for l := range a {
				want += (a[l] - b[l]) * (a[l] - b[l]) / 2
			}
			told++
			if s := got.GetUser().TasteShift; s == nil || math.Abs(*s-want) > 1e-9 {
				t.Errorf("%s: a shift of %v (%v), want %v", user, got.GetUser().GetTasteShift(),
					s != nil, want)
			}
		}
		if told < 10 {
			t.Errorf("only %d users have a shift", told)
		}
	}, "paper", "learned")
}
