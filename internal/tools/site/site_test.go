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
	s := site{root: t.TempDir(), out: filepath.Join(t.TempDir(), "site"),
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

const menu = "## Use\n- [Home](README.md): first\n"

// A page has the menu, links lead to pages or to the source, and the search knows its sections.
func TestPages(t *testing.T) {
	out, err := made(t, map[string]string{
		"llms.txt":  menu,
		"README.md": "# Home\nSee [b](docs/b.md#the-end-1) and [code](x.go).\n",
		"docs/b.md": "# B\n## The `end`\none\n## The end\n[up](../README.md)\n", "x.go": "",
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, texts := range map[string][]string{
		"index.html": {`<a href="docs/b.html#the-end-1">b</a>`, source + "/blob/main/x.go"},
		"docs/b.html": {`<a href="../index.html">up</a>`, `href="../index.html" title="first">Home`,
			`<h2 id="the-end-1">`},
		"search.js": {`["docs/b.html#the-end","B › The end","one "]`},
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
		_, err := made(t, map[string]string{"llms.txt": menu, "README.md": "# Home\n" + text + "\n"})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
