// Package ingest implements EventService: it takes events in, makes them durable, and then visible.
package ingest

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"log/slog"
	"slices"
	"time"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/server/internal/admission"
	"github.com/gsimc/gsimc/server/internal/arms"
	"github.com/gsimc/gsimc/server/internal/background"
	"github.com/gsimc/gsimc/server/internal/credit"
	"github.com/gsimc/gsimc/server/internal/follow"
	"github.com/gsimc/gsimc/server/internal/outcome"
	"github.com/gsimc/gsimc/server/internal/session"
	"github.com/gsimc/gsimc/server/internal/stage"
	"github.com/gsimc/gsimc/server/internal/state"
	"github.com/gsimc/gsimc/server/internal/valid"
	"github.com/gsimc/gsimc/store"
)

// Deps are what the service needs.
type Deps struct {
	Store      store.Store
	Append     func(context.Context, []store.Record) ([]store.Result, error) // of Store
	Arms       *arms.Set
	States     *state.Cache
	Follow     follow.Follower // is told of events that are durable
	Credits    *credit.Book
	NewUsers   *NewUsers
	ReadAhead  *admission.Budget // bytes of events, of all streams
	StreamIdle time.Duration     // after which a stream without events ends
	Draining   context.Context   // ends when streams are told to come to an end
	Cut        context.Context   // ends when streams end now
	Guard      background.Guard
	Now        func() time.Time
	HashUser   func(user string) slog.LogValuer
	Meter      stage.Meter
	Metrics    *Metrics
	Log        *slog.Logger
}

// New returns the service.
func New(d Deps) pb.EventServiceServer { return &service{Deps: d} }

type service struct {
	pb.UnsafeEventServiceServer
	Deps
}

// arrival is a received event after its check: a record for the store, or the faults of the event.
// It has both if the only fault is that the event lies too far ahead, see refuse. It keeps nothing
// of the message, so its size is bounded by the rules of the fields.
type arrival struct {
	record store.Record
	credit *credit.Credit // the list that it counts for; nil: none was named
	fault  error
}

// arrive checks an event, and reads the list that it counts for; faults name its fields with prefix
// before them.
func (s *service) arrive(e *pb.Event, prefix string, received time.Time) arrival {
	a := arrival{fault: valid.Event(e, prefix, received)}
	if a.fault != nil && !valid.InTime(e) {
		return a
	}
	a.record = Record(e, received)
	if a.fault == nil && e.GetRecommendationId() != "" {
		a.credit = s.Credits.Of(e, received)
	}
	return a
}

// eventOutcome is the outcome of one event.
type eventOutcome struct {
	disposition pb.EventDisposition
	version     store.Version // of the history up to the event
	fault       error         // of a rejected one
}

// result returns the outcome as a message, without a session token.
func (o *eventOutcome) result() *pb.EventResult {
	if o.disposition == pb.EventDisposition_EVENT_DISPOSITION_REJECTED {
		return rejected(o.fault)
	}
	return &pb.EventResult{Disposition: o.disposition, UserRevision: o.version.Revision}
}

// ingestion is the memory for taking in one batch, to be used again for the next.
type ingestion struct {
	outcomes []eventOutcome
	records  []store.Record
	index    []int // of each record in the batch
	written  []state.Written
	leases   []arms.Lease // of all arms, while records are committed
}

// Observe implements EventService.
func (s *service) Observe(
	ctx context.Context, req *pb.ObserveRequest,
) (*pb.ObserveResponse, error) {
	received := s.Now()
	batch := []arrival{s.arrive(req.GetEvent(), "event.", received)}
	a := &batch[0]
	in := ingestion{outcomes: make([]eventOutcome, 1)}
	if a.fault == nil {
		in.records, in.index = []store.Record{a.record}, []int{0}
		if err := s.commit(ctx, &in); err != nil {
			return nil, err
		}
	} else {
		s.refuse(ctx, &in, batch)
	}
	s.countSettled(ctx, in.outcomes, batch, received)
	s.countCredits(in.outcomes, batch)
	o := &in.outcomes[0]
	if o.fault != nil {
		return nil, o.fault
	}
	// one piece of memory
	answer := &struct {
		pb.ObserveResponse

		token session.Token
	}{token: session.Make(s.Store.Identity(), a.record.User, o.version)}
	answer.Disposition, answer.UserRevision = o.disposition, o.version.Revision
	answer.SessionToken = answer.token[:]
	return &answer.ObserveResponse, nil
}

// BatchObserve implements EventService.
func (s *service) BatchObserve(
	ctx context.Context, req *pb.BatchObserveRequest,
) (*pb.BatchObserveResponse, error) {
	received := s.Now()
	if err := valid.BatchObserve(req); err != nil {
		return nil, err
	}
	batch := make([]arrival, len(req.GetEvents()))
	for i, e := range req.GetEvents() {
		// A nanosecond apart, so that equal events without id and time are different events.
		batch[i] = s.arrive(e, "", received.Add(time.Duration(i)))
	}
	outcomes, err := s.ingest(ctx, &ingestion{}, batch, received)
	if err != nil {
		return nil, err
	}
	results, tokens := make([]*pb.EventResult, len(outcomes)), make([]session.Token, len(outcomes))
	id := s.Store.Identity()
	for i := range outcomes {
		results[i] = outcomes[i].result()
		if outcomes[i].fault == nil {
			tokens[i] = session.Make(id, batch[i].record.User, outcomes[i].version)
			results[i].SessionToken = tokens[i][:]
		}
	}
	return &pb.BatchObserveResponse{Results: results}, nil
}

