// Package serve has the command that serves recommendations: it turns flags into the configuration
// of a server, opens the store and handles signals.
package serve

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/stores"
	"github.com/gsimc/gsimc/internal/event"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server"
	"github.com/gsimc/gsimc/store/pebble"
)

// Cmd is `gsimc serve`.
type Cmd struct {
	Model     string `group:"Model:" placeholder:"FILE" help:"Model file; read again on SIGHUP and by the ReloadModel call. Default: model.gsimc in --data-dir, and as long as it is not there the popular items of the store are listed."`
	ModelDir  string `group:"Model:" placeholder:"DIR" help:"Folder of model files (*.gsimc) in place of --model: the one of the latest training serves, and is found within two seconds. See docs/scale.md."`
	Estimator string `group:"Model:" default:"${serve_estimator}" enum:"bgs-imc,gs-imc" help:"Estimator of the scores: the Kalman state of a user (bgs-imc) or the filtered sum of the history (gs-imc)."`

	EventWeight map[string]float64 `group:"Model:" mapsep:"," placeholder:"TYPE=W" help:"Weights of event types, -1000 to 1000, such as view=0.2,purchase=3. May be given several times; a map in the file of --config. Default: 1 for each type."`

	EventTypesFile string `group:"Model:" placeholder:"FILE" help:"Weights of event types in place of --event-weight, in lines such as: view 0.2. Read again when it changes."`

	PopularityHalfLife time.Duration `group:"Model:" default:"${serve_popularity_half_life}" help:"Without a model: time in which an event loses half of its weight among the popular items."`

	ExtendEvery time.Duration `group:"Model:" default:"${serve_extend_every}" help:"Interval at which new items are placed in the model, by the histories that contain them. Those that nobody has are placed within seconds, by what the catalogue says. 0s: neither."`

	Retain []string `group:"State:" sep:"none" placeholder:"AGE" help:"Age, such as 400d, at least 24h, above which events are taken out of the histories within a day, by the times that they say, as if they had never been sent: they are gone for good. view=30d is that of a type. May be given several times, in the file of --config as a list. Default: any age."`

	Store      string       `group:"State:" default:"pebble" words:"pebble,memory,valkey://,postgres://" placeholder:"STORE" help:"Where histories are kept: on disk (pebble), in memory, lost at exit (memory), or where servers share them: in a cluster, valkey://HOST:PORT,.../NAMESPACE?replicas=2&user=NAME&password-file=FILE&tls=on&tls-ca=FILE, or in PostgreSQL, postgres://USER@HOST,.../DATABASE?sslmode=verify-full&target_session_attrs=read-write&password-file=FILE. See docs/scale.md."`
	DataDir    string       `group:"State:" default:"${serve_data_dir}" help:"Folder of the pebble store; made if absent."`
	StoreID    string       `group:"State:" name:"store-id" placeholder:"ID" help:"Start only with the store of this id, which its first start logs, and with no empty folder: a volume may not be mounted. Default: any, and a new one in an empty folder."`
	AcceptLoss bool         `group:"State:" help:"Start with what is there of a store that has lost acknowledged events, and forget what was lost. Without it such a store is refused."`
	StateCache cli.ByteSize `group:"State:" default:"${serve_state_cache}" help:"Memory for cached user states."`
	StoreCache cli.ByteSize `group:"State:" default:"${serve_store_cache}" help:"Memory for blocks of the store."`

	StoreReserve cli.ByteSize `group:"State:" default:"${serve_store_reserve}" help:"Free space on the disk of the store below which events are refused, so that the store never runs out of it. Less than 256MiB is a risk when many events come at once."`

	QualitySample float64 `group:"Live quality:" default:"${serve_quality_sample}" help:"Share of the events, 0 to 1, for which the server measures the rank of the item just before the event. See the metrics gsimc_online_rank and gsimc_online_recall."`
	ShadowModel   string  `group:"Live quality:" placeholder:"FILE" help:"A second model, measured on the same events. It answers no calls."`

	armFlags
	retrainFlags

	Listen      string `group:"Network:" default:"${serve_listen}" help:"gRPC address; port 0 takes a free one. One that other machines reach needs TLS and tokens or client certificates, or --insecure."`
	AdminListen string `group:"Network:" default:"${serve_admin_listen}" help:"gRPC address of AdminService and reflection: HOST:PORT, or unix:/PATH for a socket that only its owner can open."`
	OpsListen   string `group:"Network:" default:"${serve_ops_listen}" help:"HTTP address of /metrics, /livez and /readyz."`

	JSONListen string `group:"Network:" name:"json-listen" placeholder:"HOST:PORT" help:"HTTP address on which the services of clients are served as JSON too, with /openapi.json. Default: none."`

	JSONOrigin []string `group:"Network:" name:"json-origin" placeholder:"ORIGIN" help:"Web pages that may call by JSON from a browser, by their origin, as https://shop.example. May be given several times. Default: none."`

	Reflection bool   `group:"Network:" default:"${serve_reflection}" negatable:"" help:"Serve gRPC reflection on --admin-listen, for grpcurl and the like."`
	Console    string `group:"Network:" default:"${serve_console}" enum:"auto,on,off" help:"Serve the console, a page that shows the service at work, under /console/ on --ops-listen. auto: if only this machine reaches that address and clients need no certificates."`
	Pprof      bool   `group:"Network:" help:"Serve profiles of the process under /debug/pprof on --ops-listen."`

	FiltersFile string `group:"Lists:" placeholder:"FILE" help:"Filters and boosts that requests use by name, YAML: a map from names to any_categories, all_categories, no_categories, any_labels, all_labels, no_labels, ranges and near, and for a boost weight and by. Read again when it changes; clients with the role items can change it where the server may write."`

	TokenFile   string `group:"Access:" placeholder:"FILE" help:"Tokens and roles of the clients, in the lines of gsimc token. Read again when it changes. Default: everybody may call everything."`
	TLSCert     string `group:"Access:" name:"tls-cert" placeholder:"FILE" help:"Certificate of the server with its chain, PEM: clients need TLS 1.3. Read again when it changes."`
	TLSKey      string `group:"Access:" name:"tls-key" placeholder:"FILE" help:"Its key, PEM."`
	TLSClientCA string `group:"Access:" name:"tls-client-ca" placeholder:"FILE" help:"Authorities, PEM: clients need a certificate of one of them."`
	Insecure    bool   `group:"Access:" help:"Allow addresses that other machines reach without TLS, or without tokens and client certificates."`

	DefaultTimeout       time.Duration `group:"Limits:" default:"${serve_default_timeout}" help:"Deadline of a call without one."`
	MaxTimeout           time.Duration `group:"Limits:" default:"${serve_max_timeout}" help:"Furthest deadline of a call; further ones become this."`
	MaxRecvSize          cli.ByteSize  `group:"Limits:" default:"${serve_max_recv_size}" help:"Largest message received."`
	MaxSendSize          cli.ByteSize  `group:"Limits:" default:"${serve_max_send_size}" help:"Largest message sent."`
	MaxConnections       int           `group:"Limits:" default:"${serve_max_connections}" help:"Open connections. Beyond it the one that has been silent for longest is closed, one without any call first."`
	MaxConcurrentStreams uint32        `group:"Limits:" default:"${serve_max_concurrent_streams}" help:"Calls in flight on one connection; further ones wait at the client."`
	MaxInFlight          int           `group:"Limits:" default:"${serve_max_in_flight}" help:"Most calls of Recommend, and of Observe, that run at a time. The limit in force follows the latency below it."`
	MaxStreams           int           `group:"Limits:" default:"${serve_max_streams}" help:"Open StreamObserve streams. Beyond it the one that has been idle for longest is ended."`
	MaxNewUsers          int           `group:"Limits:" default:"${serve_max_new_users}" help:"Users who may begin a history in a minute; events of further ones are refused. 0: any number. A line of --token-file may bound those of its tokens besides: new-users=N."`
	MaxItems             int           `group:"Limits:" default:"${serve_max_items}" help:"Items that the catalogue may have; further ones are refused. 0: any number."`
	MaxCatalogueSize     cli.ByteSize  `group:"Limits:" default:"0" placeholder:"SIZE" help:"Memory that the catalogue may take; items that would add to more are refused. Default: a quarter of the memory of the control group, or else of the machine, at most 2GiB."`
	StreamIdle           time.Duration `group:"Limits:" default:"${serve_stream_idle}" help:"Time after which a StreamObserve stream without events is ended."`
	MaxConnectionAge     time.Duration `group:"Limits:" default:"${serve_max_connection_age}" help:"Age at which a client is asked to connect anew, so that clients spread over new servers."`

	DrainDelay   time.Duration `group:"Shutdown:" default:"${serve_drain_delay}" help:"Time from the end of readiness to the first refused call, for load balancers to notice; 0s: none."`
	DrainTimeout time.Duration `group:"Shutdown:" default:"${serve_drain_timeout}" help:"Time after that for the calls in flight to finish, and then for the file of new items."`

	TimerSlack time.Duration `group:"Processor:" default:"${serve_timer_slack}" help:"Delay that the kernel may add to the timers of a thread. 1ms saves wake-ups while few calls are in flight. The process sets it by starting itself anew under the same id. 0s: keep the system's. Linux only."`

	LogLevel    slog.Level    `group:"Logs:" default:"info" help:"debug, info, warn or error. gsimc log-level changes it while the server runs."`
	LogFormat   string        `group:"Logs:" default:"auto" enum:"auto,json,text" help:"json or text, on standard error. auto: text on a terminal, else json."`
	LogKeyFile  string        `group:"Logs:" placeholder:"FILE" help:"Key for hashing the user ids in logs, to compare logs of several processes. Default: a random key."`
	SlowRequest time.Duration `group:"Logs:" default:"${serve_slow_request}" help:"Calls above this time are logged, with the times of their stages. 0s: none."`
}

