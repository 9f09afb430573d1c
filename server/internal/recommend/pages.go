package recommend

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/session"
	"github.com/gsimc/gsimc/server/internal/valid"
)

// MaxServed is the number of items on all pages of a list together. It bounds the token.
const MaxServed = 5000

// paged reports whether a request is for a page of several.
func paged(req *pb.RecommendRequest) bool { return req.GetPaged() || req.GetPageToken() != "" }

// pageBefore returns what the client got with the pages before that of the request.
func (s *Service) pageBefore(req *pb.RecommendRequest) (*session.Page, error) {
	request, err := s.requestHash(req)
	if err != nil {
		return nil, err
	}
	token := req.GetPageToken()
	if token == "" {
		return &session.Page{Request: request}, nil
	}
	text := "is damaged, or of another request"
	if most := session.PageTokenBytes(MaxServed); len(token) > most {
		text = fmt.Sprintf("has %d bytes, at most %d are allowed", len(token), most)
	} else if p, err := session.ReadPage(s.Store.Identity(), token); err == nil &&
		p.Request == request {
		return p, nil
	}
	return nil, valid.Bad("page_token", text)
}

// requestHash is a hash of what has to stay the same from page to page. An inline history may go
// on, as that of a user does.
func (s *Service) requestHash(req *pb.RecommendRequest) (uint64, error) {
	same := &pb.RecommendRequest{Filter: req.GetFilter(), Seen: req.GetSeen(),
		Exploration: req.GetExploration()}
	if req.GetHistory() == nil {
		same.Subject = req.GetSubject()
	}
	encoded, err := proto.MarshalOptions{Deterministic: true}.Marshal(same)
	return session.RequestHash(s.Store.Identity(), encoded), err
}

// rankPage selects the best items that the client has not got yet, with the token of the next page,
// and returns how many it was to select. Of the best n items of all, n the number of items on the
// pages before, that of this one and one more, at most the first were served: so the page is exact,
// whatever has become of the user and of the model meanwhile.
func (s *Service) rankPage(
	ctx context.Context, m *model.Model, req *pb.RecommendRequest, subj subject, sc *scratch,
) (size int, err error) {
	page, err := s.pageBefore(req)
	if err != nil {
		return 0, err
	}
	x, served := req.GetExploration(), len(page.Served)
	sc.before = served
	if t := x.GetThompson(); t != nil && page.Seed != 0 {
		x = &pb.Exploration{Strategy: &pb.Exploration_Thompson_{
			Thompson: &pb.Exploration_Thompson{Seed: page.Seed, Scale: t.Scale}}}
	}
	size = max(min(valid.PageSize(req.GetPageSize()), MaxServed-served), 0)
	if err := s.rank(ctx, m, x, subj, served+size+1, sc); err != nil {
		return 0, err
	}
	l := &sc.list
	l.Top = s.unserved(m, l.Top, page, size+1)
	if more := len(l.Top) > size; more {
		l.Top = l.Top[:size]
		if served+size < MaxServed {
			for _, r := range l.Top {
				page.Served = append(page.Served,
					session.ItemHash(s.Store.Identity(), m.ItemID(r.Item)))
			}
			page.Seed = l.ExplorationSeed
			l.NextPageToken = page.Token(s.Store.Identity())
		}
	}
	if served > 0 { // the last of several pages is short, and that is as it should be
		size = len(l.Top)
	}
	return size, nil
}

// unserved leaves the first n items of top that are not in page.
func (s *Service) unserved(
	m *model.Model, top []ranking.Scored, page *session.Page, n int,
) []ranking.Scored {
	served := make(map[uint64]bool, len(page.Served))
	for _, hash := range page.Served {
		served[hash] = true
	}
	left := top[:0]
	for _, r := range top {
		if len(left) == n {
			break
		}
		if !served[session.ItemHash(s.Store.Identity(), m.ItemID(r.Item))] {
			left = append(left, r)
		}
	}
	return left
}
