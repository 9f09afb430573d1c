package trend

import (
	"math"

	"github.com/gsimc/gsimc/internal/fault"
)

// Spec are the constants of trends: with them, the score of an item is e^{β g_i} ŷ_i + c g_i.
type Spec struct {
	HalfLife float64 // H, in events
	Span     int64   // length of a span, in seconds
	Gain     float64 // c
	Power    float64 // β
}

// maxPower is the largest power: with 1, an item that is taken twice as often as in the training
// has twice the score.
const maxPower = 1

// None reports whether trends leave scores as they are.
func (s *Spec) None() bool { return s.Gain == 0 && s.Power == 0 }

// Validate returns the fault of a field that is out of range. A half-life of 0 stands for no trends
// at all.
func (s *Spec) Validate() error {
	switch {
	case s.HalfLife == 0 && s.Span == 0 && s.None():
		return nil
	case !(s.HalfLife >= 1) || math.IsInf(s.HalfLife, 0):
		return fault.New("HalfLife", s.HalfLife, "a number of events from 1 on, or 0 for no trends")
	case s.Span < 1:
		return fault.New("Span", s.Span, "a number of seconds from 1 on")
	case !(s.Gain >= 0) || math.IsInf(s.Gain, 0):
		return fault.New("Gain", s.Gain, "a finite number from 0 on")
	case !(s.Power >= 0 && s.Power <= maxPower):
		return fault.New("Power", s.Power, "a number from 0 to 1")
	}
	return nil
}

// halfLives are the candidates of H, as shares of the training events.
var halfLives = []float64{0.003, 0.01, 0.03, 0.1}

// A span is as long as the newest H/spansPerHalfLife events of the training took, or longer: what
// is older by a tenth of H ranks as well.
const (
	spansPerHalfLife = 30
	shortestSpan     = 60 // seconds
)

// Candidates returns the constants to choose from, without a gain and a power, for a training of
// the first n events of a log.
func Candidates(l *Log, n int) []Spec {
	specs := make([]Spec, len(halfLives))
	for at, share := range halfLives {
		h := max(1, share*float64(n))
		specs[at] = Spec{HalfLife: h, Span: shortestSpan}
		if n > 0 {
			took := l.Time(n-1) - l.Time(max(0, n-1-int(h)))
			specs[at].Span = max(shortestSpan, took/spansPerHalfLife)
		}
	}
	return specs
}

// SpanOf returns the number of the span that a time is in.
func (s Spec) SpanOf(time int64) int64 {
	number := time / s.Span
	if time%s.Span < 0 {
		number--
	}
	return number
}
