package server

import (
	"context"
	"math"
	"slices"
	"time"

	"google.golang.org/grpc"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/state"
	"github.com/gsimc/gsimc/store"
)

// recommender implements RecommenderService.
type recommender struct{ *Server }

// recommenderDesc is the description of the service, with a handler whose answer is encoded already.
var recommenderDesc = grpc.ServiceDesc{
	ServiceName: pb.RecommenderService_ServiceDesc.ServiceName,
	HandlerType: (*any)(nil), // handleRecommend knows the type
	Methods:     []grpc.MethodDesc{{MethodName: "Recommend", Handler: handleRecommend}},
	Metadata:    pb.RecommenderService_ServiceDesc.Metadata,
}

// handleRecommend is what protoc-gen-go-grpc makes, but for the type of the answer.
//
//nolint:revive // the library asks for the arguments in this order
func handleRecommend(srv any, ctx context.Context, decode func(any) error, chain grpc.UnaryServerInterceptor) (any, error) {
	req := new(pb.RecommendRequest)
	if err := decode(req); err != nil {
		return nil, err
	}
	info := &grpc.UnaryServerInfo{Server: srv, FullMethod: pb.RecommenderService_Recommend_FullMethodName}
	return chain(ctx, req, info, func(ctx context.Context, req any) (any, error) {
		return srv.(recommender).recommend(ctx, req.(*pb.RecommendRequest))
	})
}

// subject is what Recommend needs to know of a user or an inline history. The query, its variance and the seen items that must
// not be returned are in the scratch.
type subject struct {
	known    bool // there is a history
	usable   bool // the query says something
	timed    bool // the events have times
	revision uint64
	tail     *state.Tail // of the history, if it is to be explained
}

// stopwatch tells the time between stages.
type stopwatch struct{ last time.Time }

func (w *stopwatch) lap() float64 {
	now := time.Now()
	d := now.Sub(w.last)
	w.last = now
	return d.Seconds()
}

// recommend answers RecommenderService.Recommend with an encoded RecommendResponse.
func (s recommender) recommend(ctx context.Context, req *pb.RecommendRequest) (*encoded, error) {
	now := s.now()
	if err := validateRecommend(req, now); err != nil {
		return nil, err
	}
	m := s.models.Acquire()
	defer m.Release()
	if req.GetExploration() != nil && !m.HasVariance() {
		return nil, errNoUncertainty
	}
	sc := s.takeScratch(m.Model)
	answer, err := s.answer(ctx, m.Model, req, now, sc)
	s.giveScratch(sc)
	return answer, err
}

// answer goes through the stages: state, exclusions, top-N, answer.
func (s recommender) answer(ctx context.Context, m *model.Model, req *pb.RecommendRequest, now time.Time, sc *scratch) (*encoded, error) {
	watch := stopwatch{last: time.Now()}
	subj, err := s.subject(ctx, m, req, now, sc)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil { // nobody waits for the scan
		return nil, err
	}
	s.metrics.stage.state.Observe(watch.lap())

	r := &sc.reply
	r.model, r.packed = m, req.GetPacked()
	noteUnknownEntries(m, req.GetHistory().GetEntries(), r)
	sc.exclude(m, req.GetFilter())
	s.metrics.stage.filter.Observe(watch.lap())

	size := pageSize(req.GetPageSize())
	if err := s.rank(ctx, req.GetExploration(), subj, size, sc); err != nil {
		return nil, err
	}
	s.metrics.stage.topN.Observe(watch.lap())

	m.FetchIDs(r.top)
	r.revision = subj.revision
	if m.HasVariance() {
		r.addVariance(sc.variance)
	}
	if n := int(req.GetExplain()); n > 0 && r.source != pb.ResultSource_RESULT_SOURCE_POPULAR {
		r.explanations = s.explain(m, n, subj, r.top)
	}
	r.degradations = appendDegradations(r.degradations, subj, len(r.top) < min(size, m.NumItems()))
	s.countAnswer(r)
	data := replyBuffers.Get(0)
	if *data, err = r.appendTo(*data); err != nil {
		return nil, err
	}
	s.metrics.stage.encode.Observe(watch.lap())
	return newEncoded(data), nil
}

