package server

import (
	"cmp"
	"fmt"
	"math"
	"time"
	"unicode/utf8"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/event"
	"github.com/gsimc/gsimc/internal/wire"
)

// The rules of the fields are written by hand, and stand in words in the .proto files. There are
// some twenty of them on four kinds of value; a check of a request costs well under 5 µs and
// allocates nothing. A rule engine (protovalidate) would bring an expression language with its
// parser into the server and cost more than the recommendation itself.
const (
	maxEventIDBytes  = 64
	maxBatch         = 1000
	maxHistory       = 1000
	maxRetract       = 1000
	maxFilterIDs     = 10_000
	maxSeenTypes     = 50
	defaultPageSize  = 10
	maxPageSize      = 1000
	maxExplain       = 50
	maxExplainedPage = 100
	maxScored        = 1000
	maxSubjects      = 1000
	maxBatchItems    = 100_000
	maxExploration   = 100
	maxFuture        = 24 * time.Hour
	maxFaults        = 20 // field violations reported for one request

	fieldSequence = "sequence"
)

// elementLimits are those of the repeated fields, for the decoder.
var elementLimits = wire.Limits{
	"gsimc.v1.BatchObserveRequest.events":       maxBatch,
	"gsimc.v1.StreamObserveRequest.events":      maxBatch,
	"gsimc.v1.InlineHistory.entries":            maxHistory,
	"gsimc.v1.ItemFilter.allow_item_ids":        maxFilterIDs,
	"gsimc.v1.ItemFilter.deny_item_ids":         maxFilterIDs,
	"gsimc.v1.ItemFilter.any_categories":        maxFilterNames,
	"gsimc.v1.ItemFilter.all_categories":        maxFilterNames,
	"gsimc.v1.ItemFilter.no_categories":         maxFilterNames,
	"gsimc.v1.ItemFilter.any_labels":            maxFilterNames,
	"gsimc.v1.ItemFilter.all_labels":            maxFilterNames,
	"gsimc.v1.ItemFilter.no_labels":             maxFilterNames,
	"gsimc.v1.RecommendRequest.pinned":          maxPins,
	"gsimc.v1.SeenPolicy.event_types":           maxSeenTypes,
	"gsimc.v1.BatchUpsertItemsRequest.items":    maxItems,
	"gsimc.v1.Item.categories":                  maxNamesTogether,
	"gsimc.v1.Item.labels":                      maxNamesTogether,
	"gsimc.v1.BatchDeleteItemsRequest.item_ids": maxItems,
	"gsimc.v1.BatchGetItemsRequest.item_ids":    maxFoundItems,
	"google.protobuf.FieldMask.paths":           2 * numItemFields,
	"gsimc.v1.ScoreItemsRequest.item_ids":       maxScored,
	"gsimc.v1.BatchRecommendRequest.subjects":   maxSubjects,
	"gsimc.v1.RetractEventsRequest.event_ids":   maxRetract,
	"gsimc.v1.RetractEventsRequest.item_ids":    maxRetract,
}

// invalidError is a request with bad fields.
type invalidError struct{ faults []fieldFault }

// fieldFault is one field that breaks its rule. Text never repeats the value of an id.
type fieldFault struct{ field, text string }

// Error names the first bad field and the number of further ones.
func (e *invalidError) Error() string {
	msg := e.faults[0].field + " " + e.faults[0].text
	if n := len(e.faults) - 1; n > 0 {
		msg += fmt.Sprintf(" (and %d more)", n)
	}
	return msg
}

func (e *invalidError) reason() string {
	if e.faults[0].field == fieldSequence {
		return reasonSequence
	}
	return reasonInvalidField
}

func (e *invalidError) badRequest() *errdetails.BadRequest {
	b := &errdetails.BadRequest{}
	for _, f := range e.faults {
		b.FieldViolations = append(b.FieldViolations, &errdetails.BadRequest_FieldViolation{
			Field: f.field, Description: f.text, Reason: e.reason(),
		})
	}
	return b
}

// checker collects the faults of one request.
type checker struct{ faults []fieldFault }

