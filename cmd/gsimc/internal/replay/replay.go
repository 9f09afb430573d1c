// Package replay has the command that makes a list of the past again: of the events that a user had
// then, by the code that serves.
package replay

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strconv"
	"time"

	"google.golang.org/grpc"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/call"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/learn/dataset"
)

// Cmd is `gsimc replay`.
type Cmd struct {
	User string `group:"What:" required:"" placeholder:"ID" help:"User id."`
	At   string `group:"What:" placeholder:"TIME|REVISION" help:"A revision of the user, that is a number of events, or a time of RFC 3339: the history before its first later event. Default: the whole history."`

	Items     int    `group:"What:" short:"n" default:"10" help:"Length of the list, 1 to 100."`
	Explain   int    `group:"What:" default:"3" help:"Number of items of the history to name for each score, 0 to 50."`
	ItemsFile string `group:"What:" placeholder:"FILE" help:"CSV with the columns item_id and title, to print titles beside ids."`

	DataDir     string             `group:"From a folder:" placeholder:"DIR" help:"Data folder of a stopped server, or a backup. Default: the history is asked of --server."`
	Model       string             `group:"From a folder:" placeholder:"FILE" help:"Model file of then."`
	Estimator   string             `group:"From a folder:" default:"bgs-imc" enum:"bgs-imc,gs-imc" help:"As for serve."`
	EventWeight map[string]float64 `group:"From a folder:" mapsep:"," placeholder:"TYPE=W" help:"As for serve."`

	cli.ServerFlags

	JSON bool `name:"json" help:"Print one JSON object."`
}

// Help is the manual under the flags.
func (Cmd) Help() string {
	return `What would have been recommended to a user after some events, or at a time, and ` +
		`why. With the model of then, and weights and estimator as the server had them, items ` +
		`and scores are those of then, to the last bit.

  gsimc replay --user alice --at 12 --data-dir backups/monday --model model.gsimc
  gsimc replay --user alice --at 2026-01-31T12:00:00Z

From a folder, a server in this process takes the events in again, with its clock at the time ` +
		`in question. Without one, the running server makes the list, of its own model of now ` +
		`and of at most 1000 events. Neither knows events that were retracted, or which items ` +
		`were hidden then: from a folder all items are shown.`
}

// Check checks the flags together.
func (c *Cmd) Check() error {
	errs := []error{c.ServerFlags.Check(), cli.InRange("--items", float64(c.Items), 1, 100),
		cli.InRange("--explain", float64(c.Explain), 0, 50)}
	if (c.DataDir == "") != (c.Model == "") {
		errs = append(errs, cli.About("%s and %s go together", "--data-dir", "--model"))
	}
	_, err := parsePoint(c.At)
	return errors.Join(append(errs, err)...)
}

// point is a place in a history: after a number of events, or before the first one after a time.
type point struct {
	revision uint64
	time     time.Time // zero: the revision counts
	end      bool      // after all events
}

func parsePoint(text string) (point, error) {
	if text == "" {
		return point{end: true}, nil
	}
	if n, err := strconv.ParseUint(text, 10, 64); err == nil {
		return point{revision: n}, nil
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return point{}, cli.Flagf("--at", "%q, want a number of events, or a time of RFC 3339 "+
			"such as 2026-01-31T12:00:00Z", text)
	}
	return point{time: t}, nil
}

// cut returns the events before the point, and the time that it stands for.
func (p point) cut(events []*pb.Event) ([]*pb.Event, time.Time, error) {
	switch {
	case !p.time.IsZero():
		later := slices.IndexFunc(events, func(e *pb.Event) bool {
			return e.GetEventTime().AsTime().After(p.time)
		})
		if later >= 0 {
			events = events[:later]
		}
		return events, p.time, nil
	case !p.end && p.revision > uint64(len(events)):
		return nil, time.Time{}, cli.Flagf("--at", "%d, the user has %d events", p.revision,
			len(events))
	case !p.end:
		events = events[:p.revision]
	}
	if len(events) == 0 {
		return nil, time.Now(), nil
	}
	return events, events[len(events)-1].GetEventTime().AsTime(), nil
}

// Run makes the list and prints it.
func (c *Cmd) Run(a *cli.App) error {
	at, err := parsePoint(c.At)
	if err != nil {
		return err
	}
	titles := &dataset.Catalogue{}
	if c.ItemsFile != "" {
		if titles, err = dataset.ReadItems(c.ItemsFile, dataset.ItemsOptions{}); err != nil {
			return cli.Flag("--items-file", cli.PathError(err))
		}
	}
	replayed := c.asked
	if c.DataDir != "" {
		replayed = c.served
	}
	got, events, err := replayed(at)
	if err != nil {
		return err
	}
	answer := call.NewAnswer(got, titles)
	answer.Revision = uint64(len(events))
	if c.JSON {
		return a.PrintJSON(answer)
	}
	answer.Print(a, titles)
	if n := len(events); n > 0 {
		last := events[n-1]
		a.Printf("the last of the %d events: %s, %s, %s\n", n, cli.IDText(last.GetItemId()),
			last.GetEventType(), last.GetEventTime().AsTime().Format(time.RFC3339))
	}
	return nil
}

// request asks for the list of a subject.
func (c *Cmd) request() *pb.RecommendRequest {
	return &pb.RecommendRequest{
		PageSize: int32(c.Items), Explain: int32(c.Explain),
		Seen: &pb.SeenPolicy{Mode: pb.SeenPolicy_MODE_EXCLUDE},
	}
}

// asked has the running server make the list, of an inline history.
func (c *Cmd) asked(at point) (got *pb.RecommendResponse, events []*pb.Event, err error) {
	err = c.Call(func(ctx context.Context, conn grpc.ClientConnInterface) error {
		if events, err = listed(ctx, pb.NewUserServiceClient(conn), c.User); err != nil {
			return err
		}
		if events, _, err = at.cut(events); err != nil {
			return err
		}
		req := c.request()
		req.Subject = &pb.RecommendRequest_History{History: inline(events)}
		if len(events) == 0 { // somebody of whom nothing is known
			req.Subject = &pb.RecommendRequest_UserId{UserId: rand.Text()}
		}
		got, err = pb.NewRecommenderServiceClient(conn).Recommend(ctx, req)
		return err
	})
	return got, events, err
}

// inline are the events as a session.
func inline(events []*pb.Event) *pb.InlineHistory {
	history := &pb.InlineHistory{}
	for _, e := range events {
		history.Entries = append(history.Entries, &pb.HistoryEntry{ItemId: e.GetItemId(),
			EventType: e.GetEventType(), EventTime: e.GetEventTime(), Value: e.Value})
	}
	return history
}

// listed returns all events of a user, the oldest first.
func listed(ctx context.Context, users pb.UserServiceClient, user string) ([]*pb.Event, error) {
	var events []*pb.Event
	req := &pb.ListUserEventsRequest{UserId: user, PageSize: 1000}
	for {
		page, err := users.ListUserEvents(ctx, req)
		if err != nil {
			return nil, err
		}
		for _, e := range page.GetEvents() {
			events = append(events, e.GetEvent())
		}
		if req.PageToken = page.GetNextPageToken(); req.PageToken == "" {
			slices.Reverse(events)
			return events, nil
		}
	}
}
