package evaluate

import (
	"fmt"
	"math"
	"slices"

	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/model/content"
)

// ByTime divides events at a point of time T, as time divides them for a server: what is learned
// lies before T, and what users take from T on is predicted one event at a time. The history of a
// target are all events of its user before it, whether before T or after.
//
// Constants are chosen likewise, at an earlier point of time V: a method learns from the events
// before V, and predicts those from V to T. With these constants it then learns from all events
// before T.
type ByTime struct {
	Begin      int64 // T, in seconds since 1970
	End        int64 // of what is predicted, after T; the largest number if that has no end
	Validation int64 // V, before T

	Events  int // from T on, before End
	Unknown int // of these, events whose items nobody has before T; they are no targets

	Users   int // with targets, as far as they are tested
	Targets int // of these users
	Cold    int // of these, targets without an event before them whose item is known

	// Choosing is the partition at V. A validation history is that of a target, as a test history
	// of Final. Its test users are some of the validation users, so that methods can run. Nil if no
	// validation user has an event before the one to predict.
	Choosing *dataset.Partition

	// Final is the partition at T. A test history is that of a target which is not cold, and ends
	// with it, so that it repeats others of its user. A validation history is that of a user with
	// events from V to T, and ends before T, with an item that is not hidden. Training has these
	// events too. There are none without Choosing.
	Final *dataset.Partition

	// Old, if set before [ByTime.Run], is a model that ranks the targets too, as [Frozen] and
	// [FrozenTrending]. Unseen is the number of targets whose items it does not know.
	Old    *Aged
	Unseen int

	// AllNext is of [ByTime.Run], for data whose users come back to items; nil for others. Fitted
	// is its model with learned dynamics; nil without.
	AllNext *AllNext
	Fitted  *Aged

	// Content is what items say of themselves, by id, for Arrivals of [ByTime.Run]; nil: nothing is
	// known. Arrivals is nil without new items or without learned dynamics.
	Content  map[string]content.Document
	Arrivals *Arrivals

	limit   int    // of users that are tested; 0: all
	hidden  []bool // by item of the events
	targets timeTargets
	final   stream // to the targets of Final
}

// TimeSplit are the constants of [SplitByTime].
type TimeSplit struct {
	Share float64 // of all events, the newest, that come from T on: above 0, below 0.5
	Users int     // largest number of users to test, evenly spaced, and to validate by; 0: all

	// Hidden tells of the items that no list has, such as attributes of users: they are no targets
	// and are not ranked. Nil: there are none.
	Hidden func(id string) bool

	// Later is the number of such shares that are newer than the one to test. Their events have not
	// happened yet.
	Later int
}

// mostTargets is the number of events of a user, from a point of time on, that are targets.
const mostTargets = 10

// choosingTests is the number of test users of ByTime.Choosing: one for each percent of progress.
const choosingTests = 100

// SplitByTime divides d, which must have times. T is the time of the first of the newest events. So
// more events than asked for come after T if several have that time. V divides the events before T
// likewise, with the same number of events after it.
func SplitByTime(d *dataset.Interactions, o TimeSplit) (*ByTime, error) {
	if d.Time == nil {
		return nil, &fault.Fault{
			Field: "Data", Problem: "the events have no times to be divided by",
		}
	}
	x, err := newByTime(d, o)
	if err != nil {
		return nil, err
	}
	if o.Later > 0 {
		d = d.Before(x.End)
	}
	x.hidden = make([]bool, d.NumItems())
	for i, id := range d.Items {
		x.hidden[i] = o.Hidden != nil && o.Hidden(id)
	}
	var place []int32
	x.Final, place = trainedBefore(d, x.Begin)
	x.final, x.limit = stream{d, place}, o.Users
	x.targets = x.targetsOf(d, place, x.Begin, math.MaxInt64)
	x.Final.Test, x.Final.Validation = x.targets.warm, dataset.Histories{Ptr: []int64{0}}
	x.Unknown, x.Users = x.targets.unknown, x.targets.tested
	x.Targets, x.Cold = len(x.targets.users), len(x.targets.cold)
	if x.Targets == 0 {
		return nil, fault.New("TestShare", o.Share,
			"a share of events whose items also have earlier ones")
	}
	choosing, at := trainedBefore(d, x.Validation)
	choosing.Validation = x.targetsOf(d, at, x.Validation, x.Begin).warm
	if choosing.Validation.Len() > 0 {
		choosing.Test = onValidation(choosing, choosingTests).Test
		x.Choosing = choosing
		x.Final.Validation = x.historiesUntil(d, place, x.Validation, x.Begin)
	}
	return x, nil
}

