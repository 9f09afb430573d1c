// Package recommend implements RecommenderService: lists, scores, similar items and spectra.
package recommend

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/wire"
	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/arms"
	"github.com/gsimc/gsimc/server/internal/credit"
	"github.com/gsimc/gsimc/server/internal/filters"
	"github.com/gsimc/gsimc/server/internal/outcome"
	"github.com/gsimc/gsimc/server/internal/passes"
	"github.com/gsimc/gsimc/server/internal/stage"
	"github.com/gsimc/gsimc/server/internal/state"
	"github.com/gsimc/gsimc/server/internal/valid"
	"github.com/gsimc/gsimc/store"
)

// Deps are what the service needs.
type Deps struct {
	Store        store.Store
	Arms         *arms.Set
	States       *state.Cache
	Updater      *state.Updater // folds the events of requests
	Batcher      *passes.Batcher
	Filters      *filters.Set
	Credits      *credit.Book
	Estimator    model.Estimator
	Now          func() time.Time
	MaxSendBytes int // of a batch of lists
	// Public returns the error that a client gets of a subject of a batch.
	Public  func(ctx context.Context, method string, err error) error
	Meter   stage.Meter
	Metrics *Metrics
}

// Service implements RecommenderService.
type Service struct {
	pb.UnsafeRecommenderServiceServer
	Deps
	scratches [1 + arms.MaxArms]sync.Pool // of *scratch, for each arm
}

// New returns the service.
func New(d Deps) *Service { return &Service{Deps: d} }

// Register registers the service.
func (s *Service) Register(g *grpc.Server) { g.RegisterService(desc(), s) }

// desc returns the description of the service, with the methods whose answers are encoded already.
func desc() *grpc.ServiceDesc {
	desc := pb.RecommenderService_ServiceDesc
	desc.Methods = slices.Clone(desc.Methods)
	for i := range desc.Methods {
		switch m := &desc.Methods[i]; m.MethodName {
		case "Recommend":
			m.Handler = handleWith(pb.RecommenderService_Recommend_FullMethodName,
				(*Service).Encoded)
		case "BatchRecommend":
			m.Handler = handleWith(pb.RecommenderService_BatchRecommend_FullMethodName,
				(*Service).EncodedBatch)
		}
	}
	return &desc
}

// handleWith is the generated handler of a method, except that the answer is a [wire.Encoded].
func handleWith[Request any](
	method string, answer func(*Service, context.Context, *Request) (*wire.Encoded, error),
) grpc.MethodHandler {
	//nolint:revive // the library asks for the arguments in this order
	return func(
		srv any, ctx context.Context, decode func(any) error, chain grpc.UnaryServerInterceptor,
	) (any, error) {
		req := new(Request)
		if err := decode(req); err != nil {
			return nil, err
		}
		info := &grpc.UnaryServerInfo{Server: srv, FullMethod: method}
		return chain(ctx, req, info, func(ctx context.Context, req any) (any, error) {
			return answer(srv.(*Service), ctx, req.(*Request))
		})
	}
}

// subject holds the facts about a user or an inline history that Recommend needs. The query, its
// variance and the seen items that must not be returned are in the scratch.
type subject struct {
	known   bool // there is a history
	usable  bool // the query says something
	timed   bool // the events have times
	version store.Version
	tail    *state.Tail // of the history, if it is to be explained
}

// Recommend implements RecommenderService for gateways and tests.
func (s *Service) Recommend(
	ctx context.Context, req *pb.RecommendRequest,
) (resp *pb.RecommendResponse, err error) {
	err = s.recommend(ctx, req, func(l *wire.List) error {
		resp = l.Message()
		return nil
	})
	return resp, err
}

// Encoded is Recommend with an answer that is encoded already.
func (s *Service) Encoded(
	ctx context.Context, req *pb.RecommendRequest,
) (answer *wire.Encoded, err error) {
	err = s.recommend(ctx, req, func(l *wire.List) error {
		answer, err = l.Encode()
		return err
	})
	return answer, err
}

// recommend makes the list that the request asks for and calls write with it. write must not keep
// the list.
func (s *Service) recommend(
	ctx context.Context, req *pb.RecommendRequest, write func(*wire.List) error,
) error {
	now := s.Now()
	if err := valid.Recommend(req, now); err != nil {
		return err
	}
	m := s.Arms.Of(req.GetUserId()).Acquire()
	defer m.Release()
	if req.GetExploration() != nil && !m.HasVariance() {
		return outcome.ErrNoUncertainty
	}
	sc := s.takeScratch(m)
	watch := stage.Start(ctx)
	err := s.answer(ctx, m.Model, req, now, sc, &watch)
	if err == nil {
		err = write(&sc.list)
		s.Meter.Ended(ctx, stage.Encode, &watch)
	}
	giveScratch(sc)
	return err
}

