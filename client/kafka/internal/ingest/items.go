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
	// mostStuck is the number of items that are refused one by one before all wait.
	mostStuck = 100
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
// for good, and no single item is to blame. It has up to mostItems records at a time.
func (l *lane) writeItems(ctx context.Context) error {
	var writes []*write
	var records []sent
	for wait := firstWait; ctx.Err() == nil; {
		records = append(records, l.pop(mostItems-len(records)-count(writes))...)
		if len(records)+len(writes) == 0 {
			l.wait(ctx)
			continue
		}
		writes, records = l.gather(writes, records)
		before := count(writes)
		var err error
		if writes, err = l.round(ctx, writes); err != nil {
			return err
		}
		if n := count(writes); n == 0 || n < before {
			wait = firstWait
			continue
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
		wait = min(2*wait, lastWait)
	}
	return ctx.Err()
}

// count returns the number of items of calls.
func count(writes []*write) (n int) {
	for _, w := range writes {
		n += len(w.of)
	}
	return n
}

// gather adds the first record of each item to calls, so that the order of the calls does not
// matter. The rest is for later ones.
func (l *lane) gather(writes []*write, records []sent) (all []*write, rest []sent) {
	met, bytes := map[string]bool{}, 0
	for _, w := range writes {
		for _, item := range w.items {
			met[item.GetItemId()] = true
		}
	}
	for i, s := range records {
		if met[string(s.record.Key)] {
			rest = append(rest, s)
			continue
		}
		item, err := mapping.ItemOf(s.record)
		if err != nil {
			l.bury(s, unreadable, err.Error())
			continue
		}
		if bytes >= mostItemBytes {
			return writes, append(rest, records[i:]...)
		}
		bytes += len(s.record.Value)
		met[item.GetItemId()] = true
		writes = add(writes, item.Deleted, item.Mask, item.Item, s)
	}
	return writes, rest
}

// add adds an item to the call of its kind. Deletions are the first, since they make room.
func add(writes []*write, deletes bool, mask []string, item *pb.Item, of sent) []*write {
	at := slices.IndexFunc(writes, func(w *write) bool {
		return w.deletes == deletes && slices.Equal(w.mask, mask)
	})
	if at < 0 {
		if at = len(writes); deletes {
			at = 0
		}
		writes = slices.Insert(writes, at, &write{deletes: deletes, mask: mask})
	}
	w := writes[at]
	w.items, w.of = append(w.items, item), append(w.of, of)
	return writes
}

// round makes calls until nothing is left, or what is left has to wait. An item that the server
// does not take at present holds up no other: it is the last of the rest.
func (l *lane) round(ctx context.Context, todo []*write) (rest []*write, err error) {
	var stuck []*write
	var why error
	for n := 0; len(todo) > 0 && n < mostStuck; {
		w := todo[0]
		todo = todo[1:]
		err := l.call(ctx, w)
		switch code := status.Code(err); {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err == nil:
			l.written(w)
		case w.letGo() /* which ended the call */, l.buryRefused(w, err):
			todo = slices.Insert(todo, 0, w)
		case len(w.of) > 1 && (code == codes.DeadlineExceeded || forGood(err) || noRoom(err)):
			if code == codes.DeadlineExceeded {
				l.brokenBy(l.server.Explain(err))
			}
			todo = slices.Insert(todo, 0, w.halves()...)
		case forGood(err):
			l.mended()
			l.bury(w.of[0], rejected, status.Convert(err).Message())
		case !passing(code):
			return nil, l.server.Explain(err)
		case noRoom(err):
			stuck, why = add(stuck, w.deletes, w.mask, w.items[0], w.of[0]), err
			n++
		default:
			l.brokenBy(l.server.Explain(err))
			return append(slices.Insert(todo, 0, w), stuck...), nil
		}
	}
	if why != nil {
		l.brokenBy(l.server.Explain(why))
	}
	return append(todo, stuck...), nil
}

// buryRefused makes dead letters of the items of a call that an error is about, if there are some.
func (l *lane) buryRefused(w *write, err error) bool {
	refused := refusedItems(err)
	return w.remove(func(i int) bool {
		reason, bad := refused[i]
		if bad {
			l.bury(w.of[i], rejected, reason)
		}
		return bad
	})
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

// halves returns two calls for one that takes too long, is too large, or is spoilt by an item.
func (w *write) halves() []*write {
	n := len(w.of) / 2
	return []*write{{w.deletes, w.mask, w.items[:n:n], w.of[:n:n]},
		{w.deletes, w.mask, w.items[n:], w.of[n:]}}
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
	l.mended()
	outcome := applied
	if w.deletes {
		outcome = deleted
	}
	for _, s := range w.of {
		l.done(s, outcome)
	}
}

// mended notes that the server has answered for an item.
func (l *lane) mended() {
	l.mu.Lock()
	l.broken = nil
	l.mu.Unlock()
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
// number with a name that is one too many waits for no room, since names are seldom given up, and
// one that is damaged takes nothing but all of its fields. A message too large is gRPC's to refuse.
func forGood(err error) bool {
	s := status.Convert(err)
	return s.Code() == codes.InvalidArgument ||
		s.Code() == codes.ResourceExhausted && strings.Contains(s.Message(), "larger than max") ||
		slices.Contains([]string{"TOO_MANY_NUMBERS", "STORE_CORRUPT"}, reasonOf(s))
}

// noRoom reports whether an error may be about one item, which the server may take later.
func noRoom(err error) bool {
	s := status.Convert(err)
	return s.Code() == codes.Internal ||
		slices.Contains([]string{"TOO_MANY_ITEMS", "CATALOGUE_TOO_LARGE"}, reasonOf(s))
}

// reasonOf returns what a server gives as the reason of an error, if it does.
func reasonOf(s *status.Status) string {
	for _, detail := range s.Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok {
			return info.GetReason()
		}
	}
	return ""
}

// refusedItems returns what a server has against items of a call, by their index: the first fault
// of each. It is empty if the error is not about single items.
func refusedItems(err error) map[int]string {
	refused, s := map[int]string{}, status.Convert(err)
	if s.Code() != codes.InvalidArgument {
		return refused
	}
	for _, detail := range s.Details() {
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
