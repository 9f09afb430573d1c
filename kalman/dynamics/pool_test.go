package dynamics

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/soak"
	"github.com/gsimc/gsimc/kalman"
)

// TestSpread compares the moments with sums over the events, written out.
func TestSpread(t *testing.T) {
	const n, k = 50, 37
	rng := rand.New(rand.NewPCG(1, 2))
	rows, degrees := make([][]float32, n), make([]int64, n)
	for i := range rows {
		rows[i] = make([]float32, k)
		for j := range rows[i] {
			rows[i][j] = float32(rng.NormFloat64())
		}
		rows[i][3], rows[i][4] = 2, 0 // never changes; zero but on one item
		degrees[i] = int64(rng.IntN(9))
	}
	rows[7][4] = 1
	degrees[7] = 1
	encoder := func(i int32) ([]float32, float32) { return rows[i], 0.5 }
	got := NewSpread(k, encoder, degrees)
	for j := range k {
		var events []float64
		for i, d := range degrees {
			for range max(d, 1) {
				events = append(events, float64(rows[i][j])/2)
			}
		}
		mean, square, fourth := 0.0, 0.0, 0.0
		for _, e := range events {
			mean += e / float64(len(events))
		}
		for _, e := range events {
			square += (e - mean) * (e - mean) / float64(len(events))
			fourth += math.Pow(e-mean, 4) / float64(len(events))
		}
		kurtosis := 1.0
		if j != 3 {
			kurtosis = fourth / square / square
		}
		if math.Abs(got.Variance[j]-square) > 1e-9*max(square, 1e-3) ||
			math.Abs(got.Kurtosis[j]/kurtosis-1) > 1e-9 {
			t.Errorf("coordinate %d: variance %v, kurtosis %v, want %v, %v",
				j, got.Variance[j], got.Kurtosis[j], square, kurtosis)
		}
	}
}

// localised draws users with events on k coordinates. Half of the coordinates are zero but for one
// user in a thousand, all of whose events are there.
func localised(seed uint64, k, users, length int) (histories []kalman.History, encoder Encoder) {
	rng := rand.New(rand.NewPCG(seed, 3))
	var items [][]float32
	for range users {
		var touched []bool
		for range k / 2 {
			touched = append(touched, rng.IntN(1000) == 0)
		}
		var h kalman.History
		for t := range length {
			e := make([]float32, k)
			for j := range e {
				if j < k/2 || touched[j-k/2] {
					e[j] = float32(rng.NormFloat64()) * float32(1+j%3)
				}
			}
			h = append(h, kalman.Event{Item: int32(len(items)), Weight: 1, Time: int64(t)})
			items = append(items, e)
		}
		histories = append(histories, h)
	}
	return histories, func(i int32) ([]float32, float32) { return items[i], 1 }
}

// trueSpread is the spread of the items of localised.
func trueSpread(k int) *Spread {
	s := &Spread{}
	for j := range k {
		share := 1.0
		if j >= k/2 {
			share = 1e-3
		}
		s.Variance = append(s.Variance, share*math.Pow(float64(1+j%3), 2))
		s.Kurtosis = append(s.Kurtosis, 3/share)
	}
	return s
}

// TestPoolLocalised: of 500 users most touch no localised coordinate. Alone, the coordinates have
// variances that are wrong by orders of magnitude for other users; pooled, right ones.
func TestPoolLocalised(t *testing.T) {
	soak.Native(t)
	const k, users, length = 200, 500, 6
	histories, encoder := localised(1, k, users, length)
	fresh, freshEncoder := localised(2, k, 20*users, length)
	nothing := make([]float32, k)
	rows := func(int32) []float32 { return nothing }
	d := &kalman.Dynamics{Bands: []kalman.Band{{}}, Mean: nothing}
	noise := check.Get(LearnNoise(d, rows, encoder, histories, nil))(t)
	measured := func() *Calibration {
		filter := *d
		filter.P0, filter.SigmaEta, filter.SigmaNu = noise.P0, noise.SigmaEta, noise.SigmaNu
		filter.Drift = noise.Drift
		c := check.Get(Innovations(&filter, rows, freshEncoder, fresh))(t)
		return c
	}
	if alone := measured(); alone.Holds() || alone.Overall < 100 {
		t.Errorf("alone %.3g, by range %.3g; want them far off", alone.Overall, alone.Bands)
	}
	halves := check.Get(noise.Pool(d, rows, encoder, histories, trueSpread(k)))(t)
	pooled := measured()
	t.Logf("between halves %.3f, on other users %.3f", halves.Bands, pooled.Bands)
	if !halves.Holds() {
		t.Errorf("halves do not agree: %.3f", halves.Bands)
	}
	for b, x := range pooled.Bands {
		if math.Abs(x-1) > 0.25 {
			t.Errorf("range %d: %.3f on other users, want 1 within 25 %%", b, x)
		}
	}
}

