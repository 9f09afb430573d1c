package server

import (
	"context"
	"math"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/vec"
	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/store"
)

// recommender implements RecommenderService.
type recommender struct {
	pb.UnsafeRecommenderServiceServer
	*Server
}

// scratch is the working memory of one Recommend, reused between calls.
type scratch struct {
	query    []float32   // k
	variance []float32   // k, of the query, if the model knows it
	draw     []float32   // k, a random query; made when it is needed
	skip     *vec.Bitset // n: items that must not be returned
	seen     []int32     // items that the seen policy excludes
	top      []model.Scored
}

// drawn returns the room for a random query.
func (sc *scratch) drawn(k int) []float32 {
	if len(sc.draw) != k {
		sc.draw = make([]float32, k)
	}
	return sc.draw
}

// subject is what Recommend needs to know of a user or an inline history. The query and its variance are in the scratch.
type subject struct {
	known    bool // there is a history
	usable   bool // the query says something
	timed    bool // the events have times
	revision uint64
	tail     *tail // of the history, if it is to be explained
}

// stopwatch tells the time between stages.
type stopwatch struct{ last time.Time }

func (w *stopwatch) lap() float64 {
	now := time.Now()
	d := now.Sub(w.last)
	w.last = now
	return d.Seconds()
}

// Recommend implements RecommenderService: state, exclusions, top-N, answer.
func (s recommender) Recommend(ctx context.Context, req *pb.RecommendRequest) (*pb.RecommendResponse, error) {
	now := s.now()
	if err := validateRecommend(req, now); err != nil {
		return nil, err
	}
	m := s.models.acquire()
	defer m.release()
	if req.GetExploration() != nil && !m.HasVariance() {
		return nil, errNoUncertainty
	}
	sc := s.takeScratch(m.Model)
	defer s.scratch.Put(sc)
	watch := stopwatch{last: time.Now()}

	subj, err := s.subject(ctx, m.Model, req, now, sc)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil { // nobody waits for the scan
		return nil, err
	}
	s.metrics.stage.state.Observe(watch.lap())

	s.exclude(m.Model, req.GetFilter(), sc)
	s.metrics.stage.filter.Observe(watch.lap())

	size := pageSize(req.GetPageSize())
	how := rank(m.Model, req.GetExploration(), subj, size, sc)
	s.metrics.stage.topN.Observe(watch.lap())

	resp := &pb.RecommendResponse{ModelVersion: m.Version(), UserRevision: subj.revision, ExplorationSeed: how.seed}
	resp.Items = items(m.Model, sc.top, how.source)
	if m.HasVariance() {
		addVariance(m.Model, resp, how.source, sc)
	}
	if n := int(req.GetExplain()); n > 0 && how.source != pb.ResultSource_RESULT_SOURCE_POPULAR {
		s.explain(m.Model, n, subj, sc, resp.GetItems())
	}
	resp.UnknownItemIds = unknownItems(m.Model, req)
	resp.Degradations = degradations(subj, len(resp.Items) < min(size, m.NumItems()))
	s.countAnswer(resp, how.source)
	s.metrics.stage.encode.Observe(watch.lap())
	return resp, nil
}

func (s *Server) takeScratch(m *model.Model) *scratch {
	sc, _ := s.scratch.Get().(*scratch)
	if sc == nil || len(sc.query) != m.Rank() || sc.skip.Len() != m.NumItems() {
		sc = &scratch{query: make([]float32, m.Rank()), variance: make([]float32, m.Rank()), skip: vec.NewBitset(m.NumItems())}
	}
	return sc
}

