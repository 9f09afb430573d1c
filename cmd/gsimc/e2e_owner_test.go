package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/enginetest"
	"github.com/gsimc/gsimc/internal/test/nettest"
	"github.com/gsimc/gsimc/internal/test/soak"
	"github.com/gsimc/gsimc/model"
)

// Of three servers that watch a folder of models the one that places new items is killed in the
// middle of an extension, over and over, while events on newer and newer items come in. Another one
// becomes the owner, all come to serve one extension that has every new item with enough users, and
// the store has every event that was acknowledged.
func TestOwnerIsKilled(t *testing.T) {
	t.Parallel()
	binary(t)
	program := binaryWith(t, extensionPoints)
	for name, engine := range map[string]struct {
		store    func() string
		promises int
	}{
		"valkey":   {func() string { return sharedStore(t) }, 1},
		"postgres": {func() string { return postgresURL(t, enginetest.Namespace()) }, 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := &owners{t: t, program: program, store: engine.store(), models: t.TempDir(),
				files: t.TempDir()}
			_, file := smallModel(t)
			replace(t, filepath.Join(o.models, "model.gsimc"), mustRead(t, file))
			for i := range 3 {
				o.servers = append(o.servers, o.start(i, nettest.Loopback(t)))
			}
			o.servers[0].awaitLog(t, "promise of the store", engine.promises)
			points, kills := rand.Perm(len(extensionPoints)), 0
			if !soak.Long() {
				points = points[:1]
			}
			for range soak.Times(1) {
				for _, at := range points {
					o.kill(extensionPoints[at].name)
					kills++
				}
			}
			soak.Injected(t, kills, "kills in the middle of an extension")
		})
	}
}

// owners are servers of which one places the new items.
type owners struct {
	t                             *testing.T
	program, store, models, files string
	servers                       []*serverProcess
}

// start starts a server, which kills itself where its file says.
func (o *owners) start(i int, address string) *serverProcess {
	return startOf(o.t, o.program, []string{"GSIMC_FAILPOINT_FILE=" + o.file(i)},
		sharedArgs(o.store, "--model-dir", o.models, "--extend-every", "100ms",
			"--listen", address)...)
}

func (o *owners) file(i int) string { return filepath.Join(o.files, fmt.Sprint(i)) }

// owner waits until a server, but the one that is gone, is the owner.
func (o *owners) owner(gone int) (i int) {
	o.t.Helper()
	await(o.t, "a server places the new items", func() bool {
		for i = range o.servers {
			if i != gone && strings.Contains(o.servers[i].metricsPage(o.t),
				"\ngsimc_extension_owner 1\n") {
				return true
			}
		}
		return false
	})
	return i
}

// unposted is longer than a server keeps for itself what it has noticed: a killed one takes that
// along.
const unposted = time.Second

// taking is an acknowledged event on a new item.
type taking struct {
	user       int
	item, from string
	at         time.Time
}

// kill lets the owner come to a point, and checks what is left.
func (o *owners) kill(point string) {
	t := o.t
	l := newRingLoad(t, o.servers)
	var takings []taking
	l.rest = 20 * time.Millisecond // the owner reads the histories of all who come
	l.item = func(rng *rand.Rand) string {
		if rng.IntN(2) == 0 {
			return fmt.Sprint(rng.IntN(smallItems))
		}
		return fmt.Sprint(l.name, "-", int(l.calls.Load())/50+rng.IntN(20))
	}
	l.took = func(user int, item, from string) {
		if strings.HasPrefix(item, l.name) {
			takings = append(takings, taking{user, item, from, time.Now()})
		}
	}
	stop := l.start()
	l.warm()
	gone := o.owner(-1)
	write(t, o.file(gone), point)
	select {
	case <-o.servers[gone].Exited():
	case <-time.After(5 * time.Minute): // it writes tens of notes one after the other
		t.Fatalf("the owner does not come to %s", point)
	}
	killed := time.Now()
	o.owner(gone)
	another := time.Since(killed)
	l.await(500)
	stop()
	address := o.servers[gone].GRPC
	check.Must(t, os.Remove(o.file(gone)))
	o.servers[gone] = o.start(gone, address)
	users := map[string]map[int]bool{}
	for _, k := range takings {
		if k.from == address && k.at.After(killed.Add(-unposted)) {
			continue
		}
		if users[k.item] == nil {
			users[k.item] = map[int]bool{}
		}
		users[k.item][k.user] = true
	}
	var items []string
	for item, by := range users {
		if len(by) >= model.MinNewUsers {
			items = append(items, item)
		}
	}
	began := time.Now()
	if problem := ""; !eventually(func() bool {
		problem = o.differ(items)
		return problem == ""
	}) {
		t.Errorf("after a kill at %s: %s", point, problem)
	}
	t.Logf("killed at %s: another owner after %v; all servers have all %d new items %v after the "+
		"last event", point, another.Round(10*time.Millisecond), len(items),
		time.Since(began).Round(10*time.Millisecond))
	l.checkKept(o.servers[gone])
}

// differ says in what the servers differ from each other, and from a model with these items.
func (o *owners) differ(items []string) string {
	version := ""
	for _, s := range o.servers {
		list, err := pb.NewRecommenderServiceClient(s.client(o.t)).Recommend(o.t.Context(),
			&pb.RecommendRequest{PageSize: 1,
				Subject: &pb.RecommendRequest_UserId{UserId: "nobody"},
				Filter:  &pb.ItemFilter{AllowItemIds: items}})
		switch {
		case err != nil:
			return err.Error()
		case len(list.GetUnknownItemIds()) > 0:
			return fmt.Sprintf("%d of %d new items are not served: %v",
				len(list.GetUnknownItemIds()), len(items), list.GetUnknownItemIds())
		case version != "" && list.GetModelVersion() != version:
			return fmt.Sprintf("versions %s and %s", version, list.GetModelVersion())
		}
		version = list.GetModelVersion()
	}
	return ""
}