// TestPoolKeepsTheWellKnown: where the sample tells the variances, pooling leaves the variances and
// the gains.
func TestPoolKeepsTheWellKnown(t *testing.T) {
	soak.Slow(t)
	d := testDynamics(40, 0.05)
	for j := range d.SigmaEta {
		d.SigmaEta[j] = 0.05 * d.SigmaNu[j]
	}
	s := simulate(21, d, 500, 40, 100)
	spread := &Spread{}
	for j := range s.d.Mean { // any units serve; these are alike
		spread.Variance = append(spread.Variance, float64(s.d.SigmaNu[j]))
		spread.Kurtosis = append(spread.Kurtosis, 3)
	}
	alone, pooled := s.learn(t), s.learn(t)
	bands := &kalman.Dynamics{Bands: s.d.Bands, Mean: s.d.Mean}
	halves := check.Get(pooled.Pool(bands, s.row, s.encoder, s.histories, spread))(t)
	for _, x := range halves.Bands {
		if math.Abs(x-1) > 0.1 {
			t.Errorf("between halves %.3f, want 1", halves.Bands)
		}
	}
	for j := range s.d.Mean {
		checkShare(t, "SigmaNu", j, pooled.SigmaNu[j], alone.SigmaNu[j], 0.1)
		checkShare(t, "SigmaEta/SigmaNu", j, pooled.SigmaEta[j]/pooled.SigmaNu[j],
			alone.SigmaEta[j]/alone.SigmaNu[j], 0.2)
	}
}

// TestPoolIsDeterministic: the number of processors changes no bit.
func TestPoolIsDeterministic(t *testing.T) {
	const k = 40
	histories, encoder := localised(4, k, 100, 5)
	nothing := make([]float32, k)
	rows := func(int32) []float32 { return nothing }
	d := &kalman.Dynamics{Bands: []kalman.Band{{}}, Mean: nothing}
	learn := func() (*Noise, *Calibration) {
		noise := check.Get(LearnNoise(d, rows, encoder, histories, nil))(t)
		halves, err := noise.Pool(d, rows, encoder, histories, trueSpread(k))
		check.Must(t, err)
		return noise, halves
	}
	noise, halves := learn()
	procs := runtime.GOMAXPROCS(1)
	noiseOfOne, halvesOfOne := learn()
	runtime.GOMAXPROCS(procs)
	if diff := cmp.Diff(noise, noiseOfOne) + cmp.Diff(halves, halvesOfOne); diff != "" {
		t.Errorf("one processor gives other numbers:\n%s", diff)
	}
}

// TestHolds: a range beyond the bound, or one that is no number, does not hold.
func TestHolds(t *testing.T) {
	for _, tt := range []struct {
		bands []float64
		want  bool
	}{
		{[]float64{1, 1.49, 0.68}, true},
		{[]float64{1, 1.51}, false},
		{[]float64{0.66, 1}, false},
		{[]float64{math.NaN()}, false},
		{[]float64{math.Inf(1)}, false},
	} {
		if got := (&Calibration{Bands: tt.bands}).Holds(); got != tt.want {
			t.Errorf("%v holds: %v, want %v", tt.bands, got, tt.want)
		}
	}
}

// TestPoolUsers: short histories all count, of long ones as many as LearnNoise takes.
func TestPoolUsers(t *testing.T) {
	for _, tt := range []struct{ users, length, want int }{
		{5000, 10, 5000}, {5000, 100, 4000}, {5000, 1000, noiseUsers}, {30, 100_000, 30},
	} {
		histories := make([]kalman.History, tt.users)
		h := make(kalman.History, tt.length)
		for u := range histories {
			histories[u] = h
		}
		check.Same(t, tt.want, len(poolUsers(histories)), "%d users with %d events", tt.users,
			tt.length)
	}
}

// TestHalvesAreEqual: of any number of users one half, and of every second or third about half.
func TestHalvesAreEqual(t *testing.T) {
	half := drawHalves(600)
	for step := 1; step <= 5; step++ {
		count, all := 0, 0
		for s := 0; s < len(half); s += step {
			count, all = count+half[s], all+1
		}
		if math.Abs(float64(count)/float64(all)-0.5) > 0.1 || step == 1 && 2*count != all {
			t.Errorf("every user number %d: %d of %d in one half", step, count, all)
		}
	}
}
