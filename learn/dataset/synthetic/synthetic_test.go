package synthetic

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/learn/dataset"
)

func TestValidate(t *testing.T) {
	for _, tt := range []struct {
		cfg  Config
		want []string // nil: valid
	}{
		{Config{Users: 1, Items: 2, Events: 1}, nil},
		{Config{Users: 3, Items: 2, Events: 6}, nil},
		{Config{Users: 400_000, Items: 17_770, Events: 100_000_000}, nil},
		{Config{Users: 0, Items: 1, Events: 0}, []string{"Users: 0", "Items: 1"}},
		{Config{Users: -1, Items: MaxItems + 1, Events: 1},
			[]string{"Users: -1", "Items: 4194305"}},
		{Config{Users: 3, Items: 2, Events: 2}, []string{"Events: 2, want 3"}},
		{Config{Users: 3, Items: 2, Events: 7}, []string{"Events: 7", "to 6"}},
		{Config{Users: MaxUsers, Items: MaxItems, Events: MaxEvents + 1}, []string{"Events"}},
	} {
		err := tt.cfg.Validate()
		check.Same(t, tt.want == nil, err == nil, "%+v: error %v: passes", tt.cfg, err)
		for _, want := range tt.want {
			if err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%+v: error %q lacks %q", tt.cfg, err, want)
			}
		}
	}
	if err := Generate(io.Discard, Config{}, nil); err == nil {
		t.Error("Generate accepted an empty Config")
	}
}

// TestDeterminism compares the output of one seed on one and on more
// processors, and with a fixed hash that tells when the output changes.
func TestDeterminism(t *testing.T) {
	cfg := Config{Users: 3000, Items: 400, Events: 100_000, Seed: 7}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	hash := func(procs int, cfg Config) string {
		runtime.GOMAXPROCS(procs)
		h := sha256.New()
		check.Must(t, Generate(h, cfg, nil))
		return fmt.Sprintf("%x", h.Sum(nil))[:16]
	}
	const want = "b51a532cfa0a9025"
	for _, procs := range []int{1, 2, 5} {
		check.Same(t, want, hash(procs, cfg), "output of %d processors for the same seed", procs)
	}
	cfg.Seed++
	if hash(2, cfg) == want {
		t.Error("another seed gives the same output")
	}
}

// TestCounts checks exact totals and all promises on each history, also where
// users have to take every item.
func TestCounts(t *testing.T) {
	for _, cfg := range []Config{
		{Users: 1, Items: 2, Events: 1},
		{Users: 1, Items: 2, Events: 2},
		{Users: 5, Items: 3, Events: 15},
		{Users: 7, Items: 2, Events: 9},
		{Users: 1, Items: 5000, Events: 5000},
		{Users: 100, Items: 50, Events: 4990}, // nearly everything
		{Users: 100, Items: 65, Events: 6500}, // everything
		{Users: 100, Items: 1000, Events: 299},
		{Users: 100, Items: 1000, Events: 301},
		{Users: 2000, Items: 300, Events: 100_000},
	} {
		for seed := range uint64(3) {
			cfg.Seed = seed
			var b bytes.Buffer
			var last int64
			if err := Generate(&b, cfg, func(events int64) { last = events }); err != nil {
				t.Fatalf("%+v: %v", cfg, err)
			}
			check.Same(t, cfg.Events, last, "%+v: last progress", cfg)
			checkOutput(t, cfg, b.String())
		}
	}
}

func checkOutput(t *testing.T, cfg Config, text string) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if lines[0] != "user_id,item_id,timestamp" || int64(len(lines)-1) != cfg.Events {
		t.Fatalf("%+v: header %q and %d rows", cfg, lines[0], len(lines)-1)
	}
	events, seen, lastTime := map[string]int{}, map[string]bool{}, map[string]int64{}
	for _, line := range lines[1:] {
		var user, item string
		var time int64
		fields := strings.Split(line, ",")
		user, item = fields[0], fields[1]
		check.Get(fmt.Sscan(fields[2], &time))(t)
		if seen[user+item] {
			t.Fatalf("%+v: user %s has item %s twice", cfg, user, item)
		}
		if time <= lastTime[user] || time < firstTime || time > firstTime+span {
			t.Fatalf("%+v: time %d of user %s after %d", cfg, time, user, lastTime[user])
		}
		seen[user+item], lastTime[user] = true, time
		events[user]++
	}
	fewest := min(minEvents, cfg.Items, int(cfg.Events)/cfg.Users)
	for user, n := range events {
		if n < fewest {
			t.Fatalf("%+v: user %s has %d events, want %d or more", cfg, user, n, fewest)
		}
	}
	check.MustSame(t, cfg.Users, len(events), "%+v: users", cfg)
}

