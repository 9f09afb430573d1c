package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/soak"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/store/storetest"
)

// candidates are files that a reload may meet.
type candidates struct {
	good, bad []string
	// torn changes between the first two good models all the time; stop ends it.
	torn string
	stop func()
}

// newCandidates writes good models, one of them of another shape, and bad files of every kind.
func newCandidates(t *testing.T) *candidates {
	t.Helper()
	c, dir := &candidates{}, t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	for i, m := range []*model.Model{newModel(t, 1), newModel(t, 2),
		newModelOf(t, 3, func(i int) string { return fmt.Sprintf("other-%02d", i) })} {
		name := path(fmt.Sprint("good-", i))
		must(t, m.WriteFile(name))
		c.good = append(c.good, name)
	}
	must(t, os.Symlink(c.good[1], path("link")))
	c.good = append(c.good, path("link"))
	first, err := os.ReadFile(c.good[0])
	must(t, err)
	second, err := os.ReadFile(c.good[1])
	must(t, err)
	flipped := append([]byte(nil), first...)
	flipped[len(flipped)-5] ^= 1
	for name, text := range map[string][]byte{"flipped": flipped, "cut": first[:len(first)/2],
		"empty": {}, "longer": append(append([]byte(nil), first...), 0),
		"mixed": append(append([]byte(nil), first[:len(first)/2]...), second[len(first)/2:]...)} {
		must(t, os.WriteFile(path(name), text, 0o600))
		c.bad = append(c.bad, path(name))
	}
	must(t, syscall.Mkfifo(path("pipe"), 0o600))
	must(t, os.Symlink(path("nowhere"), path("dangling")))
	must(t, os.Symlink(path("circle"), path("circle")))
	c.bad = append(c.bad, path("pipe"), path("dangling"), path("circle"), dir)
	c.torn = path("torn")
	must(t, os.WriteFile(c.torn, first, 0o600))
	done := make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
				_ = os.WriteFile(c.torn, [][]byte{second, first}[i%2], 0o600)
			}
		}
	})
	c.stop = func() { close(done); writer.Wait() }
	return c
}

// Files of every kind are loaded under load, every fifth a bad one, while events come, one by one
// and in streams, users are erased, and, in the second run, the model is extended. No call fails,
// every answer is wholly that of the model which it names, and no event is lost.
func TestReloadStorm(t *testing.T) {
	for _, extend := range []time.Duration{0, 10 * time.Millisecond} {
		t.Run(fmt.Sprint("extend=", extend), func(t *testing.T) { reloadStorm(t, extend) })
	}
}

func reloadStorm(t *testing.T, extend time.Duration) {
	c := newCandidates(t)
	defer c.stop()
	var current atomic.Pointer[string]
	current.Store(&c.good[0])
	ts := start(t, setup{
		open:   func() (*model.Model, error) { return model.Load(*current.Load()) },
		config: func(c *Config) { c.ExtendEvery = extend },
	})
	reload := func(path string) error {
		current.Store(&path)
		return ts.Reload(t.Context())
	}
	requests := []*pb.RecommendRequest{forHistory(2, 9, 4), forUser("nobody"), forHistory(7)}
	want := map[string][]*pb.RecommendResponse{}
	for _, path := range c.good[:3] {
		must(t, reload(path))
		var answers []*pb.RecommendResponse
		for _, req := range requests {
			answers = append(answers, ts.ask(t, req))
		}
		want[answers[0].GetModelVersion()] = answers
	}

	ctx, stop := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	var asked atomic.Int64
	for range 2 {
		clients.Go(func() { askStorm(ctx, t, ts, requests, want, &asked) })
	}
	events := []*atomic.Int64{{}, {}}
	clients.Go(func() { observeStorm(ctx, t, ts, events[0]) })
	clients.Go(func() { streamStorm(ctx, t, ts, events[1]) })
	clients.Go(func() { eraseStorm(ctx, t, ts) })
	reloads, refused := soak.Times(100), 0
	for i := range reloads {
		path, bad := c.good[i%len(c.good)], false
		switch i % 10 {
		case 4:
			path, bad = c.bad[i/10%len(c.bad)], true
		case 9:
			if err := reload(c.torn); err != nil && !isFileError(err) {
				t.Errorf("a file that changes: %v", err)
			}
			continue
		}
		if err := reload(path); (err != nil) != bad {
			t.Errorf("reload of %s: %v", filepath.Base(path), err)
		}
		if bad {
			refused++
		}
		time.Sleep(2 * time.Millisecond)
	}
	eventually(t, "all clients are answered", func() bool {
		return t.Failed() || asked.Load() > 50 && events[0].Load() > 20 && events[1].Load() > 20
	})
	stop()
	clients.Wait()
	for i, user := range []string{"single", "streamed"} {
		got, err := storetest.Revision(t.Context(), ts.store, user)
		// The last ones may have been cancelled on their way back.
		if n := events[i].Load(); err != nil || int64(got) < n || int64(got) > n+2 {
			t.Errorf("%s has %d events (%v), %d were acknowledged", user, got, err, n)
		}
	}
	t.Logf("%d answers, %d and %d events over %d reloads", asked.Load(), events[0].Load(),
		events[1].Load(), reloads)
	soak.Injected(t, reloads, "reloads")
	soak.Injected(t, refused, "bad model files")
}

