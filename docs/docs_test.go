// Package docs checks that the texts of this repository name things that exist: files, targets of
// make, tests, benchmarks and metrics.
package docs

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// texts returns the Markdown files of the repository by path, without the page of the benchmarks,
// which is made by a command.
func texts(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, pattern := range []string{"../*.md", "*.md", "decisions/*.md"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range paths {
			if p == "benchmarks.md" {
				continue
			}
			raw, err := os.ReadFile(p)
			if err != nil {
				t.Fatal(err)
			}
			found[filepath.ToSlash(p)] = string(raw)
		}
	}
	if len(found) < 40 {
		t.Fatalf("%d texts, want the decisions and more", len(found))
	}
	return found
}

// sources returns the text of all Go files and the Makefile.
func sources(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir("..", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && p != ".." && (strings.HasPrefix(name, ".") || name == "bin") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") && name != "Makefile" {
			return nil
		}
		raw, err := os.ReadFile(p)
		all.Write(raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

var (
	link      = regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)
	goFile    = regexp.MustCompile("`((?:[a-z0-9]+/)+[a-z0-9_]+\\.(?:go|md|proto|yaml))`")
	testName  = regexp.MustCompile("`((?:Test|Fuzz)[A-Z]\\w*)`")
	target    = regexp.MustCompile("`make ([a-z0-9-]+)")
	benchmark = regexp.MustCompile(`BENCH='?([A-Za-z0-9|\\]+)`)
	metric    = regexp.MustCompile(`\bgsimc_[a-z_]+\b`)
)

// TestLinks: every relative link, and every path of a file in back quotes, leads to a file.
func TestLinks(t *testing.T) {
	for name, text := range texts(t) {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(path.Join(path.Dir(name), m[1])); err != nil {
				t.Errorf("%s links to %s: %v", name, m[1], err)
			}
		}
		for _, m := range goFile.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(path.Join("..", m[1])); err != nil {
				t.Errorf("%s names %s: %v", name, m[1], err)
			}
		}
	}
}

// TestNames: tests, benchmarks, metrics and targets of make that a text names are in the sources.
func TestNames(t *testing.T) {
	code := sources(t)
	want := func(name, what, pattern string) {
		if !regexp.MustCompile(pattern).MatchString(code) {
			t.Errorf("%s names %s, which is not there", name, what)
		}
	}
	for name, text := range texts(t) {
		for _, m := range testName.FindAllStringSubmatch(text, -1) {
			want(name, m[1], `func `+m[1]+`\(`)
		}
		for _, m := range target.FindAllStringSubmatch(text, -1) {
			want(name, "make "+m[1], `(?m)^`+m[1]+`:`)
		}
		for _, m := range benchmark.FindAllStringSubmatch(text, -1) {
			for part := range strings.SplitSeq(strings.ReplaceAll(m[1], `\`, ""), "|") {
				want(name, "the benchmark "+part, `func Benchmark\w*`+part)
			}
		}
		for _, m := range metric.FindAllString(text, -1) {
			want(name, m, `"`+m+`"`)
		}
	}
}

// TestWidth: lines have at most 100 columns, besides tables, links and examples.
func TestWidth(t *testing.T) {
	for name, text := range texts(t) {
		if name == "api.md" { // has the lines of the protocol files
			continue
		}
		for i, line := range strings.Split(text, "\n") {
			narrow := len([]rune(line)) <= 100
			free := strings.HasPrefix(line, "|") || strings.HasPrefix(line, "    ") ||
				strings.Contains(line, "](")
			if !narrow && !free {
				t.Errorf("%s:%d has more than 100 columns", name, i+1)
			}
		}
	}
}