// Help is the manual under the flags.
func (Cmd) Help() string {
	return `Answers gRPC calls until a signal ends it.

  gsimc serve --model model.gsimc
  gsimc serve --model model.gsimc --data-dir /var/lib/gsimc --event-weight view=0.2,purchase=3
  gsimc serve --retrain-every 24h      with no model yet: popular items until the first training

Signals: SIGHUP loads the model files, the event types and the filters anew; of a bad file the old
content stays.
SIGTERM and SIGINT finish the calls in flight and exit with 0; a second one exits at once, with
130.

The model file is copied into memory. Replace it by renaming another file to its name (mv), as
train does: a file that is being written when it is loaded is refused.

Logs are lines on standard error. The line "serving" has the addresses.

OTEL_EXPORTER_OTLP_ENDPOINT, if set, is the collector to which traces are sent.

GOMEMLIMIT, if not set, becomes 90 % of the memory limit of the control group.
Without GOGC a heap of up to 128 MiB grows to the double between collections,
one of up to 320 MiB by 128 MiB, and a larger one by 40 %.`
}

// Check leaves the checks of the configuration to the server.
func (c *Cmd) Check() error {
	_, ages := event.ParseAges("Retain", c.Retain)
	return errors.Join(c.config("").Validate(), ages, cli.AtLeast("--timer-slack", c.TimerSlack, 0),
		stores.Check(stores.Flag, c.Store), c.checkLocal(), c.checkReserve(),
		c.checkModelDir(),
		c.armFlags.check(), c.retrainFlags.check(c.Store))
}

