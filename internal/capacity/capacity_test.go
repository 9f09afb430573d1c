package capacity

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/internal/fault"
)

// large is a service of 10⁸ users with 100 events each.
func large(change func(*Need)) Need {
	n := Need{
		Users: 1e8, Items: 20_000, Events: 1e10, Rank: 256, EventsPerSecond: 1e6,
		RecommendsPerSecond: 2e5, EventsPerCall: 100, Store: Valkey, Rows: Random, Load: 0.5,
		Active: 0.01, MachineCores: 16, MachineMemory: 64e9,
	}
	if change != nil {
		change(&n)
	}
	return n
}

func mustPlan(t *testing.T, n Need) *Plan {
	t.Helper()
	p, err := New(n)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The cores of lists, with sums that are written out. Each line is beside an estimate that was made
// with figures of an AMD EPYC, before the server could tell its processor time: the figures of
// today are up to 1.7 times that, most of all for the scans of large bases, and never less than it.
func TestLists(t *testing.T) {
	for _, c := range []struct {
		items, rank float64
		rows        Rows
		cores       float64
		earlier     float64
	}{
		{20_000, 256, Random, 0.4 * (114 + 12 + 10.6*5.12), 59},
		{200_000, 256, Trained, 0.4 * (114 + 12 + 0.23*10.6*51.2), 67},
		{200_000, 256, Random, 0.4 * (114 + 12 + 10.6*51.2), 203},
		{1e6, 128, Random, 0.4 * (114 + 12 + 10.6*128), 355},
		{1e7, 256, Random, 0.4 * (114 + 12 + 10.6*2560), 8000},
		{20_000, 1024, Random, 0.4 * (114 + 12 + 17.9*20.48), 0},
		{2000, 64, Trained, 0.4 * (114 + 12 + 10.6*0.128), 0}, // never more than random rows
	} {
		p := mustPlan(t, large(func(n *Need) {
			n.Items, n.Rank, n.Rows = int64(c.items), int(c.rank), c.rows
		}))
		got := p.Parts[1].Cores
		if math.Abs(got/c.cores-1) > 1e-9 {
			t.Errorf("%g × %g %s: %g cores, want %g", c.items, c.rank, c.rows, got, c.cores)
		}
		if c.earlier > 0 && (got < c.earlier || got > 1.7*c.earlier) {
			t.Errorf("%g × %g %s: %g cores, earlier %g", c.items, c.rank, c.rows, got, c.earlier)
		}
	}
}

// The other parts, each with the figure of that estimate, of which these differ by 17 % at most:
// validations go to the primaries and to PostgreSQL, which the estimate left out.
func TestStores(t *testing.T) {
	within := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got/want-1) > 0.17 {
			t.Errorf("%s: %g, want about %g", what, got, want)
		}
	}
	valkey := mustPlan(t, large(nil))
	within("cores for events", valkey.Parts[0].Cores, 16)
	within("cores of Valkey", valkey.Parts[3].Cores, 60)
	within("memory of Valkey", valkey.Parts[3].Memory, 3.8e12)
	within("primaries of Valkey, without validations",
		float64(mustPlan(t, large(func(n *Need) { n.RecommendsPerSecond = 0 })).Shards), 32)
	if valkey.Parts[3].Processes != 3*valkey.Shards || valkey.Dearest != "valkey" {
		t.Errorf("%d processes for %d shards; %s costs most", valkey.Parts[3].Processes,
			valkey.Shards, valkey.Dearest)
	}
	postgres := mustPlan(t, large(func(n *Need) { n.Store = Postgres }))
	within("cores of PostgreSQL", postgres.Parts[3].Cores, 84)
	within("disk of a copy", postgres.Parts[3].Disk/2/postgresRoom, 2.3e12)
	if postgres.Shards != 1 || postgres.Limits[0].What != "cores of the one primary of PostgreSQL" {
		t.Errorf("PostgreSQL is one database: %d, %+v", postgres.Shards, postgres.Limits)
	}
	pebble := mustPlan(t, large(func(n *Need) { n.Store = Pebble }))
	within("disk of the server", pebble.Parts[3].Disk, 2*673e9)
	within("states of 1 % of the users", float64(valkey.Servers)*valkey.Server.StateCache, 5.12e9)
	if pebble.Servers != 1 || pebble.Shards != 1 || pebble.Limits[0].What !=
		"cores of the one server" || pebble.Limits[0].Factor() < 2 {
		t.Errorf("one server: %+v", pebble.Limits)
	}
}

