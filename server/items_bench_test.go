package server

import (
	"fmt"
	"slices"
	"testing"
	"time"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/model"
)

// BenchmarkFilters reports the median time of a Recommend in process without a filter, and with
// filters over that: of 1, 10 and 100 categories, of which each item has one, and by which half, a
// hundredth and a ten thousandth of the items pass. The ways take turns. The scan of these random
// bases can skip nothing, so that a trained one takes less time and a filter a larger part of it.
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
			ways := []struct {
				name   string
				filter *pb.ItemFilter
			}{
				{"none", nil},
				{"1-category", &pb.ItemFilter{AnyCategories: names[:1]}},
				{"10-categories", &pb.ItemFilter{AnyCategories: names[:10]}},
				{"100-categories", &pb.ItemFilter{AnyCategories: names}},
				{"half", &pb.ItemFilter{AnyCategories: []string{"half"}}},
				{"hundredth", &pb.ItemFilter{AnyCategories: []string{"hundredth"}}},
				{"ten-thousandth", &pb.ItemFilter{AnyCategories: []string{"ten-thousandth"}}},
			}
			took := make([][]time.Duration, len(ways))
			for b.Loop() {
				for i, way := range ways {
					req := forItems(n)
					req.Filter = way.filter
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
	for first := 0; first < n; first += 1000 {
		var items []*pb.Item
		for i := first; i < first+1000; i++ {
			item := &pb.Item{ItemId: fmt.Sprintf("item %08d", i),
				Categories: []string{fmt.Sprint("c", i*7919%100)}}
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
