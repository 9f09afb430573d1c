// Package credit says for which list of recommendations an event counts, and counts it.
package credit

import (
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/event"
	"github.com/gsimc/gsimc/server/internal/metric"
	"github.com/gsimc/gsimc/server/internal/session"
	"github.com/gsimc/gsimc/store"
)

const (
	// Window is the time for which an event is counted for a list.
	Window = 7 * 24 * time.Hour

	otherArm = "other" // an arm that the server no longer has
)

// positions are the values of the label position, by the last place of each.
var positions = []struct {
	upTo int
	name string
}{{1, "1"}, {3, "2-3"}, {10, "4-10"}, {50, "11-50"}}

const (
	positionBeyond = "51+"  // on a later page
	positionNone   = "none" // the item is not among the first of the list
)

// Metrics count what became of lists.
type Metrics struct {
	metric.Set
	events  *prometheus.CounterVec
	lists   *prometheus.CounterVec
	unknown *prometheus.CounterVec

	users, hits, popular, calls, seconds *prometheus.CounterVec // of the comparison of arms
}

// OtherType is the label of event types that have no weight: there may be any number.
const OtherType = "other"

// Values of the label reason of gsimc_attribution_unknown_total.
const (
	unknownMalformed  = "malformed"
	unknownOtherStore = "other_store"
	unknownOld        = "old"
)

// NewMetrics makes the metrics.
func NewMetrics() *Metrics {
	m := &Metrics{}
	m.events = m.Counters("gsimc_attributed_events_total",
		"Stored events with a recommendation_id, by their type (other: neither like nor one "+
			"with a weight), the arm that made the list, and the position of the item on it.",
		"event_type", "arm", "position")
	m.lists = m.Counters("gsimc_recommendations_total",
		"Lists of Recommend, BatchRecommend and RecommendPage, by the arm that made them, and "+
			"whether they have a recommendation_id.", "arm", "attributed")
	m.unknown = m.Counters("gsimc_attribution_unknown_total",
		"Stored events whose recommendation_id cannot be counted: malformed, other_store, or "+
			"old (more than 7 days).", "reason")
	m.users = m.Counters("gsimc_arm_users_total",
		"Users who entered the comparison of arms, by the first attributed list of their arm, in "+
			"64 groups by a hash, and once more after arms got other shares; none if there is one "+
			"arm.", "arm", "group")
	m.hits = m.Counters("gsimc_arm_hits_total",
		"New events whose weight times value is positive, about items of attributed lists of the "+
			"user's own arm, by the group of the user; none if there is one arm.", "arm", "group")
	m.popular = m.Counters("gsimc_arm_popular_lists_total",
		"Attributed lists for users that are of popular items alone and were not to be; none if "+
			"there is one arm.", "arm")
	m.calls = m.Counters("gsimc_arm_calls_total",
		"Calls of Recommend for users, by their arm, and whether they failed though the request "+
			"was good; none if there is one arm.", "arm", "result")
	m.seconds = m.Counters("gsimc_arm_call_seconds_total",
		"Time that these calls took together, by their arm; none if there is one arm.", "arm")
	for _, reason := range []string{unknownMalformed, unknownOtherStore, unknownOld} {
		m.unknown.WithLabelValues(reason)
	}
	return m
}

// Deps are what a [Book] needs.
type Deps struct {
	Identity store.Identity
	Arms     []string              // the names of the arms
	ArmOf    func(user string) int // which of Arms a user was given
	Now      func() time.Time
	Weights  func() event.Weights
	Metrics  *Metrics
}

// Book counts lists, and the events that came of them.
type Book struct {
	Deps
	tally *tally // nil: there is one arm
}

// New returns the book of a server.
func New(d Deps) *Book { return &Book{d, newTally(d)} }

// Listed counts a list that an arm has made for a user, or for nobody; attributed tells whether it
// has an id, and popular whether it has popular items for want of better ones.
func (b *Book) Listed(arm int, user string, attributed, popular bool) {
	b.Metrics.lists.WithLabelValues(b.Arms[arm], strconv.FormatBool(attributed)).Inc()
	if attributed {
		b.tally.listed(arm, user, popular)
	}
}

// Answered counts a call of Recommend for a user that an arm has answered, or failed to answer
// though the request was good.
func (b *Book) Answered(arm int, took time.Duration, failed bool) {
	b.tally.answered(arm, took, failed)
}

// Figures returns those of each arm, main's first; nil if there is one arm.
func (b *Book) Figures() []Figures { return b.tally.figures() }

// Restart begins the comparison of arms anew. It is called after ArmOf has begun to give users
// other arms, so that a list or a hit counts only if the arm was drawn as it is drawn from then on.
// The time of a list is known to the second: hits of those of this second, of which some are of
// before, do not count.
func (b *Book) Restart() {
	if b.tally != nil {
		b.tally.restart(b.Now().Truncate(time.Second).Add(time.Second))
	}
}

// Credit says for which list an event counts. It keeps nothing of the message.
type Credit struct {
	arm, position string // of the labels
	unknown       string // reason why there is no list to count for
	place         place  // of a hit
}

// Of reads the recommendation_id of a valid event, which has one.
func (b *Book) Of(e *pb.Event, received time.Time) *Credit {
	r, err := session.ReadRecommendation(b.Identity, e.GetRecommendationId())
	switch {
	case errors.Is(err, session.ErrOtherStore):
		return &Credit{unknown: unknownOtherStore}
	case err != nil:
		return &Credit{unknown: unknownMalformed}
	case received.Sub(r.Made) > Window:
		return &Credit{unknown: unknownOld}
	}
	c := &Credit{arm: b.armLabel(r.Arm),
		position: positionLabel(r.Position(b.Identity, e.GetItemId()))}
	if c.position != positionNone {
		c.place = b.tally.placeOf(e.GetUserId(), r.Arm, b.Arms, &r)
	}
	return c
}

// armLabel is the label of an arm that a token names.
func (b *Book) armLabel(arm string) string {
	if slices.Contains(b.Arms, arm) {
		return arm
	}
	return otherArm
}

func positionLabel(position int) string {
	if position == 0 {
		return positionNone
	}
	for _, p := range positions {
		if position <= p.upTo {
			return p.name
		}
	}
	return positionBeyond
}

// Count counts a stored event of this type and value.
func (b *Book) Count(c *Credit, eventType string, value float64) {
	switch {
	case c == nil: // it came without
	case c.unknown != "":
		b.Metrics.unknown.WithLabelValues(c.unknown).Inc()
	default:
		label := b.TypeLabel(eventType)
		b.Metrics.events.WithLabelValues(label, c.arm, c.position).Inc()
		if b.Weights().Of(eventType, value) > 0 {
			b.tally.hit(c.place, label, value)
		}
	}
}

// TypeLabel is the label of an event type: clients choose types, so only those that the server has
// a weight for have labels of their own.
func (b *Book) TypeLabel(eventType string) string {
	if _, weighed := b.Weights()[eventType]; weighed || eventType == event.DefaultType {
		return eventType
	}
	return OtherType
}