// subject finds the state of the request's subject and writes its query, its variance and its seen items to sc.
func (s recommender) subject(ctx context.Context, m *model.Model, req *pb.RecommendRequest, now time.Time, sc *scratch) (subject, error) {
	subj, explain := subject{}, req.GetExplain() > 0
	rule := seenRule(req.GetSeen(), now)
	read := func(u *userState) {
		subj, sc.seen = subject{}, sc.seen[:0]
		if u == nil {
			if m.HasVariance() { // what is expected of anyone can be explored
				s.readQuery(m, m.NewState(), now.Unix(), sc)
			}
			return
		}
		subj = subject{known: true, usable: u.usable(), timed: true, revision: u.revision, tail: u.tail}
		s.readQuery(m, u.kalman, now.Unix(), sc)
		for _, item := range u.seen {
			if rule(item) {
				sc.seen = append(sc.seen, item.item)
			}
		}
	}
	if h := req.GetHistory(); h != nil {
		var t *tail
		if explain {
			t = newTail(m, uint64(len(h.GetEntries())))
		}
		u := s.inlineState(m, h, t)
		read(u)
		subj.revision = 0
		if subj.timed = hasTimes(h); !subj.timed { // then no time has passed since
			s.readQuery(m, u.kalman, u.kalman.Time, sc)
		}
		return subj, nil
	}
	view := s.states.view
	if explain {
		view = s.states.viewTail
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
func (s *Server) inlineState(m *model.Model, h *pb.InlineHistory, t *tail) *userState {
	u := &userState{}
	u.reset(m)
	u.tail = t
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
		s.folder.fold(m, u, store.Event{Item: e.GetItemId(), Type: eventType(e.GetEventType()), Time: at, Value: value(e.Value)})
	}
	return u
}

// seenPredicate says whether a seen item must not be returned.
type seenPredicate func(seenItem) bool

// seenRule compiles the policy of a request that was received at now.
func seenRule(p *pb.SeenPolicy, now time.Time) seenPredicate {
	if p.GetMode() == pb.SeenPolicy_MODE_INCLUDE {
		return func(seenItem) bool { return false }
	}
	var kinds map[eventKind]bool // nil: all
	if p.GetMode() == pb.SeenPolicy_MODE_EXCLUDE_TYPES {
		kinds = make(map[eventKind]bool, len(p.GetEventTypes()))
		for _, t := range p.GetEventTypes() {
			kinds[kindOf(t)] = true
		}
	}
	var oldest time.Time // events before it no longer count
	if after := p.GetReappearAfter(); after != nil {
		oldest = now.Add(-after.AsDuration())
	}
	return func(i seenItem) bool {
		return (kinds == nil || kinds[i.kind]) && i.time >= oldest.Unix()
	}
}

// exclude fills sc.skip with the items that must not be returned.
func (s *Server) exclude(m *model.Model, f *pb.ItemFilter, sc *scratch) {
	sc.skip.Reset()
	if allow := f.GetAllowItemIds(); len(allow) > 0 {
		for i := range int32(m.NumItems()) {
			sc.skip.Set(i)
		}
		for _, id := range allow {
			if i, known := m.ItemIndex(id); known {
				sc.skip.Clear(i)
			}
		}
	}
	for _, id := range f.GetDenyItemIds() {
		if i, known := m.ItemIndex(id); known {
			sc.skip.Set(i)
		}
	}
	for _, i := range sc.seen {
		sc.skip.Set(i)
	}
}

func pageSize(requested int32) int {
	if requested == 0 {
		return defaultPageSize
	}
	return min(int(requested), maxPageSize)
}

// popular appends the n most popular items that are not in skip; the score is the share of the training users.
func popular(m *model.Model, dst []model.Scored, n int, skip *vec.Bitset) []model.Scored {
	trainUsers := float32(max(m.NumTrainUsers(), 1))
	for _, i := range m.Popular() {
		if len(dst) == n {
			break
		}
		if !skip.Has(i) {
			dst = append(dst, model.Scored{Item: i, Score: float32(m.Degree(i)) / trainUsers})
		}
	}
	return dst
}

// items makes the list of the answer: one allocation for all messages, one for the pointers.
func items(m *model.Model, top []model.Scored, source pb.ResultSource) []*pb.ScoredItem {
	messages := make([]pb.ScoredItem, len(top))
	list := make([]*pb.ScoredItem, len(top))
	for i, t := range top {
		list[i] = &messages[i]
		list[i].ItemId, list[i].Score, list[i].Source = m.ItemID(t.Item), float64(t.Score), source
	}
	return list
}

// addVariance says how sure the model is: of the user, and of each score that is its own.
func addVariance(m *model.Model, resp *pb.RecommendResponse, source pb.ResultSource, sc *scratch) {
	resp.Uncertainty = proto.Float64(m.Uncertainty(sc.variance))
	if source == pb.ResultSource_RESULT_SOURCE_POPULAR {
		return
	}
	deviations := make([]float64, len(sc.top))
	for i, t := range sc.top {
		deviations[i] = math.Sqrt(m.ScoreVariance(t.Item, sc.variance))
		resp.GetItems()[i].ScoreStddev = &deviations[i]
	}
}

// unknownItems lists the ids of the history and of the allow list that m does not know, each once, in request order.
func unknownItems(m *model.Model, req *pb.RecommendRequest) []string {
	entries, allow := req.GetHistory().GetEntries(), req.GetFilter().GetAllowItemIds()
	if len(entries)+len(allow) == 0 {
		return nil
	}
	var unknown []string
	listed := map[string]bool{}
	note := func(id string) {
		if _, known := m.ItemIndex(id); !known && !listed[id] {
			listed[id] = true
			unknown = append(unknown, id)
		}
	}
	for _, e := range entries {
		note(e.GetItemId())
	}
	for _, id := range allow {
		note(id)
	}
	return unknown
}

func degradations(subj subject, short bool) []pb.Degradation {
	var d []pb.Degradation
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

func (s *Server) countAnswer(resp *pb.RecommendResponse, source pb.ResultSource) {
	s.metrics.results[source].Add(float64(len(resp.GetItems())))
	for _, d := range resp.GetDegradations() {
		s.metrics.degraded[d].Inc()
	}
}
