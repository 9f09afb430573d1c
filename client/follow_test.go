package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/internal/file/lock"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/nettest"
)

// histories are those of a server: numbers of events by user. The token of a history is its life
// and its length.
type histories struct {
	pb.UnimplementedUserServiceServer
	life   map[string]int
	events map[string]int
	room   int                     // events of an answer
	fail   func(what string) error // of a call
}

func (h *histories) token(user string, n int) []byte {
	if n == 0 {
		return nil
	}
	return fmt.Appendf(nil, "%d/%d", h.life[user], n)
}

func (h *histories) ListUsers(
	_ *pb.ListUsersRequest, stream pb.UserService_ListUsersServer,
) error {
	for i, user := range slices.Sorted(maps.Keys(h.events)) {
		if err := stream.Send(&pb.ListUsersResponse{Users: []*pb.UserHistory{{UserId: user,
			SessionToken: h.token(user, h.events[user])}}}); err != nil {
			return err
		}
		if i == len(h.events)/2 {
			if err := h.fail("list"); err != nil {
				return err
			}
		}
	}
	return nil
}

func (h *histories) BatchGetChanges(
	_ context.Context, req *pb.BatchGetChangesRequest,
) (*pb.BatchGetChangesResponse, error) {
	if err := h.fail("changes"); err != nil {
		return nil, err
	}
	answer, room := &pb.BatchGetChangesResponse{}, h.room
	for _, u := range req.GetUsers() {
		user := u.GetUserId()
		if err := h.fail(user); err != nil {
			answer.Results = append(answer.Results, &pb.UserChanges{UserId: user,
				Error: status.Convert(err).Proto()})
			continue
		}
		life, known, _ := strings.Cut(string(u.GetSessionToken()), "/")
		n, _ := strconv.Atoi(known)
		c := &pb.UserChanges{UserId: user,
			Replaced: n > 0 && (life != fmt.Sprint(h.life[user]) || h.events[user] == 0)}
		if c.GetReplaced() {
			n = 0
		}
		for n < h.events[user] && room > 0 {
			n, room = n+1, room-1
			c.Events = append(c.Events, &pb.UserEvent{Revision: uint64(n), Event: &pb.Event{
				EventId: fmt.Sprint(h.life[user], "-", n)}})
		}
		c.SessionToken, c.More = h.token(user, n), n < h.events[user]
		answer.Results = append(answer.Results, c)
	}
	return answer, nil
}

// change adds events to a user, or erases one.
func (h *histories) change(r *rand.Rand) {
	user := fmt.Sprint("u", r.IntN(6))
	if r.IntN(3) > 0 {
		h.events[user] += r.IntN(4)
		if h.events[user] == 0 {
			delete(h.events, user)
		}
		return
	}
	delete(h.events, user)
	h.life[user]++
}

// copied is what a reader makes of lines: the ids of events by user.
type copied map[string][]string

func (c copied) add(t *testing.T, line []byte) {
	t.Helper()
	var l changeLine
	check.Must(t, json.Unmarshal(line, &l))
	known, at := c[l.User], int(l.Revision)-1
	switch {
	case l.Erased:
		delete(c, l.User)
	case at == len(known):
		c[l.User] = append(known, l.ID)
	case at > len(known) || known[at] != l.ID:
		t.Errorf("after %v of %s comes %s", known, l.User, line)
	}
}

