package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/stores"
	"github.com/gsimc/gsimc/learn/retrain"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server"
	"github.com/gsimc/gsimc/store"
)

// The heap of a server grows by collectAt percent before garbage is collected. Most of a large heap
// is caches of arrays, which cost little to look through: 40 in place of Go's 100 saves a quarter
// of the memory of a server with a million users, and takes up to a fifth more processor time for a
// stream of events by new ones. A heap of some 100 MiB would be looked through several times a
// second, and calls would wait for it: it may grow by collectRoom, but at most to the double.
const (
	collectAt   = 40
	collectRoom = 128 << 20
)

// Run serves until a signal ends it.
func (c *Cmd) Run(a *cli.App) (err error) {
	defer cli.CollectAt(a.Env, collectAt, collectRoom)()
	slack := time.Duration(0)
	if a.Process {
		slack = startWithSlack(c.TimerSlack) // before anything is open
	}
	cfg, err := c.accounts(a)
	if err != nil {
		return err
	}
	// Before anything is open: a signal that comes meanwhile is kept and must not end the process.
	ctx, stop := cli.UntilSignal(func(s os.Signal) {
		cfg.Logger.Info("signal: draining, again to exit at once",
			slog.String("signal", s.String()))
	}, func() { cfg.Logger.Warn("second signal: exiting at once") })
	defer stop()
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)

	traces, err := openTraces(ctx, a.Version, cfg.Logger)
	if err != nil {
		return fmt.Errorf("traces: %w", err)
	}
	if traces != nil {
		cfg.Tracer = traces.provider
	}
	st, err := c.openStore(ctx, a.Env, &cfg)
	if errors.Is(err, stores.ErrEnded) {
		return nil
	}
	if err != nil {
		return err
	}
	var s *server.Server
	defer func() {
		var sending sync.WaitGroup
		sending.Go(func() { traces.end(s) })
		err = errors.Join(err, closeStore(st, s))
		sending.Wait()
	}()
	told, open, folder := false, c.openModel, (*modelDir)(nil)
	if c.ModelDir != "" {
		folder = newModelDir(c.ModelDir, cfg.Logger, cfg.Metrics.ModelRefused)
		open, cfg.ModelBehind = folder.open, folder.behind
	}
	s, err = server.New(cfg, st, func() (*model.Model, error) {
		m, err := open()
		if err != nil && !errors.Is(err, server.ErrNoModel) {
			return nil, err
		}
		if m != nil {
			cli.LimitMemory(a.Env, m.CopyBytes())
		}
		if !told {
			told = true
			logStart(ctx, &cfg, st, m, slack)
		}
		return m, err
	})
	if err != nil && stores.OnDisk(c.Store) {
		err = stores.WayOut(err, c.DataDir) // the catalogue is read now
	}
	if err != nil {
		return err
	}
	retraining, err := c.newRetrainer(st, s, &cfg)
	if err != nil {
		return err
	}
	go reloadOnHangup(ctx, hangups, s)
	if folder != nil {
		go folder.watch(ctx, modelDirPoll, func() { _ = s.Reload(ctx) }) // which logs
	}
	if retraining != nil {
		defer inBackground(ctx, s, retraining.Run)()
	}
	return s.Run(ctx)
}

// accounts is the configuration of the server, with the log and the metrics that all parts share.
func (c *Cmd) accounts(a *cli.App) (cfg server.Config, err error) {
	cfg = c.config(a.Version)
	cfg.LogLevel = new(slog.LevelVar)
	cfg.Logger = c.logger(a.Stderr, cfg.LogLevel)
	cfg.Metrics = server.NewMetrics()
	cfg.Metrics.RetrainOutcomes(retrain.Outcomes()...)
	if c.LogKeyFile != "" {
		if cfg.LogKey, err = os.ReadFile(c.LogKeyFile); err != nil {
			return cfg, cli.Flag("--log-key-file", cli.PathError(err))
		}
	}
	return cfg, nil
}

// modelFile is the model file: that of --model, or else one in the data folder. Empty: none, with a
// store that has no folder.
func (c *Cmd) modelFile() string {
	if c.Model != "" || !stores.OnDisk(c.Store) {
		return c.Model
	}
	return filepath.Join(c.DataDir, "model.gsimc")
}

