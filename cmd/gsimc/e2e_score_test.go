package main

import (
	"testing"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/call"
	"github.com/gsimc/gsimc/internal/test/check"
)

// The commands score, recommend --similar-to and --attribute ask a real server.
func TestScoreAndSimilarCommands(t *testing.T) {
	t.Parallel()
	_, model := smallModel(t)
	server := startServe(t, model, t.TempDir())
	item := recommendJSON(t, server, "--user", "nobody", "--items", "1").Items[0].ID
	list := recommendJSON(t, server, "--history", item, "--items", "5")
	want := []call.Item{list.Items[3], list.Items[0]}
	var got call.Answer
	decode(t, execute(t, "score", "--server", server.GRPC, "--json", "--history", item, "--items",
		list.Items[3].ID+",nowhere,"+list.Items[0].ID), &got)
	check.Same(t, want, got.Items, "scores (-list +score)")
	check.Same(t, []string{"nowhere"}, got.UnknownItemIDs, "unknown")
	similar := recommendJSON(t, server, "--similar-to", list.Items[0].ID, "--items", "3", "--deny",
		list.Items[1].ID)
	if len(similar.Items) != 3 || similar.Items[0].Source != "similar" {
		t.Errorf("what goes with an item is %+v", similar)
	}
	for _, item := range similar.Items {
		if item.ID == list.Items[0].ID || item.ID == list.Items[1].ID {
			t.Errorf("%s is on the list", item.ID)
		}
	}
	shown := recommendJSON(t, server, "--user", "ann", "--items", "2", "--attribute")
	execute(t, "observe", "--server", server.GRPC, "--user", "ann", "--item", shown.Items[1].ID,
		"--recommendation-id", shown.ID)
	says(t, "metrics", server.metricsPage(t),
		`gsimc_attributed_events_total{arm="main",event_type="like",position="2-3"} 1`)
	server.mustStop(t)
}
