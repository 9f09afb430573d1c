// Command report turns the results of the command peers and of load into one page with
// tables and plots. Nothing in the page is written by hand: its text stands in benchmarks.md.tmpl,
// its figures come from the files of results.
//
//	go run ./report --results results --out ../docs
package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/gsimc/gsimc/bench/internal/loadtest"
	"github.com/gsimc/gsimc/bench/internal/result"
)

//go:embed benchmarks.md.tmpl
var pageText string

func main() {
	if err := run(os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("report", flag.ContinueOnError)
	results := flags.String("results", "results",
		"folder with the files of peers and of load --json")
	out := flags.String("out", "../docs",
		"folder for benchmarks.md and the folder benchmarks with the plots")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("no arguments are wanted, only flags, but got %q", flags.Args())
	}
	p, err := load(*results)
	if err != nil {
		return err
	}
	return p.write(*out)
}

// page is everything that was measured.
type page struct {
	Parts  []*result.File // in the order of their names
	Loads  []*loadReport  // reports of load, likewise
	folder string         // of the plots, beside the page
}

// loadReport is one report of load.
type loadReport struct {
	Name string // of the file, without its ending
	*loadtest.Report
}

// load reads all files of a folder; each tells by its content what it is.
func load(dir string) (*page, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("no results in %q: go run ./peers all makes some", dir)
	}
	slices.Sort(paths)
	p := new(page)
	for _, path := range paths {
		if err := p.read(path); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (p *page) read(path string) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var kind struct{ Schema string }
	if err := json.Unmarshal(raw, &kind); err != nil {
		return fmt.Errorf("%s: %w: measure it again", path, err)
	}
	if kind.Schema == "" {
		f, err := result.Read(path)
		if err != nil {
			return err
		}
		p.Parts = append(p.Parts, f)
		return nil
	}
	r, err := loadtest.ReadReport(bytes.NewReader(raw))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	p.Loads = append(p.Loads,
		&loadReport{Name: strings.TrimSuffix(filepath.Base(path), ".json"), Report: r})
	return nil
}

// write makes the page and its plots in the folder out.
func (p *page) write(out string) error {
	p.folder = filepath.Join(out, "benchmarks")
	if err := os.MkdirAll(p.folder, 0o755); err != nil {
		return err
	}
	t, err := template.New("page").Funcs(p.functions()).Parse(pageText)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := t.Execute(&text, p); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, "benchmarks.md"), tidy(text.Bytes()), 0o644)
}

// functions are what the template calls.
func (p *page) functions() template.FuncMap {
	return template.FuncMap{
		"part": p.part, "loads": p.loads, "sweeps": p.sweeps, "machines": p.machines,
		"runs": runsTable, "quick": p.quick, "notes": p.notes,
		"table": groupTable, "checks": checksTable, "searchChecks": searchChecks,
		"summary": searchSummary, "series": seriesTable,
		"plotSearch": p.plotSearch, "plotAppends": p.plotAppends, "plotSweep": p.plotSweep,
		"limits": p.limits,
	}
}

// part is a part's results, or nil.
func (p *page) part(name string) *result.File {
	if i := slices.IndexFunc(p.Parts, func(f *result.File) bool { return f.Part == name }); i >= 0 {
		return p.Parts[i]
	}
	return nil
}

// loads returns the reports of load that are not sweeps.
func (p *page) loads() []*loadReport {
	return slices.DeleteFunc(slices.Clone(p.Loads), isSweep)
}

// sweeps returns the reports that are sweeps.
func (p *page) sweeps() []*loadReport {
	return slices.DeleteFunc(slices.Clone(p.Loads), func(l *loadReport) bool { return !isSweep(l) })
}

func isSweep(l *loadReport) bool {
	return slices.ContainsFunc(l.Series, func(s loadtest.Series) bool { return s.X != "" })
}

// machine is where the first part was measured.
func (p *page) machine() loadtest.Machine {
	if len(p.Parts) == 0 {
		return loadtest.Machine{}
	}
	return p.Parts[0].Machine
}

// build is a machine and a gsimc, and the parts that were measured with them.
type build struct {
	loadtest.Machine
	Parts string
}

// machines returns those of the parts and reports, each once.
func (p *page) machines() []build {
	var list []build
	add := func(m loadtest.Machine, part string) {
		m.Load = "" // of the moment
		for i := range list {
			if list[i].Machine == m {
				list[i].Parts += ", " + part
				return
			}
		}
		list = append(list, build{m, part})
	}
	for _, f := range p.Parts {
		add(f.Machine, f.Part)
	}
	for _, l := range p.Loads {
		add(l.Machine, l.Name)
	}
	return list
}

// notes returns what the parts say, each once and with the parts that say it.
func (p *page) notes() []string {
	var texts []string
	parts := map[string][]string{}
	for _, f := range p.Parts {
		for _, text := range f.Notes {
			if parts[text] == nil {
				texts = append(texts, text)
			}
			parts[text] = append(parts[text], f.Part)
		}
	}
	for i, text := range texts {
		texts[i] = strings.Join(parts[text], ", ") + ": " + text
	}
	return texts
}

// quick reports whether any part was measured too briefly.
func (p *page) quick() bool {
	return slices.ContainsFunc(p.Parts, func(f *result.File) bool { return f.Quick })
}

// tidy leaves one empty line where the template made several, and none at the end.
func tidy(text []byte) []byte {
	var lines []string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, " \n")
		if line == "" && (len(lines) == 0 || lines[len(lines)-1] == "") {
			continue
		}
		lines = append(lines, line)
	}
	return []byte(strings.TrimSpace(strings.Join(lines, "\n")) + "\n")
}