// Calls, rows and flushes fail at random, and some runs lose what a kill would lose. In the end a
// reader has what the server has.
func TestFollow(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		unlucky := 0.2
		h := &histories{life: map[string]int{}, events: map[string]int{}, room: 1 + random.IntN(9)}
		h.fail = func(what string) error {
			switch {
			case random.Float64() >= unlucky:
				return nil
			case what == "list" && random.IntN(2) == 0:
				return status.Error(codes.DataLoss, "damaged")
			case what == "list" || what == "changes":
				return status.Error(codes.Unavailable, "away")
			}
			return status.Error(codes.DataLoss, "damaged")
		}
		address, _ := nettest.Serve(t, func(g *grpc.Server) { pb.RegisterUserServiceServer(g, h) })
		c, got, errKilled := dialTo(t, address), copied{}, errors.New("killed")
		var taken [][]byte
		arrive := func(n int) { // the first n lines that were taken do, the rest is lost
			for _, line := range taken[:n] {
				got.add(t, line)
			}
			taken = nil
		}
		opt := FollowOptions{Cursor: filepath.Join(t.TempDir(), "cursor"),
			Row: func(_ string, line []byte) error {
				taken = append(taken, line)
				if random.Float64() < unlucky/8 {
					return errKilled
				}
				return nil
			},
			Flush: func(context.Context) error {
				if random.Float64() < unlucky {
					return errKilled
				}
				arrive(len(taken))
				return nil
			}}
		changes := func() {
			for range random.IntN(5) {
				h.change(random)
			}
		}
		for range 8 {
			ctx, cancel := context.WithCancel(t.Context())
			passed := func() {
				if changes(); random.IntN(4) == 0 {
					cancel()
				}
			}
			opt.Every, opt.Passed = 1, func(Pass) { passed() }
			opt.Troubled = func(error) { passed() }
			changes()
			if err := c.Follow(ctx, opt); err != errKilled && err != context.Canceled {
				t.Fatalf("seed %d: %v", seed, err)
			}
			arrive(random.IntN(len(taken) + 1))
			cancel()
		}
		unlucky, opt.Every, opt.Passed = 0, 0, nil
		check.Must(t, c.Follow(t.Context(), opt))
		want := copied{}
		for user, n := range h.events {
			for i := range n {
				want[user] = append(want[user], fmt.Sprint(h.life[user], "-", i+1))
			}
		}
		check.Same(t, want, got, "seed %d: the events", seed)
	}
}

// What may pass is told and tried again, and damage is counted, until the context ends.
func TestFollowGoesOn(t *testing.T) {
	t.Parallel()
	errs := []error{status.Error(codes.Unavailable, "away"), status.Error(codes.ResourceExhausted,
		"full"), status.Error(codes.DataLoss, "damaged")}
	h := &histories{life: map[string]int{}, events: map[string]int{"ann": 1, "bob": 2}, room: 9}
	h.fail = func(what string) (err error) {
		if what == "list" && len(errs) > 0 {
			err, errs = errs[0], errs[1:]
		}
		return err
	}
	address, _ := nettest.Serve(t, func(g *grpc.Server) { pb.RegisterUserServiceServer(g, h) })
	ctx, cancel := context.WithCancel(t.Context())
	var troubles, damaged, events int
	err := dialTo(t, address).Follow(ctx, FollowOptions{Every: 1,
		Row:      func(string, []byte) error { return nil },
		Flush:    func(context.Context) error { return nil },
		Troubled: func(error) { troubles++ },
		Passed: func(p Pass) {
			damaged, events = damaged+p.Damaged, events+p.Events
			if p.Damaged == 0 {
				cancel()
			}
		}})
	if !errors.Is(err, context.Canceled) || troubles != 2 || damaged != 1 || events != 3 {
		t.Errorf("error %v after %d troubles, %d damaged, %d events", err, troubles, damaged, events)
	}
}

// A cursor that cannot be kept, or is none, is refused before anything is given.
func TestFollowRefusesCursors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		check.Must(t, os.WriteFile(path, content, 0o600))
		return path
	}
	whole := check.Get(openCursor(filepath.Join(dir, "whole")))(t)
	whole.known = map[string]place{"ann": {token: "t"}, "bob": {token: "u"}}
	check.Must(t, whole.write())
	content := check.Get(os.ReadFile(whole.path))(t)
	for n := range content {
		if _, err := openCursor(file("cut", content[:n])); !errors.Is(err, errDamaged) {
			t.Errorf("%d of %d bytes as a cursor: %v", n, len(content), err)
		}
		flipped := slices.Clone(content)
		flipped[n] ^= 1 << (n % 8)
		if _, err := openCursor(file("flipped", flipped)); !errors.Is(err, errDamaged) {
			t.Errorf("a cursor with another byte %d: %v", n, err)
		}
	}
	for path, want := range map[string]string{
		dir:                                "a folder, device or pipe",
		os.DevNull:                         "a folder, device or pipe",
		file("other", []byte("no cursor")): "damaged, or no file of this program",
		filepath.Join(dir, "a/b"):          "no such file or directory",
		filepath.Join(dir, "other/b"):      "not a directory",
		whole.path:                         "another program writes it too",
	} {
		err := dialTo(t, nettest.Free(t)).Follow(t.Context(), FollowOptions{Cursor: path})
		bad := new(fault.Fault)
		if !errors.As(err, &bad) || bad.Field != "Cursor" || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want a fault of Cursor: %s", path, err, want)
		}
	}
}

