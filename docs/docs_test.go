// Package docs checks that the texts of this repository name things that exist: files, targets of
// make, tests, benchmarks and metrics.
package docs

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
)

// texts returns the Markdown files of the repository by path, without the page of the benchmarks,
// which is made by a command.
func texts(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, pattern := range []string{"../*.md", "../llms.txt", "../bench/README.md", "*.md",
		"decisions/*.md"} {
		paths := check.Get(filepath.Glob(pattern))(t)
		for _, p := range paths {
			if p == "benchmarks.md" {
				continue
			}
			raw := check.Get(os.ReadFile(p))(t)
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
	check.Must(t, err)
	return all.String()
}

var (
	link    = regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)
	anchor  = regexp.MustCompile(`\]\(([^)#:]*\.md)?#([^)]+)\)`)
	heading = regexp.MustCompile(`(?m)^#{1,6} (.+)$`)
	fence   = regexp.MustCompile("(?ms)^```.*?^```$")
	label   = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	goFile  = regexp.MustCompile("`((?:[a-z0-9]+/)+[a-z0-9_]+\\.(?:go|md|proto|yaml))`")
	// notInAnchor is what GitHub leaves out of the anchors of headings.
	notInAnchor = regexp.MustCompile(`[^\p{L}\p{N}_-]`)
	testName    = regexp.MustCompile("`((?:Test|Fuzz)[A-Z]\\w*)`")
	target      = regexp.MustCompile("`make ([a-z0-9-]+)")
	benchmark   = regexp.MustCompile(`BENCH='?([A-Za-z0-9|\\]+)`)
	metric      = regexp.MustCompile(`\bgsimc_[a-z_]+\b`)
)

// TestLinks: every relative link, and every path of a file in back quotes, leads to a file.
func TestLinks(t *testing.T) {
	for name, text := range texts(t) {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			check.Pass(t, check.Err(os.Stat(path.Join(path.Dir(name), m[1]))),
				"%s links to %s", name, m[1])
		}
		for _, m := range goFile.FindAllStringSubmatch(text, -1) {
			check.Pass(t, check.Err(os.Stat(path.Join("..", m[1]))), "%s names %s", name, m[1])
		}
	}
}

// headings returns the anchors of the headings of a text as GitHub makes them. A heading that comes
// again gets a number.
func headings(text string) map[string]bool {
	anchors, again := map[string]bool{}, map[string]int{}
	for _, m := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		title := label.ReplaceAllString(m[1], "$1")
		name := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(title)), " ", "-")
		name = notInAnchor.ReplaceAllString(name, "")
		if n := again[name]; n > 0 {
			anchors[fmt.Sprintf("%s-%d", name, n)] = true
		} else {
			anchors[name] = true
		}
		again[name]++
	}
	return anchors
}

// TestAnchors: every link to a section of a text leads to a heading that is there.
func TestAnchors(t *testing.T) {
	count := 0
	for name, text := range texts(t) {
		for _, m := range anchor.FindAllStringSubmatch(text, -1) {
			page := name
			if m[1] != "" {
				page = path.Join(path.Dir(name), m[1])
			}
			raw, err := os.ReadFile(page)
			if err != nil {
				continue // TestLinks tells of it
			}
			count++
			if !headings(string(raw))[m[2]] {
				t.Errorf("%s links to %s#%s: no such heading", name, m[1], m[2])
			}
		}
	}
	if count < 20 {
		t.Errorf("%d links to sections were found, want the index and more", count)
	}
}

// TestDecisionsAreListed: the index of the decisions has each of them.
func TestDecisionsAreListed(t *testing.T) {
	all := texts(t)
	for name := range all {
		base, found := strings.CutPrefix(name, "decisions/")
		listed := strings.Contains(all["decisions/README.md"], "]("+base+")")
		if found && base != "README.md" && !listed {
			t.Errorf("decisions/README.md does not list %s", base)
		}
	}
}

// TestPagesAreListed: llms.txt, which programs read first, leads to each page.
func TestPagesAreListed(t *testing.T) {
	pages, err := filepath.Glob("*.md")
	if err != nil || len(pages) < 10 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	for _, p := range pages {
		check.Has(t, texts(t)["../llms.txt"], "](docs/"+p+"): ",
			"llms.txt, which lists each page with a word about it")
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

// TestTokenFilesAreKept: a command of a text that puts a token into a file leaves one that is there,
// since a second run draws no token.
func TestTokenFilesAreKept(t *testing.T) {
	all := texts(t)
	chart := "../deploy/helm/gsimc/README.md"
	all[chart] = string(check.Get(os.ReadFile(chart))(t))
	found := 0
	for name, text := range all {
		for line := range strings.Lines(text) {
			if !strings.Contains(line, "--add-to") || !strings.Contains(line, " > ") {
				continue
			}
			found++
			if !strings.HasPrefix(line, "    (umask 077; set -C; ") {
				t.Errorf("%s: no set -C in %s", name, line)
			}
		}
	}
	if found < 6 {
		t.Errorf("%d commands draw a token, want those of README.md, docs and the chart", found)
	}
}

// TestWidth: lines have at most 100 columns, besides tables, links and examples.
func TestWidth(t *testing.T) {
	for name, text := range texts(t) {
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
