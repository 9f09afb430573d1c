package server

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/memory"
)

// BenchmarkFilters reports the median time of a Recommend in process without a filter, and with
// filters over that: of 1, 10 and 100 categories, of which each item has one, and by which half, a
// hundredth and a ten thousandth of the items pass; and of 1 and 10 ranges of numbers that let as
// many pass, others each time, since filters that come again are remembered. The ways take turns.
// The scan of these random bases can skip nothing, so that a trained one takes less time and a
// filter a larger part of it.
func BenchmarkFilters(b *testing.B) {
	for _, shape := range [][2]int{{20_000, 256}, {200_000, 64}} {
		n := shape[0]
		b.Run(fmt.Sprintf("n=%d/k=%d", n, shape[1]), func(b *testing.B) {
			m := randomModel(b, n, shape[1])
			ts := start(b, setup{config: quiet,
				open: func() (*model.Model, error) { return m, nil }})
			categorise(b, ts, n)
			var names []string
			for i := range 100 {
				names = append(names, fmt.Sprint("c", i))
			}
			service := ts.services.recommend
			ways := []filterWay{
				{"none", func(int) *pb.ItemFilter { return nil }},
				{"1-category", anyOf(names[:1])},
				{"10-categories", anyOf(names[:10])},
				{"100-categories", anyOf(names)},
				{"half", anyOf([]string{"half"})},
				{"hundredth", anyOf([]string{"hundredth"})},
				{"ten-thousandth", anyOf([]string{"ten-thousandth"})},
			}
			for _, columns := range []int{1, numberColumns} {
				for _, share := range []float64{.5, .01, .0001} {
					ways = append(ways, filterWay{name: fmt.Sprintf("%d-ranges-%g", columns, share),
						filter: rangesOf(columns, share)})
				}
			}
			took := make([][]time.Duration, len(ways))
			for round := 0; b.Loop(); round++ {
				for i, way := range ways {
					req := forItems(n)
					req.Filter = way.filter(round)
					begun := time.Now()
					if _, err := service.Encoded(b.Context(), req); err != nil {
						b.Fatal(err)
					}
					took[i] = append(took[i], time.Since(begun))
				}
			}
			b.ReportMetric(0, "ns/op") // of all together: says nothing
			none := median(took[0])
			b.ReportMetric(float64(none.Nanoseconds())/1e3, "µs-none")
			for i, way := range ways[1:] {
				b.ReportMetric(float64(median(took[i+1]))/float64(none), way.name)
			}
		})
	}
}

// filterWay is a kind of filter of BenchmarkFilters.
type filterWay struct {
	name   string
	filter func(round int) *pb.ItemFilter
}

func anyOf(categories []string) func(int) *pb.ItemFilter {
	return func(int) *pb.ItemFilter { return &pb.ItemFilter{AnyCategories: categories} }
}

// numberColumns is the number of numbers that categorise gives each item, uniform from 0 to 1.
const numberColumns = 10

// rangesOf are ranges of some columns that a share of the items passes all of.
func rangesOf(columns int, share float64) func(int) *pb.ItemFilter {
	width := math.Pow(share, 1/float64(columns))
	return func(round int) *pb.ItemFilter {
		f := &pb.ItemFilter{}
		for c := range columns {
			least := math.Mod(float64(round)*.618, 1) * (1 - width)
			f.Ranges = append(f.Ranges, &pb.NumberRange{Name: fmt.Sprint("u", c), Gte: &least,
				Lte: proto.Float64(least + width)})
		}
		return f
	}
}

// BenchmarkLargestFilter reports the median time of a Recommend in process over a million items with
// three of a hundred thousand categories each: without a filter, and by the largest that a request
// can have, with 100 names in each list and ten filters by name that are as large.
func BenchmarkLargestFilter(b *testing.B) {
	const n, categories = 1_000_000, 100_000
	st, stored := memory.New(), make([]store.Item, n)
	for i := range stored {
		stored[i] = store.Item{ID: fmt.Sprintf("item %08d", i), Categories: []string{
			fmt.Sprintf("a%05d", i%categories), fmt.Sprintf("b%05d", i*7%categories),
			fmt.Sprintf("c%05d", i*31%categories)}}
	}
	must(b, st.PutItems(b.Context(), stored))
	list := func(letter string, from int) (names []string) {
		for i := range 100 {
			names = append(names, fmt.Sprintf("%s%05d", letter, (from+i)*13%categories))
		}
		return names
	}
	var file strings.Builder
	filter := &pb.ItemFilter{AnyCategories: list("a", 0), NoCategories: list("b", 0)}
	for i := range 10 {
		name := fmt.Sprint("f", i)
		filter.NamedFilters = append(filter.NamedFilters, name)
		fmt.Fprintf(&file, "%s:\n  any_categories: [%s]\n  no_categories: [%s]\n", name,
			strings.Join(list("a", 0), ", "), strings.Join(list("c", 100*i), ", "))
	}
	path := filepath.Join(b.TempDir(), "filters.yaml")
	must(b, os.WriteFile(path, []byte(file.String()), 0o600))
	m := randomModel(b, n, 16)
	ts := start(b, setup{store: st, config: func(c *Config) { quiet(c); c.FiltersFile = path },
		open: func() (*model.Model, error) { return m, nil }})
	var took [2][]time.Duration
	for b.Loop() {
		for i, f := range []*pb.ItemFilter{nil, filter} {
			req := forItems(n)
			req.Filter = f
			begun := time.Now()
			if _, err := ts.services.recommend.Encoded(b.Context(), req); err != nil {
				b.Fatal(err)
			}
			took[i] = append(took[i], time.Since(begun))
		}
	}
	b.ReportMetric(0, "ns/op") // of both together: says nothing
	b.ReportMetric(float64(median(took[0]).Microseconds())/1e3, "ms-none")
	b.ReportMetric(float64(median(took[1]).Microseconds())/1e3, "ms-largest")
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// forItems asks for a list from a history of twenty items.
func forItems(n int) *pb.RecommendRequest {
	history := &pb.InlineHistory{}
	for i := range 20 {
		history.Entries = append(history.Entries,
			&pb.HistoryEntry{ItemId: fmt.Sprintf("item %08d", i*n/20)})
	}
	return &pb.RecommendRequest{PageSize: 100,
		Subject: &pb.RecommendRequest_History{History: history}}
}

// categorise gives each item of a random model its categories.
func categorise(b *testing.B, ts *testServer, n int) {
	b.Helper()
	rng := rand.New(rand.NewPCG(29, 1))
	for first := 0; first < n; first += 1000 {
		var items []*pb.Item
		for i := first; i < first+1000; i++ {
			item := &pb.Item{ItemId: fmt.Sprintf("item %08d", i),
				Categories: []string{fmt.Sprint("c", i*7919%100)}, Numbers: map[string]float64{}}
			for c := range numberColumns {
				item.Numbers[fmt.Sprint("u", c)] = rng.Float64()
			}
			for name, every := range map[string]int{
				"half": 2, "hundredth": 100, "ten-thousandth": 10_000} {
				if i%every == 0 {
					item.Categories = append(item.Categories, name)
				}
			}
			items = append(items, item)
		}
		ts.put(b, items...)
	}
}