// More of anything never takes less, and what the parts sum up to is the price.
func TestMonotone(t *testing.T) {
	base := mustPlan(t, large(nil))
	for name, change := range map[string]func(*Need){
		"users":  func(n *Need) { n.Users *= 2 },
		"items":  func(n *Need) { n.Items *= 10 },
		"events": func(n *Need) { n.Events *= 2 },
		"rank":   func(n *Need) { n.Rank *= 2 },
		"rate":   func(n *Need) { n.EventsPerSecond *= 2 },
		"lists":  func(n *Need) { n.RecommendsPerSecond *= 2 },
		"calls":  func(n *Need) { n.EventsPerCall = 1 },
		"load":   func(n *Need) { n.Load = 0.25 },
	} {
		p := mustPlan(t, large(change))
		if p.Dollars() <= base.Dollars() {
			t.Errorf("more %s: %g $ an hour, %g before", name, p.Dollars(), base.Dollars())
		}
		for i := range p.Parts {
			if was := &base.Parts[i]; p.Parts[i].Cores < was.Cores {
				t.Errorf("more %s: %s has %g cores, %g before", name, was.Name, p.Parts[i].Cores,
					was.Cores)
			}
		}
	}
}

// The order of limits is that of their factors, and levers are named only where they help.
func TestWhatHelps(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Need)
		want   string // the beginning of a lever
	}{
		{"memory of Valkey", nil, "keep the histories on disk"},
		{"one primary", nil, "keep the histories on disk, in PostgreSQL: 8.45 $ an hour in place " +
			"of 21.2, but cores of the one primary"},
		{"one database", func(n *Need) { n.Store = Postgres }, "a larger machine for PostgreSQL"},
		{"calls", func(n *Need) { n.EventsPerCall, n.Store = 1, Postgres }, "send events in calls"},
		{"one server", func(n *Need) { n.Store = Pebble }, "several servers"},
		{"large base", func(n *Need) { n.Items = 1e7 }, "fewer items or a smaller rank"},
		{"random", func(n *Need) { n.Items = 1e6 }, "if the basis is a trained one"},
		{"training", nil, "train on a sample"},
		{"model", func(n *Need) { n.Items = 1e7 }, "machines with more memory"},
	} {
		p := mustPlan(t, large(c.change))
		if !slices.ContainsFunc(p.Levers,
			func(l string) bool { return strings.HasPrefix(l, c.want) }) {
			t.Errorf("%s: no lever %q in %q", c.name, c.want, p.Levers)
		}
		if !slices.IsSortedFunc(p.Limits, func(a, b Limit) int {
			return -int(math.Copysign(1, a.Factor()-b.Factor()))
		}) {
			t.Errorf("%s: limits out of order: %+v", c.name, p.Limits)
		}
	}
	small := mustPlan(t, Need{Users: 1000, Items: 3000, Events: 100_000, Rank: 64,
		EventsPerSecond: 10, RecommendsPerSecond: 1000, EventsPerCall: 100, Store: Pebble,
		Rows: Trained, Load: 0.5, Active: 1, MachineCores: 2, MachineMemory: 4e9})
	if len(small.Levers) != 0 || small.Limits[0].Factor() > 1 {
		t.Errorf("a small service: %q, %+v", small.Levers, small.Limits)
	}
}

func TestValidate(t *testing.T) {
	for field, change := range map[string]func(*Need){
		"Users":               func(n *Need) { n.Users = 0 },
		"Items":               func(n *Need) { n.Items = -1 },
		"Events":              func(n *Need) { n.Events = math.MaxInt64 },
		"Rank":                func(n *Need) { n.Rank = 20_001 },
		"EventsPerSecond":     func(n *Need) { n.EventsPerSecond = math.NaN() },
		"RecommendsPerSecond": func(n *Need) { n.RecommendsPerSecond = math.Inf(1) },
		"EventsPerCall":       func(n *Need) { n.EventsPerCall = 0.5 },
		"Store":               func(n *Need) { n.Store = "etcd" },
		"Rows":                func(n *Need) { n.Rows = "" },
		"Load":                func(n *Need) { n.Load = 0 },
		"Active":              func(n *Need) { n.Active = 1.5 },
		"MachineCores":        func(n *Need) { n.MachineCores = 0 },
		"MachineMemory":       func(n *Need) { n.MachineMemory = 1 },
	} {
		_, err := New(large(change))
		if f := new(fault.Fault); !errors.As(err, &f) || !slices.Contains(fault.Fields(err), field) {
			t.Errorf("%v, want a fault of %s", err, field)
		}
	}
	extremes := large(func(n *Need) {
		n.Users, n.Items, n.Events, n.Rank = 1e15, 1e15, 1e15, 65536
		n.EventsPerSecond, n.RecommendsPerSecond, n.Load = 1e15, 1e15, 1e-3
	})
	if p := mustPlan(t, extremes); math.IsInf(p.Dollars(), 0) || math.IsNaN(p.Dollars()) {
		t.Error("no finite price at the extremes")
	}
}
