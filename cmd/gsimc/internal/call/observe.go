package call

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/gsimc/gsimc/client"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/progress"
	"github.com/gsimc/gsimc/internal/event"
	"github.com/gsimc/gsimc/learn/dataset"
)

// Observe is `gsimc observe`.
type Observe struct {
	cli.ServerFlags

	User    string   `group:"One event:" placeholder:"ID" help:"User id."`
	Item    string   `group:"One event:" placeholder:"ID" help:"Item id."`
	Type    string   `group:"One event:" placeholder:"NAME" help:"Event type, also for --data: small letters, digits, _, . and -. A type to which the server gives no weight (serve --event-weight) weighs 1, a dislike too. Default: like."`
	Time    string   `group:"One event:" placeholder:"TIME" help:"When it happened: a date, RFC 3339 or seconds since 1970. Default: now, by the server's clock."`
	Value   *float64 `group:"One event:" placeholder:"X" help:"Strength, -1000 to 1000. Default: 1."`
	EventID string   `group:"One event:" name:"event-id" placeholder:"ID" help:"Idempotency key: a second event of the user with the same key changes nothing. Default: made from --time, or random without it."`

	RecommendationID string `group:"One event:" name:"recommendation-id" placeholder:"ID" help:"The list on which the item was found, as recommend --attribute prints it: the server counts the event for it."`

	observeFile

	ItemsFile string `group:"Output:" placeholder:"FILE" help:"CSV with the columns item_id and title, to print the title of the item."`
}

// observeFile are the flags for streaming a file.
type observeFile struct {
	Data          []string `group:"A file of events:" sep:"none" placeholder:"FILE" help:"Events, as for train. Every good row is sent, those of a user in the order of time. Events without times get the time of the last change of the file. May be given several times."`
	cli.FormFlags `group:"A file of events:"`
	MaxBadRows    int64         `group:"A file of events:" default:"0" help:"Bad rows to skip and count before giving up."`
	InFlight      int           `group:"A file of events:" default:"1024" help:"Events sent ahead of the server's acknowledgements, 1 to 100000."`
	GiveUp        time.Duration `group:"A file of events:" default:"1m" help:"Give up after this time without an acknowledgement."`
}

// Help is the manual under the flags.
func (Observe) Help() string {
	return `A file is sent over one stream. After a broken connection the events without an
acknowledgement are sent again. Sending a file with times a second time changes nothing: the
server knows the events.

  gsimc observe --user alice --item 1375666
  gsimc observe --data events.csv.gz --server 127.0.0.1:50051`
}

// Check checks the flags together.
func (c *Observe) Check() error {
	errs := []error{c.ServerFlags.Check(), cli.InRange("--in-flight", float64(c.InFlight), 1, 1e5)}
	if len(c.Data) == 0 && (c.User == "" || c.Item == "") {
		errs = append(errs, cli.About("want %s and %s, or %s", "--user", "--item", "--data"))
	}
	if len(c.Data) > 0 {
		errs = append(errs, c.FormFlags.Check(c.fileOptions(nil)))
	}
	if c.Type != "" && !event.ValidType(c.Type) {
		errs = append(errs, cli.Flagf("--type", "%q, want 1 to %d small letters, digits, _, . "+
			"and -, a letter first", c.Type, event.MaxTypeBytes))
	}
	if c.GiveUp <= 0 {
		errs = append(errs, cli.Flagf("--give-up", "%s, want more than 0s", c.GiveUp))
	}
	return errors.Join(errs...)
}

// Idle lists the flags that do nothing.
func (c *Observe) Idle() []cli.Idle {
	file := len(c.Data) > 0
	return []cli.Idle{
		cli.When(!file, "A file of events:", "without --data"),
		cli.When(file, "user, item, time, value, event-id, recommendation-id, items-file",
			"with --data"),
		cli.When(file && c.TypeColumn != "", "type", "with --type-column"),
	}
}

// Run sends one event or a file of them.
func (c *Observe) Run(a *cli.App) error {
	if len(c.Data) > 0 {
		return c.sendFile(a)
	}
	titles, err := cli.Titles(c.ItemsFile)
	if err != nil {
		return err
	}
	e := &pb.Event{
		EventId: c.EventID, UserId: c.User, ItemId: c.Item, EventType: c.Type, Value: c.Value,
		RecommendationId: c.RecommendationID,
	}
	if c.Time != "" {
		at, err := parseTime("--time", c.Time)
		if err != nil {
			return err
		}
		e.EventTime = timestamppb.New(at)
	}
	if e.EventId == "" && e.EventTime == nil {
		e.EventId = rand.Text() // so that a retry by gRPC does not write a second event
	}
	return c.Call(func(ctx context.Context, conn grpc.ClientConnInterface) error {
		got, err := pb.NewEventServiceClient(conn).Observe(ctx, &pb.ObserveRequest{Event: e})
		if err == nil {
			if title := titles[c.Item]; title != "" {
				a.Printf("%s: ", cli.Plain(title))
			}
			a.Printf("%s, revision %d\n", dispositionText(got.GetDisposition()),
				got.GetUserRevision())
		}
		return err
	})
}

