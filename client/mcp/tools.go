package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/grpc/codes"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/client"
	"github.com/gsimc/gsimc/internal/cmdline"
)

// Most items of an answer: an agent reads all of it, and the server explains lists up to 100.
const mostItems = 50

// reasons is the number of items of the history that a list names for each of its items, and causes
// the number that explain names.
const (
	reasons = 3
	causes  = 20
)

// tools answer by calls of one server. None of them changes anything there.
type tools struct {
	server *client.Client
	lists  pb.RecommenderServiceClient
	items  pb.ItemServiceClient
	users  pb.UserServiceClient
}

func newTools(server *client.Client) *tools {
	conn := server.Conn()
	return &tools{server, pb.NewRecommenderServiceClient(conn), pb.NewItemServiceClient(conn),
		pb.NewUserServiceClient(conn)}
}

// newServer returns an MCP server with all tools.
func (t *tools) newServer() *mcp.Server {
	s := &server{arguments: map[string][]argument{}}
	s.Server = mcp.NewServer(&mcp.Implementation{Name: "gsimc", Title: "gsimc recommendations",
		Version: cmdline.Version(version)}, &mcp.ServerOptions{Instructions: "Recommendations of " +
		"a gsimc server. Items are named by ids: find them by search_items. " +
		"Scores compare only within one answer."})
	add(s, "recommend", "The items that fit a user, or somebody with a history, best first, "+
		"with why. Also what is popular or rising now, less what they had.", t.recommend)
	add(s, "similar_items", "The items that go with an item, best first.", t.similar)
	add(s, "score_items", "The scores of given items for a user, or somebody with a history.",
		t.score)
	add(s, "explain", "What the score of an item for a user is made of: the parts add up to it.",
		t.explain)
	add(s, "search_items", "Items whose id begins with a text or whose title has it; without a "+
		"text, those that most users have.", t.search)
	add(s, "user_history", "What a user did, the newest first.", t.history)
	s.AddReceivingMiddleware(clearly(s.arguments))
	return s.Server
}

// server is an MCP server that knows the arguments of its tools.
type server struct {
	*mcp.Server
	arguments map[string][]argument
}

// add adds a tool whose answer is a text for people beside its fields.
func add[In any, Out fmt.Stringer](s *server, name, description string,
	tool func(context.Context, In) (Out, error),
) {
	no := false
	hints := &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: &no,
		OpenWorldHint: &no}
	s.arguments[name] = argumentsOf(reflect.TypeFor[In]())
	mcp.AddTool(s.Server, &mcp.Tool{Name: name, Description: description, Annotations: hints},
		func(ctx context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
			out, err := tool(ctx, in)
			if err != nil {
				return nil, out, err
			}
			return &mcp.CallToolResult{Content: []mcp.Content{
				&mcp.TextContent{Text: out.String()}}}, out, nil
		})
}

// subject is whom an answer is for.
type subject struct {
	UserID  string   `json:"user_id,omitempty" jsonschema:"Id of a user. Leave it out if there is a history."`
	History []string `json:"history,omitempty" jsonschema:"Ids of items that somebody liked, the oldest first, in place of a user."`
}

// either calls the function that fits.
func (s subject) either(user func(id string), history func(*pb.InlineHistory)) error {
	switch {
	case (s.UserID == "") == (len(s.History) == 0):
		return errors.New("give user_id or history, one of them")
	case s.UserID != "":
		user(s.UserID)
		return nil
	}
	inline := &pb.InlineHistory{}
	for _, id := range s.History {
		inline.Entries = append(inline.Entries, &pb.HistoryEntry{ItemId: id})
	}
	history(inline)
	return nil
}

// count returns the number of items that were asked for, which is usual if it is 0.
func count(n, usual int) (int32, error) {
	if n < 0 || n > mostItems {
		return 0, fmt.Errorf("n is %d: give 1 to %d", n, mostItems)
	}
	if n == 0 {
		n = usual
	}
	return int32(n), nil //nolint:gosec // at most mostItems
}

type recommendIn struct {
	subject
	N           int      `json:"n,omitempty" jsonschema:"Number of items: 1 to 50, 10 if it is left out."`
	List        string   `json:"list,omitempty" jsonschema:"personal (the default), popular (for everybody), trending (taken more often now than in the training data), together (what goes with all items of the history), or because (what goes with the last one that was liked, which the answer names)."`
	Categories  []string `json:"categories,omitempty" jsonschema:"Only items with at least one of these categories."`
	IncludeSeen bool     `json:"include_seen,omitempty" jsonschema:"Also items that the user had before."`
}

var kinds = map[string]pb.ListKind{"": 0, "personal": 0, "popular": pb.ListKind_LIST_KIND_POPULAR,
	"trending": pb.ListKind_LIST_KIND_TRENDING, "together": pb.ListKind_LIST_KIND_TOGETHER,
	"because": pb.ListKind_LIST_KIND_BECAUSE}

func (t *tools) recommend(ctx context.Context, in recommendIn) (*list, error) {
	n, err := count(in.N, 10)
	if err != nil {
		return nil, err
	}
	kind, ok := kinds[in.List]
	if !ok {
		return nil, fmt.Errorf("list is %q: give personal, popular, trending, together or because",
			in.List)
	}
	request := &pb.RecommendRequest{PageSize: n, Explain: reasons, List: kind,
		Seen: seen(in.IncludeSeen), Filter: &pb.ItemFilter{AnyCategories: in.Categories}}
	if err := in.either(
		func(id string) { request.Subject = &pb.RecommendRequest_UserId{UserId: id} },
		func(h *pb.InlineHistory) { request.Subject = &pb.RecommendRequest_History{History: h} },
	); err != nil {
		return nil, err
	}
	answer, err := t.lists.Recommend(ctx, request)
	if err != nil {
		return nil, t.server.Explain(err)
	}
	return t.list(ctx, answer)
}

