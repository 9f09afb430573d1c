package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/child"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/proctest"
	"github.com/gsimc/gsimc/internal/test/soak"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble"
)

// A failpoint is a place in the code at which the server ends, panics or sleeps, while clients
// write, erase, read, reload the model and make checkpoints. The code has no trace of them: the
// compiler gets copies of the files, with a call before the text that marks the place.
type failpoint struct {
	name   string
	file   string
	before string // a text that is once in the file, from the beginning of a statement
}

const failpointPackage = "github.com/gsimc/gsimc/internal/failpoint"

// overlay writes copies of the files with all failpoints into dir, and returns the path of the JSON
// that makes the compiler take them.
func overlay(t *testing.T, dir string, points []failpoint) string {
	t.Helper()
	root := check.Get(filepath.Abs("../.."))(t)
	replace := map[string]string{}
	source := check.Get(filepath.Abs("testdata/failpoint/failpoint.go"))(t)
	replace[filepath.Join(root, "internal/failpoint/failpoint.go")] = source
	codes := map[string]string{}
	edit := func(file, was, is string) {
		code, ok := codes[file]
		if !ok {
			code = mustRead(t, filepath.Join(root, file))
		}
		if n := strings.Count(code, was); n != 1 {
			t.Fatalf("%s has the text %q %d times, want once: the code has changed, and "+
				"the list of failpoints must follow", file, was, n)
		}
		codes[file] = strings.Replace(code, was, is, 1)
	}
	for _, h := range hurried {
		edit(h.file, h.was, h.is)
	}
	imported := map[string]bool{}
	for _, p := range points {
		if !imported[p.file] {
			imported[p.file] = true
			edit(p.file, "\nimport (\n", "\nimport (\n\""+failpointPackage+"\"\n")
		}
		edit(p.file, p.before, fmt.Sprintf("failpoint.Hit(%q); %s", p.name, p.before))
	}
	for file, code := range codes {
		copied := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		write(t, copied, code)
		replace[filepath.Join(root, file)] = copied
	}
	text := check.Get(json.Marshal(map[string]any{"Replace": replace}))(t)
	path := filepath.Join(dir, "overlay.json")
	write(t, path, string(text))
	return path
}

// binaryWith builds gsimc with the failpoints.
func binaryWith(t *testing.T, points []failpoint) string {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "gsimc")
	check.Must(t, build(path, "-overlay", overlay(t, dir, points)))
	return path
}

// pointClient has a user of its own, so that it knows the history: that of all calls that were
// answered, and perhaps the last one.
type pointClient struct {
	user    string
	next    int
	ids     []string
	open    func([]string) []string // what the last call does, if its outcome is open
	erasing bool
}

// run calls the server until a call fails or ctx ends.
func (c *pointClient) run(ctx context.Context, conn grpc.ClientConnInterface) error {
	for ctx.Err() == nil {
		id := fmt.Sprint(c.user, "-", c.next)
		c.next++
		c.open = func(ids []string) []string { return append(slices.Clone(ids), id) }
		erase := c.erasing && c.next%25 == 0
		retract := c.erasing && c.next%25 == 12 && len(c.ids) > 0
		within, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		var err error
		switch {
		case erase:
			c.open = func([]string) []string { return nil }
			_, err = pb.NewUserServiceClient(conn).DeleteUser(within,
				&pb.DeleteUserRequest{UserId: c.user, AllowMissing: true})
		case retract:
			c.open = func(ids []string) []string { return ids[1:] }
			err = c.retract(within, conn)
		default:
			err = c.call(within, conn, id)
		}
		cancel()
		if err != nil {
			return err
		}
		c.ids, c.open = c.open(c.ids), nil
	}
	return nil
}

// retract takes the first event back.
func (c *pointClient) retract(ctx context.Context, conn grpc.ClientConnInterface) error {
	r, err := pb.NewUserServiceClient(conn).RetractEvents(ctx,
		&pb.RetractEventsRequest{UserId: c.user, EventIds: c.ids[:1]})
	if err == nil && r.GetUserRevision() != uint64(len(c.ids)-1) {
		err = fmt.Errorf("revision %d after a retraction from %d", r.GetUserRevision(), len(c.ids))
	}
	return err
}

func (c *pointClient) call(
	ctx context.Context, conn grpc.ClientConnInterface, id string,
) error {
	_, err := pb.NewEventServiceClient(conn).Observe(ctx, &pb.ObserveRequest{Event: &pb.Event{
		UserId: c.user, EventId: id, ItemId: "i" + strconv.Itoa(c.next%40)}})
	if err != nil {
		return err
	}
	r, err := pb.NewRecommenderServiceClient(conn).Recommend(ctx, &pb.RecommendRequest{
		Subject: &pb.RecommendRequest_UserId{UserId: c.user}, PageSize: 5})
	if err == nil && r.GetUserRevision() != uint64(len(c.ids)+1) {
		err = fmt.Errorf("revision %d is shown after %d events", r.GetUserRevision(), len(c.ids)+1)
	}
	return err
}

// check compares the store with what the client knows, and settles the open outcome.
func (c *pointClient) check(ctx context.Context, st store.Store) error {
	var stored []string
	_, _, err := st.Since(ctx, c.user, store.Version{}, func(_ store.Version, e store.Event) error {
		stored = append(stored, e.ID)
		return nil
	})
	if err != nil {
		return err
	}
	switch {
	case slices.Equal(stored, c.ids):
	case c.open != nil && slices.Equal(stored, c.open(c.ids)):
	default:
		return fmt.Errorf("%s: what is stored is not what was answered:\n%s", c.user,
			cmp.Diff(c.ids, stored))
	}
	c.ids, c.open = stored, nil
	return nil
}

