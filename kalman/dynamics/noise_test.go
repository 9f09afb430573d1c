package dynamics

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/soak"
	"github.com/gsimc/gsimc/kalman"
)

// simulation draws users from the model itself. Every event has an item of its own, so that its
// encoder row can be anything.
type simulation struct {
	rng       *rand.Rand
	d         *kalman.Dynamics // with the true deviation
	encoders  [][]float32
	rows      [][]float32
	histories []kalman.History
}

// testDynamics has r = 2 bands, k coordinates and variances that differ between coordinates.
func testDynamics(k int, drift float64) *kalman.Dynamics {
	d := &kalman.Dynamics{Bands: []kalman.Band{{Rho: 0}, {Rho: 0.8, HalfLife: 1000}}, Drift: drift}
	for j := range k {
		d.Mean = append(d.Mean, float32(j%3)-1)
		d.P0 = append(d.P0, 0.5+float32(j%4)/4)
		d.SigmaEta = append(d.SigmaEta, 0.02*float32(1+j%3))
		d.SigmaNu = append(d.SigmaNu, 0.3+float32(j%2)/5)
	}
	return d
}

// simulate draws users with the given number of events, at random times gap seconds apart on
// average. Every third event has weight 2, every tenth weight 0: it moves the bands only.
func simulate(seed uint64, d *kalman.Dynamics, users, events int, gap float64) *simulation {
	s := &simulation{rng: rand.New(rand.NewPCG(seed, 1)), d: d}
	bands := &kalman.Dynamics{Bands: d.Bands, Mean: d.Mean}
	for range users {
		state := bands.NewState()
		var h kalman.History
		var time int64
		var b []float64
		for t := range events {
			w := []float32{1, 1, 2}[t%3]
			if t%10 == 9 {
				w = 0
			}
			dt := int64(s.rng.ExpFloat64() * gap)
			time += dt
			if w > 0 {
				b = s.moveDeviation(b, float64(dt))
			}
			s.addItem(bands, state, b, float64(w))
			item := int32(len(s.encoders) - 1)
			h = append(h, kalman.Event{Item: item, Weight: w, Time: time})
			bands.Update(state, s.rows[item], s.encoders[item], 1, w, time)
		}
		s.histories = append(s.histories, h)
	}
	return s
}

// moveDeviation draws b_1 for b = nil, else b_t from b_{t−1}.
func (s *simulation) moveDeviation(b []float64, dt float64) []float64 {
	first := b == nil
	if first {
		b = make([]float64, len(s.d.Mean))
	}
	for j := range b {
		v := float64(s.d.SigmaEta[j]) * (1 + s.d.Drift*dt)
		if first {
			v = float64(s.d.P0[j])
		}
		b[j] += math.Sqrt(v) * s.rng.NormFloat64()
	}
	return b
}

func (s *simulation) addItem(bands *kalman.Dynamics, state *kalman.State, b []float64, w float64) {
	e := make([]float32, len(b))
	bands.QueryTo(e, state)
	for j := range e {
		noise := 0.0
		if w > 0 {
			noise = math.Sqrt(float64(s.d.SigmaNu[j])/w) * s.rng.NormFloat64()
		}
		e[j] += float32(b[j] + noise)
	}
	rows := make([]float32, 0, 2*len(e))
	for _, scale := range []float32{0.3, -0.2} { // W_b mirrors and shrinks
		for j := range e {
			rows = append(rows, scale*e[len(e)-1-j])
		}
	}
	s.encoders, s.rows = append(s.encoders, e), append(s.rows, rows)
}

func (s *simulation) row(i int32) []float32 { return s.rows[i] }

// encoder returns e = g·u with g ≠ 1.
func (s *simulation) encoder(i int32) ([]float32, float32) {
	u := make([]float32, len(s.encoders[i]))
	for j, x := range s.encoders[i] {
		u[j] = x / 4
	}
	return u, 4
}

func (s *simulation) learn(t *testing.T) *Noise {
	t.Helper()
	noise := check.Get(LearnNoise(s.d, s.row, s.encoder, s.histories, nil))(t)
	return noise
}

