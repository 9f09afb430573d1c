// Package result is the form in which measurements are kept: one JSON file for each part of the
// benchmark, with every sample, so that tables and plots can be made again without measuring again.
//
// # Conventions
//
// A group compares contestants that do the same work in the same run, in turn: sample r of one
// contestant was taken in the same round as sample r of another. So the ratio of two contestants is
// the median of the ratios of their rounds, which changes of the machine's speed between rounds
// leave alone.
package result

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gsimc/gsimc/bench/internal/loadtest"
)

// File is what one part of the benchmark measured.
type File struct {
	Part    string    // "topn", "gemm", …: the name of the part
	Command string    // what was typed
	Date    time.Time // when it began
	Seconds float64   // how long it took
	Quick   bool      // too short to be quoted: only to see that all parts run
	Machine loadtest.Machine
	Notes   []string `json:",omitempty"` // versions of peers, and peers that were skipped and why
	Groups  []Group
}

// Group is one piece of work and who did it.
type Group struct {
	Title   string             // "Gaussian, n = 20,000, k = 256, top 100"
	Params  map[string]float64 `json:",omitempty"` // "n", "k", "top", "batch", …: for plots
	Unit    string             // of the samples: "ms", "GFLOP/s", "events/s"
	Higher  bool               // whether more is better
	Ours    string             // the contestant that the others are compared with
	Series  []Series
	Checks  []Check `json:",omitempty"`
	Remarks string  `json:",omitempty"` // what has to be known to read the group
}

// Role says what a contestant is there for.
type Role string

// The roles. A limit is what the machine does at best when it does the work in full: only who finds
// out that some of it need not be done can beat it. An approximate peer answers something else, to
// the degree that the checks say.
const (
	Own         Role = "own"
	Peer        Role = "peer"
	Approximate Role = "approximate"
	Limit       Role = "limit"
)

// Series is one contestant of a group.
type Series struct {
	Name    string
	Role    Role
	Recall  float64   `json:",omitempty"` // share of the exact items that an approximate one finds
	Samples []float64 // one for each round
}

// Check is a count or figure that says whether the contestants did the same work.
type Check struct {
	Name  string
	Value float64
	Text  string // Value with its unit, for people
	Bad   bool   `json:",omitempty"` // whether the value shows a fault
}

// Names of checks whose values are computed with.
const (
	BytesOfEvent = "bytes on disk of one event"
	Multiplied   = "vectors multiplied with the graph"
)

// Find returns the series of a name, or nil.
func (g *Group) Find(name string) *Series {
	i := slices.IndexFunc(g.Series, func(s Series) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return &g.Series[i]
}

// Advantage tells how many times better our own contestant is than s, round by round; below 1 it is
// worse. Of a limit the result says how many times better the limit is. It is zero where rounds are
// missing.
func (g *Group) Advantage(s *Series) Spread {
	ours := g.Find(g.Ours)
	if ours == nil {
		return Spread{}
	}
	above, below := s.Samples, ours.Samples
	if g.Higher != (s.Role == Limit) {
		above, below = below, above
	}
	return Ratio(above, below)
}

// Write stores f as JSON in dir, named after its part.
func Write(dir string, f *File) error {
	raw, err := json.MarshalIndent(f, "", " ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, f.Part+".json"), append(raw, '\n'), 0o644)
}

// Read loads a file that Write stored.
func Read(path string) (*File, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	f := new(File)
	if err := json.Unmarshal(raw, f); err != nil {
		return nil, fmt.Errorf("%s: %w: measure it again", path, err)
	}
	if f.Part == "" {
		return nil, fmt.Errorf("%s: no Part, so it is not a file of measurements", path)
	}
	return f, nil
}
