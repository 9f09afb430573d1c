package ingest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/event"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/server/internal/admission"
	"github.com/gsimc/gsimc/server/internal/credit"
	"github.com/gsimc/gsimc/server/internal/valid"
	"github.com/gsimc/gsimc/store"
)

func TestDerivedEventID(t *testing.T) {
	at := time.Unix(1_700_000_000, 0)
	base := store.Record{User: "ab",
		Event: store.Event{Item: "c", Type: "like", Time: at, Value: 1}}
	id := derivedEventID(base)
	if len(id) > valid.MaxEventIDBytes || !strings.HasPrefix(id, "derived:") ||
		id != derivedEventID(base) {
		t.Errorf("id %q", id)
	}
	for name, change := range map[string]func(*store.Record){
		"user":                 func(r *store.Record) { r.User = "x" },
		"user and item joined": func(r *store.Record) { r.User, r.Event.Item = "a", "bc" },
		"type":                 func(r *store.Record) { r.Event.Type = "view" },
		"time":                 func(r *store.Record) { r.Event.Time = at.Add(1) },
	} {
		other := base
		change(&other)
		if derivedEventID(other) == id {
			t.Errorf("another %s gives the same id", name)
		}
	}
	base.Event.Value = 2
	check.Same(t, id, derivedEventID(base), "id of another value")
}

// A stream whose client does not read its acknowledgement has given back what it acknowledges.
func TestUnreadAcknowledgementHoldsNoReadAhead(t *testing.T) {
	all := admission.NewBudget(1)
	check.Must(t, all.Take(t.Context(), 1))
	sent := false
	s := &service{Deps: Deps{ReadAhead: all, Metrics: NewMetrics(), Credits: credit.New(
		credit.Deps{Weights: func() event.Weights { return nil }})}}
	o := &observeStream{service: s, stream: sending{ctx: t.Context(), send: func() {
		sent = true
		if !leaves(all) {
			t.Error("others wait until the acknowledgement is read")
		}
	}}}
	in := content{events: []arrival{{fault: errors.New("refused")}}, taken: 1}
	if err := o.settle(in); err != nil || !sent {
		t.Errorf("sent %t, %v", sent, err)
	}
}

// sending is a stream that calls a function in the place of sending.
type sending struct {
	pb.EventService_StreamObserveServer
	ctx  context.Context
	send func()
}

func (s sending) Context() context.Context { return s.ctx }

func (s sending) Send(*pb.StreamObserveResponse) error { s.send(); return nil }

// The memory of refused events counts, that of their faults included.
func TestBytesOfRefusedEvents(t *testing.T) {
	refused := new(service).arrive(&pb.Event{UserId: strings.Repeat("u", 1000)}, "event.",
		time.Now())
	if n := bytesOf([]arrival{refused}); n <= bytesOf([]arrival{{}})+50 {
		t.Errorf("a refused event counts as %d bytes", n)
	}
}

// leaves reports whether something is left of a budget.
func leaves(b *admission.Budget) bool {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	if b.Take(over, 1) != nil {
		return false
	}
	b.Give(1)
	return true
}
