package server

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/gsimc/gsimc/internal/event"
	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/origin"
	"github.com/gsimc/gsimc/server/internal/socket"
)

// Config holds the settings of a server. Start from [DefaultConfig]: a zero field means zero, not
// "the default".
type Config struct {
	// Listen is the TCP address of the gRPC services. Port 0 takes a free one.
	// Default "127.0.0.1:50051". An address that other machines reach needs TLS and tokens or
	// client certificates, or Insecure.
	Listen string
	// AdminListen is the address of AdminService and reflection: a TCP address, or "unix:" and the
	// path of a socket, which only its owner can open. Default "127.0.0.1:50052".
	AdminListen string
	// OpsListen is the TCP address of the HTTP listener with /metrics, /livez and /readyz. Default
	// "127.0.0.1:9090".
	OpsListen string
	// JSONListen is the TCP address on which the services of clients are served as JSON over HTTP,
	// with the certificates and tokens of Listen. Empty (the default): they are not.
	JSONListen string
	// JSONOrigins are those of web pages that may call by JSON from a browser, such as
	// https://shop.example. Default: none, but pages of the server's own address.
	JSONOrigins []string
	// Console says whether OpsListen serves the console, a page for people, and with it the methods
	// of clients as JSON. Default [ConsoleAuto].
	Console Console
	// Pprof serves the profiles of the process on OpsListen, under /debug/pprof. Default false.
	Pprof bool

	// TokenFile names the file of the clients' tokens and roles, in lines of [NewToken]. It is read
	// again when it changes. Empty (the default): everybody may call everything.
	TokenFile string
	// TLSCert and TLSKey name the PEM files of the server's certificate, with its chain, and of its
	// key. They are read again when they change. Both gRPC listeners then take TLS 1.3 only, a
	// socket in the file system excepted. Empty (the default): plain text.
	TLSCert, TLSKey string
	// TLSClientCA names a PEM file of authorities: clients must have a certificate of one of them.
	// Empty (the default): they need none.
	TLSClientCA string
	// Insecure allows addresses of gRPC and JSON, the console and profiles, that other machines
	// reach without TLS, or without tokens and client certificates. Default false.
	Insecure bool

	// BuildVersion is reported by GetStatus and gsimc_build_info. Default "unknown".
	BuildVersion string

	// EventWeights is the weight of each event type; a type that is not here has weight 1. The
	// weight times the value of an event is what the model folds in. Finite, from -1000 to 1000; 0:
	// the item counts as seen and changes nothing else. Weights are applied when a state is
	// computed: a new table holds for old events too. Default: empty.
	EventWeights event.Weights
	// EventTypesFile names a file of weights in place of EventWeights, see [event.ParseWeights]. It
	// is read again when it changes; a bad one changes nothing. Empty (the default): none.
	EventTypesFile string
	// Retain is how old events may become: within a day older ones are taken out of the histories,
	// as if they had never been sent. Default: any age.
	Retain event.Ages
	// Estimator reads the query vector out of a state. It does not influence the state. Default
	// [model.EstimatorBGS].
	Estimator model.Estimator
	// ExtendEvery is the interval at which the model is extended by items that it does not know and
	// that events name. Items that only the catalogue names do not wait for it. Default 30 s; 0:
	// the model is never extended, by either.
	ExtendEvery time.Duration
	// ExtensionDir is the folder in which a server keeps what it has made of new items and trends,
	// so that they serve again from its next start on. Servers that share a store keep it there.
	// Empty (the default): the next start makes it anew from the histories.
	ExtensionDir string
	// StateCacheBytes bounds the cached user states, including their bookkeeping. Default 256 MiB.
	StateCacheBytes int64

	// QualitySample is the share of the events that are measured: the server finds the rank that
	// the item had just before the event. See the metrics gsimc_online_rank and
	// gsimc_online_recall. From 0, none, to 1, all. Default 0.01.
	QualitySample float64
	// ShadowModel, if not nil, opens a second model that is measured on the same events and answers
	// nothing. [New] calls it once; the server closes the model. Nil (the default): none.
	ShadowModel func() (*model.Model, error)

	// ModelBehind, if not nil, returns why a model serves that is not the newest; nil: it is.
	// /readyz and the metric gsimc_model_behind say so.
	ModelBehind func() error

	// DefaultTimeout is the deadline of a unary call that came without one, from its headers on.
	// Default 1 s.
	DefaultTimeout time.Duration
	// MaxTimeout is the furthest deadline that a unary call may have; further ones become this.
	// Default 30 s.
	MaxTimeout time.Duration
	// SlowRequest is the duration from which a call is logged as slow, with the times of its
	// stages. Default 250 ms; 0: none is.
	SlowRequest time.Duration
	// DrainDelay is the time between the first sign of shutdown (health NOT_SERVING, /readyz 503)
	// and the moment from which no new calls are taken, so that load balancers can move away.
	// Default 5 s; 0: none.
	DrainDelay time.Duration
	// DrainTimeout is the time after DrainDelay in which calls and streams in flight may finish,
	// and then new items and trends are written. Default 25 s.
	DrainTimeout time.Duration

	// MaxRecvBytes is the largest message that is received. Default 4 MiB, enough for a batch of
	// 1000 events with ids of the largest size, and for full filters (20,000 ids) if their ids have
	// no more than 200 bytes.
	MaxRecvBytes int
	// MaxSendBytes is the largest message that is sent. Default 4 MiB.
	MaxSendBytes int
	// MaxInFlight is the most calls of Recommend, and of Observe, that run at a time. The limit in
	// force follows the latency below it. Batches of events, and calls about users, have an eighth
	// of it, and batches of lists an eighth of that. Calls beyond wait for a moment or are
	// RESOURCE_EXHAUSTED. Default 512.
	MaxInFlight int
	// MaxStreams is the number of open StreamObserve streams. Further ones take the place of idle
	// ones, or are RESOURCE_EXHAUSTED. Default 256.
	MaxStreams int
	// MaxNewUsers is the number of users who may begin a history in a minute; events of further
	// ones are RESOURCE_EXHAUSTED. A line of TokenFile may bound those of its tokens besides.
	// Default 0: any number.
	MaxNewUsers int
	// MaxItems is the number of items that the catalogue may have; more are RESOURCE_EXHAUSTED. 0:
	// any number. Default 5,000,000.
	MaxItems int
	// MaxCatalogueBytes is about the memory that the catalogue may take; what would add to more is
	// RESOURCE_EXHAUSTED. Default 2 GiB.
	MaxCatalogueBytes int64
	// FiltersFile names a YAML file of filters and boosts that requests use by name, see package
	// filters. It is read again when it changes, and SaveNamedFilter changes it. Empty (the
	// default): there are none.
	FiltersFile string
	// StreamIdle is the time after which a StreamObserve stream without events ends with
	// UNAVAILABLE. Default 5 min.
	StreamIdle time.Duration
	// MaxConcurrentStreams is the number of calls in flight on one connection; further ones wait at
	// the client, where they cost nothing. Default 32.
	MaxConcurrentStreams uint32
	// MaxConnections is the number of connections to Listen; for the other listeners see
	// [OperatorConnections]. Beyond it the connection that has been silent for longest is closed,
	// one without any call first. Default 4096.
	MaxConnections int
	// MaxConnectionAge is the time, ±10 %, after which the server asks a client to connect again,
	// so that clients spread over new servers; calls in flight have 30 s more. Default 5 min.
	MaxConnectionAge time.Duration
	// Reflection serves the gRPC reflection service on AdminListen, for grpcurl and the like.
	// Default true.
	Reflection bool

	// PopularityHalfLife is the time in which an event loses half of its weight among the popular
	// items that are served as long as there is no model. Default 7 days.
	PopularityHalfLife time.Duration

	// Arms are further models that serve at the same time, each for a share of the users; at most
	// 7. Who belongs to which follows from the user id and ArmSalt alone. Default: none.
	Arms []Arm
	// ArmSalt draws the users of the arms; another salt draws others. Default "".
	ArmSalt string
	// CanaryEvents is the least number of measured events, of main and of the arm, by which a
	// canary is judged, at least 2. Default 1000.
	CanaryEvents int
	// CanaryZ is the number of standard errors by which a canary has to be worse to lose its users,
	// 0 to 100. Default 3.
	CanaryZ float64

	// LogKey is the key of the hash that stands for a user id in the logs. Empty (the default): a
	// random key, so that hashes of different processes cannot be compared.
	LogKey []byte
	// Logger takes the logs. Nil (the default): no logs.
	Logger *slog.Logger
	// LogLevel is the level of Logger, which SetLogLevel changes. Nil (the default): it changes
	// nothing.
	LogLevel *slog.LevelVar
	// Metrics take the counts of the server. They are made beforehand so that the store can report
	// to them as well. Nil (the default): the server makes its own.
	Metrics *Metrics
	// Tracer makes the spans of calls, of what they read and write, and of loads of models. It is
	// not the server's to shut down. Nil (the default): there are none, and calls cost nothing for
	// it.
	Tracer trace.TracerProvider
	// Now is the clock that stamps events without a time. Nil (the default): [time.Now].
	Now func() time.Time
}

