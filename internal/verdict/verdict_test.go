package verdict

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/soak"
)

// A trial is a simulated test: users come, and their hits follow, some of them much later.
type trial struct {
	users  int        // who come
	share  float64    // of the users who have the arm
	rate   [2]float64 // mean hits of a user of main and of the arm
	spread bool       // hits come late, while other users come
	twice  bool       // each of two servers counts each user, and its part of the hits
}

// run looks 200 times, and returns the verdict at the first look that finds a difference, or else
// at the last one; wrong tells whether the true difference was ever outside of the interval.
func (c trial) run(seed uint64) (v Verdict, found, wrong bool) {
	rng := rand.New(rand.NewPCG(seed, 29))
	const looks = 200
	var servers [2][2]Sums // by server and arm
	type hit struct{ arm, group, server int }
	late := make([][]hit, looks)
	for i := range c.users {
		arm, group, now := 0, rng.IntN(Groups), i*looks/c.users
		if rng.Float64() < c.share {
			arm = 1
		}
		servers[0][arm].Users[group]++
		if c.twice {
			servers[1][arm].Users[group]++
		}
		for range hits(rng, c.rate[arm]) {
			h := hit{arm: arm, group: group}
			if c.twice {
				h.server = rng.IntN(2)
			}
			at := now
			if c.spread {
				at += int(rng.ExpFloat64() * looks / 4)
			}
			if at < looks {
				late[at] = append(late[at], h)
			}
		}
		if (i+1)*looks/c.users == now {
			continue
		}
		for _, h := range late[now] {
			servers[h.server][h.arm].Hits[h.group]++
		}
		main, other := servers[0][0], servers[0][1]
		main.Add(&servers[1][0])
		other.Add(&servers[1][1])
		v = Compare(&main, &other)
		if !c.spread && v.Known {
			d := c.rate[1] - c.rate[0]
			wrong = wrong || d < v.Low || d > v.Top
		}
		if v.P <= Level {
			found = true
			break
		}
	}
	return v, found, wrong
}

// hits draws the hits of a user: Poisson, with a mean that is exponential among users, which is a
// geometric distribution, of variance rate + rate². A few users have most of the hits.
func hits(rng *rand.Rand, rate float64) int {
	return int(math.Log(1-rng.Float64()) / math.Log(rate/(1+rate)))
}

// tests is the number of simulated tests.
const tests = 2000

// tooMany is the largest number of failures of n tests that a probability p explains: three
// standard errors above the mean.
func tooMany(n int, p float64) float64 {
	return float64(n)*p + 3*math.Sqrt(float64(n)*p*(1-p))
}

// Equal arms are found different at most as often as promised, however often one looks.
func TestErrorRates(t *testing.T) {
	soak.Slow(t)
	for name, c := range map[string]trial{
		"hits at once":       {users: 4_000, share: 0.5, rate: [2]float64{0.5, 0.5}},
		"hits that are late": {users: 4_000, share: 0.5, rate: [2]float64{0.5, 0.5}, spread: true},
		"a small arm":        {users: 6_000, share: 0.1, rate: [2]float64{0.9, 0.9}, spread: true},
		"few hits":           {users: 4_000, share: 0.5, rate: [2]float64{0.02, 0.02}},
		"many hits of each":  {users: 2_000, share: 0.5, rate: [2]float64{20, 20}, spread: true},
		"two servers": {users: 4_000, share: 0.5, rate: [2]float64{3, 3}, spread: true,
			twice: true},
	} {
		found, n := 0, soak.Times(tests)
		for seed := range uint64(n) {
			if _, f, _ := c.run(seed); f {
				found++
			}
		}
		t.Logf("%s: %d of %d", name, found, n)
		if float64(found) > tooMany(n, Level) {
			t.Errorf("%s: of %d tests of equal arms %d find a difference", name, n, found)
		}
	}
}

// A difference is found, with as many users as Needed says, and the interval has the true one.
func TestPower(t *testing.T) {
	soak.Slow(t)
	for name, c := range map[string]trial{
		"half":      {share: 0.5, rate: [2]float64{0.5, 0.65}},
		"a tenth":   {share: 0.1, rate: [2]float64{0.5, 0.25}},
		"few hits":  {share: 0.5, rate: [2]float64{0.05, 0.08}},
		"hit often": {share: 0.5, rate: [2]float64{5, 6}},
	} {
		var m [2]moments
		for arm, share := range []float64{1 - c.share, c.share} {
			r, n := c.rate[arm], 1000*share
			m[arm] = moments{n: n, hits: n * r, rate: r, squares: n * (r + r*r)}
		}
		c.users = 1000 + int(newTest(m[0], m[1]).needed(c.rate[1]-c.rate[0]))
		found, missed, n := 0, 0, soak.Times(tests)
		for seed := range uint64(n) {
			v, f, wrong := c.run(seed)
			if f && v.Difference*(c.rate[1]-c.rate[0]) > 0 {
				found++
			}
			if wrong {
				missed++
			}
		}
		t.Logf("%s: %d users, %d of %d found, %d missed", name, c.users, found, n, missed)
		least := float64(n)*power - 3*math.Sqrt(float64(n)*power*(1-power))
		if float64(found) < least || found == n || float64(missed) > tooMany(n, Level) {
			t.Errorf("%s: with %d users %d of %d tests find the difference, %d intervals miss it",
				name, c.users, found, n, missed)
		}
	}
}

// The figures are those of the definition.
func TestFigures(t *testing.T) {
	var main, arm Sums
	check.Same(t, Verdict{P: 1}, Compare(&main, &arm), "the verdict of nothing")
	for g := range Groups {
		main.Users[g], main.Hits[g] = 10, int64(2+g%2)
		arm.Users[g] = 5
	}
	v, r := Compare(&main, &arm), Of(&main)
	// every residual is 1/2: σ² = 64/63 · 64/4 / 640; the arm has two thirds of it, the pooled one
	variance := 64.0 / 63 / 40
	m := 1 / (1.0/640 + 1.0/320)
	s, vv := -m*0.25, m*m*(variance/640+variance*2/3/320)
	p := math.Exp(-rho2*s*s/2/(1+rho2*vv)) * math.Sqrt(1+rho2*vv)
	near := func(a, b float64) bool { return math.Abs(a-b) < 1e-12 }
	if !v.Known || !near(v.P, p) || v.Difference != -0.25 || v.Low >= v.Top ||
		r.Users != 640 || r.Hits != 160 || r.Rate != 0.25 || r.Low >= 0.25 || r.Top <= 0.25 {
		t.Errorf("%+v, %+v, want p %v", v, r, p)
	}
	// p and interval agree, and with the users that are needed p is small enough
	check.Same(t, v.Top < 0, v.P <= Level,
		"p is %v, the interval ends at %v: a difference", v.P, v.Top)
	check.Same(t, math.Inf(1), Compare(&main, &main).Needed, "users needed to find nothing")
}
