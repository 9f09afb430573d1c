package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gsimc/gsimc/internal/test/check"
)

const (
	table = "| no. | promise | world |\n|--:|---|---|\n" +
		"| 1 | Events survive. | power cuts |\n| 2 | Answers are whole. | reloads |\n"
	list = "# a comment\n1 TestCut\n  FuzzRow\n2 TestReload\n"
)

// root returns the folder of the repository.
func root(t *testing.T) string {
	t.Helper()
	dir := check.Get(filepath.Abs("."))(t)
	for {
		if _, err := os.Stat(filepath.Join(dir, document)); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatalf("no %s above this folder", document)
		}
		dir = filepath.Dir(dir)
	}
}

// TestDocument: the document of this repository can be read, and its tests are in the sources.
func TestDocument(t *testing.T) {
	dir := root(t)
	raw := check.Get(os.ReadFile(filepath.Join(dir, document)))(t)
	promises := check.Get(parse(string(raw), tests))(t)
	if len(promises) < 30 {
		t.Errorf("%d promises, want those of the document", len(promises))
	}
	functions := testFunctions(t, dir)
	for _, p := range promises {
		for _, name := range p.tests {
			if !functions[name] {
				t.Errorf("promise %d is shown by %s, which is not there", p.number, name)
			}
		}
	}
}

// testFunctions returns the names of all tests below a folder.
func testFunctions(t *testing.T, dir string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	declaration := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && d.Name() == "bin" { // what is made, at times meanwhile
			return filepath.SkipDir
		}
		if err != nil || filepath.Ext(path) != ".go" {
			return err
		}
		raw, err := os.ReadFile(path)
		for _, m := range declaration.FindAllStringSubmatch(string(raw), -1) {
			found[m[1]] = true
		}
		return err
	})
	check.Must(t, err)
	return found
}

func TestParse(t *testing.T) {
	got := check.Get(parse(table, list))(t)
	want := []promise{
		{1, "Events survive.", []string{"TestCut", "FuzzRow"}},
		{2, "Answers are whole.", []string{"TestReload"}},
	}
	check.SameBy(t, cmp.AllowUnexported(promise{}), want, got, "promises")
	check.Same(t, "^(FuzzRow|TestCut|TestReload)$", pattern(got), "pattern")
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ doc, list, want string }{
		{"no table", list, "no row"},
		{"| 2 | a | b |", list, "where 1 is due"},
		{"| 1 | a |", list, "2 cells"},
		{"| 1 | a | b | `TestX` |", list, "4 cells"},
		{table, "1 TestCut\n", "2 promises, and tests of 1"},
		{table, "1\n2 TestReload\n", "promise 1 has no test"},
		{table, "2 TestReload\n", "where those of promise 1 are due"},
		{table, "1 TestCut reload\n2 TestReload\n", `"reload" is not the test`},
		{table, " TestCut\n1 TestReload\n", `"TestCut" is not the test`},
	} {
		check.Says(t, check.Err(parse(c.doc, c.list)), c.want, "parse(%q, %q)", c.doc, c.list)
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
		{"one ends with the process", append(pass, "output TestReload stacks", "fail"),
			"stacks", "secret", "failed: p"},
		{"one does not run", pass, "   2  not run", "secret", "did not run: [2]"},
		{"one is skipped", append(pass, "skip TestReload"), "   2  skipped", "secret", ""},
		{"another one is skipped", append(pass[:4:4], "skip FuzzRow", "pass TestReload"),
			"   1  pass      1 of 2", "FuzzRow", ""},
		{"all parts are skipped", append(pass, "skip TestReload/part", "pass TestReload"),
			"   2  skipped", "secret", ""},
		{"a part is skipped", append(pass, "skip TestReload/part", "pass TestReload/whole",
			"pass TestReload"), "   2  pass", "secret", ""},
		{"only a part runs", append(pass, "pass TestReload/part"), "   2  not run", "secret",
			"did not run: [2]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			promises := check.Get(parse(table, list))(t)
			var out bytes.Buffer
			r := check.Get(read(strings.NewReader("go: downloading\n"+events(c.lines...)), &out))(t)
			check.Says(t, report(&out, promises, r), c.err, "the report")
			for _, want := range []string{c.want, "go: downloading"} {
				check.Has(t, out.String(), want, "output")
			}
			check.Lacks(t, out.String(), c.never, "output")
		})
	}
}