// About 20,000 measurements give variances to a few per cent.
func TestLearnNoiseRecoversTheModel(t *testing.T) {
	soak.Native(t)
	// 0.1 is one of the drifts tried: the median gap is 70 s
	for _, drift := range []float64{0, 0.1} {
		s := simulate(1, testDynamics(8, drift), 500, 40, 100)
		noise := s.learn(t)
		if (noise.Drift > 0) != (drift > 0) || drift > 0 &&
			math.Abs(math.Log(noise.Drift/drift)) > 1 {
			t.Errorf("drift %v, want %v", noise.Drift, drift)
		}
		for j := range s.d.Mean {
			checkShare(t, "P0", j, noise.P0[j], s.d.P0[j], 0.25)
			checkShare(t, "SigmaNu", j, noise.SigmaNu[j], s.d.SigmaNu[j], 0.1)
			eta, want := noise.SigmaEta[j], s.d.SigmaEta[j]
			if drift > 0 { // what counts is the growth over a typical gap
				eta, want = eta*float32(1+100*noise.Drift), want*float32(1+100*drift)
			}
			checkShare(t, "SigmaEta", j, eta, want, 0.25)
		}
	}
}

func checkShare(t *testing.T, name string, j int, got, want, tol float32) {
	t.Helper()
	if !(math.Abs(float64(got/want-1)) <= float64(tol)) {
		t.Errorf("%s[%d] = %v, want %v to %v of it", name, j, got, want, tol)
	}
}

// The likelihood of an EM step never falls, whatever the start.
func TestLikelihoodNeverFalls(t *testing.T) {
	s := simulate(2, testDynamics(4, 0.01), 60, 30, 50)
	s.histories = append(s.histories, simulateLong(s)...)
	m := check.Get(measure(s.histories))(t)
	bands := &kalman.Dynamics{Bands: s.d.Bands, Mean: s.d.Mean}
	for j, series := range m.residuals(bands, 0, 4, s.row, s.encoder) {
		for _, start := range []variances{
			newEM(m, series, m.growth(0.01), nil).v, {1e-3, 10, 1e-3}, {10, 1e-4, 10},
		} {
			f := newEM(m, series, m.growth(0.01), nil)
			f.v = start
			before := math.Inf(-1)
			for i := range 50 {
				next, likelihood := f.step()
				if likelihood < before-1e-9*math.Abs(before) {
					t.Errorf("coordinate %d from %v: log-likelihood falls from %v to %v in iteration %d",
						j, start, before, likelihood, i)
				}
				before, f.v = likelihood, next
			}
		}
	}
}

// The accelerated iteration ends where plain steps lead, and below nothing that it has seen on the
// way.
func TestFitReachesTheMaximum(t *testing.T) {
	s := simulate(12, testDynamics(5, 0.01), 200, 30, 50)
	m := check.Get(measure(s.histories))(t)
	bands := &kalman.Dynamics{Bands: s.d.Bands, Mean: s.d.Mean}
	for j, series := range m.residuals(bands, 0, 5, s.row, s.encoder) {
		f := newEM(m, series, m.growth(0.01), nil)
		_, start := f.step()
		v, got := f.fit()
		plain := newEM(m, series, m.growth(0.01), nil)
		want := 0.0
		for range 300 {
			plain.v, want = plain.step()
		}
		if got < start || got < want-2e-5*float64(len(series)) || got > want+1e-6*math.Abs(want) {
			t.Errorf("coordinate %d: log-likelihood %v at %v, from %v; plain steps reach %v at %v",
				j, got, v, start, want, plain.v)
		}
	}
}

// simulateLong joins users of s to one whose history is cut.
func simulateLong(s *simulation) []kalman.History {
	var long kalman.History
	for _, h := range s.histories[:10] {
		for _, e := range h {
			e.Time += 5000 * int64(len(long)/30)
			long = append(long, e)
		}
	}
	return []kalman.History{long}
}

