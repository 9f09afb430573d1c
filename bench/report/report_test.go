package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write testdata/benchmarks.md from what the command gives")

// TestPage makes the page of a few results and compares it with the one that was read by a person.
func TestPage(t *testing.T) {
	out := t.TempDir()
	if err := run([]string{"--results", "testdata/results", "--out", out}); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(out, "benchmarks.md"))
	if err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "benchmarks.md")
	if *update {
		if err := os.WriteFile(golden, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("the page has changed; go test ./report -update takes it over (-want +got):\n%s",
			diff)
	}
	images := 0
	for _, word := range strings.Fields(string(got)) {
		_, path, ok := strings.Cut(strings.TrimSuffix(word, ")"), "](benchmarks/")
		if !ok {
			continue
		}
		images++
		svg, err := os.ReadFile(filepath.Join(out, "benchmarks", path))
		if err != nil || !strings.Contains(string(svg), "<svg") {
			t.Errorf("the page shows %s: %v", path, err)
		}
	}
	if images != 4 {
		t.Errorf(
			"%d plots, want those of the search, of the appends, and of the two units of the sweep",
			images)
	}
}

func TestBadResults(t *testing.T) {
	for _, c := range []struct{ name, content, message string }{
		{"none", "", "no results"},
		{"another schema", `{"schema": "gsimc-bench/0"}`, "gsimc-bench/1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			if c.content != "" {
				path := filepath.Join(dir, "a.json")
				if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := run([]string{"--results", dir, "--out", dir}); err == nil ||
				!strings.Contains(err.Error(), c.message) {
				t.Errorf("error %v, want %q", err, c.message)
			}
		})
	}
	if err := run([]string{"results"}); err == nil ||
		!strings.Contains(err.Error(), `["results"]`) {
		t.Errorf("an argument: %v", err)
	}
}

func TestFigure(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", 0.01234567: "0.01235", 12.5: "12.5", 9999: "9999",
		12345.6: "12,346", 1234567: "1,234,567", -20000: "-20,000",
	} {
		if got := figure(x); got != want {
			t.Errorf("figure(%v) = %s, want %s", x, got, want)
		}
	}
}

// TestNeeds: what is needed follows from the constants; the largest multiple of the machine comes
// first.
func TestNeeds(t *testing.T) {
	c := constants{memory: 32e9, bandwidth: 40e9, scanOver: 1.25, perOne: 1e-10, passes: 10}
	list := c.needs()
	found := map[string]need{}
	for i, n := range list {
		found[n.what] = n
		if i > 0 && n.factor() > list[i-1].factor() {
			t.Errorf("%s comes after %s", n.what, list[i-1].what)
		}
	}
	for what, want := range map[string]float64{
		"basis in float32, int8 and five bits": 14.4e9,
		"states of all users":                  614.4e9,
		"one scan on one core":                 0.08,
		"training: time on all cores":          2560,
	} {
		if got := found[what].needs; got < want*0.999 || got > want*1.001 {
			t.Errorf("%s: needs %v, want %v", what, got, want)
		}
	}
}