// DefaultConfig returns the documented defaults.
func DefaultConfig() Config {
	return Config{
		Listen:               "127.0.0.1:50051",
		AdminListen:          "127.0.0.1:50052",
		OpsListen:            "127.0.0.1:9090",
		Console:              ConsoleAuto,
		BuildVersion:         "unknown",
		Estimator:            model.EstimatorBGS,
		ExtendEvery:          30 * time.Second,
		StateCacheBytes:      256 << 20,
		QualitySample:        0.01,
		DefaultTimeout:       time.Second,
		MaxTimeout:           30 * time.Second,
		SlowRequest:          250 * time.Millisecond,
		DrainDelay:           5 * time.Second,
		DrainTimeout:         25 * time.Second,
		MaxRecvBytes:         4 << 20,
		MaxSendBytes:         4 << 20,
		MaxInFlight:          512,
		MaxStreams:           256,
		MaxItems:             5_000_000,
		MaxCatalogueBytes:    2 << 30,
		StreamIdle:           5 * time.Minute,
		MaxConcurrentStreams: 32,
		MaxConnections:       4096,
		MaxConnectionAge:     5 * time.Minute,
		Reflection:           true,
		PopularityHalfLife:   7 * 24 * time.Hour,
		CanaryEvents:         1000,
		CanaryZ:              3,
	}
}

