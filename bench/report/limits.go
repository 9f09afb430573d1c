package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gsimc/gsimc/bench/internal/result"
)

// The service that the last section asks about.
const (
	manyUsers     = 100e6
	manyItems     = 10e6
	eventsOfUser  = 100
	rankThere     = 256
	bands         = 4    // of learned dynamics, by default and at most
	activeShare   = 0.01 // of the users, whose states are kept in memory
	latencyBudget = 0.05 // seconds for a scan that people wait for
	trainingDay   = 86_400
)

// need is one thing that such a service needs, beside what this machine has of it.
type need struct {
	what, how  string
	needs, has float64
	unit       string  // that amounts are written in
	divisor    float64 // of needs and has, for that
	optional   bool    // can be done without, at the cost of time
}

func (n need) factor() float64 { return n.needs / n.has }

// constants are what the needs are computed from; 0 where the part was not measured.
type constants struct {
	memory      float64 // bytes
	bandwidth   float64 // bytes/s of one core from memory
	scanOver    float64 // time of a scan over that of reading its bytes
	batchShare  float64 // time of a query among 16 over that of a single one
	eventBytes  float64 // on disk
	perOne      float64 // seconds for an interaction and a multiplied vector, all cores
	passes      float64 // vectors multiplied for each of the rank
	largestBase string
}

// measured reads the constants out of the results.
func (p *page) measured() constants {
	c := constants{memory: result.MemoryBytes(p.machine())}
	if f := p.part("topn"); f != nil {
		c.fromSearch(f)
	}
	if f := p.part("durability"); f != nil {
		for _, g := range f.Groups {
			if x, ok := check(&g, result.BytesOfEvent); ok {
				c.eventBytes = x
			}
		}
	}
	if f := p.part("train-large"); f != nil && len(f.Groups) > 0 {
		g := &f.Groups[0]
		passes, ok := check(g, result.Multiplied)
		if own := g.Find(g.Ours); ok && own != nil && passes > 0 {
			c.passes = passes / g.Params["k"]
			c.perOne = result.SpreadOf(own.Samples).Median / (g.Params["ones"] * passes)
		}
	}
	return c
}

func check(g *result.Group, name string) (float64, bool) {
	i := slices.IndexFunc(g.Checks, func(c result.Check) bool { return c.Name == name })
	if i < 0 {
		return 0, false
	}
	return g.Checks[i].Value, true
}

// fromSearch takes the base with the most bytes: it is read from memory, not from a cache.
func (c *constants) fromSearch(f *result.File) {
	largest := 0.0
	median := func(s *result.Series) float64 {
		if s == nil {
			return 0
		}
		return result.SpreadOf(s.Samples).Median
	}
	for i := range f.Groups {
		g := &f.Groups[i]
		size := g.Params["n"] * g.Params["k"]
		single := g.Params["top"] == 100 && g.Params["batch"] == 1
		if size < largest || !strings.HasPrefix(g.Title, "Gaussian") {
			continue
		}
		own := median(g.Find(g.Ours))
		if single {
			at := slices.IndexFunc(g.Series,
				func(s result.Series) bool { return s.Role == result.Limit })
			if at < 0 {
				continue
			}
			read := median(&g.Series[at])
			largest, c.largestBase = size, fmt.Sprintf("%s × %s", figure(g.Params["n"]),
				figure(g.Params["k"]))
			c.bandwidth, c.scanOver, c.batchShare = size/(read/1e3), own/read, 0
		} else if size == largest && g.Params["batch"] > 1 {
			one := g.Find("gsimc top-N, one at a time")
			if m := median(one); m > 0 {
				c.batchShare = own / m
			}
		}
	}
}

