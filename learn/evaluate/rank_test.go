package evaluate

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/learn/dataset"
)

// rank against sorting all items that are not in the history.
func TestRankAgainstSort(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		n := 1 + rng.IntN(20)
		scores := make([]int64, n)
		for i := range scores {
			scores[i] = int64(rng.IntN(4)) // many ties
		}
		items := rng.Perm(n)
		target := int32(items[0])
		var history []int32
		for _, i := range items[1 : 1+rng.IntN(n)] {
			history = append(history, int32(i))
		}
		var left []int32
		for i := range int32(n) {
			if !slices.Contains(history, i) {
				left = append(left, i)
			}
		}
		slices.SortStableFunc(left, func(a, b int32) int { return int(scores[b] - scores[a]) })
		if got, want := rank(scores, target, history),
			int32(slices.Index(left, target)+1); got != want {
			t.Fatalf("scores %v, history %v, target %d: rank %d, want %d", scores, history, target,
				got, want)
		}
	}
}

// HR and NDCG by hand: ranks 1, 3, 11 and 200 among four users.
func TestMetric(t *testing.T) {
	got := newResult(Popularity, []int32{1, 3, 11, 200})
	gain11 := 1 / math.Log2(12)
	want := []Metric{
		{N: 10, HR: 0.5, NDCG: 1.5 / 4, HRErr: math.Sqrt(0.25 / 3),
			NDCGErr: math.Sqrt((1.25/4 - 0.375*0.375) / 3)},
		{N: 50, HR: 0.75, NDCG: (1.5 + gain11) / 4},
		{N: 100, HR: 0.75, NDCG: (1.5 + gain11) / 4},
	}
	for i, m := range got.Metrics {
		if i > 0 {
			m.HRErr, m.NDCGErr = 0, 0
		}
		check.Same(t, want[i], m, "at %d", m.N)
	}
}

func TestParseMethods(t *testing.T) {
	tests := []struct {
		list    string
		want    string // joined by "; "
		wantErr string
	}{
		{"popularity", "popularity", ""},
		{" gs-imc  tikhonov , mrfcf", "gs-imc tikhonov; mrfcf", ""},
		{"bgs-online",
			"bgs-online tikhonov; bgs-online diffusion; bgs-online random-walk; bgs-online " +
				"inverse-cosine; bgs-online cutoff; bgs-online power", ""},
		{"mrfcf,mrfcf", "mrfcf", ""},
		{"gs-imc tikhonof", "",
			`unknown method "gs-imc tikhonof", want all or some of: popularity, gs-imc tikhonov`},
		{"", "", `unknown method ""`},
		{"popularity,,mrfcf", "", `unknown method ""`},
	}
	for _, tt := range tests {
		got, err := ParseMethods(tt.list)
		if tt.wantErr != "" {
			check.Says(t, err, tt.wantErr, "%q", tt.list)
			continue
		}
		if s := namesOf(got); err != nil || s != tt.want {
			t.Errorf("%q: %q, %v, want %q", tt.list, s, err, tt.want)
		}
	}
	check.Same(t, 3+3*6, len(check.Get(ParseMethods("all"))(t)), "all methods")
}

func namesOf(methods []Method) string {
	names := make([]string, len(methods))
	for i, m := range methods {
		names[i] = m.Name()
	}
	return strings.Join(names, "; ")
}

// Every method of the table can be asked for by its name and by that of its family, and has no
// other method's name.
func TestFamilies(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range families() {
		for _, m := range f.methods {
			if seen[m.Name()] {
				t.Errorf("two methods are called %q", m.Name())
			}
			seen[m.Name()] = true
			if got, err := ParseMethods(m.Name()); err != nil || len(got) != 1 || got[0] != m {
				t.Errorf("%q stands for %s, %v", m.Name(), namesOf(got), err)
			}
		}
		check.Same(t, len(f.methods), len(check.Get(ParseMethods(f.name))(t)),
			"methods of %q", f.name)
	}
}

func TestDefaultMethods(t *testing.T) {
	p := randomPartition(1, 40, 20)
	if got, want := namesOf(DefaultMethods(p)),
		"popularity; gs-imc-best; dynamics; vsknn; ease"; got != want {
		t.Errorf("the default methods are %s, want %s", got, want)
	}
	large := *p
	large.Items, large.Test.User = make([]string, 1<<17), make([]int32, 1<<17)
	if got, want := namesOf(DefaultMethods(&large)),
		"popularity; gs-imc-best; dynamics"; got != want {
		t.Errorf("for large data the default methods are %s, want %s", got, want)
	}
	p.Validation = dataset.Histories{Ptr: []int64{0}}
	if got, want := namesOf(DefaultMethods(p)),
		"popularity; gs-imc random-walk; dynamics"; got != want {
		t.Errorf("without validation users the default methods are %s, want %s", got, want)
	}
}
