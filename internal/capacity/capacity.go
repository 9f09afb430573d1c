// Package capacity computes what a service needs: cores, memory, disks and processes, for a number
// of users, items and events, at a rate of calls, over a store. Then it says what does not fit,
// what costs most, and what helps.
//
// It is a function of its arguments and of constants that were measured; each constant says by
// which command, and on which machine. So the results are as good as these: orders of magnitude for
// other processors, and good ratios. Rates are per second, times are processor time, bytes are
// decimal (1 GB = 10⁹ bytes), and cores are counted as if no more than Need.Load of them was in
// use.
package capacity

import (
	"errors"
	"math"

	"github.com/gsimc/gsimc/internal/fault"
)

// Store is where the histories are kept.
type Store string

// The stores.
const (
	Pebble   Store = "pebble"   // on the disk of the one server
	Valkey   Store = "valkey"   // in the memory of a cluster, three copies
	Postgres Store = "postgres" // on the disks of PostgreSQL, two copies
)

// Rows are the kind of a basis, which decides how much of it a scan can leave out.
type Rows string

// The kinds.
const (
	Random  Rows = "random"  // the worst case
	Trained Rows = "trained" // as of a catalogue with kinds of items that differ
)

// Need is a service.
type Need struct {
	Users  int64 `json:"users"`
	Items  int64 `json:"items"`
	Events int64 `json:"events"` // that are kept
	Rank   int   `json:"rank"`   // of the model

	EventsPerSecond     float64 `json:"events_per_second"`
	RecommendsPerSecond float64 `json:"recommends_per_second"`
	EventsPerCall       float64 `json:"events_per_call"` // 1: each has a call of its own

	Store  Store   `json:"store"`
	Rows   Rows    `json:"rows"`
	Load   float64 `json:"load"`         // share of the cores that is in use, 0 to 1
	Active float64 `json:"active_users"` // share of the users whose states are in memory, 0 to 1

	MachineCores  int   `json:"machine_cores"`  // of the machines that there are
	MachineMemory int64 `json:"machine_memory"` // bytes of each
}

// Validate returns the faults of the fields.
func (n *Need) Validate() error {
	var faults []error
	check := func(ok bool, field string, got any, want string) {
		if !ok {
			faults = append(faults, fault.New(field, got, want))
		}
	}
	const most = 1e15 // no sum overflows
	counts := func(field string, x, least int64) {
		check(x >= least && x <= most, field, x, "1 to 1e15")
	}
	rate := func(field string, x float64) {
		check(x >= 0 && x <= most, field, x, "0 to 1e15")
	}
	share := func(field string, x float64) {
		check(x > 0 && x <= 1, field, x, "a share above 0 and at most 1")
	}
	counts("Users", n.Users, 1)
	counts("Items", n.Items, 1)
	counts("Events", n.Events, 1)
	check(n.Rank >= 1 && n.Rank <= 65536 && int64(n.Rank) <= max(n.Items, 1), "Rank", n.Rank,
		"1 to 65536, and at most the number of items")
	rate("EventsPerSecond", n.EventsPerSecond)
	rate("RecommendsPerSecond", n.RecommendsPerSecond)
	check(n.EventsPerCall >= 1 && n.EventsPerCall <= 1000, "EventsPerCall", n.EventsPerCall,
		"1 to 1000")
	check(costs[n.Store].copies > 0, "Store", n.Store, "pebble, valkey or postgres")
	check(n.Rows == Random || n.Rows == Trained, "Rows", n.Rows, "random or trained")
	share("Load", n.Load)
	share("Active", n.Active)
	check(n.MachineCores >= 1 && n.MachineCores <= 4096, "MachineCores", n.MachineCores,
		"1 to 4096")
	check(n.MachineMemory >= 1e9 && n.MachineMemory <= 1e14, "MachineMemory", n.MachineMemory,
		"1 GB to 100 TB")
	return errors.Join(faults...)
}

// Part is a part of the service with all its processes.
type Part struct {
	Name      string  `json:"name"`
	From      string  `json:"from"`      // how it was computed
	Processes int     `json:"processes"` // 0: part of others
	Cores     float64 `json:"cores"`
	Memory    float64 `json:"memory_bytes"`
	Disk      float64 `json:"disk_bytes"`
}

// Dollars is the price of a part for an hour.
func (p *Part) Dollars() float64 {
	return p.Cores*coreDollars + p.Memory/1e9*memoryDollars +
		p.Disk/1e9*diskDollars/hoursOfMonth
}

