package passes

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/servertest"
)

// randomTopN is a request with random filters.
func randomTopN(rng *rand.Rand, m *model.Model) ranking.Request {
	r := ranking.Request{Query: make([]float32, m.Rank()), N: 1 + rng.IntN(2*m.NumItems())}
	for j := range r.Query {
		r.Query[j] = float32(rng.NormFloat64())
	}
	if rng.IntN(2) == 0 {
		r.Skip = ranking.NewSet(m.NumItems())
		for range rng.IntN(m.NumItems()) {
			r.Skip.Add(int32(rng.IntN(m.NumItems())))
		}
	}
	if rng.IntN(3) == 0 {
		r.Among = []int32{}
		for range rng.IntN(m.NumItems()) {
			r.Among = append(r.Among, int32(rng.IntN(m.NumItems())))
		}
	}
	return r
}

// alone is the answer to a request that shares nothing.
func alone(m *model.Model, r ranking.Request) []ranking.Scored {
	batch := []ranking.Request{r}
	m.TopNBatch(batch)
	return batch[0].Top
}

// A call gets the answer that it would get alone, in every pass that it shares and among calls for
// other models. Calls whose context has ended are not answered.
func TestBatcherAnswersAsAlone(t *testing.T) {
	models := []*model.Model{servertest.NewModel(t, 1), servertest.NewModel(t, 2)}
	metrics := NewMetrics()
	b := New(metrics)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	const clients, calls = 24, 200
	var wg sync.WaitGroup
	release := holdPasses(t, b)
	for client := range clients {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(client), 7))
			c := NewCall()
			for range calls {
				m := models[rng.IntN(10)/9] // mostly the first
				r := randomTopN(rng, m)
				want := alone(m, r)
				c.Request, c.Model, c.Context = r, m, context.Background()
				if rng.IntN(10) == 0 {
					c.Context = ended
				}
				switch err := b.TopN(c); {
				case err != nil && c.Context == ended && errors.Is(err, context.Canceled):
				case err != nil:
					t.Errorf("TopN: %v", err)
				default:
					check.Same(t, want, c.Top, "answer (-alone +batched)")
				}
			}
		})
	}
	release(clients) // all at once, so that some share a pass on any machine
	wg.Wait()
	check.Same(t, b.passes, len(b.idle), "passes idle after the last call")
	check.Same(t, 0, len(b.waiting), "calls waiting after the last")
	answered, passes, large := batchSizes(t, metrics)
	if passes == 0 || passes >= answered || large > 0 {
		t.Errorf(
			"%d passes for %d calls, %d of them with more than %d; want some shared, none larger",
			passes, answered, large, MaxCalls)
	}
}

// holdPasses takes all passes of b. The function that it returns gives them back when that many
// calls wait.
func holdPasses(t *testing.T, b *Batcher) (release func(waiting int)) {
	t.Helper()
	var held []*pass
	for range b.passes {
		c := NewCall()
		p, _ := b.enter(c)
		p.calls = append(p.calls, c)
		held = append(held, p)
	}
	return func(waiting int) {
		for {
			b.mu.Lock()
			n := len(b.waiting)
			b.mu.Unlock()
			if n == waiting {
				break
			}
			time.Sleep(time.Millisecond)
		}
		for _, p := range held {
			b.done(p, nil)
		}
	}
}

// batchSizes reads how many calls were answered in how many passes, and how many of these were
// larger than allowed.
func batchSizes(t *testing.T, m *Metrics) (calls, passes, large int) {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(m.Collectors()...)
	families := check.Get(registry.Gather())(t)
	for _, f := range families {
		if f.GetName() == "gsimc_topn_batch_size" {
			h := f.GetMetric()[0].GetHistogram()
			atMost := h.GetBucket()[len(h.GetBucket())-1].GetCumulativeCount()
			return int(h.GetSampleSum()), int(h.GetSampleCount()), int(h.GetSampleCount() - atMost)
		}
	}
	t.Fatal("no gsimc_topn_batch_size")
	return 0, 0, 0
}

