package call

import (
	"context"
	"maps"
	"slices"

	"google.golang.org/grpc"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
)

// titleFlags say where the titles of items are.
type titleFlags struct {
	ItemsFile string `group:"Output:" placeholder:"FILE" help:"CSV with the columns item_id and title, to print titles beside ids. Default, but for --users: the catalogue of the server."`
}

// maxTitles is the largest number of items that a call tells of.
const maxTitles = 100

// titlesOf returns the titles that the catalogue of a server has of items. They are extra: if the
// client may not read the catalogue there are none.
func titlesOf(
	ctx context.Context, conn grpc.ClientConnInterface, ids map[string]bool,
) map[string]string {
	titles, server := map[string]string{}, pb.NewItemServiceClient(conn)
	for some := range slices.Chunk(slices.Sorted(maps.Keys(ids)), maxTitles) {
		got, err := server.BatchGetItems(ctx, &pb.BatchGetItemsRequest{ItemIds: some})
		if err != nil {
			break
		}
		for _, item := range got.GetItems() {
			titles[item.GetItem().GetItemId()] = item.GetItem().GetTitle()
		}
	}
	return titles
}

// namedIn returns the items that a list or its explanations name.
func namedIn(r *pb.RecommendResponse) map[string]bool {
	ids := map[string]bool{r.GetBecauseItemId(): true}
	for _, id := range r.GetUnknownItemIds() {
		ids[id] = true
	}
	for _, item := range r.GetItems() {
		ids[item.GetItemId()] = true
		for _, c := range item.GetExplanation().GetContributions() {
			ids[c.GetItemId()] = true
		}
		like := item.GetExplanation().GetLikeItemIds()
		for _, id := range like[:min(len(like), mostLike)] {
			ids[id] = true
		}
	}
	delete(ids, "")
	return ids
}

// answerOf returns an answer and its titles: those of a file, or those of the server if there is
// none.
func answerOf(
	ctx context.Context, conn grpc.ClientConnInterface, r *pb.RecommendResponse,
	file map[string]string,
) (answer Answer, titles map[string]string) {
	if titles = file; titles == nil {
		titles = titlesOf(ctx, conn, namedIn(r))
	}
	return newAnswer(r, titles), titles
}
