package call

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"time"

	"google.golang.org/grpc"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
)

// User is `gsimc user`.
type User struct {
	Show    UserShow    `cmd:"" help:"Print what a server knows of a user."`
	Events  UserEvents  `cmd:"" help:"Print the events of a user, the newest first."`
	Export  UserExport  `cmd:"" help:"Write everything that is held of a user as JSON Lines."`
	Retract UserRetract `cmd:"" help:"Take events of a user back, as if they had never been sent."`
	Merge   UserMerge   `cmd:"" help:"Move the events of a guest to an account."`
	Forget  UserForget  `cmd:"" help:"Erase a user."`
}

// whose are the flags of a command about one user.
type whose struct {
	cli.ServerFlags

	User string `required:"" placeholder:"ID" help:"User id."`
}

// call runs fn with a client of UserService.
func call(f *cli.ServerFlags, fn func(context.Context, pb.UserServiceClient) error) error {
	return f.Call(func(ctx context.Context, conn grpc.ClientConnInterface) error {
		return fn(ctx, pb.NewUserServiceClient(conn))
	})
}

// summary is a user as `gsimc user` prints it.
type summary struct {
	User        string      `json:"user_id"`
	Revision    uint64      `json:"revision"`
	Events      int64       `json:"event_count"`
	Pending     int64       `json:"pending_event_count"`
	First       time.Time   `json:"first_event_time"`
	Last        time.Time   `json:"last_event_time"`
	Uncertainty *float64    `json:"uncertainty,omitempty"`
	TasteShift  *float64    `json:"taste_shift,omitempty"`
	Types       []eventType `json:"event_types"`
}

type eventType struct {
	Type   string  `json:"event_type"`
	Events int64   `json:"event_count"`
	Weight float64 `json:"weight"`
	Total  float64 `json:"total_weight"`
}

func newSummary(u *pb.User) summary {
	s := summary{User: u.GetUserId(), Revision: u.GetRevision(), Events: u.GetEventCount(),
		Pending: u.GetPendingEventCount(), First: u.GetFirstEventTime().AsTime(),
		Last: u.GetLastEventTime().AsTime(), Uncertainty: u.Uncertainty,
		TasteShift: u.TasteShift, Types: []eventType{}}
	for _, t := range u.GetEventTypes() {
		s.Types = append(s.Types, eventType{t.GetEventType(), t.GetEventCount(), t.GetWeight(),
			t.GetTotalWeight()})
	}
	return s
}

// userEvent is an event as `gsimc user` prints it. The names are those of columns that train and
// observe read.
type userEvent struct {
	User     string    `json:"user_id"`
	Item     string    `json:"item_id"`
	Type     string    `json:"event_type"`
	Time     time.Time `json:"timestamp"`
	Value    float64   `json:"value"`
	ID       string    `json:"event_id"`
	Revision uint64    `json:"revision"`
}

func newUserEvent(e *pb.UserEvent) userEvent {
	of := e.GetEvent()
	return userEvent{User: of.GetUserId(), Item: of.GetItemId(), Type: of.GetEventType(),
		Time: of.GetEventTime().AsTime(), Value: of.GetValue(), ID: of.GetEventId(),
		Revision: e.GetRevision()}
}

// UserShow is `gsimc user show`.
type UserShow struct {
	whose

	JSON bool `name:"json" help:"Print one JSON object."`
}

// Run prints the summary of a user.
func (c *UserShow) Run(a *cli.App) error {
	return call(&c.ServerFlags, func(ctx context.Context, users pb.UserServiceClient) error {
		r, err := users.GetUser(ctx, &pb.GetUserRequest{UserId: c.User})
		if err != nil {
			return err
		}
		s := newSummary(r.GetUser())
		if c.JSON {
			return a.PrintJSON(s)
		}
		s.print(a)
		return nil
	})
}

// print prints a summary for people.
func (s *summary) print(a *cli.App) {
	a.Printf("%s from %s to %s, %d on items that the model does not know\n",
		cli.Counted(s.Events, "event"), timeText(s.First), timeText(s.Last), s.Pending)
	if s.Uncertainty != nil {
		a.Printf("uncertainty: %.3f of that about a new user\n", *s.Uncertainty)
	}
	if s.TasteShift != nil {
		a.Printf("shift of taste within 30 days: %.3f (0: none, 1: nothing in common, "+
			"2: the opposite)\n", *s.TasteShift)
	}
	rows := [][]string{{"type", "events", "weight", "total"}}
	for _, t := range s.Types {
		rows = append(rows, []string{t.Type, strconv.FormatInt(t.Events, 10),
			numberText(t.Weight), numberText(t.Total)})
	}
	cli.PrintTable(a.Stdout, rows, 1, 2, 3)
}

func timeText(t time.Time) string { return t.Format(time.RFC3339) }

func numberText(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }

// UserEvents is `gsimc user events`.
type UserEvents struct {
	whose

	Events int  `short:"n" default:"20" help:"Number of events, at least 1."`
	JSON   bool `name:"json" help:"Print JSON Lines."`
}

