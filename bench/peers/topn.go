package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"

	"github.com/gsimc/gsimc/bench/internal/ceiling"
	"github.com/gsimc/gsimc/bench/internal/python"
	"github.com/gsimc/gsimc/bench/internal/result"
	"github.com/gsimc/gsimc/bench/internal/rounds"
	"github.com/gsimc/gsimc/internal/num/vec"
	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/model"
)

// Names of our own contestants.
const (
	ownSearch = "gsimc top-N"
	ownLocal  = "gsimc top-N with the local term"
	ownScan   = "gsimc float32 scan and heap"
	ownSingle = "gsimc top-N, one at a time"
	memory    = "read int8 rows once"
)

// microBatch is how many requests share a pass in the batched groups.
const microBatch = 16

// measureTopN compares the search of a model with a float32 scan, with BLAS, and with exact and
// approximate indexes, on bases one after the other, so that only one is in memory.
func measureTopN(s *session) (err error) {
	workers, err := s.startPythons(1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll(workers)) }()
	queries := pick(s, s.queries, timedQueries)
	shapes := [][2]int{{20_000, 256}, {17_770, 1000}, {200_000, 256}, {1_000_000, 128}}
	for _, shape := range pick(s, shapes, [][2]int{{5000, 64}}) {
		if s.left(fmt.Sprintf("Gaussian, n = %d, k = %d", shape[0], shape[1])) {
			continue
		}
		s.say("drawing %d×%d", shape[0], shape[1])
		b, err := gaussianBase(shape[0], shape[1], queries)
		if err != nil {
			return err
		}
		if err := s.searchGroups(b, workers); err != nil {
			return err
		}
	}
	return s.trainedGroups(workers, queries)
}

// trainedGroups measures bases of real and of generated data.
func (s *session) trainedGroups(workers []*python.Worker, queries int) error {
	for _, title := range []string{amazonGames, diginetica} {
		if s.left(title) {
			continue
		}
		if events := s.events(title); events != "" {
			if err := s.trainedGroup(title, events, title, workers, queries); err != nil {
				return err
			}
		}
	}
	if s.left("generated") {
		return nil
	}
	items := pick(s, 200_000, 5_000)
	events := s.path("generated.csv")
	// A few of the items get no event, hence the tenth more.
	if err := s.program("generate", "--items", fmt.Sprint(items+items/8),
		"--users", fmt.Sprint(items), "--events", fmt.Sprint(20*items), "--seed", "1",
		"--out", events); err != nil {
		return err
	}
	err := s.trainedGroup("generated", events, fmt.Sprintf("generated-%d", items), workers, queries)
	return errors.Join(err, os.Remove(events))
}

func (s *session) trainedGroup(
	title, events, name string,
	workers []*python.Worker,
	queries int,
) error {
	b, err := s.trainedBase(title, events, name, pick(s, 256, 64), queries)
	if err != nil {
		return err
	}
	return s.searchGroups(b, workers)
}

// searchGroups measures all groups of one base, and gives its memory back.
func (s *session) searchGroups(b *base, workers []*python.Worker) (err error) {
	defer func() { err = errors.Join(err, b.free()) }()
	engines, err := s.load(b, workers)
	if err != nil {
		return err
	}
	checks := s.verify(b)
	if err := s.ctx.Err(); err != nil {
		return err // the checks are not complete
	}
	overlaps, err := overlap(b, engines)
	if err != nil {
		return err
	}
	engines, recalls, err := s.tune(b, engines)
	if err != nil {
		return err
	}
	checks = slices.Concat(checks, overlaps, recalls)
	stream, free, err := ceiling.Pages[byte](b.n * b.k)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, free()) }()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, g := range []struct{ top, batch int }{{100, 1}, {10, 1}, {100, microBatch}} {
		group := result.Group{
			Title: fmt.Sprintf("%s, n = %d, k = %d, top %d", b.title, b.n, b.k, g.top),
			Params: map[string]float64{
				"n":     float64(b.n),
				"k":     float64(b.k),
				"top":   float64(g.top),
				"batch": float64(g.batch),
			},
			Unit: "ms", Ours: ownSearch, Checks: checks,
		}
		if g.batch > 1 {
			group.Title += fmt.Sprintf(", %d queries at once", g.batch)
			group.Remarks = "Time of one query."
		}
		checks = nil // of the base, so they are told once
		contestants := append(
			s.ownSearches(b, g.top, g.batch, stream),
			s.peerSearches(engines, g.top, g.batch)...)
		if err := s.compete(group, contestants); err != nil {
			return err
		}
	}
	return forget(workers)
}

// forget lets the Python processes forget the base.
func forget(workers []*python.Worker) error {
	for _, w := range workers {
		if err := w.Call("search.free", nil, nil); err != nil {
			return err
		}
	}
	return nil
}

// ownSearches are the contestants of this program.
func (s *session) ownSearches(b *base, top, batch int, stream []byte) []rounds.Contestant {
	timed := b.timed()
	query := func(i int) []float32 { i %= timed; return b.queries[i*b.k : (i+1)*b.k] }
	dst := make([]ranking.Scored, 0, top)
	asked := &model.Query{}
	single := func(i int) error {
		asked.Spectrum = query(i)
		dst = b.model.TopN(dst, asked, top, nil)
		return nil
	}
	one := func(name string, role result.Role, each int, work func(i int) error) rounds.Contestant {
		return rounds.Contestant{Name: name, Role: role, Run: func() (float64, error) {
			seconds, err := rounds.MedianOfProcessor(s.use(), work)
			return seconds / float64(each) * 1e3, err
		}}
	}
	var list []rounds.Contestant
	if batch == 1 {
		list = append(list, one(ownSearch, result.Own, 1, single))
		if b.local != nil {
			list = append(list, one(ownLocal, result.Peer, 1, func(i int) error {
				asked.Spectrum, asked.Boosts = query(i), b.local[i%timed]
				dst = b.model.TopN(dst, asked, top, nil)
				asked.Boosts = nil
				return nil
			}))
		}
	} else {
		requests := make([]ranking.Request, batch)
		list = append(list, one(ownSearch, result.Own, batch, func(i int) error {
			for j := range requests {
				requests[j].Query, requests[j].N = query(i*batch+j), top
			}
			b.model.TopNBatch(requests)
			return nil
		}), one(ownSingle, result.Peer, 1, single))
	}
	scan := newScan(b)
	list = append(
		list,
		one(ownScan, result.Peer, 1,
			func(i int) error { dst = scan.topN(dst, query(i), top); return nil }),
	)
	if ceiling.Available() && batch == 1 {
		list = append(list,
			one(memory, result.Limit, 1, func(int) error { ceiling.Load(stream); return nil }))
	}
	return list
}

// scan is the search that the others are measured against: all scores in float32, block by block,
// and a heap.
type scan struct {
	b      *base
	scores [512]float32
	top    ranking.TopN
}

func newScan(b *base) *scan { return &scan{b: b} }

func (s *scan) topN(dst []ranking.Scored, q []float32, top int) []ranking.Scored {
	s.top.Reset(dst, top)
	for first := 0; first < s.b.n; first += len(s.scores) {
		block := s.scores[:min(len(s.scores), s.b.n-first)]
		vec.ScanTo(block, s.b.rows[first*s.b.k:(first+len(block))*s.b.k], q)
		s.top.Offer(int32(first), block, nil)
	}
	return s.top.Sorted()
}