// emOf returns an estimation of one coordinate, from simulated users who have this number of events
// each.
func emOf(tb testing.TB, users, events int) *em {
	tb.Helper()
	s := simulate(3, testDynamics(1, 0.02), users, events, 40)
	m, err := measure(s.histories)
	check.Must(tb, err)
	series := m.residuals(&kalman.Dynamics{Bands: s.d.Bands, Mean: s.d.Mean},
		0, 1, s.row, s.encoder)[0]
	return newEM(m, series, m.growth(0.02), nil)
}

// The smoother and the likelihood against the joint Gaussian of a series, written out as a matrix.
func TestFilterAgainstJointDensity(t *testing.T) {
	f := emOf(t, 1, 9)
	m, series := f.m, f.residual
	f.v = variances{p0: 0.7, eta: 0.05, nu: 0.4}
	_, got := f.step()
	// Cov(r_s, r_t) = P_0 + Σ_η Σ_{τ ≤ min(s,t)} growth + δ_st Σ_ν/w
	n := len(series)
	cov := make([][]float64, n)
	for a := range n {
		cov[a] = make([]float64, n)
		for b := range n {
			cov[a][b] = f.v.p0
			for c := 1; c <= min(a, b); c++ {
				cov[a][b] += f.v.eta * (1 + 0.02*m.gap[c])
			}
		}
		cov[a][a] += f.v.nu * m.inverse[a]
	}
	if want := gaussLogDensity(cov, series); math.Abs(got-want) > 1e-9*math.Abs(want) {
		t.Errorf("log-likelihood %v, joint density %v", got, want)
	}
}

// gaussLogDensity is log N(x; 0, cov) by elimination; cov and x are destroyed.
func gaussLogDensity(cov [][]float64, x []float64) float64 {
	sum := 0.0
	for c := range x {
		pivot := cov[c][c]
		sum -= 0.5 * (math.Log(2*math.Pi*pivot) + x[c]*x[c]/pivot)
		for r := c + 1; r < len(x); r++ {
			ratio := cov[r][c] / pivot
			for j := c; j < len(x); j++ {
				cov[r][j] -= ratio * cov[c][j]
			}
			x[r] -= ratio * x[c]
		}
	}
	return sum
}

// The true model, and the learned one, know their own uncertainty in every band of frequencies.
func TestInnovationsAreCalibrated(t *testing.T) {
	soak.Native(t)
	s := simulate(4, testDynamics(20, 0.05), 400, 40, 100)
	noise := s.learn(t)
	learned := *s.d
	learned.P0, learned.SigmaEta, learned.SigmaNu, learned.Drift =
		noise.P0, noise.SigmaEta, noise.SigmaNu, noise.Drift
	for name, d := range map[string]*kalman.Dynamics{"true": s.d, "learned": &learned} {
		c := check.Get(Innovations(d, s.row, s.encoder, s.histories))(t)
		if c.Events != 400*36 || len(c.Bands) != 8 || len(c.Coordinates) != 20 {
			t.Errorf("%s: %d events, %d bands, %d coordinates",
				name, c.Events, len(c.Bands), len(c.Coordinates))
		}
		for b, x := range append(c.Bands, c.Overall) { // standard error √(2/14400/2) = 0.8 %
			if math.Abs(x-1) > 0.04 {
				t.Errorf("%s: band %d has %v, want 1", name, b, x)
			}
		}
	}
}

// An overconfident filter is found out.
func TestInnovationsSeeOverconfidence(t *testing.T) {
	s := simulate(5, testDynamics(8, 0), 50, 40, 100)
	for j := range s.d.SigmaNu {
		s.d.P0[j], s.d.SigmaEta[j], s.d.SigmaNu[j] =
			s.d.P0[j]/4, s.d.SigmaEta[j]/4, s.d.SigmaNu[j]/4
	}
	c := check.Get(Innovations(s.d, s.row, s.encoder, s.histories))(t)
	if math.Abs(c.Overall-4) > 0.4 {
		t.Errorf("all variances a quarter of the truth: %v, want 4", c.Overall)
	}
}

