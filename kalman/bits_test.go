package kalman

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/soak"
)

var update = flag.Bool("update", false,
	"rewrite the golden files; commit the change only if you understand what caused it")

// hexOf writes every bit of a state.
func hexOf(s *State) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d events, time %d", s.Events, s.Time)
	for j := range s.X {
		fmt.Fprintf(&b, "\n  %x %x %x", s.X[j], s.Z[j], s.P[j])
	}
	return b.String()
}

// lcg gives the inputs of the golden states: no library's generator, so that they are the same for
// ever.
type lcg uint64

// next returns a multiple of 2^−23 in [−1, 1).
func (g *lcg) next() float32 {
	*g = *g*6364136223846793005 + 1442695040888963407
	return float32(int64(*g)>>40) * 0x1p-23
}

// TestGoldenStates holds x̂, z and P to the bits that every supported processor and compiler
// setting must give.
func TestGoldenStates(t *testing.T) {
	var got strings.Builder
	for _, c := range []struct {
		name  string
		alpha float64
		half  float64
		step  int64 // seconds from event to event
	}{
		{"paper", 1, 0, 0},
		{"forgetting per event", 0.97, 0, 0},
		{"half-life of a week", 1, 7 * 86400, 12345},
		{"both", 0.9, 3600, 601},
	} {
		const k = 6
		f := &Filter{
			P0: make([]float32, k), SigmaEta: 1e-4, SigmaNu: 1e-4, Alpha: c.alpha, HalfLife: c.half,
		}
		rng := lcg(1)
		e, h := make([]float32, k), make([]float32, k)
		for j := range k {
			f.P0[j] = (1.125 + rng.next()) * 0x1p-8 // exact, so nothing to fuse
			h[j] = 0.75 + rng.next()/4
		}
		s := f.NewState()
		for i := range int64(40) {
			for j := range e {
				e[j] = rng.next() / 4
			}
			f.UpdateDiagonal(s, e, h, 1+rng.next()/2, 1_700_000_000+i*c.step)
			if i == 0 || i == 39 {
				fmt.Fprintf(&got, "%s: %s\n", c.name, hexOf(s))
			}
		}
	}
	compareGolden(t, "states.txt", got.String())
}

func compareGolden(t *testing.T, file, got string) {
	t.Helper()
	golden := filepath.Join("testdata", file)
	if *update {
		check.Must(t, os.WriteFile(golden, []byte(got), 0o644))
	}
	want := check.Get(os.ReadFile(golden))(t)
	if got != string(want) {
		t.Errorf("states differ from %s in their bits.\ngot:\n%s\nwant:\n%s", golden, got, want)
	}
}

// fused matches the multiply-add instructions of amd64 (VFMADD231SS …) and arm64 (FMADDS, FMSUBD,
// FNMADDS, VFMLA …).
var fused = regexp.MustCompile(`\bV?FN?M(ADD|SUB|LA|LS)[A-Z0-9]*\b`)

// TestNoFusedInstructions reads the compiler's output for the platforms that have fused
// multiply-add.
func TestNoFusedInstructions(t *testing.T) {
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("the go tool is not in PATH, so the compiled code cannot be looked at")
	}
	if soak.Brief() {
		t.Skip("compiles for other platforms; not with -short")
	}
	for _, platform := range [][]string{{"GOARCH=arm64"}, {"GOARCH=amd64", "GOAMD64=v3"}} {
		t.Run(strings.Join(platform, " "), func(t *testing.T) {
			found := fused.FindAllString(assembly(t, goTool, platform, "."), -1)
			if len(found) > 0 {
				t.Errorf("fused instructions in the package: %v", found)
			}
			// The search itself: a product without a conversion is fused, and found.
			if !fused.MatchString(assembly(t, goTool, platform, "./testdata/fused")) {
				t.Error("no fused instruction found in testdata/fused, which has one: the search is broken")
			}
		})
	}
}

// assembly compiles a package without the race detector, whose build has other instructions, and
// returns the listing.
func assembly(t *testing.T, goTool string, platform []string, pkg string) string {
	t.Helper()
	cmd := exec.Command(goTool, "build", "-gcflags=-S", "-o", os.DevNull, pkg)
	cmd.Env = append(append(os.Environ(), "GOOS=linux", "CGO_ENABLED=0"), platform...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, out)
	}
	if !strings.Contains(string(out), "TEXT") {
		t.Fatalf("%v printed no assembly", cmd)
	}
	return string(out)
}
