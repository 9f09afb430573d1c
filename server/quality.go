package server

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/ranking"
	"github.com/gsimc/gsimc/server/internal/state"
	"github.com/gsimc/gsimc/store"
)

// quality measures how well models foresee what users do: of a sampled share of the events it finds the rank that the item
// had just before, among the items that the user had not seen, as Recommend would have listed them.
//
// An event counts if its weight is above 0 and its item is new to the user; the list has no repeats. A user whose history says
// nothing to a model, a first event above all, is ranked by popularity, as Recommend does. An item that a model does not know
// comes after all that it knows. So every model is measured on the same events.
//
// The state before an event is a replay of the history up to that event, not a copy of the cached state: the store says
// exactly what came before, and nothing has to be done before the acknowledgement but to draw and to queue. A replay costs
// less than the scan that follows. One goroutine measures, for at most 1/qualityIdle of its time; what does not fit into
// the queue is dropped and counted.
type quality struct {
	*Server
	share  float64
	queue  chan sample
	shadow *model.Model // nil: none

	judges  [2]*judge // the serving model's and the shadow's
	version string    // of the serving model's file; the recalls of both are of the events since it was loaded
}

// sample is an event to be measured.
type sample struct {
	user     string
	revision uint64
	id, item string
}

const (
	qualityQueue = 1024
	qualityIdle  = 50 // of so many seconds one is spent on measuring
)

// newQuality returns nil if nothing is to be measured.
func newQuality(s *Server) (*quality, error) {
	if s.cfg.QualitySample == 0 {
		return nil, nil
	}
	q := &quality{Server: s, share: s.cfg.QualitySample, queue: make(chan sample, qualityQueue)}
	q.judges[0] = &judge{online: s.metrics.online.serving}
	if s.cfg.ShadowModel == nil {
		return q, nil
	}
	var err error
	if q.shadow, err = s.cfg.ShadowModel(); err != nil {
		return nil, err
	}
	q.judges[1] = &judge{online: s.metrics.online.shadow}
	s.log.Info("shadow model loaded", slog.String("version", q.shadow.Version()))
	return q, nil
}

// offer draws whether the event of the user's revision is measured, and queues it. It never waits.
func (q *quality) offer(user string, revision uint64, e store.Event) {
	if q == nil || draw(user, revision) >= q.share {
		return
	}
	select {
	case q.queue <- sample{strings.Clone(user), revision, strings.Clone(e.ID), strings.Clone(e.Item)}: // pieces of a large message
	default:
		q.metrics.online.dropped.queue.Inc()
	}
}

// draw is a number from 0 to 1, uniform over users and revisions and the same in every process: a hash (FNV-1a and the
// finalizer of SplitMix64).
func draw(user string, revision uint64) float64 {
	h := uint64(14695981039346656037)
	for i := range len(user) {
		h = (h ^ uint64(user[i])) * 1099511628211
	}
	h ^= revision * 0x9e3779b97f4a7c15
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	h ^= h >> 31
	return float64(h>>11) / (1 << 53)
}

// close gives the shadow model back, once run has returned.
func (q *quality) close() {
	if q != nil && q.shadow != nil {
		_ = q.shadow.Close() // a file that was only read
	}
}

// run measures until ctx ends.
func (q *quality) run(ctx context.Context) {
	if q == nil {
		return
	}
	for {
		select {
		case <-ctx.Done():
			return
		case s := <-q.queue:
			began := time.Now()
			q.measure(ctx, s)
			select {
			case <-ctx.Done():
				return
			case <-time.After((qualityIdle - 1) * time.Since(began)):
			}
		}
	}
}

var (
	errEnough = errors.New("server: the event to be measured is reached")
	errRepeat = errors.New("server: the item was seen before")
)

// measure replays the history of the sample's user up to the event and ranks its item by each model.
func (q *quality) measure(ctx context.Context, s sample) {
	var fault error
	defer func() {
		if fault != nil && ctx.Err() == nil {
			q.metrics.online.dropped.failed.Inc()
		}
	}()
	defer q.recovered(ctx, "live quality", &fault)
	l := q.models.Acquire()
	defer l.Release()
	q.judges[0].begin(l.Model)
	if q.shadow != nil {
		q.judges[1].begin(q.shadow)
	}
	var last store.Event
	fault = q.store.Read(ctx, s.user, 0, func(revision uint64, e store.Event) error {
		switch {
		case revision == s.revision:
			last = e
			return errEnough
		case e.Item == s.item:
			return errRepeat
		}
		for _, j := range q.judges {
			j.fold(q.updater, e)
		}
		return nil
	})
	switch {
	case errors.Is(fault, errRepeat):
		fault = nil
		return
	case fault == nil || errors.Is(fault, errEnough) && last.ID != s.id: // the user was erased, and perhaps came back
		fault = nil
		q.metrics.online.dropped.erased.Inc()
		return
	case !errors.Is(fault, errEnough):
		return
	}
	fault = nil
	if !(q.updater.Weight(&last) > 0) {
		return
	}
	if version := l.Base().Version(); version != q.version {
		q.version = version
		q.metrics.online.serving.restart()
		q.metrics.online.shadow.restart()
	}
	for _, j := range q.judges {
		j.judge(s.item, q.cfg.Estimator)
	}
}

// judge ranks by one model. A nil judge does nothing.
type judge struct {
	online *onlineMetrics
	model  *model.Model
	state  *state.User

	query, scores []float32
	seen          *ranking.Set
}

// begin makes the state that of an empty history under m.
func (j *judge) begin(m *model.Model) {
	j.model = m
	if j.state == nil {
		j.state = state.New(m, nil)
	} else {
		j.state.Reset(m)
	}
	if len(j.query) != m.Rank() || len(j.scores) != m.NumItems() {
		j.query, j.scores, j.seen = make([]float32, m.Rank()), make([]float32, m.NumItems()), ranking.NewSet(m.NumItems())
	}
}

func (j *judge) fold(f *state.Updater, e store.Event) {
	if j != nil {
		f.Fold(j.model, j.state, e)
	}
}

// judge counts the rank of the item.
func (j *judge) judge(item string, est model.Estimator) {
	if j == nil {
		return
	}
	rank := j.model.NumItems() + 1
	if target, known := j.model.ItemIndex(item); known {
		j.seen.Clear()
		for _, s := range j.state.Seen {
			j.seen.Add(s.Item)
		}
		if j.state.Usable() {
			j.model.QueryTo(j.query, j.state.Kalman, est)
			j.model.ScoresTo(j.scores, j.query)
			rank = ranking.Of(j.scores, target, j.seen)
		} else {
			rank = rankByPopularity(j.model, target, j.seen)
		}
	}
	j.online.observe(rank)
}

// rankByPopularity is the place of the target in the list of popular items.
func rankByPopularity(m *model.Model, target int32, skip *ranking.Set) int {
	rank := 1
	for _, i := range m.Popular() {
		if i == target {
			break
		}
		if !skip.Has(i) {
			rank++
		}
	}
	return rank
}