// newByTime finds the points of time, from the newest on.
func newByTime(d *dataset.Interactions, o TimeSplit) (*ByTime, error) {
	times := slices.Clone(d.Time)
	slices.Sort(times)
	after := int(o.Share * float64(len(times)))
	if after == 0 {
		return nil, fault.New("TestShare", o.Share,
			fmt.Sprintf("a share of %d events that is one or more", len(times)))
	}
	x := &ByTime{End: math.MaxInt64}
	for later := o.Later; ; later-- {
		x.Begin = times[max(0, len(times)-after)]
		earlier := before(times, x.Begin)
		if earlier == 0 {
			return nil, fault.New("TestShare", o.Share,
				"a share that leaves events of an earlier time to learn from")
		}
		if later == 0 {
			x.Events = len(times) - earlier
			x.Validation = times[max(0, earlier-after)]
			return x, nil
		}
		x.End, times = x.Begin, times[:earlier]
	}
}

// before returns how many of the sorted times lie before t.
func before(times []int64, t int64) int {
	at, _ := slices.BinarySearch(times, t)
	return at
}

// trainedBefore returns a partition whose training users have all events before t, and the place of
// every item of d among its items; −1 if it has none of its events.
func trainedBefore(d *dataset.Interactions, t int64) (p *dataset.Partition, place []int32) {
	p = &dataset.Partition{}
	place = make([]int32, d.NumItems())
	for i := range place {
		place[i] = -1
	}
	for j, i := range d.Item {
		if d.Time[j] < t {
			place[i] = 0
		}
	}
	for i, id := range d.Items {
		if place[i] == 0 {
			place[i] = int32(len(p.Items))
			p.Items = append(p.Items, id)
		}
	}
	p.Train = dataset.Histories{Ptr: []int64{0}}
	for u := range d.Users {
		lo, hi := d.Ptr[u], eventsBefore(d, u, t)
		for j := lo; j < hi; j++ {
			appendEvent(&p.Train, place[d.Item[j]], d.Time, d.Weight, j)
		}
		if hi > lo {
			for _, r := range d.RepeatsOf(u) {
				if r.Time < t {
					r.User, r.Item = int32(p.Train.Len()), place[r.Item]
					p.Train.Repeats = append(p.Train.Repeats, r)
				}
			}
			endHistory(&p.Train, u)
		}
	}
	return p, place
}

// historiesUntil returns the histories before to, of known items, up to the last that is not
// hidden, of the users with two such events or more, the last of them from from on.
func (x *ByTime) historiesUntil(
	d *dataset.Interactions, place []int32, from, to int64,
) dataset.Histories {
	out := dataset.Histories{Ptr: []int64{0}, Hidden: x.targets.warm.Hidden}
	for u := range d.Users {
		known := knownEvents(d, u, place, to)
		for len(known) > 0 && x.hidden[d.Item[known[len(known)-1]]] {
			known = known[:len(known)-1]
		}
		if len(known) < 2 || d.Time[known[len(known)-1]] < from {
			continue
		}
		for _, j := range known {
			appendEvent(&out, place[d.Item[j]], d.Time, d.Weight, j)
		}
		endHistory(&out, u)
	}
	return out
}