func seen(include bool) *pb.SeenPolicy {
	if include {
		return &pb.SeenPolicy{Mode: pb.SeenPolicy_MODE_INCLUDE}
	}
	return nil
}

type similarIn struct {
	ItemID string `json:"item_id" jsonschema:"Id of the item."`
	N      int    `json:"n,omitempty" jsonschema:"Number of items: 1 to 50, 10 if it is left out."`
}

func (t *tools) similar(ctx context.Context, in similarIn) (*list, error) {
	n, err := count(in.N, 10)
	if err != nil {
		return nil, err
	}
	answer, err := t.lists.SimilarItems(ctx, &pb.SimilarItemsRequest{ItemId: in.ItemID,
		PageSize: n})
	if err != nil {
		return nil, t.server.Explain(err)
	}
	return t.list(ctx, answer)
}

type scoreIn struct {
	subject
	ItemIDs []string `json:"item_ids" jsonschema:"Ids of the items: at most 50."`
}

func (t *tools) score(ctx context.Context, in scoreIn) (*list, error) {
	if len(in.ItemIDs) == 0 || len(in.ItemIDs) > mostItems {
		return nil, fmt.Errorf("item_ids has %d: give 1 to %d", len(in.ItemIDs), mostItems)
	}
	answer, err := t.scores(ctx, in.subject, in.ItemIDs, reasons)
	if err != nil {
		return nil, err
	}
	return t.list(ctx, answer)
}

// scores asks for the scores of items, those that the user had before included.
func (t *tools) scores(ctx context.Context, whose subject, ids []string, explain int32,
) (*pb.ScoreItemsResponse, error) {
	request := &pb.ScoreItemsRequest{ItemIds: ids, Explain: explain, Seen: seen(true)}
	if err := whose.either(
		func(id string) { request.Subject = &pb.ScoreItemsRequest_UserId{UserId: id} },
		func(h *pb.InlineHistory) { request.Subject = &pb.ScoreItemsRequest_History{History: h} },
	); err != nil {
		return nil, err
	}
	answer, err := t.lists.ScoreItems(ctx, request)
	return answer, t.server.Explain(err)
}

type explainIn struct {
	subject
	ItemID string `json:"item_id" jsonschema:"Id of the item."`
}

func (t *tools) explain(ctx context.Context, in explainIn) (*list, error) {
	answer, err := t.scores(ctx, in.subject, []string{in.ItemID}, causes)
	if err != nil {
		return nil, err
	}
	return t.list(ctx, answer)
}

type searchIn struct {
	Query string `json:"query,omitempty" jsonschema:"What the id begins with, or what stands in the title."`
	N     int    `json:"n,omitempty" jsonschema:"Number of items: 1 to 50, 20 if it is left out."`
}

func (t *tools) search(ctx context.Context, in searchIn) (*found, error) {
	n, err := count(in.N, 20)
	if err != nil {
		return nil, err
	}
	answer, err := t.items.SearchItems(ctx, &pb.SearchItemsRequest{Query: in.Query, PageSize: n})
	if err != nil {
		return nil, t.server.Explain(err)
	}
	out := &found{Items: []known{}}
	for _, k := range answer.Items {
		out.Items = append(out.Items, known{itemOf(k), k.InModel, k.TrainUsers})
	}
	return out, nil
}

type historyIn struct {
	UserID string `json:"user_id" jsonschema:"Id of the user."`
	N      int    `json:"n,omitempty" jsonschema:"Number of events: 1 to 50, 20 if it is left out."`
}

func (t *tools) history(ctx context.Context, in historyIn) (*history, error) {
	n, err := count(in.N, 20)
	if err != nil {
		return nil, err
	}
	answer, err := t.users.ListUserEvents(ctx, &pb.ListUserEventsRequest{UserId: in.UserID,
		PageSize: n})
	if err != nil {
		return nil, t.server.Explain(err)
	}
	ids := make(map[string]bool)
	for _, e := range answer.Events {
		ids[e.Event.ItemId] = true
	}
	named, err := t.named(ctx, ids)
	if err != nil {
		return nil, err
	}
	out := &history{UserID: in.UserID, Total: answer.TotalSize, Events: []event{}}
	for _, e := range answer.Events {
		out.Events = append(out.Events, event{named(e.Event.ItemId), e.Event.EventType,
			e.Event.EventTime.AsTime().Format(time.RFC3339), e.Event.GetValue()})
	}
	return out, nil
}

// mostNamed is the number of ids that BatchGetItems takes.
const mostNamed = 100

// named returns what the catalogue has of items, by their ids. A token that may not read the
// catalogue gets items without titles.
func (t *tools) named(ctx context.Context, ids map[string]bool) (func(id string) item, error) {
	all := make(map[string]item, len(ids))
	for ask := range slices.Chunk(slices.Sorted(maps.Keys(ids)), mostNamed) {
		answer, err := t.items.BatchGetItems(ctx, &pb.BatchGetItemsRequest{ItemIds: ask})
		if failed := new(client.Error); errors.As(t.server.Explain(err), &failed) &&
			failed.Code == codes.PermissionDenied {
			break
		}
		if err != nil {
			return nil, t.server.Explain(err)
		}
		for _, k := range answer.Items {
			all[k.Item.ItemId] = itemOf(k)
		}
	}
	return func(id string) item {
		if known, ok := all[id]; ok {
			return known
		}
		return item{ID: id}
	}, nil
}