// pointRun is a store that outlives its servers, with their clients.
type pointRun struct {
	binary, model, dir string
	clients            []*pointClient
}

// serve runs a server with the environment through the scenario and returns its log. It may end at
// any time. An error of a client counts if the server must live.
func (r *pointRun) serve(t *testing.T, failpoint string, mustLive bool) string {
	t.Helper()
	log := &proctest.Output{}
	server, err := child.Start(t.Context(), r.binary, serveFlags("--model", r.model, "--data-dir",
		r.dir, "--drain-delay", "0s"), append(os.Environ(), "GSIMC_FAILPOINT="+failpoint), log)
	if err != nil {
		if mustLive {
			t.Errorf("failpoint %s: %v\n%s", failpoint, err, log)
		}
		return log.String() // it ended at its opening
	}
	fail := func(err error) {
		if mustLive && err != nil {
			t.Errorf("failpoint %s: %v", failpoint, err)
		}
	}
	conn, admin := dialRaw(t, server.GRPC), dialRaw(t, server.Admin)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for _, c := range r.clients {
		wg.Go(func() { fail(c.run(ctx, conn)) })
	}
	fail(r.administer(ctx, admin))
	cancel()
	wg.Wait()
	if err := server.Stop(); mustLive {
		fail(err)
	} else if err := server.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Error(err)
	}
	return log.String()
}

func dialRaw(t *testing.T, address string) *grpc.ClientConn {
	t.Helper()
	conn := check.Get(grpc.NewClient(address, grpc.WithDisableRetry(),
		grpc.WithTransportCredentials(insecure.NewCredentials())))(t)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// administer reloads the model and makes a checkpoint while the clients are at work.
func (r *pointRun) administer(ctx context.Context, conn grpc.ClientConnInterface) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	service := pb.NewAdminServiceClient(conn)
	time.Sleep(30 * time.Millisecond)
	if _, err := service.ReloadModel(ctx, &pb.ReloadModelRequest{}); err != nil {
		return fmt.Errorf("ReloadModel: %w", err)
	}
	lease, end := context.WithCancel(ctx) // the checkpoint is there as long as the call
	defer end()
	checkpoint, err := service.CreateCheckpoint(lease, &pb.CreateCheckpointRequest{})
	if err == nil {
		_, err = checkpoint.Recv()
	}
	if err != nil {
		return fmt.Errorf("CreateCheckpoint: %w", err)
	}
	end()
	time.Sleep(100 * time.Millisecond) // for the sorter and for what compacts
	return nil
}

// check opens the store as it was left and compares it with what the clients know.
func (r *pointRun) check(t *testing.T, what string) {
	t.Helper()
	st, err := pebble.Open(t.Context(), r.dir, pebble.Options{})
	if err != nil {
		t.Fatalf("failpoint %s: the store does not open: %v", what, err)
	}
	for _, c := range r.clients {
		check.Pass(t, c.check(t.Context(), st), "failpoint %s", what)
	}
	check.Pass(t, st.Close(), "failpoint %s", what)
	check.Must(t, os.RemoveAll(filepath.Join(r.dir, "checkpoints")))
}

// TestFailpoints lets the server end, panic or sleep at each of the failpoints. After an end the
// store must open and hold every answered call, and at most the one under way; a pause must be
// noticed by nobody.
func TestFailpoints(t *testing.T) {
	t.Parallel()
	binary(t)
	_, model := smallModel(t)
	r := &pointRun{binary: binaryWith(t, failpoints), model: model,
		dir: filepath.Join(t.TempDir(), "state")}
	for i := range 4 {
		r.clients = append(r.clients, &pointClient{user: fmt.Sprint("user", i), erasing: i%2 == 0})
	}
	counts := map[string]int{}
	line := regexp.MustCompile(`failpoint (\S+) (\d+)`)
	// An opening of an empty store, one of a store with events, and until all points have been
	// passed: some are of work in the background.
	for round := 0; round < 2 || len(counts) < len(failpoints) && round < 30; round++ {
		for _, m := range line.FindAllStringSubmatch(r.serve(t, "", true), -1) {
			n, _ := strconv.Atoi(m[2])
			counts[m[1]] = max(counts[m[1]], n)
		}
		r.check(t, "none")
	}
	rng := rand.New(rand.NewPCG(25, 3))
	reached := 0
	for i, p := range failpoints {
		if counts[p.name] == 0 {
			t.Errorf("the scenario does not reach the failpoint %s in %s", p.name, p.file)
			continue
		}
		actions := []string{"exit", "panic", "sleep"}
		if !soak.Long() {
			actions = actions[i%3 : i%3+1]
		}
		for _, action := range actions {
			what := fmt.Sprintf("%s %s %d", p.name, action, 1+rng.IntN((counts[p.name]+1)/2))
			if line.MatchString(r.serve(t, what, action == "sleep")) {
				reached++
			}
			r.check(t, what)
		}
	}
	if reached < len(failpoints)/2 {
		t.Errorf("only %d of %d failpoints were reached when their turn came", reached,
			len(failpoints))
	}
	soak.Injected(t, reached, "ends, panics and pauses in the code")
}