// Plan is what a service needs.
type Plan struct {
	Need     Need     `json:"need"`
	Parts    []Part   `json:"parts"`    // sums of these are the service
	Training Training `json:"training"` // one, beside the service
	Servers  int      `json:"servers"`
	Shards   int      `json:"shards"` // of the store
	Server   Server   `json:"server"` // one of Servers
	// Limits has all limits in descending order of [Limit.Factor].
	Limits []Limit `json:"limits"`
	// Dearest is the name of the part that costs most.
	Dearest string   `json:"dearest"`
	Levers  []string `json:"levers"`

	primary float64 // cores of the one primary of PostgreSQL
}

// Server is the memory of one server, in bytes.
type Server struct {
	Model      float64 `json:"model"`       // the file, copied to memory
	Copies     float64 `json:"copies"`      // of the basis, for scans
	Catalogue  float64 `json:"catalogue"`   // of the items
	StateCache float64 `json:"state_cache"` // the value of --state-cache
	Memory     float64 `json:"memory"`      // in all
	AtReload   float64 `json:"at_reload"`   // in all, while two models are there
}

// New returns the plan of a service. The error is that of [Need.Validate].
func New(n Need) (*Plan, error) {
	if err := n.Validate(); err != nil {
		return nil, err
	}
	p := plan(n)
	p.levers()
	return p, nil
}

// plan is New without levers, which compare with other plans.
func plan(n Need) *Plan {
	p := &Plan{Need: n}
	events, lists := p.serving()
	cores := events.Cores + lists.Cores
	p.Servers = 1
	if n.Store != Pebble { // two, so that one may go
		p.Servers = max(2, int(math.Ceil(cores/float64(n.MachineCores))))
	}
	p.Server = n.server(p.Servers)
	p.Parts = []Part{events, lists, {
		Name: "gsimc: memory", From: "model, copies of the basis, catalogue, states",
		Processes: p.Servers, Memory: float64(p.Servers) * p.Server.AtReload,
	}}
	p.addStore()
	p.Training = n.training()
	p.limits()
	dearest := 0.0
	for i := range p.Parts {
		if d := p.Parts[i].Dollars(); d > dearest {
			dearest, p.Dearest = d, p.Parts[i].Name
		}
	}
	return p
}

// Dollars is the price of the service for an hour, without trainings.
func (p *Plan) Dollars() (sum float64) {
	for i := range p.Parts {
		sum += p.Parts[i].Dollars()
	}
	return sum
}

// cores returns how many cores a work of micros µs keeps busy that is done rate times a second.
func (n *Need) cores(micros, rate float64) float64 { return micros / 1e6 * rate / n.Load }

// scanMicros is the time of a list's share of a pass over the basis.
func (n *Need) scanMicros() float64 {
	picos := scanPicos
	if n.Rank > 512 {
		picos = scanPicosHighRank
	}
	return n.rowsMicros(picos)
}

// aloneMillis is the time of a pass for one list.
func (n *Need) aloneMillis() float64 { return n.rowsMicros(scanAlonePicos) / 1e3 }

// rowsMicros is the time, in µs, of a scan that takes picos ps for each byte of random rows.
func (n *Need) rowsMicros(picos float64) float64 {
	micros := picos * n.basis() / 1e6
	if n.Rows == Trained {
		return min(micros, max(trainedLeast, trainedShare*micros))
	}
	return micros
}

// basis is the size of the int8 rows in bytes.
func (n *Need) basis() float64 { return float64(n.Items) * float64(n.Rank) }

// server is the memory of one of the servers.
func (n *Need) server(servers int) Server {
	items, rank := float64(n.Items), float64(n.Rank)
	s := Server{
		Model: items * (16*rank + itemBytes), Copies: n.basis(), Catalogue: items * catalogueBytes,
		StateCache: n.Active * float64(n.Users) * stateBytes * rank / float64(servers),
	}
	if n.basis() >= fiveBitsFrom && n.Rank <= 512 {
		s.Copies += n.basis() * 5 / 8
	}
	rest := s.Catalogue + s.StateCache
	if n.Store == Pebble {
		rest += pebbleCaches
	}
	s.Memory = serverBytes + heapShare*rest + s.Model + s.Copies
	s.AtReload = s.Memory + s.Model + s.Copies
	return s
}