// answer goes through the stages state, filter and top-N, and fills sc.list.
func (s *Service) answer(
	ctx context.Context, m *model.Model, req *pb.RecommendRequest, now time.Time, sc *scratch,
	watch *stage.Watch,
) error {
	subj, err := s.prepare(ctx, m, req, now, sc, watch)
	if err != nil {
		return err
	}
	size := valid.PageSize(req.GetPageSize())
	if paged(req) {
		size, err = s.rankPage(ctx, m, req, subj, sc)
	} else {
		err = s.rankPlain(ctx, m, req, subj, size, sc)
	}
	if err != nil {
		return err
	}
	s.Meter.Ended(ctx, stage.TopN, watch)
	s.finish(m, req, subj, size, sc)
	s.attribute(m, req, sc)
	return nil
}

// prepare goes through the stages state and filter.
func (s *Service) prepare(
	ctx context.Context, m *model.Model, req *pb.RecommendRequest, now time.Time, sc *scratch,
	watch *stage.Watch,
) (subject, error) {
	if err := s.findNamed(req.GetFilter(), sc); err != nil {
		return subject{}, err
	}
	subj, err := s.subject(ctx, m, req, now, sc)
	if err != nil {
		return subject{}, err
	}
	if err := ctx.Err(); err != nil { // the client no longer waits: save the scan
		return subject{}, err
	}
	s.Meter.Ended(ctx, stage.State, watch)

	l := &sc.list
	l.Items, l.Packed, l.UserRevision = m, req.GetPacked(), subj.version.Revision
	noteUnknownEntries(m, req.GetHistory().GetEntries(), l)
	noteUnknownEntries(m, req.GetExtraHistory().GetEntries(), l)
	sc.pin(m, req, now)
	sc.exclude(m, req.GetFilter(), now)
	s.Meter.Ended(ctx, stage.Filter, watch)
	return subj, nil
}

// finish adds to the selected items of sc.list, of which size were wanted, what else the answer
// says.
func (s *Service) finish(
	m *model.Model, req *pb.RecommendRequest, subj subject, size int, sc *scratch,
) {
	l := &sc.list
	m.FetchIDs(l.Top)
	addVariance(l, m, sc.variance)
	if n := int(req.GetExplain()); n > 0 && l.Source != pb.ResultSource_RESULT_SOURCE_POPULAR {
		l.Explanations = s.explain(m, n, subj, l.Top)
	}
	short := len(l.Top) < min(size, m.NumItems())
	l.Degradations = appendDegradations(l.Degradations, m, subj, short)
	s.countAnswer(l)
}

// subject finds the state of the request's subject and writes its query, its variance and its seen
// items to sc.
func (s *Service) subject(
	ctx context.Context, m *model.Model, req *pb.RecommendRequest, now time.Time, sc *scratch,
) (subj subject, err error) {
	if h := req.GetHistory(); h != nil {
		return s.inlineSubject(m, req, now, sc), nil
	}
	read, view := s.reading(m, req, now, sc, &subj), s.States.View
	if req.GetExplain() > 0 {
		view = s.States.ViewTail
	}
	if len(req.GetSessionToken()) == 0 {
		err = view(ctx, m, req.GetUserId(), read)
	} else {
		err = s.reach(ctx, req, func() (store.Version, error) {
			err := view(ctx, m, req.GetUserId(), read)
			return subj.version, err
		})
	}
	if err != nil {
		return subject{}, err
	}
	if subj.version.Revision < req.GetMinUserRevision() {
		return subject{}, outcome.ErrStaleRevision
	}
	return subj, nil
}

// inlineSubject is subject for a history that came with the request.
func (s *Service) inlineSubject(
	m *model.Model, req *pb.RecommendRequest, now time.Time, sc *scratch,
) subject {
	var t *state.Tail
	if req.GetExplain() > 0 {
		t = state.NewTail(m)
	}
	h := req.GetHistory()
	u, timed := s.inlineState(m, h, t), hasTimes(h)
	rule, at := newSeenRule(req.GetSeen(), now, sc.kinds), now.Unix()
	sc.kinds = rule.kinds
	if !timed { // without times, no time has passed since the last event
		at, rule.oldest = u.Kalman.Time, math.MinInt64
	}
	subj := s.read(m, u, at, &rule, sc)
	subj.version, subj.timed = store.Version{}, timed
	return subj
}

// reading returns a function that makes a stored state, with the events that came with the request,
// that of subj and sc. The last call counts.
func (s *Service) reading(
	m *model.Model, req *pb.RecommendRequest, now time.Time, sc *scratch, subj *subject,
) func(*state.User) {
	rule := newSeenRule(req.GetSeen(), now, sc.kinds)
	sc.kinds = rule.kinds
	return func(u *state.User) {
		if extra := req.GetExtraHistory(); extra != nil {
			u = s.withExtra(m, u, extra, now, req.GetExplain() > 0)
		}
		*subj = s.read(m, u, now.Unix(), &rule, sc)
	}
}

