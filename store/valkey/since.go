package valkey

import (
	"context"
	"strconv"

	"github.com/redis/rueidis"

	"github.com/gsimc/gsimc/store"
)

// pageEvents is the number of events that are read in one round trip.
const pageEvents = 2000

// page is an answer of the function since.
type page struct {
	head   store.Version
	same   bool
	events []rueidis.RedisMessage
}

// Since implements store.Store. It makes one round trip for each 2,000 events, and shows the
// history as of the first of them; if it is erased or replaced meanwhile, it is passed anew from
// revision 1.
func (s *Store) Since(
	ctx context.Context, user string, known store.Version,
	fn func(store.Version, store.Event) error,
) (head store.Version, same bool, err error) {
	if err := s.calls.Begin(ctx); err != nil {
		return store.Version{}, false, err
	}
	defer s.calls.Done()
	limit := pageEvents
	if fn == nil {
		limit = 0
	}
	p, err := s.page(ctx, user, known, limit)
	if err != nil || fn == nil {
		return p.head, p.same, err
	}
	head, same = p.head, p.same
	at := known
	if !same {
		at = store.Version{}
	}
	for {
		if at, err = p.pass(ctx, at, head.Revision, fn); err != nil {
			return store.Version{}, false, err
		}
		if at.Revision >= head.Revision {
			return head, same, nil
		}
		if p, err = s.page(ctx, user, at, limit); err != nil {
			return store.Version{}, false, err
		}
		switch {
		case !p.same: // another life has begun
			head, same, at = p.head, false, store.Version{}
		case len(p.events) == 0:
			return store.Version{}, false, errAnswer
		}
	}
}

// page asks for the events after a version.
func (s *Store) page(
	ctx context.Context, user string, after store.Version, limit int,
) (p page, err error) {
	if !known(user) {
		return page{same: after.Revision == 0}, nil
	}
	reply, err := s.cluster.Read(ctx, function("since"), s.keys.history(user)[:1],
		strconv.FormatUint(after.Revision, 10), packMark(after.Mark), strconv.Itoa(limit))
	if err != nil {
		return p, err
	}
	return readPage(&reply)
}

func readPage(reply *rueidis.RedisMessage) (p page, err error) {
	parts, err := reply.ToArray()
	if err != nil || len(parts) != 4 {
		return p, errAnswer
	}
	revision, err := parts[0].AsInt64()
	if err != nil {
		return p, errAnswer
	}
	p.head.Revision = uint64(revision)
	if p.head.Mark, err = markOf(&parts[1]); err != nil {
		return p, err
	}
	same, err := parts[2].AsInt64()
	if err != nil {
		return p, errAnswer
	}
	p.same = same == 1
	if p.events, err = parts[3].ToArray(); err != nil {
		return p, errAnswer
	}
	return p, nil
}

// pass calls fn for the events of a page, which follow the version at, up to a revision. It
// returns the version of the last one.
func (p *page) pass(
	ctx context.Context, at store.Version, to uint64, fn func(store.Version, store.Event) error,
) (store.Version, error) {
	for i := range p.events {
		if at.Revision == to {
			break
		}
		if err := ctx.Err(); err != nil {
			return at, err
		}
		text, err := p.events[i].ToString()
		if err != nil {
			return at, errAnswer
		}
		mark, e, err := unpackEvent(text)
		if err != nil {
			return at, err
		}
		at = store.Version{Revision: at.Revision + 1, Mark: mark}
		if err := fn(at, e); err != nil {
			return at, err
		}
	}
	return at, nil
}
