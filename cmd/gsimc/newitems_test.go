package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/model"
)

func TestEvaluateNewItems(t *testing.T) {
	events, file := smallModel(t)
	args := []string{"evaluate", "--data", events, "--protocol", "new-items", "--rank", "16",
		"--new-share", "0.3"}
	says(t, "the table", mustRun(t, args...), "popularity", "dynamics")
	out := mustRun(t, append(args, "--json")...)
	var report struct {
		Hidden  int
		Targets struct{ New, Known int }
		Figures []map[string]any
	}
	decode(t, out, &report)
	if report.Hidden == 0 || report.Targets.New == 0 || report.Targets.Known == 0 {
		t.Errorf("nothing is hidden, or nothing is to be found: %s", out)
	}
	checkContent(t, file, args)
	found := map[any]any{}
	for _, f := range report.Figures {
		if f["method"] == "dynamics" {
			found[f["shown"]] = f["new hr@50"]
		}
	}
	if found[0.] != 0. || found[10.] == 0. || found[10.] == nil {
		t.Errorf("the new items are found by %v, want none without users and some with ten", found)
	}
}

// checkContent evaluates with a file of items, those of a model, and with one that is not there.
func checkContent(t *testing.T, file string, args []string) {
	t.Helper()
	m := check.Get(model.Open(file))(t)
	defer m.Close()
	items := "item_id,title,categories\n"
	for i := range int32(m.NumItems()) {
		items += fmt.Sprintf("%s,Item %d,a|c%d\n", m.ItemID(i), i, i%5)
	}
	path := writeFile(t, "items.csv", items)
	args = append(args, "--items-file", path)
	says(t, "with a file of items", mustRun(t, args...), "\n  dynamics, content", "\n  content ")
	args[len(args)-1] = path + ".none"
	refused(t, cli.ExitFailure, "--items-file", args...)
}

// What the file of items hides is on no list, and no target: of ten others all are found.
func TestEvaluateHides(t *testing.T) {
	events, file := smallModel(t)
	m := check.Get(model.Open(file))(t)
	defer m.Close()
	items := "item_id,hidden\n"
	for i := range int32(m.NumItems()) {
		items += fmt.Sprintf("%s,%t\n", m.ItemID(i), i >= 10)
	}
	args := []string{"evaluate", "--data", events, "--rank", "16", "--methods",
		"popularity,dynamics", "--json", "--items-file", writeFile(t, "items.csv", items)}
	var got struct{ Methods map[string]map[string]float64 }
	decode(t, mustRun(t, args...), &got)
	for name, figures := range got.Methods {
		if figures["hr@10"] != 1 {
			t.Errorf("%s: HR@10 %v, want 1", name, figures["hr@10"])
		}
	}
	var byTime struct {
		Cuts []struct{ Methods map[string]map[string]float64 }
	}
	decode(t, mustRun(t, append(args, "--protocol", "time", "--time-cuts", "2")...), &byTime)
	if len(byTime.Cuts) != 2 {
		t.Errorf("%d cuts, want 2", len(byTime.Cuts))
	}
	for _, cut := range byTime.Cuts {
		for name, figures := range cut.Methods {
			if figures["hr@10"] != 1 {
				t.Errorf("by time, %s: HR@10 %v, want 1", name, figures["hr@10"])
			}
		}
	}
	args = slices.DeleteFunc(args, func(a string) bool {
		return a == "--methods" ||
			strings.HasPrefix(a, "popularity")
	})
	var byItem struct{ Figures []map[string]any }
	decode(t, mustRun(t, append(args, "--protocol", "new-items", "--new-share", "0.3")...), &byItem)
	for _, f := range byItem.Figures {
		if f["known hr@50"] != 1. {
			t.Errorf("new items: %v, want all of the known ones found", f)
		}
	}
	for _, protocol := range []string{"last-item", "time", "new-items"} {
		refused(t, cli.ExitFailure, "--items-file", "evaluate", "--data", events, "--protocol",
			protocol, "--items-file", file+".none")
		foreign := writeFile(t, "foreign.csv", "item_id,title\nnobody's,A film\n")
		refused(t, cli.ExitFailure, "--items-file: "+foreign+": none of its 1 item is in the data",
			"evaluate", "--data", events, "--protocol", protocol, "--items-file", foreign)
		for text, want := range map[string]string{
			"item_id,title,hiden\ni001,A film,1\n":               `"hiden" is no field of an item: did you mean hidden?`,
			`{"item_id": "i001", "title": "a", "lables": ["b"]}`: `"lables" is no field of an item: did you mean labels?`,
		} {
			odd := writeFile(t, "odd", text)
			refused(t, cli.ExitFailure, "--items-file: "+odd+": column "+want, "evaluate", "--data",
				events, "--protocol", protocol, "--items-file", odd)
		}
	}
}