// read writes the query of a state at a time in seconds, its variance and its seen items to sc. A
// nil state is that of a user without history.
func (s *Service) read(
	m *model.Model, u *state.User, at int64, rule *seenRule, sc *scratch,
) subject {
	sc.skipped = sc.skipped[:0]
	if u == nil {
		if m.HasVariance() { // the expectation of any user can be explored
			s.readQuery(m, m.NewState(), at, sc)
		}
		return subject{}
	}
	s.readQuery(m, u.Kalman, at, sc)
	sc.skipped = rule.appendTo(sc.skipped, u.Seen)
	return subject{known: true, usable: u.Usable(), timed: true, version: u.Version, tail: u.Tail}
}

// readQuery writes the query of a state, and its variance at time now in seconds, to sc.
func (s *Service) readQuery(m *model.Model, state *kalman.State, now int64, sc *scratch) {
	m.QueryTo(sc.query, state, s.Estimator)
	if m.HasVariance() {
		m.VarianceTo(sc.variance, state, now)
	}
}

// hasTimes tells whether any entry has a time.
func hasTimes(h *pb.InlineHistory) bool {
	return slices.ContainsFunc(h.GetEntries(),
		func(e *pb.HistoryEntry) bool { return e.GetEventTime() != nil })
}

// inlineState folds a history that came with the request, and records its events in t, unless that
// is nil.
func (s *Service) inlineState(m *model.Model, h *pb.InlineHistory, t *state.Tail) *state.User {
	u := state.New(m, t)
	at := time.Unix(0, 0)
	for _, e := range h.GetEntries() {
		if t := e.GetEventTime(); t != nil {
			at = t.AsTime()
			break
		}
	}
	s.foldEntries(m, u, h, at)
	return u
}

// withExtra is the state u of a user, nil for one without history, after events that came with the
// request at a time. It leaves u as it is, unless that has a tail, which only the call has. The
// version stays that of the stored history.
func (s *Service) withExtra(
	m *model.Model, u *state.User, extra *pb.InlineHistory, at time.Time, explain bool,
) *state.User {
	switch {
	case u == nil && explain:
		u = state.New(m, state.NewTail(m))
	case u == nil:
		u = state.New(m, nil)
	case u.Tail == nil:
		u = u.Clone()
	}
	version := u.Version
	s.foldEntries(m, u, extra, at)
	u.Version = version
	return u
}

// foldEntries folds entries into u. The first ones without a time happened at the given one.
func (s *Service) foldEntries(m *model.Model, u *state.User, h *pb.InlineHistory, at time.Time) {
	for _, e := range h.GetEntries() {
		if t := e.GetEventTime(); t != nil {
			at = t.AsTime()
		}
		s.Updater.Fold(m, u,
			store.Event{Item: e.GetItemId(), Type: valid.EventType(e.GetEventType()), Time: at,
				Value: valid.Value(e.Value)})
	}
	u.Tail.Cut(m, u.Revision)
}

// addVariance adds the uncertainty about the user and the standard deviation of each predicted
// score, if the model knows them.
func addVariance(l *wire.List, m *model.Model, variance []float32) {
	if !m.HasVariance() {
		return
	}
	if m.TellsUncertainty() {
		l.Uncertainty, l.Uncertain = m.Uncertainty(variance), true
	}
	if l.Source == pb.ResultSource_RESULT_SOURCE_POPULAR {
		return
	}
	l.Deviations = slices.Grow(l.Deviations[:0], len(l.Top))[:len(l.Top)]
	m.DeviationsTo(l.Deviations, l.Top, variance)
}

// noteUnknownEntries notes the items of a history that m does not know.
func noteUnknownEntries(m *model.Model, entries []*pb.HistoryEntry, l *wire.List) {
	for _, e := range entries {
		if _, known := m.ItemIndex(e.GetItemId()); !known {
			l.NoteUnknown(e.GetItemId())
		}
	}
}

func appendDegradations(
	d []pb.Degradation, m *model.Model, subj subject, short bool,
) []pb.Degradation {
	switch {
	case !m.Personal():
		d = append(d, pb.Degradation_DEGRADATION_NO_MODEL)
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

func (s *Service) countAnswer(l *wire.List) {
	pinned := 0
	for _, is := range l.Pinned {
		if is {
			pinned++
		}
	}
	s.Metrics.results[l.Source].Add(float64(len(l.Top) - pinned))
	s.Metrics.results[pb.ResultSource_RESULT_SOURCE_PINNED].Add(float64(pinned))
	for _, d := range l.Degradations {
		s.Metrics.degraded[d].Inc()
	}
}