// defaultDataDir is the default of --data-dir.
const defaultDataDir = "./state"

// checkLocal refuses flags of a store on disk beside one that servers share. Those that have their
// default are left alone.
func (c *Cmd) checkLocal() error {
	if !stores.Shared(c.Store) {
		return nil
	}
	var errs []error
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"--data-dir", c.DataDir != defaultDataDir},
		{"--accept-loss", c.AcceptLoss},
		{"--store-cache", c.StoreCache != cli.ByteSize(pebble.DefaultCacheBytes)},
		{"--store-reserve", c.StoreReserve != cli.ByteSize(pebble.DefaultReserveBytes)},
	} {
		if f.set {
			errs = append(errs, cli.Flagf(f.name, "a store that servers share has no folder here, "+
				"want --store pebble"))
		}
	}
	return errors.Join(errs...)
}

// minReserve is the smallest reserve: a store without one fails when the disk is full.
const minReserve = 16 << 20

func (c *Cmd) checkReserve() error {
	if c.StoreReserve >= minReserve {
		return nil
	}
	return cli.Flagf("--store-reserve", "%v, want at least %v", c.StoreReserve,
		cli.ByteSize(minReserve))
}

func (c *Cmd) config(version string) server.Config {
	cfg := server.DefaultConfig()
	cfg.Listen, cfg.AdminListen, cfg.OpsListen = c.Listen, c.AdminListen, c.OpsListen
	cfg.JSONListen, cfg.JSONOrigins = c.JSONListen, c.JSONOrigin
	cfg.Console = server.Console(c.Console)
	cfg.TokenFile, cfg.TLSCert, cfg.TLSKey = c.TokenFile, c.TLSCert, c.TLSKey
	cfg.TLSClientCA, cfg.Insecure = c.TLSClientCA, c.Insecure
	cfg.BuildVersion = version
	cfg.EventWeights, cfg.EventTypesFile = c.EventWeight, c.EventTypesFile
	cfg.Retain, _ = event.ParseAges("Retain", c.Retain) // Check has refused bad ones
	cfg.ExtendEvery = c.ExtendEvery
	if stores.OnDisk(c.Store) {
		cfg.ExtensionDir = c.DataDir
	}
	cfg.Estimator = model.Estimator(c.Estimator)
	cfg.StateCacheBytes = int64(c.StateCache)
	cfg.QualitySample = c.QualitySample
	if c.ShadowModel != "" {
		cfg.ShadowModel = func() (*model.Model, error) {
			return cli.LoadModel("--shadow-model", c.ShadowModel)
		}
	}
	cfg.PopularityHalfLife = c.PopularityHalfLife
	cfg.Arms, _ = c.arms() // Check has refused bad ones
	cfg.ArmSalt, cfg.CanaryEvents, cfg.CanaryZ = c.ArmSalt, c.CanaryEvents, c.CanaryZ
	cfg.DefaultTimeout, cfg.SlowRequest = c.DefaultTimeout, c.SlowRequest
	cfg.MaxTimeout, cfg.MaxInFlight, cfg.MaxStreams = c.MaxTimeout, c.MaxInFlight, c.MaxStreams
	cfg.MaxNewUsers = c.MaxNewUsers
	cfg.MaxItems, cfg.FiltersFile = c.MaxItems, c.FiltersFile
	cfg.MaxCatalogueBytes = c.maxCatalogue(cfg.MaxCatalogueBytes)
	cfg.StreamIdle = c.StreamIdle
	cfg.DrainDelay, cfg.DrainTimeout = c.DrainDelay, c.DrainTimeout
	cfg.MaxRecvBytes, cfg.MaxSendBytes = int(c.MaxRecvSize), int(c.MaxSendSize)
	cfg.MaxConcurrentStreams, cfg.MaxConnections = c.MaxConcurrentStreams, c.MaxConnections
	cfg.MaxConnectionAge = c.MaxConnectionAge
	cfg.Reflection, cfg.Pprof = c.Reflection, c.Pprof
	return cfg
}

