package recommend

import (
	"context"
	"slices"
	"time"

	"google.golang.org/grpc/status"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/internal/wire"
	"github.com/gsimc/gsimc/server/internal/arms"
	"github.com/gsimc/gsimc/server/internal/outcome"
	"github.com/gsimc/gsimc/server/internal/passes"
	"github.com/gsimc/gsimc/server/internal/stage"
	"github.com/gsimc/gsimc/server/internal/valid"
)

// BatchRecommend implements RecommenderService for gateways and tests.
func (s *Service) BatchRecommend(
	ctx context.Context, req *pb.BatchRecommendRequest,
) (*pb.BatchRecommendResponse, error) {
	answer, err := s.encodedBatch(ctx, req)
	if err != nil {
		return nil, err
	}
	resp := &pb.BatchRecommendResponse{}
	return resp, answer.Decode(resp)
}

// encodedBatch is BatchRecommend with an answer that is encoded already.
func (s *Service) encodedBatch(
	ctx context.Context, req *pb.BatchRecommendRequest,
) (*wire.Encoded, error) {
	if err := valid.BatchRecommend(req); err != nil {
		return nil, err
	}
	named, err := s.Filters.Find(nil, req.GetFilter().GetNamedFilters(), namedFilters)
	if err != nil {
		return nil, err
	}
	boosts, err := s.boostsOf(req)
	if err != nil {
		return nil, err
	}
	b := &batch{Service: s, req: req, now: s.Now(), out: wire.NewBatch()}
	defer b.release()
	for _, of := range req.GetSubjects() {
		b.drawn = append(b.drawn, s.Arms.Of(of.GetUserId()))
	}
	for _, a := range s.Arms.All() {
		m := a.Acquire()
		of := &side{Lease: m, filter: s.take(m, nil, b.now), pass: passes.NewCall()}
		b.sides = append(b.sides, of)
		if slices.Contains(b.drawn, a) {
			if err := of.filter.boost(ctx, boosts); err != nil {
				b.out.Free()
				b.giveFilters()
				return nil, err
			}
		}
		of.filter.filter = req.GetFilter()
		of.filter.named = append(of.filter.named[:0], named...)
		of.filter.exclude()
	}
	unknown := b.unknown()
	b.room = s.MaxSendBytes - wire.UnknownSize(unknown)
	if err = b.run(ctx); err != nil {
		b.out.Free()
		b.giveFilters()
		return nil, err
	}
	answer := b.out.Encode(unknown)
	b.giveFilters()
	return answer, nil
}

// A batch is a BatchRecommend on its way. One goroutine makes it, chunk by chunk, and the lists of
// a chunk share a pass over the basis.
type batch struct {
	*Service
	req   *pb.BatchRecommendRequest
	now   time.Time
	drawn []*arms.Member // of each subject, once: an arm may lose its users meanwhile
	sides []*side        // of the arms
	out   *wire.Batch
	room  int // bytes that the results may have

	chunk []*list
}

// side is the part of a batch that has the model of an arm.
type side struct {
	arms.Lease
	filter   *list             // of no subject, with the filter of all lists
	pass     *passes.Call      // for the next chunk
	requests []ranking.Request // of the chunk's searches
}

// release gives the models back.
func (b *batch) release() {
	for _, of := range b.sides {
		of.Release()
	}
}

// giveFilters gives the filters back, but not after a panic.
func (b *batch) giveFilters() {
	for _, of := range b.sides {
		of.filter.give()
	}
}

// unknown returns the ids of the allow list that the model of an arm does not know, each once. They
// are valid until giveFilters.
func (b *batch) unknown() []string {
	first := &b.sides[0].filter.out
	for _, of := range b.sides[1:] {
		for _, id := range of.filter.out.Unknown() {
			first.NoteUnknown(id)
		}
	}
	return first.Unknown()
}

// run makes the results of all subjects. It stops early if the next chunk would not be ready before
// the deadline: what is there then is worth more than an error of the whole.
func (b *batch) run(ctx context.Context) error {
	subjects := b.req.GetSubjects()
	longest := time.Duration(0)
	for len(subjects) > 0 {
		begun := time.Now()
		deadline, timed := ctx.Deadline()
		if timed && longest > 0 && deadline.Sub(begun) < longest+TimeToAnswer {
			return b.fail(ctx, subjects, context.DeadlineExceeded)
		}
		n := min(len(subjects), passes.MaxCalls)
		if err := b.answerChunk(ctx, subjects[:n], len(subjects)-n); err != nil {
			return err
		}
		subjects = subjects[n:]
		longest = max(longest, time.Since(begun))
	}
	return nil
}

