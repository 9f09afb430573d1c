package server

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"log/slog"
	"slices"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/store"
)

// events implements EventService.
type events struct {
	pb.UnsafeEventServiceServer
	*Server
}

// arrival is a received event, checked: a record for the store, or what is wrong with it. It keeps nothing of the message,
// so its size is bounded by the rules of the fields.
type arrival struct {
	record   store.Record
	fault    error
	received time.Time
}

// arrive checks an event; faults name its fields with prefix before them.
func arrive(e *pb.Event, prefix string, received time.Time) arrival {
	var c checker
	checkEvent(&c, prefix, e, received)
	if err := c.err(); err != nil {
		return arrival{fault: err, received: received}
	}
	return arrival{record: newRecord(e, received), received: received}
}

// Observe implements EventService.
func (s events) Observe(ctx context.Context, req *pb.ObserveRequest) (*pb.ObserveResponse, error) {
	a := arrive(req.GetEvent(), "event.", s.now())
	if a.fault != nil {
		s.countEvent(pb.EventDisposition_EVENT_DISPOSITION_REJECTED)
		return nil, a.fault
	}
	results, err := s.commit(ctx, []store.Record{a.record})
	if err != nil {
		if _, refused := refusedRecord(err); refused {
			s.countEvent(pb.EventDisposition_EVENT_DISPOSITION_REJECTED)
		}
		return nil, err
	}
	s.countSettled(results, a.received)
	return &pb.ObserveResponse{Disposition: results[0].GetDisposition(), UserRevision: results[0].GetUserRevision()}, nil
}

// BatchObserve implements EventService.
func (s events) BatchObserve(ctx context.Context, req *pb.BatchObserveRequest) (*pb.BatchObserveResponse, error) {
	received := s.now()
	if err := validateBatch(req); err != nil {
		return nil, err
	}
	batch := make([]arrival, len(req.GetEvents()))
	for i, e := range req.GetEvents() {
		// A nanosecond apart, so that equal events without id and time are different events.
		batch[i] = arrive(e, "", received.Add(time.Duration(i)))
	}
	results, err := s.ingest(ctx, batch)
	if err != nil {
		return nil, err
	}
	return &pb.BatchObserveResponse{Results: results}, nil
}

// ingest writes the good events in one step. The others are REJECTED in their results, as are those in conflict and those
// that meet damage in their users' histories. On an error the outcome is that of the error: nothing was written, or nobody knows.
func (s *Server) ingest(ctx context.Context, batch []arrival) ([]*pb.EventResult, error) {
	results := make([]*pb.EventResult, len(batch))
	records := make([]store.Record, 0, len(batch))
	index := make([]int, 0, len(batch)) // of each record in batch
	for i, a := range batch {
		if a.fault != nil {
			results[i] = rejected(a.fault)
			continue
		}
		records = append(records, a.record)
		index = append(index, i)
	}
	for len(records) > 0 {
		written, err := s.commit(ctx, records)
		// Append applies all or nothing: leave out the record at fault and try again.
		if bad, refused := refusedRecord(err); refused {
			if errors.Is(err, store.ErrCorrupt) { // the call goes on, so nobody else logs it
				s.log.LogAttrs(ctx, slog.LevelError, "event rejected: its user's history is damaged",
					slog.Any("user_hash", userID{s.hasher, records[bad].User}), slog.String("error", err.Error()))
			}
			results[index[bad]] = rejected(err)
			records = slices.Delete(records, bad, bad+1)
			index = slices.Delete(index, bad, bad+1)
			continue
		}
		if err != nil {
			return nil, err
		}
		for j, r := range written {
			results[index[j]] = r
		}
		break
	}
	s.countSettled(results, batch[0].received)
	return results, nil
}

// refusedRecord is the position of the one record because of which an Append applied nothing, if that is the reason.
func refusedRecord(err error) (int, bool) {
	if conflict, ok := errors.AsType[*store.ConflictError](err); ok {
		return conflict.Index, true
	}
	if damaged, ok := errors.AsType[*store.CorruptError](err); ok {
		return damaged.Index, true
	}
	return 0, false
}

