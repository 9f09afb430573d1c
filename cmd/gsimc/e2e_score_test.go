package main

import (
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/call"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/learn/dataset"
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

// The list of a user in a file is the list that Recommend gives this user, in CSV and in JSON Lines,
// for flags that BatchRecommend has and for flags that need one call for each user.
func TestListsOfManyUsers(t *testing.T) {
	t.Parallel()
	events, model := smallModel(t)
	server := startServe(t, model, t.TempDir())
	execute(t, "observe", "--server", server.GRPC, "--data", events)
	users := check.Get(dataset.ReadUsers(events, nil))(t)
	users = append(users, "nobody")
	file := writeFile(t, "users.csv", "user_id\n"+strings.Join(users, "\n")+"\n"+users[3]+"\n")
	for _, flags := range [][]string{{"--items", "3"}, {"--items", "1000", "--deny", "1"},
		{"--items", "3", "--explain", "2", "--max-per-category", "2"}} {
		lists := filepath.Join(t.TempDir(), "lists.jsonl.gz")
		ask := append([]string{"recommend", "--server", server.GRPC, "--users", file}, flags...)
		says(t, "recommend --users", execute(t, append(ask, "--out", lists)...), fmt.Sprint(len(users), " lists in "),
			"note: 1 of them: unknown user")
		rows := readLists(t, lists)
		check.MustSame(t, len(users), len(rows), "lists of all users")
		for _, i := range []int{0, 99, 100, len(users) - 1} {
			want := recommendJSON(t, server, append(flags, "--user", users[i])...)
			for _, list := range [][]call.Item{want.Items, rows[i].Items} {
				for at := range list {
					list[at].StdDev = nil // it grows with the time since the last event
				}
			}
			check.Same(t, users[i], rows[i].User, "user")
			check.Same(t, want, rows[i].Answer, "list (-alone +in the file)")
		}
		var listed []string
		var places []place
		for _, row := range rows {
			for i, item := range row.Items { // who has had all items has no place
				places = append(places, place{row.User, int32(i + 1), item.ID, item.Score})
			}
			if len(row.Items) > 0 {
				listed = append(listed, row.User)
			}
		}
		for _, name := range []string{"lists.csv", "lists.parquet"} {
			table := filepath.Join(t.TempDir(), name)
			execute(t, append(ask, "--out", table)...)
			check.Same(t, listed, check.Get(dataset.ReadUsers(table, nil))(t), "users of %s", name)
			if name == "lists.parquet" {
				check.Same(t, places, check.Get(parquet.ReadFile[place](table))(t), "rows")
			}
		}
	}
	server.mustStop(t)
}

// A file of lists that may have one item alone tells who would like it: among the users sorted by the
// score of the item, those who take it next come early. Who has it is not in the file.
func TestWhoWouldLikeAnItem(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	all, known := filepath.Join(dir, "all.csv"), filepath.Join(dir, "known.csv")
	model := filepath.Join(dir, "m.gsimc")
	execute(t, "generate", "--users", "1000", "--items", "100", "--events", "20000", "--out", all)
	next, takers := holdOutLast(t, all, known)
	execute(t, "train", "--data", known, "--rank", "16", "--out", model)
	server := startServe(t, model, t.TempDir())
	execute(t, "observe", "--server", server.GRPC, "--data", known)
	ahead, pairs := 0, 0
	often := slices.SortedFunc(maps.Keys(takers), func(a, b string) int {
		return cmp.Or(takers[b]-takers[a], strings.Compare(a, b))
	})
	for _, item := range often[:8] {
		table := filepath.Join(dir, "users.parquet")
		execute(t, "recommend", "--server", server.GRPC, "--users", known, "--allow", item, "--items", "1",
			"--out", table)
		var yes, no []float64 // scores of those who take the item next, and of the others
		for _, row := range check.Get(parquet.ReadFile[place](table))(t) {
			if next[row.User] == item {
				yes = append(yes, row.Score)
			} else {
				no = append(no, row.Score)
			}
		}
		check.Same(t, takers[item], len(yes), "users in the file who take %s next", item)
		for _, a := range yes {
			for _, b := range no {
				pairs++
				if a > b {
					ahead++
				}
			}
		}
	}
	t.Logf("%d of %d pairs are in order", ahead, pairs)
	if pairs == 0 || ahead*5 < pairs*3 {
		t.Errorf("%d of %d pairs of a taker and another user are in order, want three fifths", ahead, pairs)
	}
	server.mustStop(t)
}

// holdOutLast writes all events but the last one of each user. next is the item of that event by
// user, and takers the number of users by this item.
func holdOutLast(t *testing.T, all, known string) (next map[string]string, takers map[string]int) {
	t.Helper()
	data, _, err := dataset.Read([]string{all}, dataset.Options{})
	check.Must(t, err)
	next, takers = map[string]string{}, map[string]int{}
	rows := []byte("user_id,item_id,timestamp\n")
	for u, user := range data.Users {
		last := data.Ptr[u+1] - 1
		next[user] = data.Items[data.Item[last]]
		takers[next[user]]++
		for e := data.Ptr[u]; e < last; e++ {
			rows = fmt.Appendf(rows, "%s,%s,%d\n", user, data.Items[data.Item[e]], data.Time[e])
		}
	}
	write(t, known, string(rows))
	return next, takers
}

// place is what a row of a table of lists begins with.
type place struct {
	User  string  `parquet:"user_id"`
	Place int32   `parquet:"place"`
	Item  string  `parquet:"item_id"`
	Score float64 `parquet:"score"`
}

// userList is a line of a file of lists.
type userList struct {
	User string `json:"user_id"`
	call.Answer
}

// readLists reads a compressed file of lists.
func readLists(t *testing.T, path string) (lists []userList) {
	t.Helper()
	f := check.Get(os.Open(path))(t)
	defer func() { _ = f.Close() }()
	unzipped := check.Get(gzip.NewReader(f))(t)
	for d := json.NewDecoder(unzipped); ; {
		var list userList
		switch err := d.Decode(&list); {
		case errors.Is(err, io.EOF):
			return lists
		case err != nil:
			t.Fatal(err)
		}
		lists = append(lists, list)
	}
}
