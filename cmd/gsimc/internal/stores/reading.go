package stores

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"strings"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble"
)

// A Reading reads a store as a whole.
type Reading interface {
	// Each calls fn with every event, a history after the other and each in its order. The first
	// error of fn ends it and is returned as it is. What is damaged is left out: the error is then
	// a *store.SkippedError after all others.
	Each(ctx context.Context, fn func(user string, e store.Event) error) error
	// EachItem is that of store.Items.
	EachItem(ctx context.Context, after string, fn func(store.Item) error) error
	Close() error
}

// Source says which store is to be read.
type Source struct {
	Flag   string   // that names it
	From   string   // folder, or URL of a store that servers share
	Server string   // admin address of the running server whose folder it is; empty: it is stopped
	Env    []string // has passwords
	Access cli.AccessFlags
}

// IsURL tells whether a text is the URL of a store, and no folder.
func IsURL(text string) bool { return strings.Contains(text, "://") }

// Check checks a source without opening it.
func (s *Source) Check() error {
	switch {
	case !IsURL(s.From):
		return nil
	case s.Server != "":
		return cli.Flagf("--server", "a store that servers share is read without them")
	}
	return Check(s.Flag, s.From)
}

// Open opens the source: the folder of a stopped server, a checkpoint that a running one makes of
// its own, which is one moment, or a store that servers share, which goes on meanwhile.
func (s *Source) Open(ctx context.Context) (Reading, error) {
	if IsURL(s.From) {
		st, err := Open(ctx, s.From, Settings{Env: s.Env, Flag: s.Flag,
			Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			return nil, err
		}
		items, ok := st.(store.Items)
		if !ok {
			return nil, errors.Join(cli.Flagf(s.Flag, "this store keeps no items"), st.Close())
		}
		return shared{items}, nil
	}
	dir, release, err := cli.Checkpoint(s.Server, s.Access, s.From)
	if err != nil {
		return nil, err
	}
	r, err := pebble.OpenReadOnly(dir, pebble.Options{})
	if err == nil {
		return folder{r, release}, nil
	}
	defer release()
	switch {
	case errors.Is(err, pebble.ErrInUse):
		return nil, cli.Flagf(s.Flag, "%s is in use by another process: if that is a server, give "+
			"its address with --server to read a checkpoint of its store, else wait for its end",
			dir)
	case errors.Is(err, fs.ErrNotExist) && s.Server != "":
		return nil, cli.Flagf(s.Flag, "%s, which the server at %s has just made, is not there: "+
			"give the data folder of that server", dir, s.Server)
	case errors.Is(err, fs.ErrNotExist):
		return nil, cli.Flag(s.Flag, cli.PathError(err))
	}
	return nil, cli.Flag(s.Flag, WayOut(err, s.From))
}

type folder struct {
	*pebble.Reader
	release func()
}

func (f folder) Each(ctx context.Context, fn func(user string, e store.Event) error) error {
	return f.Reader.Each(ctx, func(user string, _ uint64, e store.Event) error {
		return fn(user, e)
	})
}

func (f folder) Close() error {
	defer f.release()
	return f.Reader.Close()
}

type shared struct{ store.Items }

func (s shared) Each(ctx context.Context, fn func(user string, e store.Event) error) error {
	return Histories(ctx, s.Items, func(user string, events []store.Event) error {
		for _, e := range events {
			if err := fn(user, e); err != nil {
				return err
			}
		}
		return nil
	})
}
