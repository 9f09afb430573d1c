package server

import (
	"context"
	"time"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/vec"
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
	query []float32   // k
	skip  *vec.Bitset // n: items that must not be returned
	seen  []int32     // items that the seen policy excludes
	top   []model.Scored
}

// subject is what Recommend needs to know of a user or an inline history. The query itself is in the scratch.
type subject struct {
	known    bool // there is a history
	usable   bool // the query says something
	revision uint64
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
	sc := s.takeScratch(m.Model)
	defer s.scratch.Put(sc)
	watch := stopwatch{last: time.Now()}

	resp := &pb.RecommendResponse{ModelVersion: m.Version()}
	subj, err := s.subject(ctx, m.Model, req, seenRule(req.GetSeen(), now), sc)
	if err != nil {
		return nil, err
	}
	resp.UserRevision = subj.revision
	if err := ctx.Err(); err != nil { // nobody waits for the scan
		return nil, err
	}
	s.metrics.stage.state.Observe(watch.lap())

	s.exclude(m.Model, req.GetFilter(), sc)
	s.metrics.stage.filter.Observe(watch.lap())

	size := pageSize(req.GetPageSize())
	if subj.usable {
		sc.top = m.TopN(sc.top[:0], sc.query, size, sc.skip)
	} else {
		sc.top = popular(m.Model, sc.top[:0], size, sc.skip)
	}
	s.metrics.stage.topN.Observe(watch.lap())

	source := pb.ResultSource_RESULT_SOURCE_POPULAR
	if subj.usable {
		source = pb.ResultSource_RESULT_SOURCE_PERSONALIZED
	}
	resp.Items = items(m.Model, sc.top, source)
	resp.UnknownItemIds = unknownItems(m.Model, req)
	resp.Degradations = degradations(subj, len(resp.Items) < min(size, m.NumItems()))
	s.countAnswer(resp, source)
	s.metrics.stage.encode.Observe(watch.lap())
	return resp, nil
}

func (s *Server) takeScratch(m *model.Model) *scratch {
	sc, _ := s.scratch.Get().(*scratch)
	if sc == nil || len(sc.query) != m.Rank() || sc.skip.Len() != m.NumItems() {
		sc = &scratch{query: make([]float32, m.Rank()), skip: vec.NewBitset(m.NumItems())}
	}
	return sc
}

// subject finds the state of the request's subject and writes its query and its seen items to sc.
func (s recommender) subject(ctx context.Context, m *model.Model, req *pb.RecommendRequest, rule seenPredicate, sc *scratch) (subject, error) {
	var subj subject
	read := func(u *userState) {
		subj, sc.seen = subject{}, sc.seen[:0]
		if u == nil {
			return
		}
		subj = subject{known: true, usable: u.usable(), revision: u.revision}
		m.QueryTo(sc.query, u.kalman, s.cfg.Estimator)
		for _, item := range u.seen {
			if rule(item) {
				sc.seen = append(sc.seen, item.item)
			}
		}
	}
	if h := req.GetHistory(); h != nil {
		read(s.inlineState(m, h))
		subj.revision = 0
		return subj, nil
	}
	if err := s.states.view(ctx, m, req.GetUserId(), read); err != nil {
		return subject{}, err
	}
	if subj.revision < req.GetMinUserRevision() {
		return subject{}, errStaleRevision
	}
	return subj, nil
}

// inlineState folds a history that came with the request.
func (s *Server) inlineState(m *model.Model, h *pb.InlineHistory) *userState {
	u := &userState{}
	u.reset(m)
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