// commit makes the records durable and then visible: it folds them into the cached states.
func (s *Server) commit(ctx context.Context, records []store.Record) ([]*pb.EventResult, error) {
	tickets := make([]ticket, len(records))
	for i, r := range records {
		tickets[i] = s.states.ticket(r.User)
	}
	written, err := s.store.Append(ctx, records)
	if err != nil {
		return nil, err
	}
	m := s.models.acquire()
	defer m.release()
	results := make([]*pb.EventResult, len(records))
	for i, w := range written {
		r := records[i]
		results[i] = &pb.EventResult{Disposition: pb.EventDisposition_EVENT_DISPOSITION_DUPLICATE, UserRevision: w.Revision}
		if w.Duplicate {
			continue
		}
		s.states.observed(m.Model, tickets[i], r.User, w.Revision, r.Event)
		s.quality.offer(r.User, w.Revision, r.Event)
		s.extender.observed(m.Model, r.User, w.Revision, r.Event)
		results[i].Disposition = pb.EventDisposition_EVENT_DISPOSITION_APPLIED
		if _, known := m.ItemIndex(r.Event.Item); !known {
			results[i].Disposition = pb.EventDisposition_EVENT_DISPOSITION_PENDING_ITEM
		}
	}
	return results, nil
}

// newRecord turns a valid event into what the store keeps.
func newRecord(e *pb.Event, received time.Time) store.Record {
	at := received
	if t := e.GetEventTime(); t != nil {
		at = t.AsTime()
	}
	record := store.Record{User: e.GetUserId(), Received: e.GetEventTime() == nil, Event: store.Event{
		ID: e.GetEventId(), Item: e.GetItemId(), Type: eventType(e.GetEventType()), Time: at.UTC(), Value: value(e.Value),
	}}
	if record.Event.ID == "" {
		record.Event.ID = derivedEventID(record)
	}
	return record
}

// derivedEventID is the id of an event that came without one: a hash of user, item, type and time. With 128 bits and its
// prefix it does not meet another derived id, or one that a client chooses, unless by intent.
func derivedEventID(r store.Record) string {
	h := sha256.New()
	var number [8]byte
	field := func(b []byte) {
		binary.LittleEndian.PutUint64(number[:], uint64(len(b)))
		h.Write(number[:])
		h.Write(b)
	}
	field([]byte(r.User))
	field([]byte(r.Event.Item))
	field([]byte(r.Event.Type))
	at := binary.LittleEndian.AppendUint64(nil, uint64(r.Event.Time.Unix()))
	field(binary.LittleEndian.AppendUint64(at, uint64(r.Event.Time.Nanosecond())))
	return "derived:" + base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:16])
}

func eventType(t string) string {
	if t == "" {
		return defaultEventType
	}
	return t
}

func value(v *float64) float64 {
	if v == nil {
		return 1
	}
	return *v
}

// rejected is the result of an event that was refused with err.
func rejected(err error) *pb.EventResult {
	st := toStatus(err)
	e := &pb.EventError{Code: int32(st.Code()), Message: st.Message()}
	for _, d := range st.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			e.Reason = d.GetReason()
		case *errdetails.BadRequest:
			e.Field = d.GetFieldViolations()[0].GetField()
		}
	}
	return &pb.EventResult{Disposition: pb.EventDisposition_EVENT_DISPOSITION_REJECTED, Error: e}
}

// countSettled counts the events of one write; the first of them was received at the given time.
func (s *Server) countSettled(results []*pb.EventResult, received time.Time) {
	took := s.now().Sub(received).Seconds()
	for _, r := range results {
		s.countEvent(r.GetDisposition())
		if r.GetDisposition() != pb.EventDisposition_EVENT_DISPOSITION_REJECTED {
			s.metrics.visible.Observe(took)
		}
	}
}

func (s *Server) countEvent(d pb.EventDisposition) { s.metrics.events[d].Inc() }
