// Command site makes pages with a search of the Markdown files of this repository. It begins with
// llms.txt, whose sections are the menu, and follows links. A link to a file or a heading that is
// not there is an error. The pages need no server: they can be opened from a disk.
//
//	go run ./site --root ../.. --out DIR
package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"html/template"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

//go:embed page.html
var layout string

//go:embed site.js
var script []byte

//go:embed site.css
var style []byte

// site is what the pages are made from.
type site struct {
	root, out string
	ref       string           // the commit or branch that links to the source lead to
	pages     map[string]*page // by the path of the Markdown file
	queue     []string         // those to read
	images    map[string]bool
	faults    []error
}

// part is a section of the menu.
type part struct {
	Title string
	Links []entry
}

type entry struct{ Path, Title, About string }

var (
	heading = regexp.MustCompile(`^## (.+)$`)
	listed  = regexp.MustCompile(`^- \[(.+)\]\((.+)\): (.+)$`)
)

func main() {
	s := site{pages: map[string]*page{}, images: map[string]bool{}}
	flag.StringVar(&s.root, "root", "../..", "the folder of the source")
	flag.StringVar(&s.out, "out", "", "the folder to write, made anew")
	flag.StringVar(&s.ref, "ref", "main", "the commit or branch that links to the source lead to")
	flag.Parse()
	if err := s.run(); err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
	fmt.Printf("site: %d pages in %s\n", len(s.pages), s.out)
}

func (s *site) fault(format string, args ...any) {
	s.faults = append(s.faults, fmt.Errorf(format, args...))
}

func (s *site) run() error {
	if s.out == "" {
		return errors.New("want --out, the folder to write")
	}
	text, err := os.ReadFile(filepath.Join(s.root, "llms.txt"))
	if err != nil {
		return err
	}
	menu := s.menu(string(text))
	for len(s.queue) > 0 {
		name := s.queue[0]
		s.queue = s.queue[1:]
		if err := s.read(name); err != nil {
			return err
		}
	}
	s.checkAnchors()
	if err := errors.Join(s.faults...); err != nil {
		return err
	}
	if err := os.RemoveAll(s.out); err != nil {
		return err
	}
	return s.write(menu)
}

// menu reads the sections of llms.txt. What is not a page is found where the source is.
func (s *site) menu(text string) (parts []part) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if m := heading.FindStringSubmatch(line); m != nil {
			parts = append(parts, part{Title: m[1]})
			if m[1] == "Optional" { // a word for the programs that read llms.txt
				parts[len(parts)-1].Title = "More"
			}
		} else if m := listed.FindStringSubmatch(line); m != nil {
			if len(parts) == 0 {
				s.fault("llms.txt: %q is in no section", m[1])
				continue
			}
			last := &parts[len(parts)-1]
			last.Links = append(last.Links, entry{s.target("llms.txt", m[2]), m[1], m[3]})
		}
	}
	return parts
}

// write writes the pages, the pictures in them, and what all pages share.
func (s *site) write(menu []part) error {
	files := map[string][]byte{"site.js": script, "site.css": style}
	if err := s.render(files, menu); err != nil {
		return err
	}
	for name := range s.images {
		var err error
		if files[name], err = os.ReadFile(filepath.Join(s.root, name)); err != nil {
			return err
		}
	}
	for name, data := range files {
		to := filepath.Join(s.out, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(to, data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// render adds the pages, and the sections for the search.
func (s *site) render(files map[string][]byte, menu []part) error {
	layout, err := template.New("page").Parse(layout)
	if err != nil {
		return err
	}
	var index [][3]string // address, heading and text of each section
	for _, name := range slices.Sorted(maps.Keys(s.pages)) {
		p := s.pages[name]
		index = append(index, p.sections...)
		var out bytes.Buffer
		up := strings.Repeat("../", strings.Count(name, "/"))
		if err := layout.Execute(&out, map[string]any{"Up": up, "Title": p.title,
			"Menu": from(up, menu), "Body": template.HTML(p.body)}); err != nil {
			return err
		}
		files[address(name)] = out.Bytes()
	}
	data, err := json.Marshal(index)
	if err != nil {
		return err
	}
	files["search.js"] = slices.Concat([]byte("sections = "), data, []byte("\n"))
	return nil
}

// from is the menu of a page that has to go up to the root first.
func from(up string, menu []part) []part {
	menu = slices.Clone(menu)
	for i, p := range menu {
		menu[i].Links = slices.Clone(p.Links)
		for j, l := range p.Links {
			if !strings.Contains(l.Path, ":") {
				menu[i].Links[j].Path = up + l.Path
			}
		}
	}
	return menu
}

// address is where the page of a Markdown file is written: a README is the index of its folder.
func address(name string) string {
	folder, base := path.Split(name)
	if base == "README.md" {
		base = "index.md"
	}
	return folder + strings.TrimSuffix(base, ".md") + ".html"
}
