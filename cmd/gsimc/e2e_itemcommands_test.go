package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/internal/test/check"
)

// TestItemCommands keeps a catalogue with the real binary: import, list, get, delete, what a list
// shows of it, after kill -9 too, and what an offline look at the store tells.
func TestItemCommands(t *testing.T) {
	t.Parallel()
	_, model := smallModel(t)
	dir := filepath.Join(t.TempDir(), "state")
	filters := writeFile(t, "filters.yaml",
		"both: {all_categories: [a, b]}\nplain: {any_labels: [l0, l1], no_labels: [l2]}\n")
	serve := func() *serverProcess {
		return startServe(t, model, dir, "--filters-file", filters)
	}
	server := serve()
	on := func(args ...string) string {
		t.Helper()
		return execute(t, append(args, "--server", server.GRPC)...)
	}
	all := recommendJSON(t, server, "--user", "nobody", "--items", "120").Items
	var csv strings.Builder
	csv.WriteString("item_id,title,categories,labels,year,embedding,numbers.price\n")
	for i, item := range all {
		fmt.Fprintf(&csv, "%s,\"Title, %d\",%s,l%d,1999,%d 1,%d.5\n", item.ID, i,
			[]string{"a", "a;b", "b", ""}[i%4], i%3, i, i)
	}
	path := writeFile(t, "items.csv", csv.String())
	if got := on("items", "import", path); !strings.HasPrefix(got, "120 items written in ") ||
		!strings.HasSuffix(got, ": 120 new, 0 changed; 0 bad rows left out\n"+
			"not read: \"year\"; a number is a column such as numbers.price, or in the object numbers\n") {
		t.Errorf("items import printed %q", got)
	}

	// Only what the second file has columns of changes.
	hidden := writeFile(t, "hidden.jsonl", fmt.Sprintf(`{"item_id":%q,"hidden":true}`, all[0].ID))
	says(t, "items import of JSON Lines", on("items", "import", hidden), ": 0 new, 1 changed;")
	hides := func(moment string) {
		t.Helper()
		list := recommendJSON(t, server, "--user", "nobody", "--items", "120").Items
		if len(list) != len(all)-1 || list[0].ID == all[0].ID {
			t.Errorf("%s: %d items, from %s on, want all but %s, which is hidden", moment, len(list),
				list[0].ID, all[0].ID)
		}
	}
	hides("at once")
	check.Must(t, server.Kill())
	server = serve()
	hides("after kill -9")
	want := fmt.Sprintf(`{"item_id":%q,"title":"Title, 0","categories":["a"],"labels":["l0"],`+
		`"hidden":true,"available_from":null,"available_until":null,"embedding":[0,1],"numbers":{"price":0.5}}`+
		"\n", all[0].ID)
	check.Same(t, want, on("items", "get", all[0].ID, "--json"), "items get")
	says(t, "items get", on("items", "get", all[1].ID), "Title, 1  a; b        l1")
	p := gsimc(t, "items", "get", "--server", server.GRPC, all[1].ID, "no-such-item", all[2].ID)
	check.Same(t, cli.ExitFailure, p.Wait(), "exit code of items get of a missing item")
	says(t, "items get", p.Out.String(), "Title, 1 ", "Title, 2 ")
	says(t, "items get", p.Err.String(), "not in the catalogue: no-such-item\n")

	if got := on("items", "search", "TITLE, 101"); !strings.Contains(got, all[101].ID) ||
		strings.Count(got, "\n") != 2 {
		t.Errorf("items search printed %q", got)
	}
	check.Same(t, 21, strings.Count(on("items", "search"), "\n"),
		"lines of items search without a text")

	// Lists, scores and events name items by what the catalogue says of them.
	check.Same(t, "Title, 1", recommendJSON(t, server, "--user", "nobody").Items[0].Title, "a title")
	says(t, "recommend --seen only", on("recommend", "--user", "nobody", "--seen", "only"),
		"note: unknown user\n", "note: nothing to list: the history has no item")
	says(t, "score", on("score", "--user", "nobody", "--items", all[7].ID), "Title, 7")
	on("observe", "--user", "reader", "--item", all[5].ID)
	says(t, "user events", on("user", "events", "--user", "reader"), "Title, 5")
	says(t, "recommend --explain", on("recommend", "--user", "reader", "--explain", "1"),
		all[5].ID+" Title, 5")

	// The list in two parts is the list, and its JSON can be read again.
	whole := on("items", "list", "--items", "1000", "--json")
	check.Same(t, 120, strings.Count(whole, "\n"), "lines of items list --json")
	first := on("items", "list", "--items", "100")
	_, token, more := strings.Cut(first, "--page-token ")
	second := on("items", "list", "--items", "100", "--page-token", strings.TrimSpace(token))
	if !more || strings.Count(first, "\n") != 102 || strings.Count(second, "\n") != 21 {
		t.Errorf("the pages of items list are\n%s\nand\n%s", first, second)
	}
	again := writeFile(t, "again.jsonl", whole)
	says(t, "items import of items list", on("items", "import", again), ": 0 new, 120 changed;")
	check.Same(t, whole, on("items", "list", "--items", "1000", "--json"), "after its own import")

	// Lists obey it.
	got := recommendJSON(t, server, "--user", "nobody", "--items", "120", "--all-categories", "a,b",
		"--any-labels", "l0,l1", "--no-labels", "l2").Items
	var ids, passing []string
	for _, i := range got {
		ids = append(ids, i.ID)
	}
	for i, item := range all {
		if i%4 == 1 && i%3 != 2 {
			passing = append(passing, item.ID)
		}
	}
	check.Same(t, passing, ids, "the filtered list")
	for i, item := range recommendJSON(t, server, "--user", "nobody", "--items", "120",
		"--named-filters", "both,plain").Items {
		if i >= len(passing) || item.ID != passing[i] {
			t.Errorf("item %d of the list by named filters is %s", i, item.ID)
		}
	}
	cheap := recommendJSON(t, server, "--user", "nobody", "--items", "120", "--range",
		"price=..9.5,price=2.5..").Items
	if len(cheap) != 8 || cheap[0].ID != all[2].ID || cheap[7].ID != all[9].ID {
		t.Errorf("the list by price is %v, want items 2 to 9 of %v", cheap, all[:10])
	}
	for _, i := range recommendJSON(t, server, "--similar-to", all[5].ID, "--items", "120",
		"--no-categories", "a").Items {
		if i.ID == all[1].ID || i.ID == all[0].ID {
			t.Errorf("%s is of a category that is left out, and similar", i.ID)
		}
	}
	says(t, "a list of a category that no item has", on("recommend", "--user", "nobody",
		"--any-categories", "no such"), "note: perhaps no item has such a category")
	varied := recommendJSON(t, server, "--user", "nobody", "--any-categories", "a,b",
		"--max-per-category", "2", "--lambda", "0.5", "--pin", all[8].ID+"=2,"+all[0].ID+"=1").Items
	if len(varied) < 3 || len(varied) > 5 || varied[1].ID != all[8].ID ||
		varied[1].Source != "pinned" || varied[0].ID == all[0].ID {
		t.Errorf("a list with two of each category and a pin is %+v", varied)
	}
	check.Same(t, "1 item deleted\n", on("items", "delete", all[3].ID, "nowhere"), "items delete")
	badItemRows(t, server)
	server.mustStop(t)
	for _, args := range [][]string{{"verify", "--data-dir", dir},
		{"salvage", "--data-dir", dir, "--to", filepath.Join(t.TempDir(), "new")}} {
		says(t, args[0], execute(t, args...), "items ", " 120\n")
	}
}