// histories generates and reads back.
func histories(t *testing.T, cfg Config) *dataset.Interactions {
	t.Helper()
	path := t.TempDir() + "/events.csv.zst"
	f := check.Get(dataset.Create(path))(t)
	defer f.Abort()
	check.Must(t, Generate(f, cfg, nil))
	check.Must(t, f.Close())
	d, _, err := dataset.Read([]string{path}, dataset.Options{})
	check.Must(t, err)
	return d
}

func TestSkew(t *testing.T) {
	d := histories(t, Config{Users: 5000, Items: 2000, Events: 150_000, Seed: 1})
	count := make([]int, d.NumItems())
	for _, i := range d.Item {
		count[i]++
	}
	slices.SortFunc(count, func(a, b int) int { return b - a })
	share := 0.0
	for _, n := range count[:20] {
		share += float64(n) / float64(d.Len())
	}
	// Evenly, one item in a hundred would have 1 % of the events.
	if share < 0.10 || share > 0.60 {
		t.Errorf("the top 1%% of items have %.1f%% of the events", 100*share)
	}
	most := 0
	for u := range d.Users {
		most = max(most, len(d.Of(u)))
	}
	if most < 5*d.Len()/d.NumUsers() {
		t.Errorf("the most active user has %d events, the mean is %d", most, d.Len()/d.NumUsers())
	}
}

// TestStructure checks that items of the same community come together, that
// successors follow, and that taste drifts, each against chance.
func TestStructure(t *testing.T) {
	cfg := Config{Users: 5000, Items: 2000, Events: 150_000, Seed: 2}
	d, cat := histories(t, cfg), newCatalogue(cfg)
	for k, i := range d.Item { // indices of the catalogue: some items may not have come up
		number := check.Get(strconv.Atoi(strings.TrimPrefix(d.Items[i], "i")))(t)
		d.Item[k] = int32(number)
	}
	member := make([]map[int32]bool, cfg.Items)
	for g, c := range cat.community {
		for _, i := range c.items {
			if member[i] == nil {
				member[i] = map[int32]bool{}
			}
			member[i][int32(g)] = true
		}
	}
	together := func(i, j int32) float64 {
		for g := range member[i] {
			if member[j][g] {
				return 1
			}
		}
		return 0
	}
	rng := rand.New(rand.NewPCG(1, 1))
	var follows, sameUser, neighbours, apart, chance, n float64
	for u := range d.Users {
		h := d.Of(u)
		if len(h) < 10 {
			continue
		}
		n++
		k := 1 + rng.IntN(len(h)-1)
		if slices.Contains(cat.successors[h[k-1]][:], h[k]) {
			follows++
		}
		sameUser += together(h[rng.IntN(len(h))], h[rng.IntN(len(h))])
		neighbours += together(h[2], h[0])
		apart += together(h[len(h)-1], h[0])
		chance += together(h[k], d.Item[rng.IntN(d.Len())])
	}
	if follows/n < 0.25 {
		t.Errorf("%.1f%% of the events are successors of the one before, want over 25%%",
			100*follows/n)
	}
	if sameUser < 2*chance {
		t.Errorf("items of a user share a community in %.1f%% of the pairs, by chance %.1f%%",
			100*sameUser/n, 100*chance/n)
	}
	if neighbours < 1.3*apart {
		t.Errorf("early items share a community in %.1f%%, the first and the last in %.1f%%: no "+
			"drift", 100*neighbours/n, 100*apart/n)
	}
}

// TestAlias compares how often numbers are drawn with their weights.
func TestAlias(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for _, weights := range [][]uint64{{1}, {1, 1}, {0, 3}, {5, 0, 1, 1}, {1 << 40, 1, 1 << 39},
		make([]uint64, 100)} {
		if len(weights) == 100 {
			for i := range weights {
				weights[i] = 1 + rng.Uint64N(1000)
			}
		}
		total := 0.0
		for _, w := range weights {
			total += float64(w)
		}
		a := newAlias(weights)
		const draws = 200_000
		count := make([]float64, len(weights))
		for range draws {
			count[a.pick(rng.Uint64())]++
		}
		for i, w := range weights {
			p := float64(w) / total
			// Six standard deviations and a little for the rounding of p.
			if diff, bound := math.Abs(count[i]/draws-p),
				6*math.Sqrt(p*(1-p)/draws)+1e-9; diff > bound {
				t.Errorf("weights %v: number %d drawn with frequency %v, want %v ± %v", weights, i,
					count[i]/draws, p, bound)
			}
		}
	}
}

// failing is a writer that fails after some bytes.
type failing struct{ left int }

var errFull = errors.New("disk full")

func (f *failing) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestWriteError(t *testing.T) {
	before := runtime.NumGoroutine()
	for _, left := range []int{0, 100, 1 << 20} {
		err := Generate(&failing{left}, Config{Users: 10_000, Items: 1000, Events: 300_000}, nil)
		check.Fails(t, err, errFull, "Generate")
	}
	// A goroutine that has done its work takes a moment to be gone.
	check.Await(t, "all have ended",
		func() bool { return runtime.NumGoroutine() <= before })
}
