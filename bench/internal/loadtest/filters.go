package loadtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"google.golang.org/grpc"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
)

const (
	// filterLimit bounds Recommend p50 with a filter that many items pass, in that without one.
	filterLimit = 1.10
	// fewLimit is the same for a filter that few items pass: they are searched faster than all.
	fewLimit = 1.0
	// drawnOf is the number of categories that drawn filters are of.
	drawnOf = 1000
)

// share is a part of the items: one in every.
type share struct {
	name  string
	every int
	limit float64
}

// Each part of the items is spread over each number of categories: a filter of all of these lets
// the part pass.
var (
	filterShares = []share{{"50 %", 2, filterLimit}, {"1 %", 100, fewLimit},
		{"0.01 %", 10_000, fewLimit}}
	filterCounts = []int{1, 10, 100}
)

// categoriesOf returns the names of a part of the items.
func categoriesOf(s share, count int) []string {
	names := make([]string, count)
	for j := range names {
		names[j] = fmt.Sprintf("%d-%d-%d", s.every, count, j)
	}
	return names
}

// catalogued returns item i with the categories of the parts that it belongs to.
func catalogued(i int, id string) *pb.Item {
	// The parts are drawn, so that they have items of all popularities.
	rng := rand.New(rand.NewPCG(uint64(i), itemStream))
	item := &pb.Item{ItemId: id, Categories: []string{"drawn-" + strconv.Itoa(rng.IntN(drawnOf))}}
	for _, s := range filterShares {
		x := rng.IntN(s.every)
		for _, count := range filterCounts {
			j := rng.IntN(count)
			if x == 0 {
				item.Categories = append(item.Categories,
					fmt.Sprintf("%d-%d-%d", s.every, count, j))
			}
		}
	}
	return item
}

const (
	upsertBatch   = 1000 // the largest batch that a server takes
	upsertTimeout = time.Minute
)

// LoadCatalogue writes items first up to end with the categories that [Suite.Filters] asks for, one
// batch after the other: those of the traffic, and behind them others of made-up ids. It calls
// written after each with the number of items so far and the time of the call.
func (c *Client) LoadCatalogue(
	ctx context.Context, t *Traffic, first, end int, written func(items int, took time.Duration),
) error {
	for at := first; at < end; at += upsertBatch {
		req := &pb.BatchUpsertItemsRequest{}
		for i := at; i < min(at+upsertBatch, end); i++ {
			id := ""
			if i < len(t.Items) {
				id = t.Items[i]
			} else {
				id = fmt.Sprintf("other-%09d", i)
			}
			req.Items = append(req.Items, catalogued(i, id))
		}
		begun := time.Now()
		timed, cancel := context.WithTimeout(ctx, upsertTimeout)
		_, err := pb.NewItemServiceClient(c.Conn()).BatchUpsertItems(timed, req,
			grpc.WaitForReady(true))
		cancel()
		if err != nil {
			return fmt.Errorf("writing items: %w", err)
		}
		written(min(at+upsertBatch, end)-first, time.Since(begun))
	}
	return nil
}

// filterWay is a filter whose cost is measured. A nil filter is none.
type filterWay struct {
	name   string
	limit  *float64
	filter func() *pb.ItemFilter
}

func filterWays(rng *rand.Rand) []filterWay {
	ways := []filterWay{{name: "no filter", filter: func() *pb.ItemFilter { return nil }}}
	for _, s := range filterShares {
		for _, count := range filterCounts {
			f := &pb.ItemFilter{AnyCategories: categoriesOf(s, count)}
			ways = append(ways, filterWay{fmt.Sprintf("%s of the items, %s", s.name,
				plural(count, "category", "categories")), limit(s.limit),
				func() *pb.ItemFilter { return f }})
		}
	}
	const drawn = 10
	return append(ways, filterWay{name: fmt.Sprintf("%d categories of %d, others each time", drawn,
		drawnOf), filter: func() *pb.ItemFilter {
		f := &pb.ItemFilter{}
		for _, j := range rng.Perm(drawnOf)[:drawn] {
			f.AnyCategories = append(f.AnyCategories, "drawn-"+strconv.Itoa(j))
		}
		return f
	}})
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// Filters measures Recommend with filters by categories beside Recommend without one, with one
// request in flight. The ways take turns request by request. The server has the items of
// [Client.LoadCatalogue].
func (s *Suite) Filters(ctx context.Context) error {
	t := s.recommendOnly()
	return s.rounds(ctx, "filters", "", 0, 1, func(ctx context.Context, r *round) error {
		r.begin()
		source := s.source(&t)
		ways := filterWays(source.rng)
		latencies := make([]*Histogram, len(ways))
		for i := range latencies {
			latencies[i] = NewHistogram()
		}
		begun := time.Now()
		for time.Since(begun) < s.Warmup+s.Duration*time.Duration(len(ways)) {
			for i := range ways {
				body := join(source.recommend(),
					encode(&pb.RecommendRequest{Filter: ways[i].filter()}))
				sent := time.Now()
				err := callWithin(ctx, s.Timeout, Request{Recommend, body}, s.Server)
				if err != nil {
					return fmt.Errorf("%s: %w", ways[i].name, err)
				}
				if sent.Sub(begun) >= s.Warmup {
					latencies[i].Record(time.Since(sent))
				}
			}
		}
		none := float64(latencies[0].Quantile(0.5))
		for i := range ways {
			r.latencies(ways[i].name, latencies[i], p50)
		}
		for i := range ways[1:] {
			way := &ways[i+1]
			r.ratio(way.name+" / no filter", float64(latencies[i+1].Quantile(0.5))/none, way.limit,
				nil)
		}
		return nil
	})
}
