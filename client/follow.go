package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/fault"
)

// FollowOptions say where changes of histories go, and how far they have gone before.
type FollowOptions struct {
	// Cursor is a file that keeps how far a reader has come: without it the reader begins with the
	// first event of each user. Each reader has a file of its own. Empty: nothing is kept.
	Cursor string
	// Every is the time from one pass over all users to the next; 0: there is one pass.
	Every time.Duration

	// Row takes a line of JSON: an event, or an erasure, after which no earlier line of the user
	// holds. The lines of a user come in their order. An error ends Follow.
	Row func(user string, line []byte) error
	// Flush returns when all that Row took is safe. The cursor is written after it.
	Flush func(context.Context) error
	// Passed, if not nil, is called after each pass.
	Passed func(Pass)
	// Troubled, if not nil, is called with an error that may pass, before Follow tries again.
	Troubled func(error)
}

// Pass counts what a pass over all users has met.
type Pass struct {
	Users, Events int
	Erased        int // histories that were erased, are others now, or begin again after a kill
	// Damaged counts histories that cannot be read. It is at least 1 where the list of users has
	// left some out for that reason, whose number nobody knows.
	Damaged int
}

const (
	keepEvery = 30 * time.Second // after which the cursor is kept within a long pass
	lastFlush = 15 * time.Second // for a Flush after ctx has ended
	answerIn  = time.Minute      // a call for changes: a store may have many events to read
)

// A line of a change.
type changeLine struct {
	User     string     `json:"user_id"`
	Erased   bool       `json:"erased,omitzero"`
	Item     string     `json:"item_id,omitzero"`
	Type     string     `json:"event_type,omitzero"`
	Time     *time.Time `json:"event_time,omitzero"`
	Value    *float64   `json:"value,omitzero"`
	ID       string     `json:"event_id,omitzero"`
	Revision uint64     `json:"revision,omitzero"`
}

// Follow gives all events of all users, and then what becomes of them, until ctx ends: it then
// returns ctx.Err(), or the error of a Row, a Flush or the cursor. Each acknowledged event and each
// erasure comes, in the order of its user's history. After a kill the lines since the last Flush
// come again. It goes on after errors that may pass, if there is more than one pass.
func (c *Client) Follow(ctx context.Context, opt FollowOptions) error {
	if opt.Every < 0 {
		return fault.New("Every", opt.Every, "at least 0s")
	}
	known, err := openCursor(opt.Cursor)
	if err != nil {
		return err
	}
	defer func() { _ = known.lock.Close() }()
	f := &follower{opt: opt, users: pb.NewUserServiceClient(c.conn), cursor: known}
	for {
		err := f.pass(ctx)
		switch {
		case f.sunk != nil:
			return f.sunk
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && (opt.Every == 0 || !transient(err) && !passing(err)):
			return f.blame(c.Explain(err))
		case err != nil && opt.Troubled != nil:
			opt.Troubled(f.blame(c.Explain(err)))
		case err == nil && opt.Passed != nil:
			opt.Passed(f.met)
		}
		if opt.Every == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(opt.Every):
		}
	}
}

type follower struct {
	opt    FollowOptions
	users  pb.UserServiceClient
	cursor *cursor
	turn   uint32 // number of the pass
	met    Pass
	kept   time.Time // when the cursor was
	fresh  bool      // Row has taken something since
	news   bool      // the file of the cursor has other users
	lacks  bool      // the last list has lacked users, whose histories are damaged
	sunk   error     // of Row, Flush or the cursor
}

// blame names the file of the cursor in an error that the server has of its tokens, and the time
// limit of a call for changes.
func (f *follower) blame(err error) error {
	if e := new(Error); errors.As(err, &e) && e.Reason == NoAnswer {
		e.Timeout = answerIn
	}
	switch code := status.Code(err); {
	case f.cursor.path == "":
	case code == codes.FailedPrecondition, code == codes.InvalidArgument:
		return f.cursor.problem(err)
	}
	return err
}

