package server

import (
	"context"
	"errors"
	"time"

	"golang.org/x/time/rate"

	"github.com/gsimc/gsimc/store"
)

// newUsers bounds the number of users who begin a history in a minute, so that ids that somebody
// makes up do not fill the store. It is nil if any number may.
//
// Whether a user is new is known from the answer of the store, which is free. So the users are
// counted when they have come, and only while the count is used up does each event cost a look at
// its user's history. Calls at the same time may then exceed the quota by the users that they
// bring, which the next minute has less.
type newUsers struct {
	quota *rate.Limiter
	store store.Store
}

// newUsersQuota returns the bound of a number a minute; 0: none.
func newUsersQuota(perMinute int, st store.Store) *newUsers {
	if perMinute == 0 {
		return nil
	}
	every := rate.Every(time.Minute / time.Duration(perMinute))
	return &newUsers{rate.NewLimiter(every, perMinute), st}
}

// errNewUsers is the fault of an event whose user is one too many.
var errNewUsers = errors.New("server: as many users have begun a history as may in a minute")

// refuse rejects the records of users without a history if no more may begin one.
func (n *newUsers) refuse(ctx context.Context, in *ingestion) error {
	if n == nil || n.quota.Tokens() >= 1 {
		return nil
	}
	kept := 0
	for i, record := range in.records {
		head, _, err := n.store.Since(ctx, record.User, store.Version{}, nil)
		if err != nil && !errors.Is(err, store.ErrCorrupt) { // a damaged history is one
			return err
		}
		if err == nil && head.Revision == 0 {
			in.reject(in.index[i], errNewUsers)
			continue
		}
		in.records[kept], in.index[kept] = record, in.index[i]
		kept++
	}
	in.records, in.index = in.records[:kept], in.index[:kept]
	return nil
}

// count counts the users whose histories began with the results.
func (n *newUsers) count(results []store.Result) {
	if n == nil {
		return
	}
	for i := range results {
		if r := &results[i]; r.Revision == 1 && !r.Duplicate && r.Err == nil {
			n.quota.Reserve() // the quota may become negative
		}
	}
}