// maxCatalogue is the memory that the catalogue may take: a share of what there is, and at most
// usual, unless a flag says it.
func (c *Cmd) maxCatalogue(usual int64) int64 {
	if c.MaxCatalogueSize > 0 {
		return int64(c.MaxCatalogueSize)
	}
	if memory := cli.MemoryLimit(0); memory > 0 {
		return min(usual, max(1, memory/4))
	}
	return usual
}

// Vars are the defaults of the flags: those of the server, of the store and of this package.
func Vars() kong.Vars {
	d := server.DefaultConfig()
	return kong.Vars{
		"serve_estimator":              string(d.Estimator),
		"serve_extend_every":           cli.DurationText(d.ExtendEvery),
		"serve_state_cache":            cli.ByteSize(d.StateCacheBytes).String(),
		"serve_data_dir":               defaultDataDir,
		"serve_store_cache":            cli.ByteSize(pebble.DefaultCacheBytes).String(),
		"serve_store_reserve":          cli.ByteSize(pebble.DefaultReserveBytes).String(),
		"serve_quality_sample":         fmt.Sprint(d.QualitySample),
		"serve_popularity_half_life":   cli.DurationText(d.PopularityHalfLife),
		"serve_canary_events":          fmt.Sprint(d.CanaryEvents),
		"serve_canary_z":               fmt.Sprint(d.CanaryZ),
		"serve_listen":                 d.Listen,
		"serve_admin_listen":           d.AdminListen,
		"serve_ops_listen":             d.OpsListen,
		"serve_console":                string(d.Console),
		"serve_roles":                  strings.Join(server.Roles(), ", "),
		"serve_reflection":             fmt.Sprint(d.Reflection),
		"serve_default_timeout":        cli.DurationText(d.DefaultTimeout),
		"serve_max_timeout":            cli.DurationText(d.MaxTimeout),
		"serve_max_in_flight":          fmt.Sprint(d.MaxInFlight),
		"serve_max_streams":            fmt.Sprint(d.MaxStreams),
		"serve_max_new_users":          fmt.Sprint(d.MaxNewUsers),
		"serve_max_items":              fmt.Sprint(d.MaxItems),
		"serve_stream_idle":            cli.DurationText(d.StreamIdle),
		"serve_max_recv_size":          cli.ByteSize(d.MaxRecvBytes).String(),
		"serve_max_send_size":          cli.ByteSize(d.MaxSendBytes).String(),
		"serve_max_connections":        fmt.Sprint(d.MaxConnections),
		"serve_max_concurrent_streams": fmt.Sprint(d.MaxConcurrentStreams),
		"serve_max_connection_age":     cli.DurationText(d.MaxConnectionAge),
		"serve_drain_delay":            cli.DurationText(d.DrainDelay),
		"serve_drain_timeout":          cli.DurationText(d.DrainTimeout),
		"serve_slow_request":           cli.DurationText(d.SlowRequest),
		"serve_timer_slack":            cli.DurationText(defaultTimerSlack),
	}
}
