package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/proctest"
)

// However often the program and the broker are killed, the records of the topic hold in the end
// what the server holds: some users are erased right after a kill.
func TestTailKilled(t *testing.T) {
	b := startBroker(t)
	s := startServer(t)
	topic, cursor := b.topic(t, 3), filepath.Join(t.TempDir(), "cursor")
	tail := func() *proctest.Process {
		p := proctest.Start(t, []string{asProgram + "=1"}, check.Get(os.Executable())(t), "tail",
			"--brokers", b.address, "--topic", topic, "--server", s.address, "--cursor", cursor,
			"--every", "10ms")
		p.Says(t, "following")
		return p
	}
	want := map[string][]string{}
	for round := range 6 {
		p := tail()
		for i := range 20 {
			u, id := user(i), fmt.Sprint(round, "-", i)
			s.observe(t, &pb.Event{UserId: u, ItemId: "i", EventId: id})
			want[u] = append(want[u], id)
			if round == 3 && i == 10 {
				b.kill()
				b.start(t)
			}
		}
		p.Says(t, `produced.* events=[1-9]`)
		if round%2 == 0 {
			p.Kill()
		} else {
			p.Stop(t)
		}
		for u := range round + 1 {
			s.forget(t, user(u))
			delete(want, user(u))
		}
	}
	p := tail()
	defer p.Stop(t)
	b.await(t, topic, want)
}

// await reads a topic of changes until it holds what is wanted.
func (b *broker) await(t *testing.T, topic string, want map[string][]string) {
	t.Helper()
	cl, got := b.client(t, kgo.ConsumeTopics(topic)), map[string][]string{}
	ctx, cancel := context.WithTimeout(t.Context(), proctest.Limit)
	defer cancel()
	for ctx.Err() == nil && !reflect.DeepEqual(want, got) {
		cl.PollFetches(ctx).EachRecord(func(r *kgo.Record) { fold(t, got, r) })
	}
	check.Same(t, want, got, "event ids by user")
}

// fold adds what a record says to the ids of the events of each user.
func fold(t *testing.T, all map[string][]string, r *kgo.Record) {
	t.Helper()
	var row struct {
		User     string `json:"user_id"`
		ID       string `json:"event_id"`
		Erased   bool
		Revision int
	}
	check.Must(t, json.Unmarshal(r.Value, &row))
	switch known := all[row.User]; {
	case string(r.Key) != row.User:
		t.Errorf("the key is %q, and the user %q", r.Key, row.User)
	case row.Erased:
		delete(all, row.User)
	case row.Revision == len(known)+1:
		all[row.User] = append(known, row.ID)
	case row.Revision > len(known) || known[row.Revision-1] != row.ID:
		t.Errorf("after %d events of %s comes %s", len(known), row.User, r.Value)
	}
}

func (s *server) observe(t *testing.T, e *pb.Event) {
	t.Helper()
	check.Get(pb.NewEventServiceClient(s.Conn()).Observe(t.Context(),
		&pb.ObserveRequest{Event: e}))(t)
}

func (s *server) forget(t *testing.T, user string) {
	t.Helper()
	check.Get(pb.NewUserServiceClient(s.Conn()).DeleteUser(t.Context(),
		&pb.DeleteUserRequest{UserId: user}))(t)
}
