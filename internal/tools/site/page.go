package main

import (
	"bytes"
	"cmp"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// source is where files are that are no pages.
const source = "https://github.com/gsimc/gsimc"

// page is a Markdown file, read.
type page struct {
	title    string
	body     string
	anchors  map[string]bool
	wanted   [][2]string // pages and anchors that it links to
	sections [][3]string
}

var notInAnchor = regexp.MustCompile(`[^\p{L}\p{N}_-]`)

// anchor gives a heading the name that GitHub gives it.
func (p *page) anchor(title string) []byte {
	name := strings.ReplaceAll(strings.ToLower(title), " ", "-")
	name = notInAnchor.ReplaceAllString(name, "")
	free := name
	for n := 1; p.anchors[free]; n++ {
		free = fmt.Sprintf("%s-%d", name, n)
	}
	p.anchors[free] = true
	return []byte(free)
}

// read reads a page and the links in it.
func (s *site) read(name string) error {
	raw, err := os.ReadFile(filepath.Join(s.root, filepath.FromSlash(name)))
	if err != nil {
		return err
	}
	markdown := goldmark.New(goldmark.WithExtensions(extension.GFM))
	p := s.pages[name]
	tree := markdown.Parser().Parse(text.NewReader(raw))
	err = ast.Walk(tree, func(n ast.Node, enter bool) (ast.WalkStatus, error) {
		if !enter {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			n.SetAttributeString("id", p.anchor(plain(n, raw)))
		case *ast.Link:
			n.Destination = []byte(s.link(name, string(n.Destination)))
		case *ast.Image:
			n.Destination = []byte(s.link(name, string(n.Destination)))
		case *ast.HTMLBlock, *ast.RawHTML: // goldmark would leave it out
			s.fault("%s has HTML in it", name)
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return err
	}
	p.collect(address(name), tree, raw)
	var body bytes.Buffer
	if err := markdown.Renderer().Render(&body, raw, tree); err != nil {
		return err
	}
	p.body = body.String()
	return nil
}

// link returns the address of a link of a page, from that page.
func (s *site) link(name, to string) string {
	if u, err := url.Parse(to); err == nil && u.IsAbs() {
		return to
	}
	at := s.target(name, to)
	if strings.Contains(at, ":") {
		return at
	}
	at, err := filepath.Rel(path.Dir(name), at)
	if err != nil {
		s.fault("%s: %w", name, err)
	}
	return filepath.ToSlash(at)
}

// target returns what a relative link of a file leads to, from the root: a page, which it queues,
// a picture, or a file of the source.
func (s *site) target(name, to string) string {
	to, fragment, cut := strings.Cut(to, "#")
	to, err := url.PathUnescape(to)
	file := name
	if to != "" {
		file = path.Join(path.Dir(name), to)
	}
	info, missing := os.Stat(filepath.Join(s.root, filepath.FromSlash(file)))
	if err := cmp.Or(err, missing); err != nil {
		s.fault("%s: %w", name, err)
		return ""
	}
	end := ""
	if cut {
		end = "#" + fragment
	}
	switch kind := path.Ext(file); {
	case info.IsDir():
		return source + "/tree/" + s.ref + "/" + file + end
	case kind == ".png" || kind == ".svg":
		s.images[file] = true
		return file
	case kind != ".md":
		return source + "/blob/" + s.ref + "/" + file + end
	}
	if s.pages[file] == nil {
		s.pages[file] = &page{anchors: map[string]bool{}}
		s.queue = append(s.queue, file)
	}
	if from := s.pages[name]; cut && from != nil {
		from.wanted = append(from.wanted, [2]string{file, fragment})
	}
	return address(file) + end
}

func (s *site) checkAnchors() {
	for name, p := range s.pages {
		for _, to := range p.wanted {
			if !s.pages[to[0]].anchors[to[1]] {
				s.fault("%s: %s has no heading #%s", name, to[0], to[1])
			}
		}
	}
}

// collect cuts the text of a page into its sections, for the search.
func (p *page) collect(at string, tree ast.Node, raw []byte) {
	section := [3]string{at}
	for n := tree.FirstChild(); n != nil; n = n.NextSibling() {
		h, starts := n.(*ast.Heading)
		if !starts {
			section[2] += plain(n, raw) + " "
			continue
		}
		title := plain(h, raw)
		if p.title == "" {
			p.title, section[1] = title, title
			continue
		}
		p.sections = append(p.sections, section)
		id, _ := h.AttributeString("id")
		section = [3]string{fmt.Sprintf("%s#%s", at, id), p.title + " › " + title}
	}
	p.sections = append(p.sections, section)
}

// plain is the text of a node without its marks, with single spaces.
func plain(node ast.Node, raw []byte) string {
	var out strings.Builder
	_ = ast.Walk(node, func(n ast.Node, enter bool) (ast.WalkStatus, error) {
		if !enter {
			if n.Type() == ast.TypeBlock { // a cell of a table, for one
				out.WriteByte(' ')
			}
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			said := n.Segment.Value(raw)
			if !n.IsRaw() { // as code is
				said = util.UnescapePunctuations(util.ResolveEntityNames(said))
			}
			out.Write(said)
			if n.SoftLineBreak() || n.HardLineBreak() {
				out.WriteByte(' ')
			}
		case *ast.AutoLink:
			out.Write(n.Label(raw))
		case *ast.CodeBlock, *ast.FencedCodeBlock:
			out.Write(n.Lines().Value(raw))
		}
		return ast.WalkContinue, nil
	})
	return strings.Join(strings.Fields(out.String()), " ")
}