// OperatorConnections is the number of connections to AdminListen and OpsListen, half of it to
// each.
const OperatorConnections = 128

// Limits that are not worth a setting.
const (
	// goroutines that wait for calls, with stacks grown already; more calls start goroutines of
	// their own
	streamWorkers         = 64
	maxReceiving          = 64 // calls whose message takes long to come
	maxHeaderBytes        = 16 << 10
	handshakeTimeout      = 5 * time.Second
	keepaliveTime         = 30 * time.Second
	keepaliveTimeout      = 10 * time.Second
	keepaliveMinTime      = 10 * time.Second
	maxConnectionIdle     = 5 * time.Minute
	maxOpsConnections     = OperatorConnections / 2
	maxAdminConnections   = OperatorConnections / 2
	opsWriteTimeout       = 10 * time.Second
	profileTimeout        = 5 * time.Minute
	maxConnectionAgeGrace = 30 * time.Second
)

// Validate returns a [fault.Fault] of each field that cannot be used, joined in the order of the
// fields.
func (c Config) Validate() error {
	faults := []error{
		validAddress("Listen", c.Listen),
		validAdminAddress(c.AdminListen),
		validAddress("OpsListen", c.OpsListen),
		atLeast("StateCacheBytes", c.StateCacheBytes, 1),
		atLeast("ExtendEvery", c.ExtendEvery, 0),
		atLeast("DefaultTimeout", c.DefaultTimeout, time.Millisecond),
		atLeast("MaxTimeout", c.MaxTimeout, c.DefaultTimeout),
		atLeast("MaxInFlight", c.MaxInFlight, 1),
		atLeast("MaxStreams", c.MaxStreams, 1),
		atLeast("MaxNewUsers", c.MaxNewUsers, 0),
		atLeast("MaxItems", c.MaxItems, 0),
		atLeast("MaxCatalogueBytes", c.MaxCatalogueBytes, 1),
		atLeast("StreamIdle", c.StreamIdle, time.Second),
		atLeast("SlowRequest", c.SlowRequest, 0),
		atLeast("DrainDelay", c.DrainDelay, 0),
		atLeast("DrainTimeout", c.DrainTimeout, time.Millisecond),
		atLeast("MaxRecvBytes", c.MaxRecvBytes, 1<<10),
		atLeast("MaxSendBytes", c.MaxSendBytes, 1<<10),
		atLeast("MaxConcurrentStreams", c.MaxConcurrentStreams, 1),
		atLeast("MaxConnections", c.MaxConnections, 1),
		atLeast("MaxConnectionAge", c.MaxConnectionAge, time.Second),
	}
	if c.Estimator != model.EstimatorGS && c.Estimator != model.EstimatorBGS {
		faults = append(faults, fault.New("Estimator", strconv.Quote(string(c.Estimator)),
			fmt.Sprintf("%q or %q", model.EstimatorGS, model.EstimatorBGS)))
	}
	if !(c.QualitySample >= 0 && c.QualitySample <= 1) {
		faults = append(faults, fault.New("QualitySample", c.QualitySample, "a share from 0 to 1"))
	}
	if c.ShadowModel != nil && c.QualitySample == 0 {
		faults = append(faults, &fault.Fault{Field: "ShadowModel", Problem: "no event is measured",
			Advice: []fault.Change{{Verb: "set", Field: "QualitySample", To: "above 0"}}})
	}
	faults = append(faults, c.validateJSON()...)
	faults = append(faults, c.validateConsole())
	faults = append(faults, atLeast("PopularityHalfLife", c.PopularityHalfLife, time.Second))
	faults = append(faults, c.validateArms()...)
	faults = append(faults, c.validateDoors()...)
	if c.EventTypesFile != "" && len(c.EventWeights) > 0 {
		faults = append(faults, &fault.Fault{Field: "EventTypesFile",
			Problem: "the weights are given twice",
			Advice:  []fault.Change{{Verb: "leave out", Field: "EventWeights"}}})
	}
	faults = append(faults, c.Retain.Validate("Retain")...)
	return errors.Join(append(faults, c.EventWeights.Validate("EventWeights")...)...)
}

