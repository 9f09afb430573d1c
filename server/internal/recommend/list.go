package recommend

import (
	"context"
	"time"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/internal/wire"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/again"
	"github.com/gsimc/gsimc/server/internal/arms"
	"github.com/gsimc/gsimc/server/internal/catalogue"
	"github.com/gsimc/gsimc/server/internal/models"
	"github.com/gsimc/gsimc/server/internal/passes"
	"github.com/gsimc/gsimc/server/internal/stage"
	"github.com/gsimc/gsimc/server/internal/state"
	"github.com/gsimc/gsimc/store"
)

// A list is one on its way from a request to an answer, with its working memory, which lists after
// it use again. Its methods go by the fields that those before them have set: a list has a subject,
// then pins, then the items that it may have (skipped, or call.Among), then a ranking in out.
type list struct {
	arms.Lease
	*model.Model // of the lease, without its trends if the request wants that, with its boosts
	s            *Service
	request
	now   time.Time
	watch stage.Watch
	err   error // of a list of a batch: why there is none

	subject
	at   int64             // the time, in seconds, for which the state is read
	read func(*state.User) // readState, made once

	exclusion
	call *passes.Call // with the query, the filters and the result
	queries
	ruling
	hashes []uint16 // of a recommendation id
	before int      // items on the pages before
	pins   []pin    // to be shown, by rising positions
	row    *row     // that the list is; nil: it is alone
	tells  bool     // the list needs its events
	out    wire.List
}

// queries holds what the scores of a list are computed from.
type queries struct {
	query    *model.Query
	variance []float32    // k, of the query, if the model knows it
	draw     *model.Query // a random query; made when it is needed
}

// ruling holds what the rules of a request do to its list.
type ruling struct {
	ruled *models.Ruled // the model, if it has rules
	unit  float64       // of the weights of rules, if the list is not personal
	unmet bool          // the list has too few items of a share
}

// request is what was asked for.
type request struct {
	req     *pb.RecommendRequest
	filter  *pb.ItemFilter  // of the request
	explore *pb.Exploration // of the request, or of the page before
}

// exclusion says which items a list may have.
type exclusion struct {
	rule      seenRule     // which of the seen items are skipped
	skip      *ranking.Set // n: items that must not be returned; empty between lists
	skipped   []int32      // the members of skip, some of them several times
	allowed   []int32      // the items of an allow list, some of them several times
	named     []*catalogue.Filter
	selection catalogue.Selection
}

// subject holds the facts about a user or an inline history that a list needs. The query, its
// variance and the seen items that must not be returned are in the memory of the list.
type subject struct {
	known   bool // there is a history
	usable  bool // the query says something
	timed   bool // the events have times
	version store.Version
	tail    *state.Tail // of the history, if its events are needed
	own     []again.Own // items of the history, if the list may have them
}

// take begins a list for a request that holds m. The list goes back by give, but not after a panic.
func (s *Service) take(m arms.Lease, req *pb.RecommendRequest, now time.Time) *list {
	l, _ := s.lists[m.Arm.Index].Get().(*list)
	if l == nil || len(l.query.Spectrum) != m.Rank() || l.skip.Cap() != m.NumItems() {
		l = &list{s: s,
			call:      passes.NewCall(),
			queries:   queries{query: m.NewQuery(), variance: make([]float32, m.Rank())},
			exclusion: exclusion{skip: ranking.NewSet(m.NumItems())},
		}
		l.read = l.readState
	}
	l.Lease, l.Model, l.req, l.now = m, m.Model, req, now
	switch req.GetList() {
	case pb.ListKind_LIST_KIND_WITHOUT_TRENDS, pb.ListKind_LIST_KIND_TOGETHER,
		pb.ListKind_LIST_KIND_BECAUSE:
		l.Model = m.WithoutTrends()
	}
	l.filter, l.explore = req.GetFilter(), req.GetExploration()
	l.out.Items = l.Model
	return l
}

// give returns the memory of a list. It drops the references that would keep the request, its
// context or a model alive.
func (l *list) give() {
	l.unmark()
	pool := &l.s.lists[l.Arm.Index]
	l.Lease, l.Model, l.req, l.filter, l.explore, l.err = arms.Lease{}, nil, nil, nil, nil, nil
	l.watch, l.subject, l.rule = stage.Watch{}, subject{}, seenRule{kinds: l.rule.kinds}
	l.before, l.pins, l.ruled, l.unit, l.unmet = 0, l.pins[:0], nil, 0, false
	l.row, l.tells = nil, false
	clear(l.named)
	l.named = l.named[:0]
	l.call.Reset()
	l.out.Reset()
	pool.Put(l)
}

// ended counts a stage of the list.
func (l *list) ended(ctx context.Context, of stage.Stage) { l.s.Meter.Ended(ctx, of, &l.watch) }

// mark adds the items of skipped to skip, and unmark removes them: the cost grows with the skipped
// items, not with the catalogue.
func (x *exclusion) mark() {
	for _, i := range x.skipped {
		x.skip.Add(i)
	}
}

func (x *exclusion) unmark() {
	for _, i := range x.skipped {
		x.skip.Remove(i)
	}
	x.skipped = x.skipped[:0]
}

// drawn returns the room for a random query.
func (l *list) drawn() *model.Query {
	if l.draw == nil {
		l.draw = l.NewQuery()
	}
	return l.draw
}