// check notes a fault unless text is empty. The variants below put a path together only when there
// is a fault.
func (c *checker) check(field, text string) {
	if text != "" && len(c.faults) < maxFaults {
		c.faults = append(c.faults, fieldFault{field, text})
	}
}

// checkIn is check for the field parent+name.
func (c *checker) checkIn(parent, name, text string) {
	if text != "" {
		c.check(parent+name, text)
	}
}

// checkAt is check for element i of a list: its field is list[i].name, or list[i] without a name.
func (c *checker) checkAt(list string, i int, name, text string) {
	if text == "" {
		return
	}
	field := fmt.Sprintf("%s[%d]", list, i)
	if name != "" {
		field += "." + name
	}
	c.check(field, text)
}

func (c *checker) err() error {
	if len(c.faults) == 0 {
		return nil
	}
	return &invalidError{c.faults}
}

// The bad… functions return the problem of a value, or nothing.

func badID(id string) string {
	switch {
	case id == "":
		return "is required"
	case len(id) > event.MaxIDBytes:
		return fmt.Sprintf("has %d bytes, at most %d are allowed", len(id), event.MaxIDBytes)
	case !utf8.ValidString(id):
		return "is not valid UTF-8"
	}
	return ""
}

func badEventID(id string) string {
	switch {
	case len(id) > maxEventIDBytes:
		return fmt.Sprintf("has %d bytes, at most %d are allowed", len(id), maxEventIDBytes)
	case !utf8.ValidString(id):
		return "is not valid UTF-8"
	}
	return ""
}

// badRecommendationID accepts what the server does not know: an event is worth more than its
// attribution.
func badRecommendationID(id string) string {
	switch {
	case len(id) > maxRecommendationID:
		return fmt.Sprintf("has %d bytes, at most %d are allowed", len(id), maxRecommendationID)
	case !utf8.ValidString(id):
		return "is not valid UTF-8"
	}
	return ""
}

// badEventType accepts the empty string, which stands for the default.
func badEventType(t string) string {
	switch {
	case t == "" || event.ValidType(t):
		return ""
	case len(t) > event.MaxTypeBytes:
		return fmt.Sprintf("has %d bytes, at most %d are allowed", len(t), event.MaxTypeBytes)
	}
	return "must match " + event.TypePattern
}

func badEventTime(t *timestamppb.Timestamp, now time.Time) string {
	switch {
	case t == nil:
		return ""
	case t.CheckValid() != nil || t.GetSeconds() < 0:
		return "must be from 1970-01-01 to 9999-12-31"
	case t.AsTime().After(now.Add(maxFuture)):
		return "is more than 24 hours in the future"
	}
	return ""
}

func badValue(v *float64) string {
	if v != nil && !(math.Abs(*v) <= event.MaxWeight) { // false for NaN too
		return fmt.Sprintf("must be a number from -%d to %d", event.MaxWeight, event.MaxWeight)
	}
	return ""
}

// badCount checks the length of a list; max is included.
func badCount(n, min, max int) string {
	if n < min || n > max {
		return fmt.Sprintf("has %d elements, want %d to %d", n, min, max)
	}
	return ""
}

// checkEvent checks one event; now is the time at which it was received.
func checkEvent(c *checker, prefix string, e *pb.Event, now time.Time) {
	if e == nil {
		c.check("event", "is required")
		return
	}
	c.checkIn(prefix, "event_id", badEventID(e.GetEventId()))
	c.checkIn(prefix, "user_id", badID(e.GetUserId()))
	c.checkIn(prefix, "item_id", badID(e.GetItemId()))
	c.checkIn(prefix, "event_type", badEventType(e.GetEventType()))
	c.checkIn(prefix, "event_time", badEventTime(e.GetEventTime(), now))
	c.checkIn(prefix, "value", badValue(e.Value))
	c.checkIn(prefix, "recommendation_id", badRecommendationID(e.GetRecommendationId()))
}

func validateRecommend(r *pb.RecommendRequest, now time.Time) error {
	var c checker
	checkRecommend(&c, r, now)
	return c.err()
}

