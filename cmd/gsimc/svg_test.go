package main

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/internal/test/check"
)

// checkDrawings makes sure that the folder holds the named figures and nothing else, that told
// names each, and that each is XML with finite numbers and the given texts.
func checkDrawings(t *testing.T, told, dir string, texts map[string][]string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != len(texts) {
		t.Errorf("the folder holds %v (%v), want %d figures", entries, err, len(texts))
	}
	for name, want := range texts {
		path := filepath.Join(dir, name+".svg")
		says(t, "what is told", told, "wrote "+path+"\n")
		text := mustRead(t, path)
		d := xml.NewDecoder(strings.NewReader(text))
		for err == nil {
			_, err = d.Token()
		}
		if !errors.Is(err, io.EOF) || strings.Contains(text, "NaN") ||
			strings.Contains(text, "Inf") {
			t.Errorf("%s: %v in\n%s", name, err, text)
		}
		for _, w := range want {
			says(t, name, text, ">"+w+"<")
		}
	}
}

func TestModelShowSVG(t *testing.T) {
	events, learned := smallModel(t)
	dir := filepath.Join(t.TempDir(), "a", "b")
	for range 2 { // the second time files are replaced
		told := mustRun(t, "model", "show", learned, "--svg", dir)
		want := map[string][]string{
			"spectrum": {"eigenvalue κ", "index"}, "response": {"ρ = 0", "ρ = 0.87"},
		}
		if strings.Contains(told, "local.svg") {
			want["local"] = []string{"median item"}
		}
		checkDrawings(t, told, dir, want)
	}
	paper := filepath.Join(t.TempDir(), "paper.gsimc")
	mustRun(t, "train", "--data", events, "--preset", "paper", "--rank", "16", "--out", paper)
	dir = t.TempDir()
	checkDrawings(t, mustRun(t, "model", "show", paper, "--svg", dir), dir, map[string][]string{
		"spectrum": {"eigenvalue κ"}, "response": {"H(λ)", "Response of the filter random-walk"},
	})
}

// groupReport is what the tests read of the JSON output.
type groupReport struct {
	Users        struct{ Test int }
	Methods      map[string]map[string]float64
	ByLength     []groupOfUsers `json:"by_history_length"`
	ByPopularity []groupOfUsers `json:"by_popularity"`
}

type groupOfUsers struct {
	From, To, Users int
	Mean            float64
	Methods         map[string]map[string]float64
}

// TestEvaluateSVG: the figures are written, and the mean of the groups is the figure of all users.
func TestEvaluateSVG(t *testing.T) {
	dir := t.TempDir()
	events, figures := filepath.Join(dir, "events.csv.gz"), filepath.Join(dir, "figures")
	mustRun(t, "generate", "--users", "1200", "--items", "120", "--events", "20000",
		"--out", events)
	out, told := mustRunIn(t, nil, "evaluate", "--data", events, "--rank", "16", "--methods",
		"popularity,gs-imc-best,dynamics", "--json", "--svg", figures)
	checkDrawings(t, told, figures, map[string][]string{
		"history-length": {"HR@10", "NDCG@10", "popularity", "gs-imc-best", "dynamics"},
		"popularity":     {"HR@10", "NDCG@10", "popularity", "gs-imc-best", "dynamics"},
		"energy":         {"history", "query made of it", "dynamics: share of the energy"},
		"reliability":    {"measured", "as predicted"},
	})
	var report groupReport
	decode(t, out, &report)
	for _, groups := range [][]groupOfUsers{report.ByLength, report.ByPopularity} {
		if len(groups) < 2 {
			t.Errorf("%d groups of %d users", len(groups), report.Users.Test)
		}
		users := 0
		for _, g := range groups {
			users += g.Users
		}
		check.Same(t, report.Users.Test, users, "users in groups")
		for method, figures := range report.Methods {
			mean := 0.0
			for _, g := range groups {
				mean += g.Methods[method]["ndcg@10"] * float64(g.Users) / float64(users)
			}
			if want := figures["ndcg@10"]; math.Abs(mean-want) > 1e-12 || want == 0 {
				t.Errorf("%s: mean NDCG@10 %v of the groups, want %v", method, mean, want)
			}
		}
	}
}

// A folder that cannot be is told by its flag, before the work.
func TestSVGRefused(t *testing.T) {
	events, path := smallModel(t)
	for name, args := range map[string][]string{
		"model show": {"model", "show", path, "--svg", events},
		"evaluate":   {"evaluate", "--data", events, "--svg", filepath.Join(events, "below")},
		"protocol": {"evaluate", "--data", events, "--protocol", "time", "--time-cuts", "1",
			"--svg", t.TempDir()},
	} {
		code, _, stderr := runCLI(t, nil, args...)
		if code == cli.ExitOK || !strings.Contains(stderr, "--svg") {
			t.Errorf("%s: exit code %d, want one of --svg: %s", name, code, stderr)
		}
	}
}