// pass goes over all users once. What Row took before an error is kept too.
func (f *follower) pass(ctx context.Context) error {
	f.met, f.kept = Pass{}, time.Now()
	f.turn++
	changed, err := f.list(ctx)
	if err == nil && f.news {
		// If a user is erased after a kill, the next run gives the line of it.
		f.sunk = f.cursor.write()
		f.news = f.sunk != nil
	}
	if err == nil && f.sunk == nil {
		err = f.ask(ctx, changed)
	}
	if f.lacks {
		f.met.Damaged = max(f.met.Damaged, 1)
	}
	if f.sunk == nil {
		f.sunk = f.keep(ctx)
	}
	return err
}

// list returns the users whose histories are not the known ones, or may be gone.
func (f *follower) list(ctx context.Context) (changed []string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := f.users.ListUsers(ctx, &pb.ListUsersRequest{})
	for err == nil {
		var r *pb.ListUsersResponse
		r, err = stream.Recv()
		for _, u := range r.GetUsers() {
			at, known := f.cursor.known[u.GetUserId()]
			if at.listed == f.turn {
				continue
			}
			f.news = f.news || !known
			if at.token != string(u.GetSessionToken()) {
				changed = append(changed, u.GetUserId())
			}
			at.listed = f.turn
			f.cursor.known[u.GetUserId()] = at
			f.met.Users++
		}
	}
	// A user whom the list lacks was erased, or has a damaged history: the answer tells which.
	if f.lacks = status.Code(err) == codes.DataLoss; !f.lacks && !errors.Is(err, io.EOF) {
		return nil, err
	}
	for user, at := range f.cursor.known {
		if at.listed != f.turn {
			changed = append(changed, user)
		}
	}
	return changed, nil
}

// ask asks what became of users, and gives it to Row.
func (f *follower) ask(ctx context.Context, users []string) error {
	const most = 1000 // users of a call
	for len(users) > 0 {
		req := &pb.BatchGetChangesRequest{}
		for _, user := range users[:min(most, len(users))] {
			req.Users = append(req.Users, &pb.UserHistory{UserId: user,
				SessionToken: []byte(f.cursor.known[user].token)})
		}
		call, cancel := context.WithTimeout(ctx, answerIn)
		r, err := f.users.BatchGetChanges(call, req)
		cancel()
		if err != nil {
			return err
		}
		users = users[len(req.GetUsers()):]
		for _, c := range r.GetResults() {
			if f.sunk = f.take(c); f.sunk != nil {
				return f.sunk
			}
			if c.GetMore() {
				users = append(users, c.GetUserId())
			}
		}
		if time.Since(f.kept) > keepEvery {
			if f.sunk = f.keep(ctx); f.sunk != nil {
				return f.sunk
			}
		}
	}
	return nil
}

// take gives what became of a user to Row.
func (f *follower) take(c *pb.UserChanges) error {
	if c.GetError() != nil {
		f.met.Damaged++
		return nil
	}
	user, token := c.GetUserId(), string(c.GetSessionToken())
	erased := c.GetReplaced() || f.cursor.known[user].given
	for _, l := range linesOf(c, erased) {
		text, err := json.Marshal(l)
		if err != nil {
			return err
		}
		if err := f.opt.Row(user, text); err != nil {
			return err
		}
		f.fresh = true
	}
	f.met.Events += len(c.GetEvents())
	if erased {
		f.met.Erased++
	}
	f.cursor.known[user] = place{token: token, listed: f.turn}
	if token == "" && !c.GetMore() {
		delete(f.cursor.known, user)
		f.news = true // so that the file loses the id
	}
	return nil
}

func linesOf(c *pb.UserChanges, erased bool) []changeLine {
	var lines []changeLine
	if erased {
		lines = append(lines, changeLine{User: c.GetUserId(), Erased: true})
	}
	for _, e := range c.GetEvents() {
		of := e.GetEvent()
		lines = append(lines, changeLine{User: c.GetUserId(), Item: of.GetItemId(),
			Type: of.GetEventType(), Time: new(of.GetEventTime().AsTime()),
			Value: new(of.GetValue()), ID: of.GetEventId(), Revision: e.GetRevision()})
	}
	return lines
}

// keep writes the cursor after all that Row took is safe, also when ctx has ended.
func (f *follower) keep(ctx context.Context) error {
	f.kept = time.Now()
	if !f.fresh {
		return nil
	}
	flush, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(lastFlush, cancel) })()
	if err := f.opt.Flush(flush); err != nil {
		return err
	}
	f.fresh = false
	return f.cursor.write()
}