// ingest writes the good events in one step. The others are REJECTED in their outcomes; so are
// events in conflict and events of users with damaged histories. After an error either nothing was
// written or it is unknown whether anything was; the error tells which. The outcomes are valid
// until in is used again.
func (s *service) ingest(
	ctx context.Context, in *ingestion, batch []arrival, received time.Time,
) ([]eventOutcome, error) {
	in.outcomes = slices.Grow(in.outcomes[:0], len(batch))[:len(batch)]
	in.records, in.index = in.records[:0], in.index[:0]
	for i := range batch {
		in.outcomes[i] = eventOutcome{}
		if batch[i].fault == nil {
			in.records = append(in.records, batch[i].record)
			in.index = append(in.index, i)
		}
	}
	if len(in.records) > 0 {
		if err := s.commit(ctx, in); err != nil {
			return nil, err
		}
	}
	s.refuse(ctx, in, batch) // behind the good ones, which do not wait for it
	for i := range in.outcomes {
		if err := in.outcomes[i].fault; errors.Is(err, store.ErrCorrupt) {
			// logged here, since the call goes on
			s.Log.LogAttrs(ctx, slog.LevelError, "event rejected: its user's history is damaged",
				slog.Any("user_hash", s.HashUser(batch[i].record.User)),
				slog.String("error", err.Error()))
		}
	}
	s.countSettled(ctx, in.outcomes, batch, received)
	s.countCredits(in.outcomes, batch)
	return in.outcomes, nil
}

func (in *ingestion) reject(i int, fault error) {
	in.outcomes[i] = eventOutcome{disposition: pb.EventDisposition_EVENT_DISPOSITION_REJECTED,
		fault: fault}
}

// commit makes the records durable and then visible: it folds them into the cached states. Records
// at fault are rejected. After an error the outcome of some records may be open.
func (s *service) commit(ctx context.Context, in *ingestion) error {
	uncounted, err := s.NewUsers.refuse(ctx, in)
	if err != nil || len(in.records) == 0 {
		return err
	}
	watch := stage.Start(ctx)
	results, err := s.Append(ctx, in.records)
	watch.Lap(stage.Store)
	if err != nil {
		return err
	}
	uncounted.Count(results)
	in.acquire(s.Arms.All())
	defer in.release()
	in.written = in.written[:0]
	var open error
	for i := range results {
		r, o := &results[i], &in.outcomes[in.index[i]]
		o.disposition, o.version = pb.EventDisposition_EVENT_DISPOSITION_DUPLICATE, r.Version
		switch {
		case r.Err != nil:
			in.reject(in.index[i], r.Err)
			if !errors.Is(r.Err, store.ErrConflict) && !errors.Is(r.Err, store.ErrCorrupt) {
				open = r.Err
			}
			continue
		case r.Duplicate:
			continue
		}
		m := in.leases[s.Arms.Of(in.records[i].User).Index].Model
		w := state.Written{Record: &in.records[i], Version: r.Version, Before: r.Before, Model: m}
		o.disposition = pb.EventDisposition_EVENT_DISPOSITION_APPLIED
		if w.Item, w.Known = m.ItemIndex(w.Record.Event.Item); !w.Known {
			o.disposition = pb.EventDisposition_EVENT_DISPOSITION_PENDING_ITEM
		}
		in.written = append(in.written, w)
	}
	s.States.Fold(in.written)
	if len(in.written) > 0 { // duplicates alone change nothing
		s.Follow.Observed(in.written)
	}
	clear(in.written) // they hold states
	return open
}

// acquire holds the models of all arms.
func (in *ingestion) acquire(all []*arms.Member) {
	in.leases = in.leases[:0]
	for _, a := range all {
		in.leases = append(in.leases, a.Acquire())
	}
}

func (in *ingestion) release() {
	for _, l := range in.leases {
		l.Release()
	}
	clear(in.leases)
}

// Record turns a valid event into a record for the store.
func Record(e *pb.Event, received time.Time) store.Record {
	at := received
	if t := e.GetEventTime(); t != nil {
		at = t.AsTime()
	}
	record := store.Record{User: e.GetUserId(), Received: e.GetEventTime() == nil,
		Event: store.Event{
			ID: e.GetEventId(), Item: e.GetItemId(), Type: valid.EventType(e.GetEventType()),
			Time: at.UTC(), Value: valid.Value(e.Value),
		}}
	if record.Event.ID == "" {
		record.Event.ID = derivedEventID(record)
	}
	return record
}

// derivedEventID is the id of an event that came without one: a hash of user, item, type and time.
// It has 128 bits and a prefix, so it equals another derived id, or an id that a client chooses,
// only by intent.
func derivedEventID(r store.Record) string {
	const prefix = "derived:"
	var memory [256]byte
	b := memory[:0]
	for _, field := range [...]string{r.User, r.Event.Item, r.Event.Type} {
		b = append(binary.AppendUvarint(b, uint64(len(field))), field...)
	}
	b = binary.AppendVarint(b, r.Event.Time.Unix())
	b = binary.AppendUvarint(b, uint64(r.Event.Time.Nanosecond()))
	sum := sha256.Sum256(b)
	var text [len(prefix) + 22]byte
	copy(text[:], prefix)
	base64.RawURLEncoding.Encode(text[len(prefix):], sum[:16])
	return string(text[:])
}

// rejected returns the result of an event that was refused with err.
func rejected(err error) *pb.EventResult {
	return &pb.EventResult{Disposition: pb.EventDisposition_EVENT_DISPOSITION_REJECTED,
		Error: outcome.Status(err).Proto()}
}