// badItemRows imports a file with rows that this program and rows that the server refuses.
func badItemRows(t *testing.T, server *serverProcess) {
	t.Helper()
	path := writeFile(t, "bad.csv", "item_id,title,available_from,available_until\n"+
		"new-1,ok,,\n"+
		"new-1,again,,\n"+
		"new-2,"+strings.Repeat("x", 513)+",,\n"+
		"new-3,ok,2026-01-02,2026-01-01\n")
	for _, c := range []struct {
		bad    string
		stderr []string
		ok     bool
	}{
		{"0", []string{path + `:3: column item_id: item "new-1" was there before: to leave bad ` +
			`rows out, see --max-bad-rows`}, false},
		{"3", []string{path + ":3: column item_id", path + ":4: column title: has 513 bytes",
			path + ":5: column available_until: must be after available_from"}, true},
		{"2", []string{path + ":5: column available_until"}, false},
	} {
		p := gsimc(t, "items", "import", path, "--max-bad-rows", c.bad, "--server", server.GRPC)
		check.Same(t, c.ok, p.Wait() == 0, "--max-bad-rows %s ends well", c.bad)
		says(t, "--max-bad-rows "+c.bad, p.Err.String(), c.stderr...)
		if c.ok {
			says(t, "--max-bad-rows "+c.bad, p.Out.String(), "1 item written")
		}
	}
}