func checkRecommend(c *checker, r *pb.RecommendRequest, now time.Time) {
	switch subject := r.GetSubject().(type) {
	case *pb.RecommendRequest_UserId:
		c.check("user_id", badID(subject.UserId))
		if r.GetExtraHistory() != nil {
			checkHistory(c, "extra_history.entries", r.GetExtraHistory(), now)
		}
	case *pb.RecommendRequest_History:
		checkHistory(c, "history.entries", subject.History, now)
		if r.GetExtraHistory() != nil {
			c.check("extra_history", "must be unset with an inline history")
		}
		if r.GetMinUserRevision() != 0 {
			c.check("min_user_revision", "must be 0 with an inline history")
		}
		if len(r.GetSessionToken()) > 0 {
			c.check("session_token", "must be empty with an inline history")
		}
	default:
		c.check("subject", "is required: set user_id or history")
	}
	if r.GetPageSize() < 0 {
		c.check("page_size", "must not be negative")
	}
	checkFilter(c, r.GetFilter())
	checkSeen(c, r.GetSeen())
	checkExplain(c, r)
	checkPlacement(c, r)
	if x := r.GetExploration(); x != nil {
		checkExploration(c, x)
	}
}

// validateBatchRecommend checks what holds for all subjects, each of which is checked by itself.
func validateBatchRecommend(r *pb.BatchRecommendRequest) error {
	var c checker
	n := len(r.GetSubjects())
	c.check("subjects", badCount(n, 1, maxSubjects))
	if r.GetPageSize() < 0 {
		c.check("page_size", "must not be negative")
	} else if n*pageSize(r.GetPageSize()) > maxBatchItems {
		c.check("page_size", fmt.Sprintf("must be at most %d, for %d items in all",
			maxBatchItems/n, maxBatchItems))
	}
	checkFilter(&c, r.GetFilter())
	checkSeen(&c, r.GetSeen())
	return c.err()
}

func validateSimilarItems(r *pb.SimilarItemsRequest) error {
	var c checker
	c.check("item_id", badID(r.GetItemId()))
	if r.GetPageSize() < 0 {
		c.check("page_size", "must not be negative")
	}
	checkFilter(&c, r.GetFilter())
	return c.err()
}

// validateScoreItems checks a request and the list by which it is answered.
func validateScoreItems(r *pb.ScoreItemsRequest, list *pb.RecommendRequest, now time.Time) error {
	var c checker
	checkRecommend(&c, list, now)
	const field = "item_ids"
	most := maxScored
	if r.GetExplain() > 0 {
		most = maxExplainedPage
	}
	if text := badCount(len(r.GetItemIds()), 1, most); text != "" {
		c.check(field, text)
	} else {
		checkIDs(&c, field, r.GetItemIds())
	}
	return c.err()
}

func checkExplain(c *checker, r *pb.RecommendRequest) {
	if n := r.GetExplain(); n < 0 || n > maxExplain {
		c.check("explain", fmt.Sprintf("must be from 0 to %d", maxExplain))
	} else if n > 0 && r.GetPageSize() > maxExplainedPage {
		c.check("page_size", fmt.Sprintf("must be at most %d with explain", maxExplainedPage))
	}
}

func checkExploration(c *checker, x *pb.Exploration) {
	switch strategy := x.GetStrategy().(type) {
	case *pb.Exploration_Thompson_:
		c.check("exploration.thompson.scale", badAmount(strategy.Thompson.Scale))
	case *pb.Exploration_UpperConfidence_:
		c.check("exploration.upper_confidence.beta", badAmount(strategy.UpperConfidence.Beta))
	default:
		c.check("exploration.strategy", "is required: set thompson or upper_confidence")
	}
}

// badAmount checks the scale of an exploration.
func badAmount(v *float64) string {
	if v != nil && !(*v >= 0 && *v <= maxExploration) { // false for NaN too
		return fmt.Sprintf("must be a number from 0 to %d", maxExploration)
	}
	return ""
}

