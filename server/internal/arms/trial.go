package arms

import (
	"math"
	"sync"
)

// A Trial compares an arm with main by the ranks that the next items of their users had.
//
// The gain of a rank r is g = 1/log2(1+r), that of NDCG with one relevant item: 1 for the first
// place, and nearly 0 far down. With n gains of each, their means ḡ and variances s², the arm is
// worse if both have at least Events gains and
//
//	ḡ_main − ḡ_arm > Z · √(s²_main/n_main + s²_arm/n_arm).
//
// Each arm is measured on its own users alone: users do more of what they are shown, so that on the
// users of another arm that arm's list would have an advantage. The events of a user are not
// independent, as the standard error takes them to be; Z has to make up for that.
//
// A look at every event would find an arm worse by chance, sooner or later. So the trial looks when
// the arm has Events gains, and whenever that number has doubled: at most once more often than log2
// of all events, and a worse arm has at most twice the events that it takes to see it.
type Trial struct {
	Events int     // least number of gains of each
	Z      float64 // standard errors

	mu        sync.Mutex
	versions  [2]string
	main, arm moments
	look      int // gains of the arm at which to look next
}

// moments are those of a sample (B. P. Welford, Technometrics 4, 1962).
type moments struct {
	n    int
	mean float64
	sum2 float64 // of the squared distances from the mean
}

func (m *moments) add(x float64) {
	m.n++
	d := x - m.mean
	m.mean += d / float64(m.n)
	m.sum2 += d * (x - m.mean)
}

// errorSquared is the square of the standard error of the mean.
func (m *moments) errorSquared() float64 {
	return m.sum2 / float64(max(m.n-1, 1)) / float64(m.n)
}

// Gain returns the gain of a rank, from 1.
func Gain(rank int) float64 { return 1 / math.Log2(1+float64(rank)) }

// Figures are those of a trial so far.
type Figures struct {
	Main, Arm           float64 // mean gains
	MainEvents, Events  int
	StandardError       float64 // of the difference
	Worse               bool    // the arm is worse, by a look at this moment
	MainModel, ArmModel string  // versions
}

// Add adds the rank that an item had for a user of the arm, or of main, under the model of a
// version. It returns the figures if this was the time to look. Another model of either begins the
// trial anew.
func (t *Trial) Add(ofArm bool, version string, rank int) (f Figures, looked bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	side, m := 0, &t.main
	if ofArm {
		side, m = 1, &t.arm
	}
	if t.versions[side] != version {
		if t.versions[side] != "" {
			t.main, t.arm, t.look = moments{}, moments{}, 0
		}
		t.versions[side] = version
	}
	m.add(Gain(rank))
	if t.look = max(t.look, t.Events); t.arm.n < t.look || t.main.n < t.Events {
		return f, false
	}
	t.look = 2 * t.arm.n
	return t.figures(), true
}

// Figures returns those of the trial so far.
func (t *Trial) Figures() Figures {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.figures()
}

func (t *Trial) figures() Figures {
	f := Figures{Main: t.main.mean, Arm: t.arm.mean, MainEvents: t.main.n, Events: t.arm.n,
		MainModel: t.versions[0], ArmModel: t.versions[1]}
	if t.main.n > 0 && t.arm.n > 0 {
		f.StandardError = math.Sqrt(t.main.errorSquared() + t.arm.errorSquared())
	}
	f.Worse = t.main.n >= t.Events && t.arm.n >= t.Events &&
		f.Main-f.Arm > t.Z*f.StandardError
	return f
}