func TestLearnNoiseWithoutTimes(t *testing.T) {
	s := simulate(7, testDynamics(4, 0), 30, 20, 0)
	if noise := s.learn(t); noise.Drift != 0 {
		t.Errorf("drift %v from events that all have the same time", noise.Drift)
	}
}

// Residuals that are all zero, or never change, leave the variances at their floor instead of
// nowhere.
func TestLearnNoiseOfNothing(t *testing.T) {
	s := simulate(8, testDynamics(4, 0), 30, 20, 10)
	for i := range s.encoders {
		copy(s.encoders[i], s.d.Mean)
		clear(s.rows[i])
	}
	noise := s.learn(t)
	d := *s.d
	d.P0, d.SigmaEta, d.SigmaNu, d.Drift = noise.P0, noise.SigmaEta, noise.SigmaNu, noise.Drift
	check.Must(t, d.Validate())
}

// The work is bounded: of many users some, of a long history the end.
func TestMeasureIsCapped(t *testing.T) {
	var all []kalman.History
	for range noiseUsers + 500 {
		all = append(all, kalman.History{
			{Weight: 1}, {Weight: -1}, {Weight: 1, Time: 5},
			{Weight: 0, Time: 7}, {Weight: 1, Time: 6}, {Weight: 2, Time: 10},
		})
	}
	all[0] = make(kalman.History, noiseMeasurements+50)
	for t := range all[0] {
		all[0][t].Weight = 1
	}
	m := check.Get(measure(all))(t)
	if len(m.histories) != noiseUsers || m.ptr[1] != noiseMeasurements ||
		m.skip[0] != 50 || m.skip[1] != 0 {
		t.Errorf("%d users, the first with %d measurements after %d",
			len(m.histories), m.ptr[1], m.skip[0])
	}
	lo, hi := m.ptr[1], m.ptr[2]
	check.Same(t, []float64{0, 5, 0, 3}, m.gap[lo:hi], "gaps")
	check.Same(t, []float64{1, 1, 1, 0.5}, m.inverse[lo:hi], "1/w")
}

func TestNoiseOfBadInput(t *testing.T) {
	s := simulate(10, testDynamics(2, 0), 3, 5, 10)
	one := []kalman.History{s.histories[0][:1], s.histories[1][:1]}
	weightless := []kalman.History{{{Weight: 0}, {Weight: -1}}}
	bands := &kalman.Dynamics{Bands: s.d.Bands, Mean: s.d.Mean}
	learn := func(d *kalman.Dynamics, h []kalman.History) error {
		_, err := LearnNoise(d, s.row, s.encoder, h, nil)
		return err
	}
	check := func(d *kalman.Dynamics, h []kalman.History) error {
		_, err := Innovations(d, s.row, s.encoder, h)
		return err
	}
	huge := simulate(11, testDynamics(2, 0), 3, 5, 10)
	huge.encoders[3][1] = float32(math.Inf(1))
	_, taste := LearnTaste(bands, nil, nil, nil)
	_, evidence := TasteEvidence(bands, nil, nil, nil)
	_, infinite := LearnNoise(bands, huge.row, huge.encoder, huge.histories, nil)
	for _, tt := range []struct {
		name string
		err  error
		want string
	}{
		{"no users", learn(bands, nil), "no events of positive weight"},
		{"users without events", learn(bands, make([]kalman.History, 3)),
			"no events of positive weight"},
		{"no weight", learn(bands, weightless), "no events of positive weight"},
		{"one event each", learn(bands, one), "no user of 2 has two events"},
		{"no bands", learn(&kalman.Dynamics{Mean: s.d.Mean}, s.histories), "Bands"},
		{"not finite", infinite, "coordinate 1 are not finite"},
		{"nothing to check", check(s.d, nil), "no events of positive weight"},
		{"no deviation", check(bands, s.histories), "no deviation"},
		{"no deviation from a taste", taste, "no deviation"},
		{"no deviation in evidence", evidence, "no deviation"},
	} {
		if tt.err == nil || !strings.Contains(tt.err.Error(), tt.want) {
			t.Errorf("%s: error %v, want one with %q", tt.name, tt.err, tt.want)
		}
	}
}
