package evaluate

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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
		if got, want := rank(scores, target, history), int32(slices.Index(left, target)+1); got != want {
			t.Fatalf("scores %v, history %v, target %d: rank %d, want %d", scores, history, target, got, want)
		}
	}
}

// HR and NDCG by hand: ranks 1, 3, 11 and 200 among four users.
func TestMetric(t *testing.T) {
	got := newResult(Method{Kind: Popularity}, []int32{1, 3, 11, 200})
	gain11 := 1 / math.Log2(12)
	want := []Metric{
		{N: 10, HR: 0.5, NDCG: 1.5 / 4, HRErr: math.Sqrt(0.25 / 3), NDCGErr: math.Sqrt((1.25/4 - 0.375*0.375) / 3)},
		{N: 50, HR: 0.75, NDCG: (1.5 + gain11) / 4},
		{N: 100, HR: 0.75, NDCG: (1.5 + gain11) / 4},
	}
	for i, m := range got.Metrics {
		if i > 0 {
			m.HRErr, m.NDCGErr = 0, 0
		}
		if diff := cmp.Diff(want[i], m); diff != "" {
			t.Errorf("at %d (-want +got):\n%s", m.N, diff)
		}
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
		{"bgs-online", "bgs-online tikhonov; bgs-online diffusion; bgs-online random-walk; bgs-online inverse-cosine; bgs-online cutoff; bgs-online power", ""},
		{"mrfcf,mrfcf", "mrfcf", ""},
		{"gs-imc tikhonof", "", `unknown method "gs-imc tikhonof", want all or some of: popularity, gs-imc tikhonov`},
		{"", "", `unknown method ""`},
		{"popularity,,mrfcf", "", `unknown method ""`},
	}
	for _, tt := range tests {
		got, err := ParseMethods(tt.list)
		if tt.wantErr != "" {
			if err == nil || !strings.Contains(err.Error(), tt.wantErr) {
				t.Errorf("%q: error %v, want %q", tt.list, err, tt.wantErr)
			}
			continue
		}
		if s := strings.ReplaceAll(names(got), ", ", "; "); err != nil || s != tt.want {
			t.Errorf("%q: %q, %v, want %q", tt.list, s, err, tt.want)
		}
	}
	if all, err := ParseMethods("all"); err != nil || len(all) != 3+3*6 {
		t.Errorf("all: %d methods, %v", len(all), err)
	}
}

func TestWriteTable(t *testing.T) {
	var b strings.Builder
	r := []Result{newResult(Method{GS, "cutoff"}, []int32{1, 20})}
	if err := WriteTable(&b, r, []time.Duration{1500 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"HR@10", "gs-imc cutoff", "0.5000", "1.5s"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("table has no %q:\n%s", want, b.String())
		}
	}
}
