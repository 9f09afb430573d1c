package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
)

// maxList is the longest list that a server gives.
const maxList = 1000

// list is an answer of the server.
type list struct {
	items    []*pb.ScoredItem
	revision uint64
	notes    []string
}

// replay observes the history one event at a time and shows the lists, then restarts the server and
// compares.
func (t *tour) replay(ctx context.Context, model, user string, history []string) error {
	server, err := t.start(ctx, model)
	if err != nil {
		return err
	}
	shown, err := t.observeAll(server.GRPC, user, history)
	if err != nil {
		return errors.Join(err, server.Stop())
	}
	t.app.Printf("\nRestarting the server (SIGTERM, then again on the same folder).\n")
	if err := server.Stop(); err != nil {
		return fmt.Errorf("the server did not exit cleanly: %w", err)
	}
	if server, err = t.start(ctx, model); err != nil {
		return err
	}
	after, err := recommend(server.GRPC, user, shownItems)
	if err = errors.Join(err, server.Stop()); err != nil {
		return err
	}
	// Uncertainty grows with time, so only the list is the same.
	same := func(a, b *pb.ScoredItem) bool {
		return a.GetItemId() == b.GetItemId() && a.GetScore() == b.GetScore()
	}
	if !slices.EqualFunc(shown.items, after.items, same) || shown.revision != after.revision {
		return fmt.Errorf("after the restart the answer differs: %+v, before %+v", after, shown)
	}
	t.app.Printf("The answer is the same: revision %d, %d items with equal scores.\n",
		after.revision, len(after.items))
	return nil
}

// observeAll returns the last list that it showed.
func (t *tour) observeAll(address, user string, history []string) (list, error) {
	catalogue, err := recommend(address, user, min(t.Items, maxList))
	if err != nil {
		return list{}, err
	}
	t.app.Printf("\nUser %s is unknown to the server: popular items (%s).\n", user,
		strings.Join(catalogue.notes, ", "))
	last := catalogue.first(shownItems)
	t.printChanges(nil, last.items)
	for i, item := range history[:len(history)-1] {
		event := &pb.Event{UserId: user, ItemId: item, EventTime: timestamppb.Now()}
		if err := observe(address, event); err != nil {
			return list{}, err
		}
		all, err := recommend(address, user, min(t.Items, maxList))
		if err != nil {
			return list{}, err
		}
		now := all.first(shownItems)
		t.app.Printf("\nEvent %d: %s likes %s. The item that comes next in this history, %s, %s.\n",
			i+1, user, item, history[i+1], all.place(history[i+1]))
		t.printChanges(last.items, now.items)
		last = now
	}
	return last, nil
}

// first returns the list cut to n items.
func (l list) first(n int) list {
	l.items = l.items[:min(n, len(l.items))]
	return l
}

// place says where an item stands.
func (l list) place(id string) string {
	at := index(l.items, id)
	if at < 0 {
		return fmt.Sprintf("is not among the first %d", len(l.items))
	}
	return fmt.Sprintf("is at place %d of %d", at+1, len(l.items))
}

// index returns the index of an item; -1: it is not there.
func index(items []*pb.ScoredItem, id string) int {
	return slices.IndexFunc(items, func(i *pb.ScoredItem) bool { return i.GetItemId() == id })
}

// printChanges shows a list and how each item moved since the list before; nil: there was none.
func (t *tour) printChanges(before, now []*pb.ScoredItem) {
	rows := [][]string{{"#", "item", "score", "source", ""}}
	for i, item := range now {
		change := ""
		if before != nil {
			change = movement(index(before, item.GetItemId()), i)
		}
		rows = append(rows, []string{
			strconv.Itoa(i + 1), item.GetItemId(), cli.ScoreText(item.GetScore()),
			cli.EnumText(item.GetSource().String(), "RESULT_SOURCE_"), change,
		})
	}
	cli.PrintTable(t.app.Stdout, rows, 0, 2)
}

// movement describes the way from one index to another; -1 is absent.
func movement(from, to int) string {
	switch {
	case from < 0:
		return "new"
	case from > to:
		return fmt.Sprintf("up %d", from-to)
	case from < to:
		return fmt.Sprintf("down %d", to-from)
	}
	return "="
}

// recommend asks the server at address for n items.
func recommend(address, user string, n int) (got list, err error) {
	server := cli.ServerFlags{Server: address, Timeout: callTimeout}
	err = server.Call(func(ctx context.Context, conn grpc.ClientConnInterface) error {
		r, err := pb.NewRecommenderServiceClient(conn).Recommend(ctx, &pb.RecommendRequest{
			Subject:  &pb.RecommendRequest_UserId{UserId: user},
			PageSize: int32(n), Seen: &pb.SeenPolicy{Mode: pb.SeenPolicy_MODE_EXCLUDE},
		})
		got = list{items: r.GetItems(), revision: r.GetUserRevision()}
		for _, d := range r.GetDegradations() {
			got.notes = append(got.notes, cli.EnumText(d.String(), "DEGRADATION_"))
		}
		return err
	})
	return got, err
}

// observe sends one event.
func observe(address string, event *pb.Event) error {
	server := cli.ServerFlags{Server: address, Timeout: callTimeout}
	return server.Call(func(ctx context.Context, conn grpc.ClientConnInterface) error {
		_, err := pb.NewEventServiceClient(conn).Observe(ctx, &pb.ObserveRequest{Event: event})
		return err
	})
}
