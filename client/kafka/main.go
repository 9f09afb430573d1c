// Command gsimc-kafka takes events from a topic of Kafka to a gsimc server, each effectively once,
// and what another topic says of items to its catalogue. By the command tail it writes all events
// of the server, and what becomes of them, to a topic.
//
// The packages below internal have one purpose each: mapping makes events and items of records,
// offsets knows what may be committed, letters keeps what cannot become one, ingest brings them
// together.
// This package is the command line.
package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/gsimc/gsimc/client"
	"github.com/gsimc/gsimc/client/internal/program"
	"github.com/gsimc/gsimc/client/kafka/internal/ingest"
	"github.com/gsimc/gsimc/client/kafka/internal/letters"
	"github.com/gsimc/gsimc/client/kafka/internal/mapping"
	"github.com/gsimc/gsimc/internal/fault"

	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	program.Main(run)
}

// version is set by the linker: -X main.version=$(git describe).
var version = ""

// grammar is the command line. Each flag has a twin in the environment: --group is GSIMC_GROUP.
type grammar struct {
	Consume flags `cmd:"" default:"withargs" help:"Take events, each once, and items from topics to a server. This is what it does without a command."`
	Tail    tail  `cmd:"" help:"Write all events of a server, and what becomes of them, to a topic."`

	Version kong.VersionFlag `env:"-" help:"Print the version."`
}

// connections are to the brokers and the server.
type connections struct {
	Brokers []string `required:"" placeholder:"HOST:PORT" help:"Brokers to begin with."`
	Server  string   `default:"127.0.0.1:50051" placeholder:"HOST:PORT" help:"gRPC address of the server. Default: 127.0.0.1:50051."`
	client.AccessFlags
	security
}

// dial returns a client of the server.
func (f *connections) dial() (*client.Client, error) {
	access, err := f.AccessFlags.Access()
	if err != nil {
		return nil, err
	}
	return client.Dial(client.Options{Address: f.Server, Access: access})
}

// options are those of every client of Kafka.
func (f *connections) options() ([]kgo.Opt, error) {
	kafka, err := f.security.options()
	if err != nil {
		return nil, err
	}
	seeds := kgo.SeedBrokers(f.Brokers...)
	if err := kgo.ValidateOpts(seeds); err != nil {
		return nil, &fault.Fault{Field: "Brokers", Err: err}
	}
	return append(kafka, seeds, kgo.ClientID("gsimc-kafka")), nil
}

// flags are those of `gsimc-kafka consume`.
type flags struct {
	Topic      string   `placeholder:"NAME" help:"Topic of events to read."`
	ItemsTopic string   `placeholder:"NAME" help:"Topic of items to read, beside that of events or alone: the key is the id, the value the fields to write as in POST /v1/items:batchUpsert, no value deletes the item. The server asks for the role items."`
	Group      string   `required:"" help:"Consumer group. Programs of one group share the partitions."`
	Map        []string `sep:"none" placeholder:"FIELD=PLACE;..." help:"Where the fields of an event are in a record, if not under their own names: user_id=payload.user;item_id=sku;event_time=ts. The place @key is the key of the record, =TEXT a constant."`

	IDPrefix   string `name:"id-prefix" help:"Begins the event_id of records without one: PREFIX/PARTITION/OFFSET. Default: the topic, which may be too long. Give another to a topic that is made anew under its old name."`
	DeadLetter string `required:"" placeholder:"FILE|topic:NAME" help:"Where records go that cannot become events or items, with the reason: lines of JSON in a file of this program, or a topic."`
	Lanes      int    `default:"4" help:"Streams of events to the server, which the partitions share."`
	// The group notices the end of a program that was killed by its silence.
	SessionTimeout time.Duration `default:"10s" help:"Time after which others take the partitions of a program that was killed. The brokers bound it, by default to 6s and more."`

	MetricsListen string `default:"127.0.0.1:9465" placeholder:"HOST:PORT" help:"Address of /metrics and /healthz. Default: 127.0.0.1:9465."`

	connections
}

