package catalogue

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/memory"
)

// A search finds the first ids of those whose titles have the text, of any number of items, while
// they come, change and go.
func TestTitlesAreFound(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 11))
	c, _ := open(t, memory.New(), time.Unix(0, 0), Bounds{})
	titles := map[string]string{}
	for range 30 {
		var items []store.Item
		for i := range 400 {
			id := fmt.Sprint(rng.IntN(20_000) + i*20_000)
			titles[id] = fmt.Sprint("Ärmel ", rng.IntN(50), " Rot")
			items = append(items, store.Item{ID: id, Title: titles[id]})
		}
		must(t, put(t, c, items...))
		gone := []string{items[0].ID, items[1].ID, "unknown"}
		check.Get(c.Delete(t.Context(), gone))(t)
		delete(titles, gone[0])
		delete(titles, gone[1])
	}
	if len(titles) <= 2*titlesAtOnce {
		t.Fatalf("%d titles are looked at under one lock", len(titles))
	}
	for _, query := range []string{"ÄRMEL 7 ", "rot", "7 rot", "no title has it"} {
		var want []string
		for id, title := range titles {
			if strings.Contains(strings.ToLower(title), strings.ToLower(query)) {
				want = append(want, id)
			}
		}
		slices.Sort(want)
		except := want[:min(2, len(want))]
		want = want[len(except):]
		got, err := c.FindTitles(t.Context(), query, 20, except)
		if d := cmp.Diff(want[:min(20, len(want))], got); d != "" || err != nil {
			t.Errorf("%q: %v (-want +got):\n%s", query, err, d)
		}
	}
}

// One search at a time looks at titles; the next waits, until its caller leaves.
func TestSearchesTakeTurns(t *testing.T) {
	c, _ := open(t, memory.New(), time.Unix(0, 0), Bounds{})
	c.searching <- struct{}{}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := c.FindTitles(ctx, "a", 1, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a second search: %v, want that it waits", err)
	}
	<-c.searching
	if _, err := c.FindTitles(t.Context(), "a", 1, nil); err != nil {
		t.Error(err)
	}
}