// subject finds the state of the request's subject and writes its query, its variance and its seen items to sc.
func (s recommender) subject(ctx context.Context, m *model.Model, req *pb.RecommendRequest, now time.Time, sc *scratch) (subject, error) {
	subj, explain := subject{}, req.GetExplain() > 0
	rule := newSeenRule(req.GetSeen(), now, sc.kinds)
	sc.kinds = rule.kinds
	at := now.Unix()
	read := func(u *state.User) {
		subj, sc.skipped = subject{}, sc.skipped[:0]
		if u == nil {
			if m.HasVariance() { // what is expected of anyone can be explored
				s.readQuery(m, m.NewState(), at, sc)
			}
			return
		}
		subj = subject{known: true, usable: u.Usable(), timed: true, revision: u.Revision, tail: u.Tail}
		s.readQuery(m, u.Kalman, at, sc)
		sc.skipped = rule.appendTo(sc.skipped, u.Seen)
	}
	if h := req.GetHistory(); h != nil {
		var t *state.Tail
		if explain {
			t = state.NewTail(m, uint64(len(h.GetEntries())))
		}
		u, timed := s.inlineState(m, h, t), hasTimes(h)
		if !timed { // then no time has passed since
			at, rule.oldest = u.Kalman.Time, math.MinInt64
		}
		read(u)
		subj.revision, subj.timed = 0, timed
		return subj, nil
	}
	view := s.states.View
	if explain {
		view = s.states.ViewTail
	}
	if err := view(ctx, m, req.GetUserId(), read); err != nil {
		return subject{}, err
	}
	if subj.revision < req.GetMinUserRevision() {
		return subject{}, errStaleRevision
	}
	return subj, nil
}

// readQuery writes the query of a state, and its variance at time now in seconds, to sc.
func (s *Server) readQuery(m *model.Model, state *kalman.State, now int64, sc *scratch) {
	m.QueryTo(sc.query, state, s.cfg.Estimator)
	if m.HasVariance() {
		m.VarianceTo(sc.variance, state, now)
	}
}

// hasTimes tells whether any entry has a time.
func hasTimes(h *pb.InlineHistory) bool {
	return slices.ContainsFunc(h.GetEntries(), func(e *pb.HistoryEntry) bool { return e.GetEventTime() != nil })
}

// inlineState folds a history that came with the request, and records its events in t, unless that is nil.
func (s *Server) inlineState(m *model.Model, h *pb.InlineHistory, t *state.Tail) *state.User {
	u := state.New(m, t)
	at := time.Unix(0, 0)
	for _, e := range h.GetEntries() {
		if t := e.GetEventTime(); t != nil {
			at = t.AsTime()
			break
		}
	}
	for _, e := range h.GetEntries() {
		if t := e.GetEventTime(); t != nil {
			at = t.AsTime()
		}
		s.updater.Fold(m, u, store.Event{Item: e.GetItemId(), Type: eventType(e.GetEventType()), Time: at, Value: value(e.Value)})
	}
	return u
}

func pageSize(requested int32) int {
	if requested == 0 {
		return defaultPageSize
	}
	return min(int(requested), maxPageSize)
}

// addVariance says how sure the model is: of the user, and of each score that is its own.
func (r *reply) addVariance(variance []float32) {
	r.uncertainty, r.uncertain = r.model.Uncertainty(variance), true
	if r.source == pb.ResultSource_RESULT_SOURCE_POPULAR {
		return
	}
	r.deviations = slices.Grow(r.deviations[:0], len(r.top))[:len(r.top)]
	r.model.DeviationsTo(r.deviations, r.top, variance)
}

// noteUnknownEntries notes the items of a history that m does not know.
func noteUnknownEntries(m *model.Model, entries []*pb.HistoryEntry, r *reply) {
	for _, e := range entries {
		if _, known := m.ItemIndex(e.GetItemId()); !known {
			r.noteUnknown(e.GetItemId())
		}
	}
}

func appendDegradations(d []pb.Degradation, subj subject, short bool) []pb.Degradation {
	switch {
	case !subj.known:
		d = append(d, pb.Degradation_DEGRADATION_UNKNOWN_USER)
	case !subj.usable:
		d = append(d, pb.Degradation_DEGRADATION_NO_USABLE_HISTORY)
	}
	if short {
		d = append(d, pb.Degradation_DEGRADATION_FILTER_TOO_NARROW)
	}
	return d
}

func (s *Server) countAnswer(r *reply) {
	s.metrics.results[r.source].Add(float64(len(r.top)))
	for _, d := range r.degradations {
		s.metrics.degraded[d].Inc()
	}
}
