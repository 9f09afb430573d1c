package ingest

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/client/kafka/internal/mapping"
)

const (
	// mostItems is the number of items of a call, as the server has it.
	mostItems = 1000
	// mostItemBytes is the size of the records of a call, give or take one.
	mostItemBytes = 1 << 20
	// firstWait and lastWait are the waits between two attempts of a call.
	firstWait, lastWait = 100 * time.Millisecond, 3 * time.Second
)

// write is a call that writes items with one mask, or deletes items. Each is there once.
type write struct {
	deletes bool
	mask    []string
	items   []*pb.Item
	of      []sent // the record of each
}

// writeItems writes the items of a lane until ctx ends. It returns an error if the server refuses
// for good, and no single item is to blame.
func (l *lane) writeItems(ctx context.Context) error {
	for ctx.Err() == nil {
		records := l.pop(mostItems)
		if len(records) == 0 {
			l.wait(ctx)
		}
		for len(records) > 0 {
			var writes []*write
			writes, records = l.gather(records)
			for _, w := range writes {
				if err := l.send(ctx, w); err != nil {
					return err
				}
			}
		}
	}
	return ctx.Err()
}

// gather makes calls of the first records, up to the second one of an item, so that the order of
// the calls does not matter.
func (l *lane) gather(records []sent) (writes []*write, rest []sent) {
	met, bytes := map[string]bool{}, 0
	for i, s := range records {
		item, err := mapping.ItemOf(s.record)
		if err != nil {
			l.bury(s, unreadable, err.Error())
			continue
		}
		if bytes += len(s.record.Value); met[item.GetItemId()] || bytes > mostItemBytes {
			return writes, records[i:]
		}
		met[item.GetItemId()] = true
		at := slices.IndexFunc(writes, func(w *write) bool {
			return w.deletes == item.Deleted && slices.Equal(w.mask, item.Mask)
		})
		if at < 0 {
			at, writes = len(writes), append(writes, &write{deletes: item.Deleted, mask: item.Mask})
		}
		writes[at].items = append(writes[at].items, item.Item)
		writes[at].of = append(writes[at].of, s)
	}
	return writes, nil
}

// send makes a call until its items are written or dead letters, or ctx ends.
func (l *lane) send(ctx context.Context, w *write) error {
	for wait := firstWait; ; wait = min(2*wait, lastWait) {
		err := l.call(ctx, w)
		refused := refusedItems(err)
		switch code := status.Code(err); {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			l.written(w)
			return nil
		case w.letGo(): // which ended the call
			continue
		case len(refused) > 0:
			w.remove(func(i int) bool {
				reason, bad := refused[i]
				if bad {
					l.bury(w.of[i], rejected, reason)
				}
				return bad
			})
			continue
		case len(w.of) > 1 && code == codes.DeadlineExceeded:
			l.brokenBy(l.server.Explain(err))
			return l.halves(ctx, w)
		case len(w.of) > 1 && forGood(err):
			return l.halves(ctx, w)
		case forGood(err):
			l.bury(w.of[0], rejected, status.Convert(err).Message())
			return nil
		case !passing(code):
			return l.server.Explain(err)
		}
		l.brokenBy(l.server.Explain(err))
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

// call makes a call once, if there is something to write. It ends when a partition of it is gone.
func (l *lane) call(ctx context.Context, w *write) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	ended := make(chan struct{})
	defer close(ended)
	defer cancel()
	l.mu.Lock()
	l.stop = func() {
		cancel()
		<-ended
	}
	l.mu.Unlock()
	w.letGo() // no sooner: what goes from here on ends the call
	if len(w.of) == 0 {
		return nil
	}
	to := pb.NewItemServiceClient(l.server.Conn())
	if w.deletes {
		r := &pb.BatchDeleteItemsRequest{}
		for _, item := range w.items {
			r.ItemIds = append(r.ItemIds, item.GetItemId())
		}
		_, err := to.BatchDeleteItems(ctx, r)
		return err
	}
	r := &pb.BatchUpsertItemsRequest{Items: w.items}
	if w.mask != nil {
		r.UpdateMask = &fieldmaskpb.FieldMask{Paths: w.mask}
	}
	_, err := to.BatchUpsertItems(ctx, r)
	return err
}

// halves sends the items of a call by two of them: it takes too long, or one item spoils it.
func (l *lane) halves(ctx context.Context, w *write) error {
	n := len(w.of) / 2
	if err := l.send(ctx, &write{w.deletes, w.mask, w.items[:n:n], w.of[:n:n]}); err != nil {
		return err
	}
	return l.send(ctx, &write{w.deletes, w.mask, w.items[n:], w.of[n:]})
}

// letGo removes the items of partitions that are gone, and reports whether there were some.
func (w *write) letGo() bool {
	return w.remove(func(i int) bool { return w.of[i].of.gone.Load() })
}

// remove removes the items of which drop reports it, and reports whether there were some.
func (w *write) remove(drop func(i int) bool) bool {
	n := 0
	for i := range w.of {
		if !drop(i) {
			w.items[n], w.of[n] = w.items[i], w.of[i]
			n++
		}
	}
	some := n < len(w.of)
	w.items, w.of = w.items[:n], w.of[:n]
	return some
}

// written notes that the server took a call, or that nothing of it was left.
func (l *lane) written(w *write) {
	l.mu.Lock()
	l.broken = nil
	l.mu.Unlock()
	outcome := applied
	if w.deletes {
		outcome = deleted
	}
	for _, s := range w.of {
		l.done(s, outcome)
	}
}

// brokenBy tells why nothing is written, once until something is.
func (l *lane) brokenBy(why error) {
	l.mu.Lock()
	told := l.broken != nil
	l.mu.Unlock()
	if !told {
		l.tell("items", why)
	}
}

// passing reports whether an error ends by itself, or by what an operator does to the server.
func passing(code codes.Code) bool {
	return slices.Contains([]codes.Code{codes.Unavailable, codes.Internal, codes.Unknown,
		codes.DeadlineExceeded, codes.Canceled, codes.Aborted, codes.ResourceExhausted,
		codes.DataLoss}, code)
}

// forGood reports whether an error is about an item that the server never takes, whichever it is: a
// number with a name that is one too many waits for no room, since names are seldom given up.
func forGood(err error) bool {
	s := status.Convert(err)
	for _, detail := range s.Details() {
		info, _ := detail.(*errdetails.ErrorInfo)
		if info.GetReason() == "TOO_MANY_NUMBERS" {
			return true
		}
	}
	return s.Code() == codes.InvalidArgument
}

// refusedItems returns what a server has against items of a call, by their index: the first fault
// of each. It is empty if the error is not about single items.
func refusedItems(err error) map[int]string {
	refused := map[int]string{}
	for _, detail := range status.Convert(err).Details() {
		bad, _ := detail.(*errdetails.BadRequest)
		for _, v := range bad.GetFieldViolations() {
			rest, _ := strings.CutPrefix(v.GetField(), "items[")
			number, field, _ := strings.Cut(rest, "]")
			at, err := strconv.Atoi(number)
			if _, there := refused[at]; err == nil && !there {
				refused[at] = strings.TrimPrefix(field, ".") + " " + v.GetDescription()
			}
		}
	}
	return refused
}