// checkHistory checks the history whose entries are the field list.
func checkHistory(c *checker, list string, h *pb.InlineHistory, now time.Time) {
	entries := h.GetEntries()
	if text := badCount(len(entries), 1, maxHistory); text != "" {
		c.check(list, text)
		return
	}
	for i, e := range entries {
		c.checkAt(list, i, "item_id", badID(e.GetItemId()))
		c.checkAt(list, i, "event_type", badEventType(e.GetEventType()))
		c.checkAt(list, i, "event_time", badEventTime(e.GetEventTime(), now))
		if e != nil {
			c.checkAt(list, i, "value", badValue(e.Value))
		}
	}
}

func checkIDs(c *checker, list string, ids []string) {
	if text := badCount(len(ids), 0, maxFilterIDs); text != "" {
		c.check(list, text)
		return
	}
	for i, id := range ids {
		// Most ids are good, and there may be ten thousand: the text is made for bad ones only.
		if id == "" || len(id) > event.MaxIDBytes || !utf8.ValidString(id) {
			c.checkAt(list, i, "", badID(id))
		}
	}
}

func checkSeen(c *checker, p *pb.SeenPolicy) {
	const list = "seen.event_types"
	mode, types := p.GetMode(), p.GetEventTypes()
	if _, known := pb.SeenPolicy_Mode_name[int32(mode)]; !known {
		c.check("seen.mode", "is not a known mode")
		return
	}
	if mode == pb.SeenPolicy_MODE_EXCLUDE_TYPES {
		c.check(list, badCount(len(types), 1, maxSeenTypes))
	} else if len(types) > 0 {
		c.check(list, "must be empty unless mode is MODE_EXCLUDE_TYPES")
	}
	for i, t := range types {
		text := badEventType(t)
		if t == "" {
			text = "is required"
		}
		c.checkAt(list, i, "", text)
	}
	if after := p.GetReappearAfter(); after != nil {
		switch {
		case mode == pb.SeenPolicy_MODE_INCLUDE:
			c.check("seen.reappear_after", "must be unset with MODE_INCLUDE")
		case after.CheckValid() != nil || after.AsDuration() <= 0:
			c.check("seen.reappear_after", "must be more than 0")
		}
	}
}

func validateBatch(r *pb.BatchObserveRequest) error {
	var c checker
	c.check("events", badCount(len(r.GetEvents()), 1, maxBatch))
	return c.err()
}

func validateUserID(id string) error {
	var c checker
	c.check("user_id", badID(id))
	return c.err()
}

func validateListUserEvents(r *pb.ListUserEventsRequest) error {
	var c checker
	c.check("user_id", badID(r.GetUserId()))
	if r.GetPageSize() < 0 {
		c.check("page_size", "must not be negative")
	}
	return c.err()
}

func validateRetractEvents(r *pb.RetractEventsRequest) error {
	var c checker
	c.check("user_id", badID(r.GetUserId()))
	if len(r.GetEventIds())+len(r.GetItemIds()) == 0 {
		c.check("event_ids", "is required, or item_ids")
	}
	c.check("event_ids", badCount(len(r.GetEventIds()), 0, maxRetract))
	c.check("item_ids", badCount(len(r.GetItemIds()), 0, maxRetract))
	for i, id := range r.GetEventIds()[:min(len(r.GetEventIds()), maxRetract)] {
		c.checkAt("event_ids", i, "", cmp.Or(badEventID(id), required(id)))
	}
	for i, id := range r.GetItemIds()[:min(len(r.GetItemIds()), maxRetract)] {
		c.checkAt("item_ids", i, "", badID(id))
	}
	return c.err()
}

func required(text string) string {
	if text == "" {
		return "is required"
	}
	return ""
}

func validateMergeUsers(r *pb.MergeUsersRequest) error {
	var c checker
	c.check("source_user_id", badID(r.GetSourceUserId()))
	c.check("target_user_id", badID(r.GetTargetUserId()))
	if r.GetSourceUserId() == r.GetTargetUserId() {
		c.check("target_user_id", "must be another user than source_user_id")
	}
	return c.err()
}
