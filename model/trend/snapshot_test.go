package trend

import (
	"bytes"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gsimc/gsimc/internal/test/check"
)

func snapshot() *Snapshot {
	return &Snapshot{Gain: 0.25, Expected: 0.125, G: []float32{0, 1.5, -2, 3},
		Factors: []float32{1, 2.5, 0.125, 20}, Now: []int64{1, 2, 0, 1 << 40},
		Names: []string{"new", "newer"}, Exposed: []float32{1, 0.25}, Shares: []int64{7, 1 << 30}}
}

// A document gives the snapshot back, with a name that is the same wherever it was made.
func TestSnapshotDocuments(t *testing.T) {
	want := snapshot()
	document := check.Get(want.Encode("base"))(t)
	check.Same(t, document, check.Get(snapshot().Encode("base"))(t),
		"document of an equal snapshot")
	got, err := Decode(document, "base", 2)
	if d := cmp.Diff(want, got); d != "" || err != nil || len(got.Name) != 16 {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	old := snapshot()
	old.Exposed, old.Shares, old.Factors = nil, nil, nil // as in documents of before
	before := check.Get(old.Encode("base"))(t)
	if got, err = Decode(before, "base", 2); !cmp.Equal(old, got) || err != nil {
		t.Errorf("%v: %+v, want %+v", err, got, old)
	}
	for name, test := range map[string]struct {
		version string
		items   int
		damage  func([]byte)
		want    string
	}{
		"other model": {"other", 2, nil, "trends of the model"},
		"other items": {"base", 3, nil, "shape"},
		"damaged":     {"base", 2, func(b []byte) { b[len(b)-1] ^= 1 }, "damaged"},
	} {
		bad := bytes.Clone(document)
		if test.damage != nil {
			test.damage(bad)
		}
		check.Says(t, check.Err(Decode(bad, test.version, test.items)), test.want, "%s", name)
	}
}

// An item that a snapshot does not know is as popular as it is expected to be. One that has another
// share now is taken as many times as often as then.
func TestSnapshotOfItems(t *testing.T) {
	s := snapshot()
	for id, want := range map[string]struct {
		g        float32
		now      int64
		expected float64
	}{"new": {-2, 0, 0.125 * 7}, "newer": {3, 7 << 10, 0.125 * (1 << 28)},
		"newest": {0, 7 << popularDigits, 0.125 * 7}} {
		g, now, expected := s.Of(id, 7)
		if g != want.g || now != want.now || expected != want.expected {
			t.Errorf("%s: %v, %d and %v, want %+v", id, g, now, expected, want)
		}
	}
}

// What a snapshot of rates says is what the rates say.
func TestRatesMakeSnapshots(t *testing.T) {
	var c Counts
	for i := range int32(3) {
		c.Add(1, i, int64(4*i))
	}
	shares := []int64{5, 5, 5}
	rates := c.RatesAfter(1, 10, 3)
	s := rates.Snapshot(&Spec{Gain: 0.5, Power: 0.5}, shares)
	for i := range shares {
		more := (rates.Item(int32(i)) + Prior) / (4 + Prior)
		if d := math.Abs(float64(s.G[i]) - math.Log(more)); d > 1e-6 {
			t.Errorf("g_%d is %v, want %v", i, s.G[i], math.Log(more))
		}
		if d := math.Abs(float64(s.Factors[i]) - math.Sqrt(more)); d > 1e-6 {
			t.Errorf("item %d has the factor %v, want %v", i, s.Factors[i], math.Sqrt(more))
		}
		if d := math.Abs(float64(s.Now[i])/1024 - 5*more); d > 1e-3 {
			t.Errorf("item %d has %d now, want %v", i, s.Now[i], 1024*5*more)
		}
	}
}

func FuzzDecode(f *testing.F) {
	document, err := snapshot().Encode("base")
	check.Must(f, err)
	f.Add(document)
	f.Add(document[:len(document)-8])
	steep := snapshot()
	steep.Gain = math.MaxFloat32
	if document, err = steep.Encode("base"); err == nil {
		f.Add(document)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Decode(data, "base", 2)
		if err != nil {
			return
		}
		if len(s.G) != 2+len(s.Names) || len(s.Now) != len(s.G) {
			t.Errorf("%d trends, %d shares and %d names of 2 items", len(s.G), len(s.Now),
				len(s.Names))
		}
		for at, id := range s.Names {
			_, now, expected := s.Of(id, 1)
			if now < 0 || !(expected >= 0) || math.IsInf(expected, 0) {
				t.Errorf("item %d is taken %d times, %v are expected", at, now, expected)
			}
		}
		for i, g := range s.G {
			if added := float32(s.Gain * float64(g)); math.IsInf(float64(added), 0) || s.Now[i] < 0 {
				t.Errorf("item %d adds %v, and is taken %d times", i, added, s.Now[i])
			}
		}
	})
}