// openModel opens the model file. Only a file that was not asked for by name may be missing.
func (c *Cmd) openModel() (*model.Model, error) {
	file := c.modelFile()
	if c.Model == "" {
		if _, err := os.Stat(file); file == "" || errors.Is(err, fs.ErrNotExist) {
			return nil, server.ErrNoModel
		}
	}
	return cli.LoadModel("--model", file)
}

// inBackground runs fn until ctx ends or stop is called, which waits for its end, after a shutdown
// until the process should end.
func inBackground(ctx context.Context, s *server.Server, fn func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		fn(ctx)
		done <- nil
	}()
	return func() {
		cancel()
		_ = awaited(done, s)
	}
}

// awaited returns the result of done, or [context.DeadlineExceeded] when the process should end.
func awaited(done <-chan error, s *server.Server) error {
	var end <-chan time.Time // never, without a shutdown
	if deadline := s.Deadline(); !deadline.IsZero() {
		end = time.After(time.Until(deadline))
	}
	select {
	case err := <-done:
		return err
	case <-end:
		return context.DeadlineExceeded
	}
}

// errStoreLeft is the error of a process that ends without having closed its store.
var errStoreLeft = errors.New("the store did not close in time: no acknowledged event is lost, " +
	"and the next start reads the log; check the disk")

// closeStore closes the store. After a shutdown of s, which may be nil, it waits only until the
// process should end.
func closeStore(st store.Store, s *server.Server) error {
	if s == nil {
		return st.Close()
	}
	done := make(chan error, 1)
	go func() { done <- st.Close() }()
	err := awaited(done, s)
	if errors.Is(err, context.DeadlineExceeded) {
		return errStoreLeft
	}
	return err
}

// openStore opens the store of --store, with the files that connections leave to it.
func (c *Cmd) openStore(
	ctx context.Context, env []string, cfg *server.Config,
) (st store.Store, err error) {
	var tables int
	if tables, cfg.MaxConnections, err = limitFiles(cfg.Logger, cfg.MaxConnections); err != nil {
		return nil, err
	}
	if err := c.checkFiles(cfg); err != nil {
		return nil, err
	}
	return stores.Open(ctx, c.Store, stores.Settings{Env: env, Log: cfg.Logger, ID: c.StoreID,
		Flag: stores.Flag,
		Local: stores.Local{
			Dir: c.DataDir, AcceptLoss: c.AcceptLoss, CacheBytes: int64(c.StoreCache),
			ReserveBytes: int64(c.StoreReserve), OpenTables: tables,
			Synced: cfg.Metrics.StoreSynced,
		}})
}

// checkFiles returns the error of a file or an address that a start needs, before there is a new
// store. Models are looked at and not loaded.
func (c *Cmd) checkFiles(cfg *server.Config) error {
	given := [][2]string{{"--model", c.Model}, {"--shadow-model", c.ShadowModel}}
	for _, text := range c.Arm {
		_, file, _, _ := cutArm(text)
		given = append(given, [2]string{"--arm", file})
	}
	for _, g := range given {
		if flag, path := g[0], g[1]; path != "" {
			if err := cli.FindModel(flag, path); err != nil {
				return err
			}
		}
	}
	if c.ModelDir != "" {
		if _, err := os.ReadDir(c.ModelDir); err != nil {
			return cli.Flag("--model-dir", cli.PathError(err))
		}
	}
	return errors.Join(cfg.CheckFiles(), c.checkDoors())
}

// checkDoors returns the error of an address on which the server cannot listen, before there is a
// new store. A store that is there is opened first: another process may be about to leave both.
func (c *Cmd) checkDoors() error {
	if found, _ := os.ReadDir(c.DataDir); !stores.OnDisk(c.Store) || len(found) > 0 {
		return nil
	}
	doors := [][2]string{{"--listen", c.Listen}, {"--ops-listen", c.OpsListen},
		{"--json-listen", c.JSONListen}}
	if !strings.HasPrefix(c.AdminListen, "unix:") {
		doors = append(doors, [2]string{"--admin-listen", c.AdminListen})
	}
	return cli.CanListen(doors)
}

// reloadOnHangup loads the model anew at each SIGHUP, until ctx ends; from then on it ignores them.
// The signal stays caught until the process ends, because by default it would cut a drain short.
// The server logs the outcome.
func reloadOnHangup(ctx context.Context, hangups <-chan os.Signal, s *server.Server) {
	for range hangups {
		if ctx.Err() == nil {
			_ = s.Reload(ctx)
		}
	}
}
