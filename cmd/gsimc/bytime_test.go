package main

import (
	"math"
	"slices"
	"testing"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/internal/test/check"
)

// sixUsers are 16 events, one an hour. Four are of the newest quarter: a target with a history, an
// item that is new, a target without a history, and a target with that one as its history.
const sixUsers = "user_id,item_id,timestamp\n" +
	"a,w,2024-01-01T01:00:00Z\na,x,2024-01-01T02:00:00Z\nb,x,2024-01-01T03:00:00Z\n" +
	"b,w,2024-01-01T04:00:00Z\nc,w,2024-01-01T05:00:00Z\nc,y,2024-01-01T06:00:00Z\n" +
	"e,w,2024-01-01T07:00:00Z\ne,x,2024-01-01T08:00:00Z\nb,y,2024-01-01T09:00:00Z\n" +
	"c,x,2024-01-01T10:00:00Z\nf,w,2024-01-01T11:00:00Z\nf,y,2024-01-01T12:00:00Z\n" +
	"a,y,2024-01-01T13:00:00Z\nb,z,2024-01-01T14:00:00Z\nd,x,2024-01-01T15:00:00Z\n" +
	"d,w,2024-01-01T16:00:00Z\n"

// timeReport is what the tests read of the JSON output.
type timeReport struct {
	Users struct{ Train, Validation, Test int }
	Items int
	Time  struct {
		Begin, Validation int64
		Events            int
		Unknown           int `json:"events_of_unknown_items"`
		Targets           int
		Cold              int `json:"targets_without_history"`
	}
	Methods map[string]map[string]float64
}

func TestEvaluateByTime(t *testing.T) {
	path := writeFile(t, "events.csv", sixUsers)
	args := []string{"evaluate", "--data", path, "--protocol", "time", "--test-share", "0.25",
		"--time-cuts", "1", "--methods", "popularity,vsknn"}
	table := mustRun(t, args...)
	says(t, "the table", table,
		"12 training events of 5 users and 3 items before 2024-01-01 13:00:00",
		"4 events from then on, 1 of them on items that are new",
		"3 targets of 2 users, 1 of them without an event before",
		"events from 2024-01-01 09:00:00 to then")
	var got timeReport
	decode(t, mustRun(t, append(args, "--json")...), &got)
	if got.Users.Train != 5 || got.Users.Validation != 3 || got.Users.Test != 2 ||
		got.Items != 3 || got.Time.Begin-got.Time.Validation != 4*3600 || got.Time.Events != 4 ||
		got.Time.Unknown != 1 || got.Time.Targets != 3 || got.Time.Cold != 1 {
		t.Errorf("head is %+v", got)
	}
	// Each target with a history is the only item left or the most popular one; the cold one is
	// the second most popular.
	want := (2 + 1/math.Log2(3)) / 3
	if f := got.Methods["popularity"]; f["hr@10"] != 1 || math.Abs(f["ndcg@10"]-want) > 1e-12 {
		t.Errorf("popularity: %v, want HR 1 and NDCG %v", f, want)
	}
	if f := got.Methods["vsknn"]; f["k"] == 0 || f["hr@10"] != 1 {
		t.Errorf("vsknn: %v, want HR 1 and the constants", f)
	}
}

func TestEvaluateByTimeDefaults(t *testing.T) {
	events, _ := smallModel(t)
	table := mustRun(t, "evaluate", "--data", events, "--protocol", "time", "--rank", "16")
	says(t, "the table", table, "popularity", "gs-imc-best", "dynamics", "vsknn", "ease",
		"dynamics-frozen-trend", "all 3 cuts", "spread", "dynamics-trend over dynamics: ")
	check.Lacks(t, table, "squared errors",
		"table of histories that repeat each other, without a calibration")
}

// cutsReport is what the tests read of the JSON output of several cuts.
type cutsReport struct {
	Cuts []timeReport
	All  struct {
		Targets int
		Methods map[string]map[string]float64
		Changes []struct {
			From, To       string
			Change, Stderr float64
		}
	}
}

// The newest of several cuts is what a single one is, and all are joined and drawn.
func TestEvaluateByTimeCuts(t *testing.T) {
	events, _ := smallModel(t)
	args := []string{"evaluate", "--data", events, "--protocol", "time", "--rank", "16", "--methods",
		"popularity,dynamics", "--json"}
	var single timeReport
	decode(t, mustRun(t, append(slices.Clone(args), "--time-cuts", "1")...), &single)
	dir := t.TempDir()
	out, told := mustRunIn(t, nil, append(args, "--svg", dir)...)
	checkDrawings(t, told, dir, map[string][]string{"age": {"frozen, with trends", "trained again"}})
	var got cutsReport
	decode(t, out, &got)
	if len(got.Cuts) != 3 || len(got.All.Changes) != 4 || len(got.All.Methods) != 5 {
		t.Fatalf("the report is %+v", got)
	}
	last, targets := got.Cuts[2], 0
	for _, c := range got.Cuts {
		targets += c.Time.Targets
	}
	if last.Time != single.Time || targets != got.All.Targets {
		t.Errorf("%+v of %d targets at the last cut, want %+v of %d", last.Time, targets,
			single.Time, got.All.Targets)
	}
	for name, figures := range single.Methods {
		for figure, want := range figures {
			if have := last.Methods[name][figure]; figure != "seconds" && have != want {
				t.Errorf("%s of %s is %v at the last cut, want %v", figure, name, have, want)
			}
		}
		mean := 0.0
		for _, c := range got.Cuts {
			mean += c.Methods[name]["ndcg@10"] * float64(c.Time.Targets) / float64(targets)
		}
		if have := got.All.Methods[name]["ndcg@10"]; math.Abs(have-mean) > 1e-12 {
			t.Errorf("%s: NDCG@10 of all cuts is %v, want %v", name, have, mean)
		}
	}
}

// Positions are no times to divide by. TestSplitByTimeRefuses of package evaluate has the others.
func TestEvaluateByTimeRefuses(t *testing.T) {
	refused(t, cli.ExitFailure, "the times look like positions", "evaluate", "--data",
		writeFile(t, "e.csv", "user_id,item_id,timestamp\na,x,1\na,y,2\nb,x,3\nb,y,4\n"),
		"--protocol", "time", "--test-share", "0.4", "--time-cuts", "1")
}
