package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"

	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/memory"
	"github.com/gsimc/gsimc/store/pebble"
)

type serveCmd struct {
	Model     string `group:"Model:" required:"" placeholder:"FILE" help:"Model file; read again on SIGHUP and by the ReloadModel call."`
	Estimator string `group:"Model:" default:"bgs-imc" enum:"bgs-imc,gs-imc" help:"What scores are read from: the Kalman state (bgs-imc) or the filtered sum of the history (gs-imc)."`

	EventWeight map[string]float64 `group:"Model:" mapsep:"," placeholder:"TYPE=W" help:"Weight of an event type, -1000 to 1000, such as view=0.2,purchase=3; may be given several times, and is a map in the file of --config. Default: 1 for each type."`

	ExtendEvery time.Duration `group:"Model:" default:"30s" help:"How often items that events name and the model does not know are placed in it, by the histories that contain them. 0s: never."`

	Store      string       `group:"State:" default:"pebble" enum:"pebble,memory" help:"Where histories are kept: on disk (pebble) or nowhere (memory, lost at exit)."`
	DataDir    string       `group:"State:" default:"./state" help:"Folder of the pebble store; made if absent."`
	StateCache cli.ByteSize `group:"State:" default:"256MiB" help:"Memory for cached user states."`
	StoreCache cli.ByteSize `group:"State:" default:"64MiB" help:"Memory for blocks of the store."`

	QualitySample float64 `group:"Live quality:" default:"0.01" help:"Share of the events of which the rank that the item had just before is measured, for the metrics gsimc_online_rank and gsimc_online_recall: 0, none, to 1, all."`
	ShadowModel   string  `group:"Live quality:" placeholder:"FILE" help:"A second model that is measured on the same events and answers nothing."`

	retrainFlags

	Listen    string `group:"Network:" default:"127.0.0.1:50051" help:"gRPC address; port 0 takes a free one. There is no authentication: keep it on a trusted network."`
	OpsListen string `group:"Network:" default:"127.0.0.1:9090" help:"HTTP address of /metrics, /livez, /readyz and /debug/pprof."`

	Reflection bool `group:"Network:" default:"true" negatable:"" help:"Serve gRPC reflection, for grpcurl and the like."`

	DefaultTimeout       time.Duration `group:"Limits:" default:"1s" help:"Deadline of a call that comes without one."`
	MaxRecvSize          cli.ByteSize  `group:"Limits:" default:"4MiB" help:"Largest message received."`
	MaxSendSize          cli.ByteSize  `group:"Limits:" default:"4MiB" help:"Largest message sent."`
	MaxConnections       int           `group:"Limits:" default:"4096" help:"Open connections; further ones wait."`
	MaxConcurrentStreams uint32        `group:"Limits:" default:"1000" help:"Calls in flight on one connection."`
	MaxConnectionAge     time.Duration `group:"Limits:" default:"5m" help:"Age at which a connection is asked to go, so that clients spread over new servers."`

	DrainDelay   time.Duration `group:"Shutdown:" default:"5s" help:"Time between turning not ready and refusing calls, for load balancers to notice."`
	DrainTimeout time.Duration `group:"Shutdown:" default:"25s" help:"Time that calls in flight then have to finish."`

	LogLevel    slog.Level    `group:"Logs:" default:"info" help:"debug, info, warn or error."`
	LogFormat   string        `group:"Logs:" default:"json" enum:"json,text" help:"json or text, on standard error."`
	LogKeyFile  string        `group:"Logs:" placeholder:"FILE" help:"Key of the hashes that stand for user ids, to compare logs of several processes. Default: a random key."`
	SlowRequest time.Duration `group:"Logs:" default:"250ms" help:"Calls that take longer are logged."`
}

// Help is the manual under the flags.
func (serveCmd) Help() string {
	return `SIGHUP loads the model file anew; a bad file is refused and the old model goes on serving. The file is mapped into ` +
		`memory: replace it by renaming another one to its name (mv), as train does; never write over it (cp). SIGTERM and SIGINT drain ` +
		`and exit with 0; a second one exits at once. Logs are lines on standard error; the line "serving" has the real addresses.

  gsimc serve --model model.gsimc
  gsimc serve --model model.gsimc --data-dir /var/lib/gsimc --event-weight view=0.2 --event-weight purchase=3

GOMEMLIMIT is set to 90 % of the control group's limit unless it is in the environment.`
}

// serveFlags maps the fields of the server's configuration to the flags that set them.
var serveFlags = strings.NewReplacer("OpsListen: ", "--ops-listen: ", "Listen: ", "--listen: ", "EventWeights: ", "--event-weight: ",
	"Estimator: ", "--estimator: ", "ExtendEvery: ", "--extend-every: ", "QualitySample: ", "--quality-sample: ", "ShadowModel: ", "--shadow-model: ",
	"a QualitySample above", "a --quality-sample above", "StateCacheBytes: ", "--state-cache: ", "DefaultTimeout: ", "--default-timeout: ",
	"SlowRequest: ", "--slow-request: ", "DrainDelay: ", "--drain-delay: ", "DrainTimeout: ", "--drain-timeout: ",
	"MaxRecvBytes: ", "--max-recv-size: ", "MaxSendBytes: ", "--max-send-size: ", "MaxConcurrentStreams: ", "--max-concurrent-streams: ",
	"MaxConnections: ", "--max-connections: ", "MaxConnectionAge: ", "--max-connection-age: ")

