package recommend

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/server/internal/session"
	"github.com/gsimc/gsimc/server/internal/valid"
)

// MaxServed is the number of items on all pages of a list together. It bounds the token.
const MaxServed = 5000

// pageBefore returns what the client got with the pages before that of the request.
func (l *list) pageBefore() (*session.Page, error) {
	request, err := l.requestHash()
	if err != nil {
		return nil, err
	}
	token := l.req.GetPageToken()
	if token == "" {
		return &session.Page{Request: request}, nil
	}
	text := "is damaged, or of another request"
	if most := session.PageTokenBytes(MaxServed); len(token) > most {
		text = fmt.Sprintf("has %d bytes, at most %d are allowed", len(token), most)
	} else if p, err := session.ReadPage(l.s.Store.Identity(), token); err == nil &&
		p.Request == request {
		return p, nil
	}
	return nil, valid.Bad("page_token", text)
}

// requestHash is a hash of what has to stay the same from page to page. An inline history may go
// on, as that of a user does.
func (l *list) requestHash() (uint64, error) {
	same := &pb.RecommendRequest{Filter: l.req.GetFilter(), Seen: l.req.GetSeen(),
		Exploration: l.req.GetExploration(), List: l.req.GetList(),
		Boosts: l.req.GetBoosts(), NamedBoosts: l.req.GetNamedBoosts()}
	if l.req.GetHistory() == nil {
		same.Subject = l.req.GetSubject()
	}
	encoded, err := proto.MarshalOptions{Deterministic: true}.Marshal(same)
	return session.RequestHash(l.s.Store.Identity(), encoded), err
}

// rankPage selects the best items that the client has not got yet, with the token of the next page,
// and returns how many it was to select. Of the best n items of all, n the number of items on the
// pages before, that of this one and one more, at most the first were served: so the page is exact,
// whatever has become of the user and of the model meanwhile.
func (l *list) rankPage(ctx context.Context) (size int, err error) {
	page, err := l.pageBefore()
	if err != nil {
		return 0, err
	}
	served := len(page.Served)
	l.before = served
	if t := l.explore.GetThompson(); t != nil && page.Seed != 0 {
		l.explore = &pb.Exploration{Strategy: &pb.Exploration_Thompson_{
			Thompson: &pb.Exploration_Thompson{Seed: page.Seed, Scale: t.Scale}}}
	}
	size = max(min(valid.PageSize(l.req.GetPageSize()), MaxServed-served), 0)
	if err := l.rank(ctx, served+size+1); err != nil {
		return 0, err
	}
	out, id := &l.out, l.s.Store.Identity()
	l.leaveOut(page, size+1)
	if more := len(out.Top) > size; more {
		out.Top = out.Top[:size]
		if served+size < MaxServed {
			for _, r := range out.Top {
				page.Served = append(page.Served, session.ItemHash(id, l.ItemID(r.Item)))
			}
			page.Seed = out.ExplorationSeed
			out.NextPageToken = page.Token(id)
		}
	}
	if served > 0 { // the last of several pages is short, and that is as it should be
		size = len(out.Top)
	}
	return size, nil
}

// leaveOut leaves the first n of the ranked items that are not in page.
func (l *list) leaveOut(page *session.Page, n int) {
	served := make(map[uint64]bool, len(page.Served))
	for _, hash := range page.Served {
		served[hash] = true
	}
	id, left := l.s.Store.Identity(), l.out.Top[:0]
	for _, r := range l.out.Top {
		if len(left) == n {
			break
		}
		if !served[session.ItemHash(id, l.ItemID(r.Item))] {
			left = append(left, r)
		}
	}
	l.out.Top = left
}
