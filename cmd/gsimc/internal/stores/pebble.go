package stores

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble"
)

// openPebble opens the store of a folder and lets it report to the log.
func openPebble(ctx context.Context, _ string, s *Settings) (store.Store, error) {
	local, log := &s.Local, s.Log
	if err := os.MkdirAll(filepath.Clean(local.Dir), 0o700); err != nil {
		return nil, cli.Flag("--data-dir", err)
	}
	begins, err := pebble.Begins(local.Dir)
	if err != nil {
		return nil, cli.Flag("--data-dir", err)
	}
	if begins && s.ID != "" {
		return nil, cli.Flagf(idFlag, "%s is wanted, and %s has no store: see that the volume is "+
			"mounted, or leave the flag out to begin a new one", s.ID, local.Dir)
	}
	if local.AcceptLoss {
		log.Warn("--accept-loss: what the store has lost is forgotten")
	}
	st, err := pebble.OpenOrWait(ctx, local.Dir, pebble.Options{
		CacheBytes: local.CacheBytes, ReserveBytes: local.ReserveBytes,
		AcceptLoss: local.AcceptLoss,
		OpenTables: local.OpenTables,
		Events:     pebbleEvents(log, local.Synced),
	})
	_, lost := errors.AsType[*pebble.LossError](err)
	if _, changed := errors.AsType[*pebble.SealError](err); lost || changed {
		return nil, fmt.Errorf("%w; or go on with what is there with --accept-loss", err)
	}
	if small, ok := errors.AsType[*pebble.SmallError](err); ok {
		return nil, cli.Flagf("--store-reserve", "%v: give a larger volume or a smaller reserve",
			small)
	}
	if err != nil {
		return nil, WayOut(err, local.Dir)
	}
	if begins {
		log.Warn("a new store begins: give its id by --store-id from now on, and an emptied "+
			"folder is refused", slog.String("data_dir", local.Dir),
			slog.String("store_id", st.Identity().Name()))
	}
	return st, nil
}

// WayOut adds to an error that damage in a folder of a store is the cause of what to do about it.
func WayOut(err error, dir string) error {
	_, lost := errors.AsType[*pebble.LossError](err)
	if _, changed := errors.AsType[*pebble.SealError](err); lost || changed || // which say it
		!errors.Is(err, store.ErrCorrupt) {
		return err
	}
	return fmt.Errorf("%w: restore a backup with gsimc restore, or write what is whole to a new "+
		"folder with gsimc salvage --data-dir %s --to DIR", err, cli.ShellWord(dir))
}

func pebbleEvents(log *slog.Logger, synced func(time.Duration)) pebble.Events {
	return pebble.Events{
		Synced: synced,
		Failed: func(reason error) {
			log.Error("the store takes no more events until a restart",
				slog.String("error", reason.Error()))
		},
		Slow: func(what string, took time.Duration) {
			log.Warn("slow disk", slog.String("operation", what),
				slog.Float64("duration_ms", float64(took.Microseconds())/1e3))
		},
		Damaged: func(file string) {
			log.Error("a file of the store is damaged: run gsimc verify; a server that runs "+
				"refuses users whose rows it holds with DATA_LOSS, and serves all others",
				slog.String("file", file))
		},
		Unmarked: func(err error) {
			log.Warn("the mark of acknowledged commits cannot be written, a later loss may "+
				"pass unnoticed", slog.String("error", err.Error()))
		},
	}
}