// queue puts calls into the queue while all passes are taken, and returns the function that lets
// one go on, and what each call returned.
func queue(t *testing.T, b *Batcher, calls ...*Call) (begin func(), outcome func(i int) error) {
	t.Helper()
	b.mu.Lock()
	taken := b.idle
	b.idle = nil
	b.mu.Unlock()
	results := make([]chan error, len(calls))
	for i, c := range calls {
		results[i] = make(chan error, 1)
		go func() {
			defer func() {
				if p := recover(); p != nil {
					results[i] <- ErrPanic
				}
			}()
			results[i] <- b.TopN(c)
		}()
		for queued := 0; queued <= i; { // in this order
			time.Sleep(time.Millisecond)
			b.mu.Lock()
			queued = len(b.waiting)
			b.mu.Unlock()
		}
	}
	begin = func() {
		for _, p := range taken {
			p.calls = append(p.calls, NewCall()) // that ends now
			b.done(p, nil)
		}
	}
	outcome = func(i int) error {
		select {
		case err := <-results[i]:
			return err
		case <-time.After(20 * time.Second):
			t.Fatalf("call %d is still waiting", i)
			return nil
		}
	}
	return begin, outcome
}

// One pass at a time, so that who shares it is known.
func newSingleBatcher(m *Metrics) *Batcher {
	b := New(m)
	b.passes, b.idle = 1, b.idle[:1]
	return b
}

func callOf(ctx context.Context, m *model.Model, rng *rand.Rand) *Call {
	c := NewCall()
	c.Request, c.Context, c.Model = randomTopN(rng, m), ctx, m
	return c
}

func TestBatcherQueue(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	one, two := servertest.NewModel(t, 1), servertest.NewModel(t, 2)
	ended, cancel := context.WithCancel(t.Context())
	metrics := NewMetrics()
	b := newSingleBatcher(metrics)
	calls := []*Call{callOf(ended, two, rng), callOf(t.Context(), one, rng),
		callOf(ended, one, rng), callOf(t.Context(), two, rng), callOf(t.Context(), two, rng)}
	for range MaxCalls {
		calls = append(calls, callOf(t.Context(), one, rng))
	}
	begin, outcome := queue(t, b, calls...)
	cancel()
	begin()
	for i, c := range calls {
		err := outcome(i)
		if c == calls[0] || c == calls[2] {
			if !errors.Is(err, context.Canceled) || len(c.Top) != 0 {
				t.Errorf("call %d, whose context ended, got %v and %d items", i, err, len(c.Top))
			}
			continue
		}
		if d := cmp.Diff(alone(c.Model, c.Request), c.Top); d != "" || err != nil {
			t.Errorf("call %d: %v (-alone +batched):\n%s", i, err, d)
		}
	}
	// 16 of the first model, the 2 of the second, the last of the first.
	if answered, passes, _ := batchSizes(t, metrics); passes != 3 || answered != 3+MaxCalls {
		t.Errorf("%d passes for %d calls, want 3 for %d", passes, answered, 3+MaxCalls)
	}
}

// A panic in a pass fails its calls and no others.
func TestBatcherPanic(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	m, other := servertest.NewModel(t, 1), servertest.NewModel(t, 2)
	b := newSingleBatcher(NewMetrics())
	calls := []*Call{callOf(t.Context(), m, rng), callOf(t.Context(), m, rng),
		callOf(t.Context(), other, rng)}
	calls[1].Query = calls[1].Query[1:] // a bug of the caller
	begin, outcome := queue(t, b, calls...)
	begin()
	for i, want := range []error{ErrPanic, ErrPanic, nil} {
		check.Fails(t, outcome(i), want, "call %d", i)
	}
	check.Same(t, 1, len(b.idle), "idle passes")
}

// TestBatcherAlone: calls that cannot share a pass have one each, wait for it like all others, and
// are not made once nobody waits.
func TestBatcherAlone(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	m := servertest.NewModel(t, 1)
	ended, cancel := context.WithCancel(t.Context())
	metrics := NewMetrics()
	b := newSingleBatcher(metrics)
	calls := []*Call{callOf(t.Context(), m, rng), callOf(t.Context(), m, rng),
		callOf(ended, m, rng), callOf(t.Context(), m, rng)}
	made := make([]int, len(calls))
	for _, i := range []int{1, 2} {
		calls[i].Alone = func() { made[i]++ }
	}
	begin, outcome := queue(t, b, calls...)
	cancel()
	if made[1] > 0 || made[2] > 0 {
		t.Error("made while all passes are taken")
	}
	begin()
	for i, want := range []error{nil, nil, context.Canceled, nil} {
		check.Fails(t, outcome(i), want, "call %d", i)
	}
	if made[1] != 1 || made[2] != 0 {
		t.Errorf("made %d times, and %d times without anybody who waits; want once and never",
			made[1], made[2])
	}
	for _, i := range []int{0, 3} {
		check.Same(t, alone(m, calls[i].Request), calls[i].Top, "call %d (-alone +batched)", i)
	}
	if answered, passes, _ := batchSizes(t, metrics); passes != 1 || answered != 2 {
		t.Errorf("%d shared passes for %d calls, want 1 for 2", passes, answered)
	}
}