// dispositionText says what became of an event, for people.
func dispositionText(d pb.EventDisposition) string {
	switch d {
	case pb.EventDisposition_EVENT_DISPOSITION_APPLIED:
		return "applied"
	case pb.EventDisposition_EVENT_DISPOSITION_DUPLICATE:
		return "duplicate: nothing changed"
	case pb.EventDisposition_EVENT_DISPOSITION_PENDING_ITEM:
		return "kept until a model knows the item"
	}
	return d.String()
}

// sendFile reads the file into memory and streams it.
func (c *Observe) sendFile(a *cli.App) (err error) {
	p := a.Progress()
	events, err := c.read(a, p)
	if err != nil {
		return cli.DataError(err)
	}
	conn, err := c.Dial()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	ctx, stop := cli.InterruptContext()
	defer stop()

	begin := time.Now()
	p.Begin("sending events", progress.Rows)
	sent, err := conn.Send(ctx, events, client.SendOptions{
		InFlight: c.InFlight, GiveUp: c.GiveUp,
		Acknowledged: func(n int) { p.Update(int64(n), int64(events.Len())) },
		Reconnecting: func(n int, why error) {
			p.End()
			fmt.Fprintf(a.Stderr, "%v: reconnecting, %d of %d events are acknowledged\n", why, n,
				events.Len())
			p.Begin("sending events", progress.Rows)
		},
	})
	p.End()
	a.Printf("%d of %d events acknowledged in %s: %d applied, "+
		"%d kept until a model knows the item, %s, %d rejected; %s\n",
		sent.Acknowledged, events.Len(), time.Since(begin).Round(time.Millisecond),
		sent.Applied(), sent.Pending, cli.Counted(sent.Duplicates, "duplicate"), sent.Rejected,
		cli.Counted(sent.Reconnects, "reconnect"))
	kept := fmt.Sprintf("the server keeps the %d acknowledged events; the same command sends the "+
		"other %d (it sends all again; the server skips the events that it has)",
		sent.Acknowledged, events.Len()-sent.Acknowledged)
	switch {
	case ctx.Err() != nil:
		return cli.Interrupted("%s", kept)
	case errors.As(err, new(*client.GaveUpError)):
		return cli.Advised(fmt.Errorf("%w; %s", err, kept), "see %s and %s", "--give-up",
			"--server")
	case err != nil:
		return cli.Advise(err)
	case sent.Rejected > 0:
		first := events.Event(sent.FirstRejected)
		return fmt.Errorf("%s rejected; the first, of user %s and item %s: %s",
			cli.Counted(sent.Rejected, "event"), cli.IDText(first.GetUserId()),
			cli.IDText(first.GetItemId()), sent.FirstRejection)
	}
	return nil
}

// fileOptions say how the files are read.
func (c *Observe) fileOptions(a *cli.App) dataset.Options {
	opt := c.Options(a)
	opt.MaxBadRows = c.MaxBadRows
	return opt
}

// read reads the files and notes on standard error what is odd about them.
func (c *Observe) read(a *cli.App, p progress.Progress) (*fileEvents, error) {
	opt := c.fileOptions(a)
	opt.Progress = func(read, total, _ int64) { p.Update(read, total) }
	p.Begin("reading events", progress.Bytes)
	defer p.End()
	written, err := newestFile(c.Data)
	if err != nil {
		return nil, err
	}
	read, report, err := dataset.ReadEvents(c.Data, opt)
	if err != nil {
		return nil, err
	}
	events := &fileEvents{Events: read, kind: c.Type, written: written}
	events.countRepeats()
	if report.BadRows > 0 {
		fmt.Fprintf(a.Stderr, "note: %d of %d rows left out as bad, the first: %s\n",
			report.BadRows, report.Rows, report.BadRowMessages[0])
	}
	cli.DataNotes(a.Stderr, report, "the events get the time at which the file was last written")
	return events, nil
}

// newestFile returns the time at which the last of the files was written. It stands in for the
// times of files that have none, because it is the same when they are sent again; for standard
// input, which cannot be sent again, it is now.
func newestFile(paths []string) (newest time.Time, err error) {
	for _, path := range paths {
		if path == dataset.Stdin {
			return time.Now(), nil
		}
		info, err := os.Stat(path)
		if err != nil {
			return time.Time{}, err
		}
		if info.ModTime().After(newest) {
			newest = info.ModTime()
		}
	}
	return newest, nil
}

// parseTime reads a time of the command line: seconds since 1970, RFC 3339 or a date, whose day
// begins in UTC. Seconds beyond the year 9999 are refused: they are milliseconds.
func parseTime(flag, text string) (time.Time, error) {
	const last = 253402300799
	if seconds, err := strconv.ParseInt(text, 10, 64); err == nil && seconds <= last {
		return time.Unix(seconds, 0), nil
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t, err = time.Parse(time.DateOnly, text)
	}
	if err != nil {
		return time.Time{}, cli.Usage(cli.Flagf(flag, "%q is not a time: want a date, RFC 3339, "+
			"such as 2026-01-31T12:00:00Z, or seconds since 1970", text))
	}
	return t, nil
}
