// Package stores opens the store that --store names:
//
//	pebble                                   on disk, in a folder of this server
//	memory                                   in this process, lost at its end
//	valkey://HOST:PORT,…/NAMESPACE?…         in a Redis or Valkey cluster, shared by servers
//	postgres://USER@HOST,…/DATABASE?…        in PostgreSQL, shared by servers
//
// A new back end is an entry of kinds, with a file of its own here.
package stores

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/memory"
)

// Flag is the name of the flag of a server.
const Flag = "--store"

// idFlag is that of Settings.ID.
const idFlag = "--store-id"

// PasswordVariable is the environment variable with the password of a shared store.
const PasswordVariable = cli.EnvPrefix + "STORE_PASSWORD"

// Settings say how to open a store.
type Settings struct {
	// Local are the settings of a store on disk.
	Local Local
	// Env is the environment, NAME=VALUE.
	Env []string
	Log *slog.Logger
	// ID is the name of the identity that the store must have; empty: any.
	ID string
	// Flag is the name of the flag, for errors.
	Flag string
}

// Local are the settings of a store on disk.
type Local struct {
	Dir                      string
	AcceptLoss               bool
	CacheBytes, ReserveBytes int64
	// OpenTables is the number of its files that may be open.
	OpenTables int
	// Synced is told how long each write to the disk took; it may be nil.
	Synced func(took time.Duration)
}

// kind is a back end.
type kind struct {
	name string
	// shared is set if several servers may use one store at the same time.
	shared bool
	// check checks the text of the flag; open opens what it says.
	check func(text string) error
	open  func(ctx context.Context, text string, s *Settings) (store.Store, error)
}

// kinds are all back ends. The text of the flag is the name of one, or begins with it and "://".
var kinds = []kind{
	{name: "pebble", check: plain, open: openPebble},
	{name: "memory", check: plain, open: openMemory},
	{name: "valkey", shared: true, check: checkValkey, open: openValkey},
	{name: "postgres", shared: true, check: checkPostgres, open: openPostgres},
}

// kindOf returns the back end that a text names.
func kindOf(text string) (*kind, error) {
	name, _, _ := strings.Cut(text, "://")
	at := slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })
	if at < 0 {
		return nil, fmt.Errorf("%q, want pebble, memory, valkey://HOST:PORT/NAMESPACE or "+
			"postgres://USER@HOST/DATABASE", cli.HideSecrets(name))
	}
	return &kinds[at], nil
}

func plain(text string) error {
	if strings.Contains(text, "://") {
		name, _, _ := strings.Cut(text, "://")
		return fmt.Errorf("%s:// and more, want %[1]s alone", name) // it may have a password
	}
	return nil
}

// Check checks the text of a flag, without looking at files or servers.
func Check(flag, text string) error {
	k, err := kindOf(text)
	if err != nil {
		return cli.Flag(flag, err)
	}
	return cli.Flag(flag, k.check(text))
}

// OnDisk reports whether the text names a store in a folder of this server.
func OnDisk(text string) bool { return text == "pebble" }

// Shared reports whether the text names a store that several servers may use at the same time.
func Shared(text string) bool {
	k, err := kindOf(text)
	return err == nil && k.shared
}

// ErrEnded is the error of Open that a signal has ended: there is nothing to close.
var ErrEnded = errors.New("ended by a signal before the store was open")

// Open opens the store that a text names, which Check has accepted, and says in the log what a
// shared store promises. ErrEnded: ctx has ended.
func Open(ctx context.Context, text string, s Settings) (store.Store, error) {
	k, err := kindOf(text)
	if err != nil {
		return nil, cli.Flag(s.Flag, err)
	}
	st, err := k.open(ctx, text, &s)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, ErrEnded
	case err != nil && k.shared:
		return nil, cli.Flag(s.Flag, err)
	case err != nil:
		return nil, err
	}
	if is := st.Identity().Name(); s.ID != "" && s.ID != is {
		return nil, errors.Join(cli.Flagf(idFlag, "%s is wanted and the store is %s: see that the "+
			"right volume is mounted, or the right server named", s.ID, is), st.Close())
	}
	if shared, ok := st.(store.Shared); ok && k.shared {
		for _, p := range shared.Promises() {
			s.Log.Info("promise of the store", slog.String("promise", p.Name),
				slog.String("kept", p.Kept))
		}
	}
	return st, nil
}

func openMemory(_ context.Context, _ string, s *Settings) (store.Store, error) {
	s.Log.Warn("histories are kept in memory and lost at exit")
	return memory.New(), nil
}
