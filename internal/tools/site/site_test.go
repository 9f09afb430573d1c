package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// made makes a site of files, by name and text.
func made(t *testing.T, files map[string]string) (out string, err error) {
	t.Helper()
	s := site{root: t.TempDir(), out: filepath.Join(t.TempDir(), "site"), ref: "v1",
		pages: map[string]*page{}, images: map[string]bool{}}
	for name, text := range files {
		path := filepath.Join(s.root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return s.out, s.run()
}

const menu = "## Use\n- [Home](README.md): first\n## Optional\n"

// A page has the menu, links lead to pages or to the source, and the search knows its sections.
func TestPages(t *testing.T) {
	out, err := made(t, map[string]string{
		"llms.txt": menu,
		"README.md": "# Home\nSee [b](docs/b.md#the-end-1), [code](x.go#L1),\n" +
			"[shot](docs/a%20b.png),\n" +
			"![far](https://example.org/f.png) and [c](docs/b.md#of-b--c).\n",
		"docs/b.md": "# B\n## The `end`\none \\* &amp; `&amp;` https://example.org\n## The end\n" +
			"[up](../README.md)\n## Of [b](b.md) & c\n![near](a%20b.png)\n",
		"x.go": "", "docs/a b.png": "PNG",
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, texts := range map[string][]string{
		"index.html": {`<a href="docs/b.html#the-end-1">b</a>`, source + "/blob/v1/x.go#L1",
			`<a href="docs/a%20b.png">`, `src="https://example.org/f.png"`, `<h2>More</h2>`},
		"docs/b.html": {`<a href="../index.html">up</a>`, `href="../index.html" title="first">Home`,
			`<h2 id="the-end-1">`, `<h2 id="of-b--c">`, `<img src="a%20b.png"`},
		"docs/a b.png": {"PNG"},
		"search.js": {`["docs/b.html#the-end","B › The end","one * \u0026 \u0026amp; ` +
			`https://example.org "]`},
	} {
		page, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range texts {
			if !strings.Contains(string(page), text) {
				t.Errorf("%s lacks %s:\n%s", name, text, page)
			}
		}
	}
}

// What leads nowhere, or would be left out, ends the command.
func TestFaults(t *testing.T) {
	for text, want := range map[string]string{
		"[a](a.md)":     "a.md: no such file",
		"[a](#a)":       "no heading #a",
		"![a](a.png)":   "a.png: no such file",
		"a <b>bold</b>": "has HTML in it",
	} {
		_, err := made(t, map[string]string{"llms.txt": menu,
			"README.md": "# Home\n" + text + "\n"})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	_, err := made(t, map[string]string{"llms.txt": "- [Home](README.md): first\n"})
	if err == nil || !strings.Contains(err.Error(), "is in no section") {
		t.Error(err)
	}
	_, err = made(t, map[string]string{"llms.txt": menu, "README.md": "<p>\n\ntext\n"})
	if err == nil || strings.Count(err.Error(), "HTML") != 1 {
		t.Errorf("a block is not one fault: %v", err)
	}
	if err := new(site).run(); err == nil || !strings.Contains(err.Error(), "want --out") {
		t.Error(err)
	}
}
