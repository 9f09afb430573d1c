package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const table = "| no. | promise | world | tests |\n|--:|---|---|---|\n" +
	"| 1 | Events survive. | power cuts | `TestCut`, `FuzzRow` |\n" +
	"| 2 | Answers are whole. | reloads | `TestReload`: all of it |\n"

// The document of this repository can be read, whatever its numbers are.
func TestDocument(t *testing.T) {
	raw, err := os.ReadFile("../../../" + document)
	if err != nil {
		t.Fatal(err)
	}
	promises, err := parse(string(raw))
	if err != nil {
		t.Fatal(err)
	}
	if len(promises) < 30 {
		t.Errorf("%d promises, want those of the document", len(promises))
	}
}

func TestParse(t *testing.T) {
	got, err := parse(table)
	if err != nil {
		t.Fatal(err)
	}
	want := []promise{
		{1, "Events survive.", []string{"TestCut", "FuzzRow"}},
		{2, "Answers are whole.", []string{"TestReload"}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(promise{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got, want := pattern(got), "^(FuzzRow|TestCut|TestReload)$"; got != want {
		t.Errorf("pattern %s, want %s", got, want)
	}
}

func TestParseErrors(t *testing.T) {
	for doc, want := range map[string]string{
		"no table":                    "no row",
		"| 1 | a | b | none |":        "names no test",
		"| 2 | a | b | `TestCut` |":   "where 1 is due",
		"| 1 | a | `TestCut` |":       "3 cells",
		"| 1 | a | b | `TestX` | c |": "5 cells",
	} {
		if _, err := parse(doc); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("parse(%q): %v, want %q", doc, err, want)
		}
	}
}

// events are lines of go test -json: one for each "action test output".
func events(lines ...string) string {
	var all strings.Builder
	for _, line := range lines {
		action, rest, _ := strings.Cut(line, " ")
		test, output, _ := strings.Cut(rest, " ")
		all.WriteString(`{"Action":"` + action + `","Package":"p","Test":"` + test +
			`","Output":"` + output + "\"}\n")
	}
	return all.String()
}

func TestReport(t *testing.T) {
	pass := []string{"output TestCut injected: 3 power cuts", "output TestCut/a injected: 4 power cuts",
		"output TestCut secret", "pass TestCut", "pass FuzzRow"}
	for _, c := range []struct {
		name        string
		lines       []string
		want, never string
		err         string
	}{
		{"all pass", append(pass, "pass TestReload"), "7 power cuts", "secret", ""},
		{"one fails", append(pass, "output TestReload why", "fail TestReload", "fail"),
			"why", "secret", "failed: p"},
		{"one does not run", pass, "   2  not run", "secret", "did not run: [2]"},
		{"one is skipped", append(pass, "skip TestReload"), "   2  skipped", "secret", ""},
		{"only a part runs", append(pass, "pass TestReload/part"), "   2  not run", "secret",
			"did not run: [2]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			promises, err := parse(table)
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			r, err := read(strings.NewReader("go: downloading\n"+events(c.lines...)), &out)
			if err != nil {
				t.Fatal(err)
			}
			err = report(&out, promises, r)
			if c.err == "" && err != nil ||
				c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("error %v, want %q", err, c.err)
			}
			for _, want := range []string{c.want, "go: downloading"} {
				if !strings.Contains(out.String(), want) {
					t.Errorf("no %q in\n%s", want, &out)
				}
			}
			if strings.Contains(out.String(), c.never) {
				t.Errorf("%q is in\n%s", c.never, &out)
			}
		})
	}
}
