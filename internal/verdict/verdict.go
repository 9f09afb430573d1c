// Package verdict says whether the users of an arm do more with their lists than those of main, by
// counts at which one may look as often as one likes.
//
// # The unit
//
// The unit is the user: an arm is drawn for a user, and the events of one are not independent. User
// i of n has y_i hits, so far. The rate of an arm is the mean ȳ, and its variance σ² is that of y
// among users. Σy² cannot be added up over servers, among which the calls of a user are spread. So
// users are in [Groups] groups, by a hash, and what is counted are the users n_g and the hits h_g
// of each: numbers that add up. All that belongs to a user is in one group, and
//
//	R = Σ h_g / Σ n_g,   σ² = G/(G−1) · Σ (h_g − R·n_g)² / Σ n_g,
//
// the variance of a ratio between clusters (W. G. Cochran, Sampling Techniques, 1977, 6.3 and 9.6).
// It stays right if a user is counted twice, by two servers or before and after a restart: n_g is
// then another measure of the same group, and the rate is hits for each such count.
//
// # The sequence
//
// With m = 1/(1/n_main + 1/n_arm), S = m·(R_arm − R_main) has the variance
// V = m²·(σ²_main/n_main + σ²_arm/n_arm), in squared hits. Under "no difference"
//
//	M = (1 + ρ²V)^(−1/2) · exp(ρ²S² / (2·(1 + ρ²V)))
//
// is a martingale of mean 1, if S is a Brownian motion of the time V: the mixture of its likelihood
// ratios over normal drifts of variance ρ² (H. Robbins, Annals of Mathematical Statistics 41,
// 1970). So it is ever as large as 1/α with a probability of at most α (Ville), p = min(1, 1/M) is
// valid whenever the test is stopped, and
//
//	|S − m·δ| < √( 2·(V + 1/ρ²) · ln(√(1 + ρ²V)/α) )
//
// holds for the true difference δ at all moments at once, with probability 1 − α. For means of
// anything with a finite variance this is a limit theorem (I. Waudby-Smith, D. Arbour, R. Sinha,
// E. H. Kennedy, A. Ramdas, Time-uniform central limit theory and asymptotic confidence sequences,
// Annals of Statistics 52, 2024; arXiv 2103.06476, theorem 2.2). ρ² makes the interval shortest at
// V = [Tightest] (S. R. Howard and others, Annals of Statistics 49, 2021, section 3.5).
//
// # Hits that come late
//
// y_i grows while the test runs, so that S has no independent steps. It crosses the boundary even
// less often: for the hits y before and y' after, the correlation of S and S' is Cov(y, y')/(σσ')
// times that by the growth of n, and that of a Brownian motion of the time V has σ/σ' there. If
// users with more hits so far do not have fewer afterwards, Cov(y, y') ≥ σ², all correlations are
// at least those of the motion, and Slepian's inequality (1962) bounds the crossings of any
// boundary by those of the motion. TestErrorRates counts them.
package verdict

import "math"

const (
	// Groups is the number of groups of users: enough for a variance with an error of 18 %, and few
	// enough to be series of metrics.
	Groups = 64
	// Level is the α of p values and intervals, for each arm by itself: 0.05.
	Level = 0.05
	// Tightest is the variance of S, in squared hits, at which intervals are shortest. With equal
	// arms it is about a quarter of all hits, if the hits of a user are independent.
	Tightest = 1000
	// MinUsers is the number of users of an arm below which there is no verdict.
	MinUsers = 100
	// MinEffect is a difference that is worth to be found, as a share of main's rate: 5 %.
	MinEffect = 0.05

	power     = 0.8    // with which [Verdict.Needed] users show the difference
	powerZ    = 0.8416 // its quantile of the normal distribution
	maxFactor = 1e9    // of the users that there are; more are none that could be had
)

// Sums are what is counted of an arm. They add up over servers.
type Sums struct {
	Users, Hits [Groups]int64
}

// Add adds the sums of another server.
func (s *Sums) Add(other *Sums) {
	for g := range s.Users {
		s.Users[g] += other.Users[g]
		s.Hits[g] += other.Hits[g]
	}
}

