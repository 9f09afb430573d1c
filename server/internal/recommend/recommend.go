// Package recommend implements RecommenderService: lists, scores, similar items and spectra.
package recommend

import (
	"context"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/wire"
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
	lists [1 + arms.MaxArms]sync.Pool // of *list, for each arm
}

// New returns the service.
func New(d Deps) *Service { return &Service{Deps: d} }

// Register registers the service.
func (s *Service) Register(g grpc.ServiceRegistrar) { g.RegisterService(desc(), s) }

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
				(*Service).encodedBatch)
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

// Recommend implements RecommenderService for gateways and tests.
func (s *Service) Recommend(
	ctx context.Context, req *pb.RecommendRequest,
) (*pb.RecommendResponse, error) {
	answer, err := s.Encoded(ctx, req)
	if err != nil {
		return nil, err
	}
	resp := &pb.RecommendResponse{}
	return resp, answer.Decode(resp)
}

// Encoded is Recommend with an answer that is encoded already.
func (s *Service) Encoded(
	ctx context.Context, req *pb.RecommendRequest,
) (answer *wire.Encoded, err error) {
	now := s.Now()
	if err := valid.Recommend(req, now); err != nil {
		return nil, err
	}
	m := s.Arms.Of(req.GetUserId()).Acquire()
	defer m.Release()
	if req.GetExploration() != nil && !m.HasVariance() {
		return nil, outcome.ErrNoUncertainty
	}
	l, begun := s.take(m, req, now), time.Now()
	l.watch = stage.Start(ctx)
	if err = l.fill(ctx); err == nil {
		answer, err = l.out.Encode()
		l.ended(ctx, stage.Encode)
	}
	if req.GetUserId() != "" {
		s.Credits.Answered(l.Arm.Index, time.Since(begun), failed(err))
	}
	l.give()
	return answer, err
}

// failed reports whether a call ended by no fault of its request.
func failed(err error) bool {
	if err == nil {
		return false
	}
	switch outcome.Status(err).Code() {
	case codes.Internal, codes.DataLoss, codes.Unavailable, codes.DeadlineExceeded:
		return true
	}
	return false
}

// fill goes through the stages state, filter and top-N, and fills l.out.
func (l *list) fill(ctx context.Context) error {
	if err := l.prepare(ctx); err != nil {
		return err
	}
	var err error
	size := valid.PageSize(l.req.GetPageSize())
	if l.req.GetPaged() || l.req.GetPageToken() != "" {
		size, err = l.rankPage(ctx)
	} else {
		err = l.rankPlain(ctx, size)
	}
	if err != nil {
		return err
	}
	l.ended(ctx, stage.TopN)
	l.finish(size)
	l.attribute()
	return nil
}

// prepare goes through the stages state and filter.
func (l *list) prepare(ctx context.Context) error {
	if err := l.findNamed(); err != nil {
		return err
	}
	boosts, err := l.s.boostsOf(l.req)
	if err != nil {
		return err
	}
	if err := l.findSubject(ctx); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil { // the client no longer waits: save the scan
		return err
	}
	l.relate()
	if err := l.boost(ctx, boosts); err != nil {
		return err
	}
	l.ended(ctx, stage.State)
	l.out.Packed = l.req.GetPacked()
	if l.row == nil {
		l.noteUnknown()
	}
	l.pin()
	l.exclude()
	l.ended(ctx, stage.Filter)
	return nil
}

// finish adds to the selected items, of which size were wanted, what else the answer says.
func (l *list) finish(size int) {
	l.FetchIDs(l.out.Top)
	l.addVariance()
	if l.req.GetExplain() > 0 && l.personal() {
		l.explain()
	}
	l.degrade(len(l.out.Top) < min(size, l.NumItems()))
	l.countAnswer()
}

// addVariance adds the uncertainty about the user and the standard deviation of each predicted
// score, if the model knows them.
func (l *list) addVariance() {
	if !l.HasVariance() {
		return
	}
	out := &l.out
	if l.TellsUncertainty() {
		out.Uncertainty, out.Uncertain = l.Uncertainty(l.variance), true
	}
	if !l.personal() {
		return
	}
	out.Deviations = slices.Grow(out.Deviations[:0], len(out.Top))[:len(out.Top)]
	l.DeviationsTo(out.Deviations, out.Top, l.variance)
}

// noteUnknown notes the items of the histories in the request that the model does not know.
func (l *list) noteUnknown() {
	for _, h := range [...]*pb.InlineHistory{l.req.GetHistory(), l.req.GetExtraHistory()} {
		for _, e := range h.GetEntries() {
			if _, known := l.ItemIndex(e.GetItemId()); !known {
				l.out.NoteUnknown(e.GetItemId())
			}
		}
	}
}

// degrade says in what the list is less than it could be; a short one has too few items.
func (l *list) degrade(short bool) {
	d := &l.out.Degradations
	if l.req.GetList() == pb.ListKind_LIST_KIND_BECAUSE && l.out.Because == "" {
		short = false // for that reason
	}
	switch kind := l.req.GetList(); {
	case kind == pb.ListKind_LIST_KIND_POPULAR: // as wanted
	case kind == pb.ListKind_LIST_KIND_TRENDING:
		if loaded := l.Lease.Model; loaded.WithoutTrends() == loaded {
			*d, short = append(*d, pb.Degradation_DEGRADATION_NO_TRENDS), false // for that reason
		}
	case !l.Personal():
		*d = append(*d, pb.Degradation_DEGRADATION_NO_MODEL)
	case !l.known:
		*d = append(*d, pb.Degradation_DEGRADATION_UNKNOWN_USER)
	case !l.usable:
		*d = append(*d, pb.Degradation_DEGRADATION_NO_USABLE_HISTORY)
	}
	if l.unmet {
		*d = append(*d, pb.Degradation_DEGRADATION_SHARE_NOT_MET)
	}
	if short && !l.rule.only { // of what a user comes back to there may be as much as there is
		*d = append(*d, pb.Degradation_DEGRADATION_FILTER_TOO_NARROW)
	}
}

// countAnswer counts the items of the list.
func (l *list) countAnswer() {
	pinned := 0
	for _, is := range l.out.Pinned {
		if is {
			pinned++
		}
	}
	m := l.s.Metrics
	m.results[l.out.Source].Add(float64(len(l.out.Top) - pinned))
	m.results[pb.ResultSource_RESULT_SOURCE_PINNED].Add(float64(pinned))
	for _, d := range l.out.Degradations {
		m.degraded[d].Inc()
	}
}
