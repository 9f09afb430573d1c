package loadtest

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"
)

// Schema names the form of [Report]. It changes when programs that read reports must change.
const Schema = "gsimc-bench/1"

// Report is the outcome of one run: the document of `load --json`.
type Report struct {
	Schema  string    `json:"schema"`  // [Schema]
	Machine Machine   `json:"machine"` // machine of the run
	Date    time.Time `json:"date"`    // when it began
	Command string    `json:"command"` // the command line that repeats it
	// Complete is false if the run was interrupted; Series then holds the measurements until that
	// moment.
	Complete bool `json:"complete"`
	// Notes tell which data were generated and which figures were not measured.
	Notes  []string `json:"notes"`
	Series []Series `json:"series"`
}

// Series is one quantity over x: a line of a plot, or, with a single point, a figure.
type Series struct {
	Group string `json:"group"` // measurement that it belongs to: "latency", "sweep n"
	Name  string `json:"name"`  // such as "Recommend p50" or "echo p50"; unique within Group
	Unit  string `json:"unit"`  // of y: "µs", "requests/s", "events/s", "MiB", "ratio", "count"
	// X names x: "items", "rank", "events in the history", "clients", "users"; "" for a figure.
	X      string  `json:"x"`
	Points []Point `json:"points"` // by ascending x

	AtMost  *float64 `json:"at_most,omitempty"`  // the median should not be above this
	AtLeast *float64 `json:"at_least,omitempty"` // the median should not be below this
}

// Point is one measurement of a series.
type Point struct {
	X float64 `json:"x"` // 0 for a figure
	Y Spread  `json:"y"`
}

// Spread summarises the values of the repetitions.
type Spread struct {
	Min         float64 `json:"min"`
	Median      float64 `json:"median"` // of an even number: the mean of the two in the middle
	Max         float64 `json:"max"`
	Repetitions int     `json:"repetitions"`
}

// spreadOf summarises at least one value.
func spreadOf(values []float64) Spread {
	if len(values) == 0 {
		panic("loadtest: a spread of nothing")
	}
	v := slices.Sorted(slices.Values(values))
	n := len(v)
	return Spread{Min: v[0], Median: (v[(n-1)/2] + v[n/2]) / 2, Max: v[n-1], Repetitions: n}
}

// Met tells whether the medians keep the limits of the series; known is false if it has none.
func (s *Series) Met() (met, known bool) {
	met = true
	for _, p := range s.Points {
		if s.AtMost != nil && p.Y.Median > *s.AtMost ||
			s.AtLeast != nil && p.Y.Median < *s.AtLeast {
			met = false
		}
	}
	return met, s.AtMost != nil || s.AtLeast != nil
}

// Write writes the report as indented JSON.
func (r *Report) Write(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(r)
}

// ReadReport reads what [Report.Write] wrote.
func ReadReport(r io.Reader) (*Report, error) {
	report := new(Report)
	if err := json.NewDecoder(r).Decode(report); err != nil {
		return nil, fmt.Errorf("not a report of load: %w", err)
	}
	if report.Schema != Schema {
		return nil, fmt.Errorf("the report has schema %q, want %q", report.Schema, Schema)
	}
	return report, nil
}
