// Package tenure keeps one of several servers the holder of a lease of the store that they share,
// for as long as it lives and reaches the store. [store.Shared] says what a lease promises.
package tenure

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/gsimc/gsimc/store"
)

// How long a holder has its lease, and how often it is prolonged.
const (
	leaseTTL   = 4 * time.Second
	leaseEvery = time.Second
)

// A Keeper asks for a lease until it has it, and prolongs it while its holder works. It is safe for
// concurrent use, but for Want.
type Keeper struct {
	store  store.Shared
	holder string
	log    *slog.Logger
	wanted chan string // the newest name that is wanted; empty: none

	mu    sync.Mutex
	name  string // of the lease that is asked for
	term  uint64
	until time.Time // the lease was prolonged up to here; zero: another one has it
}

// New returns a keeper that asks for nothing yet. holder is a name that no other keeper has.
func New(st store.Shared, holder string, log *slog.Logger) *Keeper {
	return &Keeper{store: st, holder: holder, log: log, wanted: make(chan string, 1)}
}

// Holder is the name by which the keeper holds leases.
func (k *Keeper) Holder() string { return k.holder }

// Want asks for the lease of a name from now on, and gives back that of another one. An empty name
// asks for none. One goroutine calls it.
func (k *Keeper) Want(name string) {
	select {
	case <-k.wanted:
	default:
	}
	k.wanted <- name
}

// Held returns the term of the lease of a name, and whether it is held now.
func (k *Keeper) Held(name string) (term uint64, held bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.term, k.name == name && name != "" && time.Now().Before(k.until)
}

// Lost takes note that another holder has the lease since a term.
func (k *Keeper) Lost(term uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.term == term {
		k.until = time.Time{}
	}
}

// Run keeps the lease until ctx ends, and then gives it back.
func (k *Keeper) Run(ctx context.Context) {
	tick := time.NewTicker(leaseEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			k.release(ctx)
			return
		case name := <-k.wanted:
			k.switchTo(ctx, name)
		case <-tick.C:
		}
		k.ask(ctx)
	}
}

func (k *Keeper) switchTo(ctx context.Context, name string) {
	if name == k.name { // only run changes it
		return
	}
	k.release(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.name, k.term, k.until = name, 0, time.Time{}
}

// ask takes the lease, or prolongs it. After an error it is held until it runs out.
func (k *Keeper) ask(ctx context.Context) {
	if k.name == "" {
		return
	}
	begun := time.Now()
	call, cancel := context.WithTimeout(ctx, leaseTTL)
	defer cancel()
	term, held, err := k.store.Lease(call, k.name, k.holder, leaseTTL)
	if err != nil {
		return // the work of the owner fails as well, and says so
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	before := !k.until.IsZero()
	k.term, k.until = term, time.Time{}
	if held {
		k.until = begun.Add(leaseTTL)
	}
	if held != before {
		k.log.LogAttrs(ctx, slog.LevelInfo, ownership[held], slog.String("lease", k.name),
			slog.Uint64("term", term))
	}
}

// ownership is what the log says of taking the lease and of losing it.
var ownership = map[bool]string{
	true:  "this server places the new items",
	false: "another server places the new items",
}

// release gives the lease back.
func (k *Keeper) release(ctx context.Context) {
	if _, held := k.Held(k.name); !held {
		return
	}
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaseEvery)
	defer cancel()
	_ = k.store.Release(call, k.name, k.holder) // otherwise it runs out
	k.Lost(k.term)
}
