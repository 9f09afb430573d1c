package ingest

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/time/rate"

	"github.com/gsimc/gsimc/server/internal/outcome"
	"github.com/gsimc/gsimc/store"
)

// NewUsers bounds the number of users who begin a history in a minute, so that ids that somebody
// makes up do not fill the store: by all calls, and by those of each client that has a limit.
//
// Whether a user is new is known from the answer of the store, which is free. So as long as there
// is room for all users of a call, its new ones are counted when they have come. Otherwise each
// event costs a look at its user's history. Calls at the same time may find the same room and
// exceed the quota together; they use up no more than the next minute's.
type NewUsers struct {
	Quota    *rate.Limiter // of those who may still begin; nil: any number
	ofClient func(ctx context.Context) *rate.Limiter
	store    store.Store
}

// NewQuota returns the bound of a number a minute; 0: none. ofClient returns the quota of the
// client that makes a call; nil: it has none.
func NewQuota(
	perMinute int, ofClient func(ctx context.Context) *rate.Limiter, st store.Store,
) *NewUsers {
	n := &NewUsers{ofClient: ofClient, store: st}
	if perMinute > 0 {
		n.Quota = rate.NewLimiter(rate.Every(time.Minute/time.Duration(perMinute)), perMinute)
	}
	return n
}

// Quotas are those that hold together.
type Quotas []quota

type quota struct {
	*rate.Limiter
	spent error // is the fault of an event whose user is one too many
}

// Of returns the quotas that a call has to keep.
func (n *NewUsers) Of(ctx context.Context) Quotas {
	all := Quotas{{n.Quota, outcome.ErrNewUsers}, {n.ofClient(ctx), outcome.ErrNewUsersOfToken}}
	return slices.DeleteFunc(all, func(q quota) bool { return q.Limiter == nil })
}

// spent returns the fault if these many users may not begin.
func (q Quotas) spent(users int) error {
	for _, l := range q {
		if l.Tokens() < float64(users) {
			return l.spent
		}
	}
	return nil
}

// take counts a user who begins.
func (q Quotas) take() {
	for _, l := range q {
		if l.Tokens() > -float64(l.Burst()) {
			l.Reserve()
		}
	}
}

// refuse rejects the records of users without a history as far as no more may begin one. It
// returns the quotas by which those who may are not counted yet.
func (n *NewUsers) refuse(ctx context.Context, in *ingestion) (uncounted Quotas, err error) {
	quotas := n.Of(ctx)
	if quotas.spent(len(in.records)) == nil {
		return quotas, nil
	}
	kept, admitted := 0, map[string]bool{}
	for i, record := range in.records {
		spent, err := n.admit(ctx, record.User, admitted, quotas)
		if err != nil {
			return nil, err
		}
		if spent != nil {
			in.reject(in.index[i], spent)
			continue
		}
		in.records[kept], in.index[kept] = record, in.index[i]
		kept++
	}
	in.records, in.index = in.records[:kept], in.index[:kept]
	return nil, nil
}

// admit returns no fault if the user has a history or may begin one, and counts the user then.
func (n *NewUsers) admit(
	ctx context.Context, user string, admitted map[string]bool, quotas Quotas,
) (spent, err error) {
	if admitted[user] {
		return nil, nil
	}
	head, _, err := n.store.Since(ctx, user, store.Version{}, nil)
	if err != nil && !errors.Is(err, store.ErrCorrupt) { // a damaged history is one
		return nil, err
	}
	if err == nil && head.Revision == 0 {
		if spent := quotas.spent(1); spent != nil {
			return spent, nil
		}
		quotas.take()
	}
	admitted[user] = true
	return nil, nil
}

// Count counts the users whose histories began with the results.
func (q Quotas) Count(results []store.Result) {
	for i := range results {
		if r := &results[i]; r.Revision == 1 && !r.Duplicate && r.Err == nil {
			q.take()
		}
	}
}