// Check checks the flags together.
func (c *UserEvents) Check() error {
	return errors.Join(c.ServerFlags.Check(), cli.InRange("--events", float64(c.Events), 1, 1e9))
}

// Run prints the newest events.
func (c *UserEvents) Run(a *cli.App) error {
	return c.Call(func(ctx context.Context, conn grpc.ClientConnInterface) error {
		users, out := pb.NewUserServiceClient(conn), json.NewEncoder(a.Stdout)
		var events []userEvent
		items := map[string]bool{}
		req := &pb.ListUserEventsRequest{UserId: c.User}
		for left := c.Events; left > 0; {
			req.PageSize = int32(min(left, 1000))
			r, err := users.ListUserEvents(ctx, req)
			if err != nil {
				return err
			}
			for _, listed := range r.GetEvents() {
				e := newUserEvent(listed)
				if !c.JSON {
					events, items[e.Item] = append(events, e), true
				} else if err := out.Encode(e); err != nil {
					return err
				}
			}
			left -= len(r.GetEvents())
			if req.PageToken = r.GetNextPageToken(); req.PageToken == "" {
				break
			}
		}
		if !c.JSON {
			printEvents(a, events, titlesOf(ctx, conn, items))
		}
		return nil
	})
}

// printEvents prints events for people, with titles if there are some.
func printEvents(a *cli.App, events []userEvent, titles map[string]string) {
	rows := [][]string{{"revision", "time", "type", "value", "item", "event id"}}
	titled := false
	for _, e := range events {
		rows = append(rows, []string{strconv.FormatUint(e.Revision, 10), timeText(e.Time), e.Type,
			numberText(e.Value), cli.IDText(e.Item), cli.IDText(e.ID)})
		titled = titled || titles[e.Item] != ""
	}
	if titled {
		rows[0] = append(rows[0], "title")
		for at, e := range events {
			rows[at+1] = append(rows[at+1], titles[e.Item])
		}
	}
	cli.PrintTable(a.Stdout, rows, 0, 3)
}

// UserExport is `gsimc user export`.
type UserExport struct{ whose }

// Help is the manual under the flags.
func (UserExport) Help() string {
	return `The first line is {"summary": …}: what the server has made of the events. Each other
line is an event, the oldest first. The export is whole if the command ends without an error.

  gsimc user export --user alice --timeout 1m > alice.jsonl`
}

// Run writes everything that is held of a user.
func (c *UserExport) Run(a *cli.App) error {
	out := json.NewEncoder(a.Stdout)
	return call(&c.ServerFlags, func(ctx context.Context, users pb.UserServiceClient) error {
		stream, err := users.ExportUser(ctx, &pb.ExportUserRequest{UserId: c.User})
		for err == nil {
			var r *pb.ExportUserResponse
			if r, err = stream.Recv(); err != nil {
				break
			}
			if u := r.GetUser(); u != nil {
				err = out.Encode(map[string]summary{"summary": newSummary(u)})
			}
			for _, e := range r.GetEvents() {
				if err == nil {
					err = out.Encode(newUserEvent(e))
				}
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		return err
	})
}

// UserRetract is `gsimc user retract`.
type UserRetract struct {
	whose

	Event []string `placeholder:"ID,..." help:"Ids of events, as gsimc user events prints them."`
	Item  []string `placeholder:"ID,..." help:"Items: all events on them."`
}

// Check checks the flags together.
func (c *UserRetract) Check() error {
	err := c.ServerFlags.Check()
	if len(c.Event)+len(c.Item) == 0 {
		err = errors.Join(err, cli.About("want %s or %s", "--event", "--item"))
	}
	return err
}

// Run takes events back.
func (c *UserRetract) Run(a *cli.App) error {
	return call(&c.ServerFlags, func(ctx context.Context, users pb.UserServiceClient) error {
		r, err := users.RetractEvents(ctx, &pb.RetractEventsRequest{UserId: c.User,
			EventIds: c.Event, ItemIds: c.Item})
		if err == nil {
			a.Printf("%s retracted, revision %d\n",
				cli.Counted(r.GetRetractedEventCount(), "event"), r.GetUserRevision())
		}
		return err
	})
}

// UserMerge is `gsimc user merge`.
type UserMerge struct {
	cli.ServerFlags

	From string `required:"" placeholder:"ID" help:"User id of the guest, whose events are moved."`
	Into string `required:"" placeholder:"ID" help:"User id of the account."`
}

// Run merges two users.
func (c *UserMerge) Run(a *cli.App) error {
	return call(&c.ServerFlags, func(ctx context.Context, users pb.UserServiceClient) error {
		r, err := users.MergeUsers(ctx,
			&pb.MergeUsersRequest{SourceUserId: c.From, TargetUserId: c.Into})
		if err == nil {
			a.Printf("%s merged, %d were there, revision %d\n",
				cli.Counted(r.GetMergedEventCount(), "event"), r.GetRepeatedEventCount(),
				r.GetUserRevision())
		}
		return err
	})
}