// A Rate is the hits for each user of an arm, with an interval that holds at all moments at once.
type Rate struct {
	Users, Hits    int64
	Rate, Low, Top float64 // hits per user; Low and Top are those of Rate below MinUsers users
}

// A Verdict is the comparison of an arm with main.
type Verdict struct {
	// Known tells whether both have MinUsers users, and there are hits. The rest is 0 otherwise,
	// and P is 1.
	Known bool
	// Difference is the rate of the arm, less that of main, in hits per user, with its interval.
	Difference, Low, Top float64
	// P is the always valid p value of "no difference".
	P float64
	// Needed is how many more users of both, in the present shares, would show the present
	// difference with a probability of 80 %; 0: they are enough, +Inf: no number of users.
	Needed float64
	// NeededMin is the same for a difference of MinEffect of main's rate.
	NeededMin float64
}

// moments are those of y among the users of an arm.
type moments struct {
	n, hits, rate float64
	squares       float64 // n·σ²
}

func (s *Sums) moments() (m moments) {
	for g := range s.Users {
		m.n += float64(s.Users[g])
		m.hits += float64(s.Hits[g])
	}
	if m.n == 0 {
		return m
	}
	m.rate = m.hits / m.n
	for g := range s.Users {
		e := float64(s.Hits[g]) - m.rate*float64(s.Users[g])
		m.squares += e * e * Groups / (Groups - 1)
	}
	return m
}

// Of returns the rate of an arm.
func Of(s *Sums) Rate {
	m := s.moments()
	r := Rate{Users: int64(m.n), Hits: int64(m.hits), Rate: m.rate, Low: m.rate, Top: m.rate}
	if m.n >= MinUsers {
		half := boundary(m.squares) / m.n
		r.Low, r.Top = max(m.rate-half, 0), m.rate+half
	}
	return r
}

// Compare compares an arm with main.
func Compare(main, arm *Sums) Verdict {
	a, b := main.moments(), arm.moments()
	if a.n < MinUsers || b.n < MinUsers || a.hits+b.hits == 0 {
		return Verdict{P: 1}
	}
	t := newTest(a, b)
	d := b.rate - a.rate
	half := boundary(t.v) / t.m
	return Verdict{Known: true, Difference: d, Low: d - half, Top: d + half,
		P: pValue(t.m*d, t.v), Needed: t.needed(d), NeededMin: t.needed(MinEffect * a.rate)}
}

// A test holds m and V of the package comment, and the users of both.
type test struct{ m, v, users float64 }

// newTest takes for the variance of each the larger one of its own and that of both together: an
// arm without hits has none of its own, and would be as certain as a count without an error.
func newTest(a, b moments) test {
	pooled := (a.squares + b.squares) / (a.n + b.n)
	m := 1 / (1/a.n + 1/b.n)
	return test{m: m, users: a.n + b.n,
		v: m * m * (max(a.squares/a.n, pooled)/a.n + max(b.squares/b.n, pooled)/b.n)}
}

// rho2 is ρ².
var rho2 = (1 - 2*math.Log(Level) + math.Log(1-2*math.Log(Level))) / Tightest

// boundary returns how far S is from m·δ at most, at the time v.
func boundary(v float64) float64 {
	return math.Sqrt(2 * (v + 1/rho2) * (math.Log1p(rho2*v)/2 - math.Log(Level)))
}

func pValue(s, v float64) float64 {
	return min(1, math.Exp(math.Log1p(rho2*v)/2-rho2*s*s/(2*(1+rho2*v))))
}

// needed returns how many more users show a difference of d with the probability power: as many as
// put the mean of S powerZ standard deviations of S above the boundary.
func (t test) needed(d float64) float64 {
	if d == 0 || t.v == 0 {
		return math.Inf(1)
	}
	shown := func(factor float64) bool {
		v := t.v * factor
		return math.Abs(d)*t.m*factor >= boundary(v)+powerZ*math.Sqrt(v)
	}
	low, high := 1.0, 1.0
	for !shown(high) {
		if low, high = high, 2*high; high > maxFactor {
			return math.Inf(1)
		}
	}
	for range 30 {
		if mid := (low + high) / 2; shown(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return math.Ceil((high - 1) * t.users)
}
