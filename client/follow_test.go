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
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/fault"
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

// Whatever fails in whichever pass, of runs that end like those that are killed too, a reader has
// in the end what the server has.
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
	damaged := filepath.Join(dir, "damaged")
	check.Must(t, os.WriteFile(damaged, []byte("no cursor"), 0o600))
	check.Must(t, (&cursor{path: filepath.Join(dir, "whole"), known: map[string]place{
		"ann": {token: "t"}, "bob": {token: "u"}}}).write())
	whole := check.Get(os.ReadFile(filepath.Join(dir, "whole")))(t)
	for _, n := range []int{0, 1, len(whole) / 2, len(whole) - 4, len(whole) - 1} {
		path := filepath.Join(dir, fmt.Sprint(n))
		check.Must(t, os.WriteFile(path, whole[:n], 0o600))
		if _, err := openCursor(path); err == nil {
			t.Errorf("%d of %d bytes are a cursor", n, len(whole))
		}
	}
	for path, want := range map[string]string{
		dir:                       "is a directory",
		damaged:                   "is damaged, or no file of this program",
		filepath.Join(dir, "a/b"): "no such file or directory",
	} {
		err := dialTo(t, nettest.Free(t)).Follow(t.Context(), FollowOptions{Cursor: path})
		bad := new(fault.Fault)
		if !errors.As(err, &bad) || bad.Field != "Cursor" || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want a fault of Cursor: %s", path, err, want)
		}
	}
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