// timeTargets are the targets between two points of time.
type timeTargets struct {
	warm      dataset.Histories // of the targets with a history, each with the target at its end
	cold      []int32           // the other targets
	coldTimes []int64           // of the other targets
	users     []int32           // of the warm targets, then of the cold ones
	tested    int               // number of users
	unknown   int               // events of unknown items, those of all users
}

// targetsOf returns the first mostTargets events of known items from from on, and before to, of up
// to x.limit users.
func (x *ByTime) targetsOf(
	d *dataset.Interactions, place []int32, from, to int64,
) (out timeTargets) {
	for j, i := range d.Item {
		if place[i] < 0 && d.Time[j] >= from && d.Time[j] < to {
			out.unknown++
		}
	}
	users := x.usersWithTargets(d, place, from, to)
	out.warm, out.tested = dataset.Histories{Ptr: []int64{0}}, len(users)
	for i, hidden := range x.hidden {
		if hidden && place[i] >= 0 {
			out.warm.Hidden = append(out.warm.Hidden, place[i])
		}
	}
	var coldUsers []int32
	for _, u := range users {
		known := knownEvents(d, int(u), place, to)
		first, _ := slices.BinarySearchFunc(known, from, func(j int64, from int64) int {
			if d.Time[j] < from {
				return -1
			}
			return 1
		})
		taken := 0
		for at := first; at < len(known) && taken < mostTargets; at++ {
			if x.hidden[d.Item[known[at]]] {
				continue
			}
			if taken++; at == 0 {
				out.cold = append(out.cold, place[d.Item[known[0]]])
				out.coldTimes = append(out.coldTimes, d.Time[known[0]])
				coldUsers = append(coldUsers, u)
				continue
			}
			for _, j := range known[:at+1] {
				appendEvent(&out.warm, place[d.Item[j]], d.Time, d.Weight, j)
			}
			endHistory(&out.warm, int(u))
		}
	}
	out.users = append(slices.Clone(out.warm.User), coldUsers...)
	return out
}

// usersWithTargets returns up to x.limit users with targets, evenly spaced; 0 stands for all.
func (x *ByTime) usersWithTargets(
	d *dataset.Interactions, place []int32, from, to int64,
) (users []int32) {
	for u := range d.Users {
		known := slices.DeleteFunc(knownEvents(d, u, place, to),
			func(j int64) bool { return x.hidden[d.Item[j]] })
		if len(known) > 0 && d.Time[known[len(known)-1]] >= from {
			users = append(users, int32(u))
		}
	}
	if x.limit == 0 || len(users) <= x.limit {
		return users
	}
	for u := range x.limit {
		users[u] = users[u*len(users)/x.limit]
	}
	return users[:x.limit]
}

// knownEvents returns the places of the events of user u before to whose items have a place.
func knownEvents(d *dataset.Interactions, u int, place []int32, to int64) (known []int64) {
	for j := d.Ptr[u]; j < eventsBefore(d, u, to); j++ {
		if place[d.Item[j]] >= 0 {
			known = append(known, j)
		}
	}
	return known
}

// eventsBefore returns the end of the events of user u before t.
func eventsBefore(d *dataset.Interactions, u int, t int64) int64 {
	return d.Ptr[u] + int64(before(d.Time[d.Ptr[u]:d.Ptr[u+1]], t))
}

// appendEvent appends an event on an item to the last history of h, which endHistory ends. Its time
// and its weight stand at j; either may be nil.
func appendEvent(h *dataset.Histories, item int32, times []int64, weights []float32, j int64) {
	h.Item = append(h.Item, item)
	if times != nil {
		h.Time = append(h.Time, times[j])
	}
	if weights != nil {
		h.Weight = append(h.Weight, weights[j])
	}
}

func endHistory(h *dataset.Histories, u int) {
	h.User = append(h.User, int32(u))
	h.Ptr = append(h.Ptr, int64(len(h.Item)))
}
