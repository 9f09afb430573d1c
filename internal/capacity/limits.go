package capacity

import (
	"cmp"
	"fmt"
	"slices"
)

// Limit is something that there is a bound of.
type Limit struct {
	What  string  `json:"what"`
	Unit  string  `json:"unit"`
	Needs float64 `json:"needs"`
	Bound float64 `json:"bound"`
}

// Factor is the need as a multiple of the bound: above 1 it does not fit.
func (l *Limit) Factor() float64 { return l.Needs / l.Bound }

// limits fills in the limits.
func (p *Plan) limits() {
	n := &p.Need
	add := func(what, unit string, needs, bound float64) {
		p.Limits = append(p.Limits, Limit{what, unit, needs, bound})
	}
	const gb = 1e9
	memory := float64(n.MachineMemory) / gb
	if n.Store == Pebble {
		add("cores of the one server", "cores", p.Parts[0].Cores+p.Parts[1].Cores,
			float64(n.MachineCores))
		add("durable events of one disk", "events/s", n.EventsPerSecond, pebbleEvents)
	}
	if n.Store == Postgres {
		add("cores of the one primary of PostgreSQL", "cores", p.primary, float64(n.MachineCores))
	}
	add("memory of a server at a reload", "GB", p.Server.AtReload/gb, memory)
	add("one scan for one list", "ms", n.aloneMillis(), scanBudgetMillis)
	add("memory of a training", "GB", p.Training.Memory/gb, memory)
	add("time of a training on one machine", "h", p.Training.Hours, trainingBudgetHours)
	slices.SortStableFunc(p.Limits,
		func(a, b Limit) int { return cmp.Compare(b.Factor(), a.Factor()) })
}

// exceeded tells whether a limit is.
func (p *Plan) exceeded(what string) bool {
	return slices.ContainsFunc(p.Limits,
		func(l Limit) bool { return l.What == what && l.Factor() > 1 })
}

// levers fills in what helps, with what it would change. Each is tried: only what saves a tenth of
// the price, or what makes something fit, is named.
func (p *Plan) levers() {
	n := &p.Need
	before := p.Dollars()
	try := func(text string, change func(*Need)) {
		other := *n
		change(&other)
		if other.Validate() != nil {
			return
		}
		changed := plan(other)
		after := changed.Dollars()
		if after >= 0.9*before {
			return
		}
		lever := fmt.Sprintf("%s: %.3g $ an hour in place of %.3g", text, after, before)
		for i := range changed.Limits {
			if l := &changed.Limits[i]; l.Factor() > 1 && !p.exceeded(l.What) {
				lever += fmt.Sprintf(", but %s would be %.2g times the bound", l.What, l.Factor())
			}
		}
		p.Levers = append(p.Levers, lever)
	}
	if n.EventsPerCall < 100 {
		try("send events in calls of 100 (BatchObserve, StreamObserve)",
			func(o *Need) { o.EventsPerCall = 100 })
	}
	if n.Store == Valkey {
		try("keep the histories on disk, in PostgreSQL", func(o *Need) { o.Store = Postgres })
		try("keep half as many events (windows of histories; not built, docs/scale.md)",
			func(o *Need) { o.Events = max(1, o.Events/2) })
	}
	if n.Store == Postgres {
		try("keep the histories in memory, in Valkey", func(o *Need) { o.Store = Valkey })
	}
	if n.Rows == Random {
		try("if the basis is a trained one, whose scans leave rows out",
			func(o *Need) { o.Rows = Trained })
	}
	try("half of the rank (gsimc tune says what it costs in accuracy)",
		func(o *Need) { o.Rank = max(1, o.Rank/2) })
	try("a tenth of the items (--min-item-events)", func(o *Need) {
		o.Items = max(int64(o.Rank), o.Items/10)
	})
	if n.Store == Pebble && (p.exceeded("cores of the one server") ||
		p.exceeded("durable events of one disk")) {
		p.Levers = append(p.Levers, "several servers over one store: --store valkey or postgres")
	}
	if p.exceeded("cores of the one primary of PostgreSQL") {
		p.Levers = append(p.Levers, "a larger machine for PostgreSQL, or --store valkey, which "+
			"spreads users over primaries; several databases are not built")
	}
	if p.exceeded("memory of a training") || p.exceeded("time of a training on one machine") {
		p.Levers = append(p.Levers,
			"train on a sample of the users, or on a machine of its own with more memory")
	}
	if p.exceeded("memory of a server at a reload") {
		p.Levers = append(p.Levers,
			"machines with more memory, or fewer items: a server has the whole model")
	}
	if p.exceeded("one scan for one list") && n.RecommendsPerSecond > 0 {
		p.Levers = append(p.Levers, "fewer items or a smaller rank: a list waits for its scan")
	}
}
