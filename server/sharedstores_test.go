package server

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/enginetest"
	"github.com/gsimc/gsimc/internal/test/soak"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/memory"
	"github.com/gsimc/gsimc/store/postgres"
	"github.com/gsimc/gsimc/store/valkey"
)

func TestMain(m *testing.M) { enginetest.Main(m) }

// sharedStores are the kinds of stores that several servers share. Each makes an empty store, and
// returns what opens it for one more server.
var sharedStores = map[string]func(t *testing.T) (open func() store.Shared){
	"memory": func(t *testing.T) func() store.Shared {
		st := memory.New()
		closeAtEnd(t, st)
		return func() store.Shared { return st }
	},
	"valkey": func(t *testing.T) func() store.Shared {
		soak.Native(t) // under the race detector the others do
		o := valkey.Options{Addrs: enginetest.SharedRedis(t, 3, 1).Addrs(),
			Namespace: enginetest.Namespace()}
		return func() store.Shared {
			st := openValkey(t, o)
			closeAtEnd(t, st)
			return st
		}
	},
	"postgres": func(t *testing.T) func() store.Shared {
		soak.Native(t)
		url := enginetest.SharedPostgres(t, true).URL("postgres") + "&pool_max_conns=4&schema=" +
			enginetest.Namespace() // each connection takes a while to open
		return func() store.Shared {
			st := check.Get(postgres.Open(t.Context(), url))(t)
			closeAtEnd(t, st)
			return st
		}
	},
}

func openValkey(t *testing.T, o valkey.Options) *valkey.Store {
	t.Helper()
	return check.Get(valkey.Open(t.Context(), o))(t)
}

// closeAtEnd closes a store after the servers that are started from now on.
func closeAtEnd(t *testing.T, st store.Store) {
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A severedStore is a store for one server, which can be cut off from it as if the process had been
// killed: from then on it gets no lease and writes no notes.
type severedStore struct {
	store.Shared

	severed  atomic.Bool
	searches atomic.Int64 // calls of Each
	// putNote is called before each note is written.
	putNote func(ctx context.Context, topic, name string)
}

func (s *severedStore) check() error {
	if s.severed.Load() {
		return fmt.Errorf("%w: severed", store.ErrUnavailable)
	}
	return nil
}

func (s *severedStore) Each(
	ctx context.Context, shard, of int, fn func(string, store.Version) error,
) error {
	s.searches.Add(1)
	return errors.Join(s.check(), s.Shared.Each(ctx, shard, of, fn))
}

func (s *severedStore) Lease(
	ctx context.Context, name, holder string, ttl time.Duration,
) (uint64, bool, error) {
	if err := s.check(); err != nil {
		return 0, false, err
	}
	return s.Shared.Lease(ctx, name, holder, ttl)
}

func (s *severedStore) Release(ctx context.Context, name, holder string) error {
	if err := s.check(); err != nil {
		return err
	}
	return s.Shared.Release(ctx, name, holder)
}

func (s *severedStore) PutNote(
	ctx context.Context, topic, name string, value []byte, fence store.Fence,
) error {
	if s.putNote != nil {
		s.putNote(ctx, topic, name)
	}
	if err := s.check(); err != nil {
		return err
	}
	return s.Shared.PutNote(ctx, topic, name, value, fence)
}

func (s *severedStore) DeleteNotes(
	ctx context.Context, topic string, names []string, fence store.Fence,
) error {
	if err := s.check(); err != nil {
		return err
	}
	return s.Shared.DeleteNotes(ctx, topic, names, fence)
}

// startTogether starts servers over one store of a kind, which extend their model all the time.
func startTogether(t *testing.T, su setup, open func() store.Shared, servers int) []*testServer {
	t.Helper()
	var all []*testServer
	for range servers {
		su := su
		if su.store == nil {
			su.store = open()
		}
		if su.config == nil {
			su.config = func(c *Config) { c.ExtendEvery = 20 * time.Millisecond }
		}
		all = append(all, start(t, su))
	}
	return all
}

// overSharedStores runs a test over each kind of store, at the same time.
func overSharedStores(t *testing.T, run func(t *testing.T, open func() store.Shared)) {
	for name, make := range sharedStores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, make(t))
		})
	}
}

// version is what GetStatus and answers call the model of the server: with its extension.
func (ts *testServer) version(t testing.TB) string {
	t.Helper()
	status := reply(t, ts.admin.GetStatus, &pb.GetStatusRequest{})
	return status.GetModel().GetModelVersion()
}

// awaitAlike waits until the models of all servers meet the condition and have one version.
func awaitAlike(t testing.TB, servers []*testServer, id string, known bool) time.Duration {
	t.Helper()
	return eventually(t, fmt.Sprintf("all servers agree whether they know %s: %v", id, known),
		func() bool {
			versions := map[string]bool{}
			for _, s := range servers {
				l := s.arms.Main().Models.Acquire()
				_, knows := l.ItemIndex(id)
				versions[l.Version()] = true
				l.Release()
				if knows != known {
					return false
				}
			}
			return len(versions) == 1
		})
}

// notesOf are all notes of new items, by topic and name.
func notesOf(t testing.TB, st store.Shared, base string) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for _, topic := range []string{"bases", "notices." + base, "samples." + base,
		"documents." + base} {
		topic = "gsimc.extension." + topic
		names := check.Get(st.NoteNames(t.Context(), topic))(t)
		for _, name := range names {
			note, found, err := st.Note(t.Context(), topic, name)
			must(t, err)
			if found {
				all[topic+" "+name] = note
			}
		}
	}
	return all
}

// takeNew lets a user take an item by a server.
func (ts *testServer) takeNew(t testing.TB, user, item string) {
	t.Helper()
	ts.observe(t, &pb.Event{UserId: user, ItemId: item})
}