// run is main without the process around it.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var g grammar
	log := slog.New(slog.NewTextHandler(stderr, nil))
	return about().Run(args, &g, stdout, stderr, func(command string) error {
		if command == "tail" {
			return g.Tail.follow(ctx, log)
		}
		return g.Consume.serve(ctx, log)
	})
}

func about() *program.Program {
	return &program.Program{Name: "gsimc-kafka", Version: version, FlagOf: flagOf,
		Description: "Take events and items from topics of Kafka to a server, and back.",
		Options:     []kong.Option{kong.DefaultEnvars("GSIMC")}}
}

// check looks at what no part looks at.
func (f *flags) check() error {
	if f.Lanes < 1 {
		return fault.New("Lanes", f.Lanes, "at least 1")
	}
	switch {
	case f.Group == "":
		return fault.New("Group", nil, "a name")
	case f.Topic == "" && f.ItemsTopic == "":
		return fault.New("Topic", nil, "a name, or one of --items-topic")
	case f.Topic == f.ItemsTopic:
		return fault.New("ItemsTopic", f.ItemsTopic, "another topic than that of events")
	case f.Topic == "" && len(f.Map) > 0:
		return &fault.Fault{Field: "Map", Problem: "is of events: set --topic"}
	case f.Topic == "" && f.IDPrefix != "":
		return &fault.Fault{Field: "IDPrefix", Problem: "is of events: set --topic"}
	}
	if f.SessionTimeout < time.Second {
		return fault.New("SessionTimeout", f.SessionTimeout, "at least 1s")
	}
	return nil
}

// serve wires the parts and runs until ctx ends.
func (f *flags) serve(ctx context.Context, log *slog.Logger) error {
	if err := f.check(); err != nil {
		return err
	}
	// Without a topic of events nobody asks for it.
	fields, err := mapping.New(f.changes(), cmp.Or(f.IDPrefix, f.Topic, "none"))
	if err != nil {
		return err
	}
	server, err := f.dial()
	if err != nil {
		return err
	}
	defer func() { _ = server.Close() }()
	kafka, err := f.options()
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", f.MetricsListen)
	if err != nil {
		return &fault.Fault{Field: "MetricsListen", Err: err}
	}
	defer func() { _ = listener.Close() }()

	box, err := f.box(kafka)
	if err != nil {
		return err
	}
	consumer, err := ingest.New(ingest.Config{Kafka: kafka, Topic: f.Topic,
		Items: f.ItemsTopic, Group: f.Group, Session: f.SessionTimeout, Server: server,
		Lanes: f.Lanes, Mapping: fields, Letters: box, Log: log})
	if err != nil {
		return errors.Join(err, box.Close())
	}
	pages := &http.Server{Handler: consumer.Handler(), ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = pages.Serve(listener) }()
	defer func() { _ = pages.Close() }()
	log.Info("consuming", "topic", f.Topic, "items_topic", f.ItemsTopic, "group", f.Group,
		"server", f.Server, "dead_letters", f.DeadLetter, "metrics", listener.Addr().String())
	return consumer.Run(ctx)
}

// changes splits --map. An empty text is an entry too, which the mapping refuses.
func (f *flags) changes() (all []string) {
	for _, text := range f.Map {
		all = append(all, kong.SplitEscaped(strings.TrimSuffix(text, ";")+";", ';')...)
	}
	return all
}

// topicPrefix begins a dead letter that is a topic.
const topicPrefix = "topic:"

// box opens the place for dead letters.
func (f *flags) box(kafka []kgo.Opt) (*letters.Box, error) {
	if name, ok := strings.CutPrefix(f.DeadLetter, topicPrefix); ok {
		if name == "" || name == f.Topic || name == f.ItemsTopic {
			return nil, fault.New("DeadLetter", f.DeadLetter, "another topic")
		}
		producer, err := kgo.NewClient(kafka...)
		if err != nil {
			return nil, err
		}
		return letters.Topic(producer, name), nil
	}
	box, err := letters.File(f.DeadLetter)
	if err != nil {
		return nil, &fault.Fault{Field: "DeadLetter", Err: err}
	}
	return box, nil
}
