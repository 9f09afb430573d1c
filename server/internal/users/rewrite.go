package users

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"math"
	"slices"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/server/internal/follow"
	"github.com/gsimc/gsimc/server/internal/outcome"
	"github.com/gsimc/gsimc/server/internal/session"
	"github.com/gsimc/gsimc/server/internal/valid"
	"github.com/gsimc/gsimc/store"
)

// A history that is rewritten is in memory as a whole, at up to 1 kB an event, so both have bounds.
const (
	maxRewrites       = 4
	maxRewriteHistory = 100_000 // events
)

// rewrite is [follow.Rewrite] within the bounds.
func (s *service) rewrite(
	ctx context.Context, users []string, fn func([][]store.Event) [][]store.Event,
) ([]store.Version, error) {
	select {
	case s.Rewrites <- struct{}{}:
		defer func() { <-s.Rewrites }()
	default:
		return nil, outcome.ErrRewrites
	}
	total := uint64(0)
	for _, user := range users {
		head, _, err := s.Store.Since(ctx, user, store.Version{}, nil)
		if err != nil {
			return nil, err
		}
		total += head.Revision
	}
	if total > s.RewriteHistory {
		return nil, outcome.ErrHistoryTooLong
	}
	return follow.Rewrite(ctx, s.States, s.Follow, users, fn)
}

// sessionToken returns the token of a version; none if the history is empty.
func (s *service) sessionToken(user string, v store.Version) []byte {
	if v.Revision == 0 {
		return nil
	}
	t := session.Make(s.Store.Identity(), user, v)
	return t[:]
}

// RetractEvents implements UserService.
func (s *service) RetractEvents(
	ctx context.Context, req *pb.RetractEventsRequest,
) (*pb.RetractEventsResponse, error) {
	if err := valid.RetractEvents(req); err != nil {
		return nil, err
	}
	ids, items := setOf(req.GetEventIds()), setOf(req.GetItemIds())
	retracted := 0
	versions, err := s.rewrite(ctx, []string{req.GetUserId()},
		func(h [][]store.Event) [][]store.Event {
			kept := slices.DeleteFunc(slices.Clone(h[0]),
				func(e store.Event) bool { return ids[e.ID] || items[e.Item] })
			if retracted = len(h[0]) - len(kept); retracted == 0 {
				kept = nil
			}
			return [][]store.Event{kept}
		})
	if err != nil {
		return nil, err
	}
	return &pb.RetractEventsResponse{RetractedEventCount: int64(retracted),
		UserRevision: versions[0].Revision,
		SessionToken: s.sessionToken(req.GetUserId(), versions[0])}, nil
}

func setOf(ids []string) map[string]bool {
	set := make(map[string]bool, len(ids))
	for _, id := range ids {
		set[id] = true
	}
	return set
}

// MergeUsers implements UserService.
func (s *service) MergeUsers(
	ctx context.Context, req *pb.MergeUsersRequest,
) (*pb.MergeUsersResponse, error) {
	if err := valid.MergeUsers(req); err != nil {
		return nil, err
	}
	source, target := req.GetSourceUserId(), req.GetTargetUserId()
	r := &pb.MergeUsersResponse{}
	versions, err := s.rewrite(ctx, []string{source, target},
		func(h [][]store.Event) [][]store.Event {
			if len(h[0]) == 0 {
				r.MergedEventCount, r.RepeatedEventCount = 0, 0
				return make([][]store.Event, 2)
			}
			merged, added := merge(source, h[0], h[1])
			r.MergedEventCount, r.RepeatedEventCount = int64(added), int64(len(h[0])-added)
			if added == 0 {
				merged = nil
			}
			return [][]store.Event{{}, merged}
		})
	if err != nil {
		return nil, err
	}
	r.UserRevision, r.SessionToken = versions[1].Revision, s.sessionToken(target, versions[1])
	return r, nil
}

// merge returns the events of two histories in the order of their times, and how many of the source
// are in it. An event that both have is in it once.
func merge(source string, from, into []store.Event) (merged []store.Event, added int) {
	known := make(map[string]store.Event, len(into)+len(from))
	for _, e := range into {
		known[e.ID] = e
	}
	merged = slices.Clone(into)
	for _, e := range from {
		if first, taken := known[e.ID]; taken {
			if (store.Record{Event: e}).Repeats(first) {
				continue
			}
			e.ID = mergedEventID(source, e)
			if _, taken = known[e.ID]; taken { // by an earlier merging
				continue
			}
		}
		known[e.ID] = e
		merged = append(merged, e)
	}
	added = len(merged) - len(into)
	slices.SortStableFunc(merged, func(a, b store.Event) int { return a.Time.Compare(b.Time) })
	return merged, added
}

// mergedEventID is the id of an event whose own one is in use for another event of the user it is
// moved to. It is a hash of the user it came from and of all of the event, so that the same event
// has the same id if it comes again with a later merging.
func mergedEventID(source string, e store.Event) string {
	const prefix = "merged:"
	var b []byte
	for _, field := range [...]string{source, e.ID, e.Item, e.Type} {
		b = append(binary.AppendUvarint(b, uint64(len(field))), field...)
	}
	b = binary.AppendVarint(b, e.Time.Unix())
	b = binary.AppendUvarint(b, uint64(e.Time.Nanosecond()))
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(e.Value))
	sum := sha256.Sum256(b)
	return prefix + base64.RawURLEncoding.EncodeToString(sum[:16])
}