// needs lists what can be computed, the largest multiple of this machine first.
func (c constants) needs() []need {
	n, k, events := manyItems, float64(rankThere), manyUsers*eventsOfUser
	memory := func(what, how string, bytes float64) need {
		return need{what: what, how: how, needs: bytes, has: c.memory, unit: "GB", divisor: 1e9}
	}
	state := fmt.Sprintf("users × (%d + 2) × k × 4 B", bands)
	list := []need{
		memory("basis in float32, int8 and five bits", "items × k × (4 + 1 + 5/8) B",
			n*k*(4+1+5.0/8)),
		memory("read-out rows of learned dynamics",
			fmt.Sprintf("items × k × %d × 4 B, of which a server touches what events name", bands),
			n*k*bands*4),
		memory(fmt.Sprintf("states of %g %% of the users", 100*activeShare), state,
			activeShare*manyUsers*(bands+2)*k*4),
		memory("training: interactions", "users × events × 4 B", events*4),
		memory("training: the basis in work", "items × 3 k × 4 B", n*3*k*4),
	}
	all := memory("states of all users",
		state+"; not needed, as a state is replayed from its history", manyUsers*(bands+2)*k*4)
	all.optional = true
	list = append(list, all)
	seconds := func(what, how string, needs, has float64) {
		list = append(list,
			need{what: what, how: how, needs: needs, has: has, unit: "s", divisor: 1})
	}
	if c.bandwidth > 0 {
		seconds(
			"one scan on one core",
			fmt.Sprintf("items × k bytes at %.1f GB/s, times %.2f, against %g ms", c.bandwidth/1e9,
				c.scanOver, latencyBudget*1e3),
			n*k/c.bandwidth*c.scanOver,
			latencyBudget,
		)
	}
	if c.perOne > 0 {
		vectors := c.passes * k
		seconds(
			"training: time on all cores",
			fmt.Sprintf("users × events × %.0f vectors × %.2g ns, against a day", vectors,
				c.perOne*1e9),
			events*vectors*c.perOne,
			trainingDay,
		)
	}
	slices.SortStableFunc(list, func(a, b need) int { return cmp.Compare(b.factor(), a.factor()) })
	return list
}

// limits writes the section on what breaks first: a table, and what follows from it in words.
func (p *page) limits() string {
	c := p.measured()
	if c.memory == 0 {
		return "The memory of the machine is not known, so nothing can be said.\n"
	}
	list := c.needs()
	t := newTable("what", "from", "needed", "here", "needed / here")
	for _, n := range list {
		t.row(n.what, n.how, n.amount(n.needs), n.amount(n.has), figure(n.factor())+"×")
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n", t)
	var broken []string
	fits := 0
	for _, n := range list {
		switch {
		case n.optional:
		case n.factor() <= 1:
			fits++
		default:
			broken = append(
				broken,
				fmt.Sprintf("%s (%s, %s× of what is here)", n.what, n.amount(n.needs),
					figure(n.factor())),
			)
		}
	}
	if len(broken) == 0 {
		text.WriteString("All of it fits this machine.\n")
	} else {
		fmt.Fprintf(&text, "What breaks first on a machine like this one, in this order: %s.",
			strings.Join(broken, "; "))
		fmt.Fprintf(&text, " %d more of the above fit.", fits)
		text.WriteString("\n")
	}
	c.serving(&text)
	return text.String()
}

// amount writes needs or has with the unit.
func (n need) amount(x float64) string {
	return figure(x/n.divisor) + " " + n.unit
}

// serving says how many scans a second a core does there, and what the histories take on disk.
func (c constants) serving(text *strings.Builder) {
	if c.bandwidth > 0 {
		scan := manyItems * rankThere / c.bandwidth * c.scanOver
		fmt.Fprintf(text, "\nOne core then answers %s requests a second one at a time",
			figure(1/scan))
		if c.batchShare > 0 {
			fmt.Fprintf(text, ", and %s when %d share a pass over the rows (measured at %s rows)",
				figure(1/(scan*c.batchShare)), 16, c.largestBase)
		}
		text.WriteString(
			": the memory bus, not the processor, is the limit, " +
				"and more cores on the same memory add little.\n",
		)
	}
	if c.eventBytes > 0 {
		fmt.Fprintf(text, "\nThe histories take %s GB of disk, at %s bytes an event.\n",
			figure(manyUsers*eventsOfUser*c.eventBytes/1e9), figure(c.eventBytes))
	}
}