// inServeFlags words an error of the server's configuration in flags.
func inServeFlags(err error) error { return errors.New(serveFlags.Replace(err.Error())) }

// Validate is called by kong after parsing. It leaves the checks to the server and words them in flags.
func (c *serveCmd) Check() error {
	err := c.config().Validate()
	if err != nil {
		err = inServeFlags(err)
	}
	return errors.Join(err, c.retrainFlags.check(c.Store))
}

func (c *serveCmd) config() server.Config {
	cfg := server.DefaultConfig()
	cfg.Listen, cfg.OpsListen = c.Listen, c.OpsListen
	cfg.BuildVersion = buildVersion()
	cfg.EventWeights = c.EventWeight
	cfg.ExtendEvery = c.ExtendEvery
	cfg.Estimator = model.Estimator(c.Estimator)
	cfg.StateCacheBytes = int64(c.StateCache)
	cfg.QualitySample = c.QualitySample
	if c.ShadowModel != "" {
		cfg.ShadowModel = func() (*model.Model, error) { return cli.OpenModel("--shadow-model", c.ShadowModel) }
	}
	cfg.DefaultTimeout, cfg.SlowRequest = c.DefaultTimeout, c.SlowRequest
	cfg.DrainDelay, cfg.DrainTimeout = c.DrainDelay, c.DrainTimeout
	cfg.MaxRecvBytes, cfg.MaxSendBytes = int(c.MaxRecvSize), int(c.MaxSendSize)
	cfg.MaxConcurrentStreams, cfg.MaxConnections = c.MaxConcurrentStreams, c.MaxConnections
	cfg.MaxConnectionAge = c.MaxConnectionAge
	cfg.Reflection = c.Reflection
	return cfg
}

// Run serves until a signal ends it.
func (c *serveCmd) Run(a *cli.App) (err error) {
	cfg := c.config()
	cfg.Logger = c.logger(a.Stderr)
	cfg.Metrics = server.NewMetrics()
	if c.LogKeyFile != "" {
		if cfg.LogKey, err = os.ReadFile(c.LogKeyFile); err != nil {
			return cli.Flag("--log-key-file", cli.PathError(err))
		}
	}
	// Before anything is open: a signal that comes meanwhile is kept and must not end the process.
	ctx, stop := shutdownContext(cfg.Logger)
	defer stop()
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)

	st, err := c.openStore(ctx, cfg.Logger, cfg.Metrics)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	s, err := server.New(cfg, st, func() (*model.Model, error) {
		m, err := cli.OpenModel("--model", c.Model)
		if err == nil {
			cli.LimitMemory(a.Env, m.CopyBytes())
		}
		return m, err
	})
	if err != nil {
		return err
	}
	retraining, err := c.newRetrainer(st, s, &cfg)
	if err != nil {
		return err
	}
	go reloadOnHangup(ctx, hangups, s)
	if retraining != nil {
		defer inBackground(ctx, retraining.Run)()
	}
	if err := s.Run(ctx); err != nil {
		return inServeFlags(err)
	}
	return nil
}

// inBackground runs fn until ctx ends or stop is called, which waits for its end.
func inBackground(ctx context.Context, fn func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		fn(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}

func (c *serveCmd) logger(w io.Writer) *slog.Logger {
	opt := &slog.HandlerOptions{Level: c.LogLevel}
	if c.LogFormat == "text" {
		return slog.New(slog.NewTextHandler(w, opt))
	}
	return slog.New(slog.NewJSONHandler(w, opt))
}

// openStore opens the back end of --store and lets it report to logs and metrics.
func (c *serveCmd) openStore(ctx context.Context, log *slog.Logger, metrics *server.Metrics) (store.Store, error) {
	if c.Store == "memory" {
		log.Warn("histories are kept in memory and lost at exit")
		return memory.New(), nil
	}
	if err := os.MkdirAll(filepath.Clean(c.DataDir), 0o700); err != nil {
		return nil, cli.Flag("--data-dir", err)
	}
	return pebble.Open(ctx, c.DataDir, pebble.Options{
		CacheBytes: int64(c.StoreCache),
		Events: pebble.Events{
			Synced: metrics.StoreSynced,
			Failed: func(reason error) {
				log.Error("the store takes no more events until a restart", slog.String("error", reason.Error()))
			},
			Slow: func(what string, took time.Duration) {
				log.Warn("slow disk", slog.String("operation", what), slog.Float64("duration_ms", float64(took.Microseconds())/1e3))
			},
		},
	})
}

// shutdownContext returns a context that ends at the first SIGTERM or SIGINT. The second ends the process.
func shutdownContext(log *slog.Logger) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	go func() {
		select {
		case sig := <-signals:
			log.Info("signal", slog.String("signal", sig.String()))
			cancel()
		case <-ctx.Done():
			return
		}
		<-signals
		log.Warn("second signal: exiting at once")
		os.Exit(cli.ExitFailure)
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel()
	}
}

// reloadOnHangup loads the model anew at each SIGHUP, until ctx ends; from then on it ignores them. The signal stays caught
// until the process ends, because by default it would cut a drain short. The server logs the outcome.
func reloadOnHangup(ctx context.Context, hangups <-chan os.Signal, s *server.Server) {
	for range hangups {
		if ctx.Err() == nil {
			_ = s.Reload(ctx)
		}
	}
}
