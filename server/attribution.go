package server

import (
	"errors"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/event"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/metric"
	"github.com/gsimc/gsimc/server/internal/session"
)

const (
	// attributionWindow is the time for which an event is counted for a list.
	attributionWindow = 7 * 24 * time.Hour

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

// attributionMetrics count what became of lists.
type attributionMetrics struct {
	events  *prometheus.CounterVec
	lists   *prometheus.CounterVec
	unknown *prometheus.CounterVec
}

// otherType is the label of event types that have no weight: there may be any number.
const otherType = "other"

// Values of the label reason of gsimc_attribution_unknown_total.
const (
	unknownMalformed  = "malformed"
	unknownOtherStore = "other_store"
	unknownOld        = "old"
)

func newAttributionMetrics() *attributionMetrics {
	m := &attributionMetrics{
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "gsimc_attributed_events_total",
			Help: "Stored events with a recommendation_id, by their type, the arm that made the " +
				"list, and the position of the item on it.",
		}, []string{"event_type", "arm", "position"}),
		lists: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "gsimc_recommendations_total",
			Help: "Lists of Recommend and BatchRecommend, by the arm that made them, and whether " +
				"they have a recommendation_id.",
		}, []string{"arm", "attributed"}),
		unknown: metric.Counters("gsimc_attribution_unknown_total",
			"Stored events whose recommendation_id cannot be counted: malformed, other_store, or "+
				"old (more than 7 days).", "reason"),
	}
	for _, reason := range []string{unknownMalformed, unknownOtherStore, unknownOld} {
		m.unknown.WithLabelValues(reason)
	}
	return m
}

// Collectors returns the metrics for a registry.
func (m *attributionMetrics) Collectors() []prometheus.Collector {
	return []prometheus.Collector{m.events, m.lists, m.unknown}
}

// attribute counts a finished list, and gives it an id if the client wants one.
func (s *Server) attribute(m *model.Model, req *pb.RecommendRequest, sc *scratch) {
	if req.GetAttribute() {
		sc.list.RecommendationID = s.recommendationID(m, sc)
	}
	sc.list.Arm = s.armField(sc.arm)
	s.metrics.attribution.lists.WithLabelValues(sc.arm.name,
		strconv.FormatBool(req.GetAttribute())).Inc()
}

// recommendationID returns the id of the list.
func (s *Server) recommendationID(m *model.Model, sc *scratch) string {
	id, top := s.store.Identity(), sc.list.Top
	top = top[:min(len(top), session.MaxPositions)]
	sc.hashes = sc.hashes[:0]
	for _, t := range top {
		sc.hashes = append(sc.hashes, session.ShortHash(id, m.ItemID(t.Item)))
	}
	r := session.Recommendation{Arm: sc.arm.name, Made: s.now(), Before: sc.before,
		Items: sc.hashes}
	return r.Token(id)
}

// credit says for which list an event counts. It keeps nothing of the message.
type credit struct {
	arm, position string // of the labels
	unknown       string // reason why there is no list to count for
}

// credit reads the recommendation_id of a valid event, which has one.
func (s *Server) credit(e *pb.Event, received time.Time) *credit {
	r, err := session.ReadRecommendation(s.store.Identity(), e.GetRecommendationId())
	switch {
	case errors.Is(err, session.ErrOtherStore):
		return &credit{unknown: unknownOtherStore}
	case err != nil:
		return &credit{unknown: unknownMalformed}
	case received.Sub(r.Made) > attributionWindow:
		return &credit{unknown: unknownOld}
	}
	return &credit{arm: s.armLabel(r.Arm),
		position: positionLabel(r.Position(s.store.Identity(), e.GetItemId()))}
}

// armLabel is the label of an arm that a token names.
func (s *Server) armLabel(arm string) string {
	for _, a := range s.arms {
		if a.name == arm {
			return arm
		}
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

// countCredit counts a stored event.
func (s *Server) countCredit(c *credit, eventType string) {
	switch {
	case c == nil: // it came without
	case c.unknown != "":
		s.metrics.attribution.unknown.WithLabelValues(c.unknown).Inc()
	default:
		s.metrics.attribution.events.WithLabelValues(s.typeLabel(eventType), c.arm,
			c.position).Inc()
	}
}

// typeLabel is the label of an event type: clients choose types, so only those that the server has
// a weight for have labels of their own.
func (s *Server) typeLabel(eventType string) string {
	if _, weighed := s.updater.Weights()[eventType]; weighed || eventType == event.DefaultType {
		return eventType
	}
	return otherType
}
