package look

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/fit"
	"github.com/gsimc/gsimc/spectral"
)

var update = flag.Bool("update", false,
	"rewrite the golden files; commit the change only if you understand what caused it")

// smoothBasis has unit vectors for eigenvectors and eigenvalues that fall like those of real item
// graphs.
func smoothBasis(n, k int) *spectral.Basis {
	b := &spectral.Basis{
		N: n, K: k, U: make([]float64, n*k),
		Kappa: make([]float64, k), Lambda: make([]float64, k), Degrees: make([]int64, n),
		Scale: make([]float64, n),
	}
	for j := range k {
		b.U[j*k+j] = 1
		b.Kappa[j] = 1 / math.Sqrt(float64(j+1))
		b.Lambda[j] = 1 - b.Kappa[j]
	}
	for i := range n {
		b.Degrees[i] = int64(1 + i%7)
	}
	return b
}

// shownSpec is that of a model with provenance.
func shownSpec() model.Spec {
	s := model.DefaultSpec()
	s.TrainUsers = 100
	s.Provenance = map[string]string{"command": "train --rank 5", "data": "sha256:00ff"}
	return s
}

// shown builds a model on smoothBasis and describes it.
func shown(t *testing.T, spec model.Spec, n, k int, h fit.Histories) model.Description {
	t.Helper()
	items := make([]string, n)
	for i := range items {
		items[i] = fmt.Sprintf("item-%07d", i)
	}
	m := check.Get(model.New(spec, smoothBasis(n, k), items, h))(t)
	return m.Describe()
}

func TestModelShowGolden(t *testing.T) {
	forgetting := shownSpec()
	forgetting.Graph, forgetting.Filter = spectral.Covariance,
		spectral.DefaultFilter(spectral.PowerFilter)
	forgetting.Window = 8
	forgetting.Alpha, forgetting.HalfLife, forgetting.DegreeRescale = 0.95, 604800, 0.5
	// must not reach the terminal as it is
	forgetting.Provenance = map[string]string{"note": "a\x1b[31mb\nc"}
	learned := shownSpec()
	learned.Dynamics = model.DynamicsSpec{
		Kind: model.DynamicsLearned, Bands: []kalman.Band{{Rho: 0}, {Rho: 0.5, HalfLife: 3600}},
		Ridge: 0.3, Positions: 4, Deviation: true,
	}
	for _, c := range []struct {
		file string
		d    model.Description
	}{
		{"modelshow.txt", shown(t, shownSpec(), 300, 200, fit.Histories{})},
		{"modelshow_small.txt", shown(t, forgetting, 12, 5, fit.Histories{})},
		{"modelshow_learned.txt", shown(t, learned, 12, 5, walkHistories(12))},
	} {
		t.Run(c.file, func(t *testing.T) {
			// The version hangs on the last bits of powers, which may differ between processors.
			c.d.Version = strings.Repeat("x", len(c.d.Version))
			text := described(t, &c.d)
			golden := filepath.Join("testdata", c.file)
			if *update {
				check.Must(t, os.WriteFile(golden, []byte(text), 0o644))
			}
			want := check.Get(os.ReadFile(golden))(t)
			check.Same(t, string(want), text, "result")
			for line := range strings.Lines(text) {
				if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > 80 {
					t.Errorf("more than 80 columns: %s", line)
				}
			}
			if at := strings.IndexFunc(text, func(r rune) bool {
				return unicode.Is(unicode.Greek, r)
			}); at >= 0 {
				t.Errorf("a Greek letter: %s", text[at:])
			}
		})
	}
}

// walkHistories returns histories of users who walk through n items, at different speeds.
func walkHistories(n int) fit.Histories {
	users := make([]model.History, 60)
	for u := range users {
		for e := range 6 {
			users[u] = append(users[u], model.Event{
				Item: int32((u + e*(1+u%3)) % n), Weight: 1, Time: int64(600 * e),
			})
		}
	}
	return fit.Histories{Train: slices.Values(users[:30]), Validation: users[30:]}
}

// described is what writeDescription prints.
func described(t *testing.T, d *model.Description) string {
	t.Helper()
	var b bytes.Buffer
	check.Must(t, writeDescription(&b, d))
	return b.String()
}

// TestModelShowUncertainty: a model whose uncertainty is the same for every user says so.
func TestModelShowUncertainty(t *testing.T) {
	d := shown(t, shownSpec(), 12, 5, fit.Histories{})
	d.Response, d.Deviation = nil, &model.Deviation{
		Taste: model.Range{Low: 0.1, High: 0.2}, TasteFloor: 0.85,
	}
	d.TellsUncertainty = true
	if text, want := described(t, &d), "bring it down to 0.85 of"; !strings.Contains(text, want) {
		t.Errorf("no %q in\n%s", want, text)
	}
	d.TellsUncertainty = false
	text, want := described(t, &d), "of scores (±), not of users: "
	check.Has(t, text, want, "the description")
}

// TestPlotEdges: flat, single and negative values have a plot too.
func TestPlotEdges(t *testing.T) {
	for _, values := range [][]float64{{0}, {1}, {-1}, {2, 2, 2}, {-1, 1}, make([]float64, 1000)} {
		var b bytes.Buffer
		plot(&b, values, 0)
		check.Same(t, plotHeight+2, strings.Count(b.String(), "\n"),
			"%d values: lines of\n%s", len(values), &b)
	}
}

type failingWriter struct{}

var errFull = errors.New("full")

func (failingWriter) Write([]byte) (int, error) { return 0, errFull }

func TestModelShowReportsWriteError(t *testing.T) {
	d := shown(t, shownSpec(), 12, 5, fit.Histories{})
	check.Fails(t, writeDescription(failingWriter{}, &d), errFull, "writeDescription")
}
