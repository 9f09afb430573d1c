package model

import (
	"bytes"
	"errors"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/gsimc/gsimc/spectral"
)

var update = flag.Bool("update", false, "rewrite the golden files; commit the change only if you understand what caused it")

// smoothBasis has unit vectors for eigenvectors and eigenvalues that fall like those of real item graphs.
func smoothBasis(n, k int) *spectral.Basis {
	b := &spectral.Basis{
		N: n, K: k, U: make([]float64, n*k),
		Kappa: make([]float64, k), Lambda: make([]float64, k), Degrees: make([]int64, n), Scale: make([]float64, n),
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

func TestDescribeGolden(t *testing.T) {
	forgetting := testSpec()
	forgetting.Graph, forgetting.Filter = spectral.Covariance, spectral.DefaultFilter(spectral.PowerFilter)
	forgetting.Window = 8
	forgetting.Alpha, forgetting.HalfLife, forgetting.DegreeRescale = 0.95, 604800, 0.5
	forgetting.Provenance = map[string]string{"note": "a\x1b[31mb\nc"} // must not reach the terminal as it is
	for _, c := range []struct {
		file string
		m    *Model
	}{
		{"describe.txt", mustNew(t, testSpec(), smoothBasis(300, 200), nil)},
		{"describe_small.txt", mustNew(t, forgetting, smoothBasis(12, 5), nil)},
	} {
		t.Run(c.file, func(t *testing.T) {
			var b bytes.Buffer
			if err := Describe(&b, c.m); err != nil {
				t.Fatal(err)
			}
			// The version hangs on the last bits of powers, which may differ between processors.
			text := strings.Replace(b.String(), c.m.Version(), strings.Repeat("x", versionDigits), 1)
			golden := filepath.Join("testdata", c.file)
			if *update {
				if err := os.WriteFile(golden, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(mustRead(t, golden)), text); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for line := range strings.Lines(text) {
				if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > 80 {
					t.Errorf("more than 80 columns: %s", line)
				}
			}
		})
	}
}

// TestPlotEdges: flat, single and negative values have a plot too.
func TestPlotEdges(t *testing.T) {
	for _, values := range [][]float64{{0}, {1}, {-1}, {2, 2, 2}, {-1, 1}, make([]float64, 1000)} {
		var b bytes.Buffer
		plot(&b, values, 0)
		if lines := strings.Count(b.String(), "\n"); lines != plotHeight+2 {
			t.Errorf("%d values: %d lines\n%s", len(values), lines, &b)
		}
	}
}

type failingWriter struct{}

var errFull = errors.New("full")

func (failingWriter) Write([]byte) (int, error) { return 0, errFull }

func TestDescribeReportsWriteError(t *testing.T) {
	m := mustNew(t, testSpec(), smoothBasis(12, 5), nil)
	if err := Describe(failingWriter{}, m); !errors.Is(err, errFull) {
		t.Errorf("Describe: %v", err)
	}
}