func validAddress(field, address string) error {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return &fault.Fault{Field: field,
			Problem: strconv.Quote(address) + " is not a HOST:PORT address"}
	}
	// A port with a name is one that the system knows, or the listener does not open.
	n, err := strconv.Atoi(port)
	number := err == nil || errors.Is(err, strconv.ErrRange)
	if number && (n < 0 || n > math.MaxUint16) {
		return fault.New(field, strconv.Quote(address), "a port from 0 to 65535")
	}
	return nil
}

func (c *Config) validateJSON() []error {
	var faults []error
	if c.JSONListen != "" {
		faults = append(faults, validAddress("JSONListen", c.JSONListen))
	} else if len(c.JSONOrigins) > 0 {
		faults = append(faults, &fault.Fault{Field: "JSONOrigins", Problem: "has no effect",
			Advice: []fault.Change{{Verb: "set", Field: "JSONListen", To: "to an address"}}})
	}
	for _, o := range c.JSONOrigins {
		if problem := origin.Valid(o); problem != "" {
			faults = append(faults, &fault.Fault{Field: "JSONOrigins",
				Problem: strconv.Quote(o) + " " + problem})
		}
	}
	return faults
}

func validAdminAddress(address string) error {
	path, unix := strings.CutPrefix(address, socket.UnixPrefix)
	if !unix {
		return validAddress("AdminListen", address)
	}
	if !filepath.IsAbs(path) {
		return &fault.Fault{Field: "AdminListen",
			Problem: strconv.Quote(address) + " is not unix: and an absolute path"}
	}
	return nil
}

func atLeast[T int | int64 | uint32 | time.Duration](field string, got, min T) error {
	if got < min {
		return fault.New(field, got, fmt.Sprintf("at least %v", min))
	}
	return nil
}
