package capacity

import (
	"fmt"
	"math"

	"github.com/gsimc/gsimc/internal/num/cost"
	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/kalman/dynamics"
)

// serving are the cores of the servers.
func (p *Plan) serving() (events, lists Part) {
	n, c := &p.Need, costs[p.Need.Store]
	event := eventMicros + observeMicros/n.EventsPerCall + c.client
	scan := n.scanMicros()
	list := recommendMicros + scan + c.clientRead
	events = Part{
		Name: "gsimc: events", From: micros(event) + " an event",
		Cores: n.cores(event, n.EventsPerSecond),
	}
	lists = Part{
		Name: "gsimc: lists", From: micros(list) + " a list, " + micros(scan) + " of it the scan",
		Cores: n.cores(list, n.RecommendsPerSecond),
	}
	return events, lists
}

// addStore adds the parts of the store.
func (p *Plan) addStore() {
	n, c := &p.Need, costs[p.Need.Store]
	event := c.event + c.call/n.EventsPerCall
	part := Part{
		Name: string(n.Store),
		From: micros(event) + " an event, " + micros(c.read) + " a validation",
		Cores: n.cores(event, n.EventsPerSecond) +
			n.cores(c.read, n.RecommendsPerSecond),
	}
	// Validations go to the primaries: only they have what was acknowledged last.
	primaries := n.cores(c.primary, n.EventsPerSecond) + n.cores(c.read, n.RecommendsPerSecond)
	events := float64(n.Events)
	switch n.Store {
	case Pebble:
		p.Shards = 1
		part.From = "in the servers; 67 bytes an event, twice"
		part.Disk = events * pebbleEventBytes * pebbleRoom
	case Valkey:
		bytes := valkeyEventBytes(events / float64(n.Users))
		part.Memory = events * bytes * float64(c.copies) * valkeyRoom
		p.Shards = max(valkeyPrimaries, int(math.Ceil(primaries)),
			int(math.Ceil(events*bytes/valkeyProcessBytes)))
		part.Processes = p.Shards * c.copies
		part.From += fmt.Sprintf("; %.3g bytes an event, %d copies", bytes, c.copies)
	case Postgres:
		part.Disk = events * postgresEventBytes * float64(c.copies) * postgresRoom
		p.Shards, part.Processes = 1, c.copies
		p.primary = primaries
		part.From += fmt.Sprintf("; %d bytes an event, %d copies", postgresEventBytes, c.copies)
	}
	p.Parts = append(p.Parts, part)
}

// Training is one training with constants that are given, on one machine: the spectrum of all
// events and learned dynamics. The choice of constants and a local term come on top; `gsimc train
// --plan` says how much, for the data that it reads.
type Training struct {
	CoreHours float64 `json:"core_hours"`
	Hours     float64 `json:"hours"` // on the cores of one machine
	Memory    float64 `json:"memory_bytes"`
}

func (n *Need) training() Training {
	items, rank, events := float64(n.Items), float64(n.Rank), float64(n.Events)
	seconds := events * vectorsOfRank * rank * productNanos / 1e9
	shape := dynamics.Shape{
		Items: int(n.Items), Rank: n.Rank, Events: int(n.Events),
		Bands: []kalman.Band{{Rho: 0}, {Rho: 0.5}, {Rho: 0.87}}, // those of the preset
		// A longest history and measured events that are none of the large numbers.
		Longest: 10_000, Measured: 400_000, Processors: n.MachineCores,
	}
	stages := append(shape.RegressionCost(), shape.NoiseCost())
	for _, s := range stages {
		seconds += cost.Typical.Seconds(s.Work)
	}
	// The interactions and a basis in float32 are there while dynamics are learned, and the
	// interactions and three times the basis in work while the spectrum is.
	most, _ := cost.Peak(events*interactionBytes+items*rank*4, stages)
	memory := max(most, events*interactionBytes+items*rank*12)
	return Training{
		CoreHours: seconds / 3600, Hours: seconds / 3600 / float64(n.MachineCores),
		Memory: memory * garbage,
	}
}

// micros writes a time in µs.
func micros(x float64) string {
	if x >= 1000 {
		return fmt.Sprintf("%.3g ms", x/1000)
	}
	return fmt.Sprintf("%.3g µs", x)
}
