package ingest

import (
	"context"
	"errors"
	"time"

	"golang.org/x/time/rate"

	"github.com/gsimc/gsimc/server/internal/outcome"
	"github.com/gsimc/gsimc/store"
)

// NewUsers bounds the number of users who begin a history in a minute, so that ids that somebody
// makes up do not fill the store. It is nil if any number may.
//
// Whether a user is new is known from the answer of the store, which is free. So as long as there
// is room for all users of a call, its new ones are counted when they have come. Otherwise each
// event costs a look at its user's history. Calls at the same time may find the same room and
// exceed the quota together; they use up no more than the next minute's.
type NewUsers struct {
	Quota *rate.Limiter // of those who may still begin
	store store.Store
}

// NewQuota returns the bound of a number a minute; 0: none.
func NewQuota(perMinute int, st store.Store) *NewUsers {
	if perMinute == 0 {
		return nil
	}
	every := rate.Every(time.Minute / time.Duration(perMinute))
	return &NewUsers{rate.NewLimiter(every, perMinute), st}
}

// refuse rejects the records of users without a history as far as no more may begin one. counted
// tells that those who may are counted.
func (n *NewUsers) refuse(ctx context.Context, in *ingestion) (counted bool, err error) {
	if n == nil || n.Quota.Tokens() >= float64(len(in.records)) {
		return false, nil
	}
	kept, admitted := 0, map[string]bool{}
	for i, record := range in.records {
		ok, err := n.admit(ctx, record.User, admitted)
		if err != nil {
			return true, err
		}
		if !ok {
			in.reject(in.index[i], outcome.ErrNewUsers)
			continue
		}
		in.records[kept], in.index[kept] = record, in.index[i]
		kept++
	}
	in.records, in.index = in.records[:kept], in.index[:kept]
	return true, nil
}

// admit reports whether the user has a history or may begin one, and counts the user then.
func (n *NewUsers) admit(
	ctx context.Context, user string, admitted map[string]bool,
) (bool, error) {
	if admitted[user] {
		return true, nil
	}
	head, _, err := n.store.Since(ctx, user, store.Version{}, nil)
	if err != nil && !errors.Is(err, store.ErrCorrupt) { // a damaged history is one
		return false, err
	}
	if err == nil && head.Revision == 0 && !n.Quota.Allow() {
		return false, nil
	}
	admitted[user] = true
	return true, nil
}

// Count counts the users whose histories began with the results.
func (n *NewUsers) Count(results []store.Result) {
	if n == nil {
		return
	}
	for i := range results {
		r := &results[i]
		if r.Revision == 1 && !r.Duplicate && r.Err == nil &&
			n.Quota.Tokens() > -float64(n.Quota.Burst()) {
			n.Quota.Reserve()
		}
	}
}