// The lock of a cursor goes with each file that takes its place, and a link to it stays.
func TestCursorIsLocked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, link := filepath.Join(dir, "cursor"), filepath.Join(dir, "link")
	left, before := filepath.Join(dir, ".cursor.1.tmp"), filepath.Join(dir, "before")
	check.Must(t, os.WriteFile(left, nil, 0o600)) // of a kill
	first := check.Get(openCursor(path))(t)
	if _, err := os.Stat(left); err == nil {
		t.Error("the temporary file of a kill stays")
	}
	check.Must(t, os.Link(path, before))
	first.known["ann"] = place{token: "t"}
	check.Must(t, first.write())
	check.Must(t, check.Get(lock.Take(before))(t).Close())
	check.Must(t, os.Symlink(path, link))
	check.Fails(t, check.Err(openCursor(link)), errShared, "a second program")
	check.Must(t, first.lock.Close())
	second := check.Get(openCursor(link))(t)
	check.Same(t, "t", second.known["ann"].token, "by a link the token")
	check.Same(t, path, check.Get(os.Readlink(link))(t), "the link")
	check.Must(t, os.Rename(path, before)) // and another program makes it again
	check.Fails(t, check.Err(openCursor(link)), errNowhere, "a link without a file")
	check.Must(t, os.WriteFile(path, nil, 0o600))
	check.Fails(t, second.write(), errShared, "after another program")
}

// While one program writes its cursor, no other one takes it.
func TestCursorIsTakenOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "cursor")
	first := check.Get(openCursor(path))(t)
	stop := make(chan struct{})
	var others sync.WaitGroup
	for range 4 {
		others.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					check.Fails(t, check.Err(openCursor(path)), errShared, "a second program")
				}
			}
		})
	}
	for range 50 {
		check.Pass(t, first.write(), "the first program")
	}
	close(stop)
	others.Wait()
}

// A user whom a list had that broke off, and whose lines came just before a kill, is erased for the
// reader as well.
func TestFollowAfterBrokenList(t *testing.T) {
	t.Parallel()
	h := &histories{life: map[string]int{}, events: map[string]int{"ann": 1}, room: 9}
	broken := status.Error(codes.Unavailable, "away")
	h.fail = func(what string) (err error) {
		if what == "list" {
			err, broken = broken, nil
		}
		return err
	}
	address, _ := nettest.Serve(t, func(g *grpc.Server) { pb.RegisterUserServiceServer(g, h) })
	c, got, errKilled := dialTo(t, address), copied{}, errors.New("killed")
	opt := FollowOptions{Cursor: filepath.Join(t.TempDir(), "cursor"), Every: 1,
		Row:   func(_ string, line []byte) error { got.add(t, line); return nil },
		Flush: func(context.Context) error { return errKilled }}
	if err := c.Follow(t.Context(), opt); err != errKilled {
		t.Fatalf("the first run ends with %v", err)
	}
	check.Same(t, copied{"ann": {"0-1"}}, got, "before the kill")
	clear(h.events)
	opt.Every, opt.Flush = 0, func(context.Context) error { return nil }
	check.Must(t, c.Follow(t.Context(), opt))
	check.Same(t, copied{}, got, "afterwards")
}

// A call for changes that has no answer names its own time limit, not that of other calls.
func TestFollowNamesItsTimeLimit(t *testing.T) {
	f := &follower{cursor: &cursor{}}
	err := f.blame(&Error{Reason: NoAnswer, Address: "there:1", Timeout: 5})
	check.Says(t, err, "no answer from there:1 within 1m0s", "a call for changes")
}