// answerChunk adds the results of some subjects, after which more will follow. The error is one of
// the whole call.
func (b *batch) answerChunk(ctx context.Context, subjects []*pb.BatchSubject, more int) error {
	defer func() { b.chunk = b.chunk[:0] }()
	first := len(b.drawn) - more - len(subjects)
	for i, of := range subjects {
		b.chunk = append(b.chunk, b.prepared(ctx, of, b.sides[b.drawn[first+i].Index]))
	}
	err := ctx.Err()
	if err == nil {
		err = b.search(ctx)
	}
	for i, l := range b.chunk {
		if err == nil {
			err = b.add(ctx, l, len(b.chunk)-1-i+more)
		}
		l.give()
	}
	return err
}

// prepared finds the state of a subject and applies the filters.
func (b *batch) prepared(ctx context.Context, of *pb.BatchSubject, by *side) *list {
	l := b.take(by.Lease, ListOf(b.req, of), b.now)
	if l.err = valid.Recommend(l.req, b.now); l.err != nil {
		return l
	}
	l.watch = stage.Start(ctx)
	if l.err = l.prepare(ctx); l.err == nil {
		l.useRules(by.filter.ruled)
		l.excludeAs(by.filter)
	}
	return l
}

// ListOf is the request for the list of a subject of a batch, without the filter.
func ListOf(b *pb.BatchRecommendRequest, of *pb.BatchSubject) *pb.RecommendRequest {
	list := &pb.RecommendRequest{PageSize: b.GetPageSize(), Seen: b.GetSeen(),
		Packed: b.GetPacked(), Attribute: b.GetAttribute(),
		MinUserRevision: of.GetMinUserRevision()}
	switch subject := of.GetSubject().(type) {
	case *pb.BatchSubject_UserId:
		list.Subject = &pb.RecommendRequest_UserId{UserId: subject.UserId}
	case *pb.BatchSubject_History:
		list.Subject = &pb.RecommendRequest_History{History: subject.History}
	}
	return list
}

// search selects the items of the chunk's lists, in one pass over the model of each arm. A pass
// waits for its turn as others do.
func (b *batch) search(ctx context.Context) error {
	for _, of := range b.sides {
		of.requests = of.requests[:0]
	}
	for _, l := range b.chunk {
		if l.err != nil {
			continue
		}
		l.call.N = valid.PageSize(b.req.GetPageSize())
		l.call.SetQuery(l.query)
		if l.byScore() {
			of := b.sides[l.Arm.Index]
			of.requests = append(of.requests, l.call.Request)
		}
	}
	for _, of := range b.sides {
		if len(of.requests) == 0 {
			continue
		}
		of.pass.Context, of.pass.Model = ctx, of.filter.Model
		of.pass.Alone = func() { of.filter.TopNBatch(of.requests) }
		if err := b.Batcher.TopN(of.pass); err != nil {
			return err
		}
	}
	next := make([]int, len(b.sides)) // request of each side
	for _, l := range b.chunk {
		if l.err == nil && l.personal() {
			at := &next[l.Arm.Index]
			l.call.Top = b.sides[l.Arm.Index].requests[*at].Top
			*at++
		}
		l.out.Top = l.call.Top
	}
	return nil
}

// add adds the result of a list, if it leaves room for the errors of more subjects.
func (b *batch) add(ctx context.Context, l *list, more int) error {
	if l.err != nil {
		return b.addError(ctx, l.err, more)
	}
	l.finish(valid.PageSize(l.req.GetPageSize()))
	l.attribute()
	added, err := b.out.Add(&l.out, b.roomBefore(more))
	if err == nil && !added {
		return b.addError(ctx, outcome.ErrTooLarge, more)
	}
	return err
}

// addError adds an error as the result of a subject, after which more will follow.
func (b *batch) addError(ctx context.Context, why error, more int) error {
	st := status.Convert(b.Public(ctx,
		pb.RecommenderService_BatchRecommend_FullMethodName, why))
	added, err := b.out.AddError(st.Proto(), b.roomBefore(more))
	if err == nil && !added {
		added, err = b.out.AddError(outcome.Status(outcome.ErrTooLarge).Proto(), b.roomBefore(more))
	}
	if err == nil && !added {
		return outcome.ErrTooLarge
	}
	return err
}

// fail adds the same error for each subject.
func (b *batch) fail(ctx context.Context, subjects []*pb.BatchSubject, why error) error {
	for i := range subjects {
		if err := b.addError(ctx, why, len(subjects)-1-i); err != nil {
			return err
		}
	}
	return nil
}

// leastResult is the size of the result of a subject for which there is no room.
var leastResult = wire.ErrorSize(outcome.Status(outcome.ErrTooLarge).Proto())

// roomBefore is the number of bytes that the results may have before those of more subjects.
func (b *batch) roomBefore(more int) int { return b.room - more*leastResult }