// isFileError reports whether a model was refused for the bytes of its file.
func isFileError(err error) bool { return errors.As(err, new(*model.FileError)) }

// askStorm asks until ctx ends and compares each answer with that of the model which it names. What
// an extension answers is known by the model that it extends only.
func askStorm(ctx context.Context, t *testing.T, ts *testServer, requests []*pb.RecommendRequest,
	want map[string][]*pb.RecommendResponse, asked *atomic.Int64,
) {
	for i := 0; ctx.Err() == nil; i++ {
		resp, err := ts.recommend.Recommend(t.Context(), requests[i%len(requests)])
		if err != nil {
			t.Errorf("Recommend: %v", err)
			return
		}
		version, _, extended := strings.Cut(resp.GetModelVersion(), "+")
		answers := want[version]
		if answers == nil || !extended && !proto.Equal(answers[i%len(requests)], resp) {
			t.Errorf("answer of version %q differs from that model's:\n%s", resp.GetModelVersion(),
				cmp.Diff(answers, resp, protocmp.Transform()))
			return
		}
		asked.Add(1)
	}
}

// observeStorm sends events one by one, some of items that no model knows.
func observeStorm(ctx context.Context, t *testing.T, ts *testServer, acked *atomic.Int64) {
	for i := 0; ctx.Err() == nil; i++ {
		e := newEvent("single", i%testItems)
		if i%3 == 0 {
			e.ItemId = fmt.Sprint("new-", i%7)
		}
		e.EventId = fmt.Sprint(i)
		if _, err := ts.events.Observe(t.Context(), &pb.ObserveRequest{Event: e}); err != nil {
			t.Errorf("Observe: %v", err)
			return
		}
		acked.Add(1)
	}
}

// streamStorm sends events in a stream.
func streamStorm(ctx context.Context, t *testing.T, ts *testServer, acked *atomic.Int64) {
	s, err := ts.events.StreamObserve(t.Context())
	if err != nil {
		t.Errorf("StreamObserve: %v", err)
		return
	}
	defer func() { _ = s.CloseSend() }()
	for i := 0; ctx.Err() == nil; i++ {
		e := newEvent("streamed", i%testItems)
		e.EventId = fmt.Sprint(i)
		err := s.Send(&pb.StreamObserveRequest{Sequence: uint64(i + 1), Event: e})
		if err == nil {
			_, err = s.Recv()
		}
		if err != nil {
			t.Errorf("the stream: %v", err)
			return
		}
		acked.Add(1)
	}
}

// eraseStorm observes, asks for and erases users of its own: an answer after an erasure knows
// nothing of the user.
func eraseStorm(ctx context.Context, t *testing.T, ts *testServer) {
	for i := 0; ctx.Err() == nil; i++ {
		user := fmt.Sprint("erased-", i%5)
		_, err := ts.events.Observe(t.Context(), &pb.ObserveRequest{Event: newEvent(user, i%testItems)})
		if err == nil {
			_, err = ts.users.DeleteUser(t.Context(), &pb.DeleteUserRequest{UserId: user})
		}
		var resp *pb.RecommendResponse
		if err == nil {
			resp, err = ts.recommend.Recommend(t.Context(), forUser(user))
		}
		if err != nil || resp.GetUserRevision() != 0 {
			t.Errorf("erasing: %v, revision %d", err, resp.GetUserRevision())
			return
		}
	}
}
