package model

import (
	"math"
	"slices"

	"github.com/gsimc/gsimc/model/fit"
	"github.com/gsimc/gsimc/spectral"
)

// DriftWindow is the number of consecutive events in a window of [Energy]. The length is fixed so
// that users with short and with long histories compare.
const DriftWindow = 5

// Energy measures the share of users' behaviour that the basis of a model can express. The signal
// of a window of a history is x = Σ_i g_i 1_i over its items, where g is the diagonal of D_v^{−s/2}
// as in K. Since the columns of U are orthonormal, the energy of x inside the basis is that of its
// graph Fourier transform:
//
//	inside = Σ ‖Uᵀx‖² / Σ ‖x‖²
//
// Over the windows that a graph was made of, inside is tr(UᵀKU)/tr K. An unknown item counts as
// outside the basis, with the mean energy of a known item.
type Energy struct {
	Events int64 // events in all windows
	known  int64 // events in all windows on items of the basis

	m             *Model
	inside, total float64   // sums over the known events
	x             []float64 // scratch: k
}

// NewEnergy returns a measurement without events. An Energy is not safe for concurrent use.
func (m *Model) NewEnergy() *Energy { return &Energy{m: m.Base(), x: make([]float64, m.k)} }

// Add takes in a user's history: item indices in the order of time. Negative indices and items of
// an extension count as unknown. O(length·k).
func (e *Energy) Add(history []int32) {
	for window := range spectral.Windows(history, DriftWindow) {
		e.addWindow(window)
	}
}

func (e *Energy) addWindow(window []int32) {
	clear(e.x)
	e.Events += int64(len(window))
	for _, i := range window {
		if i < 0 || int(i) >= e.m.n {
			continue
		}
		e.known++
		s := e.m.graphScale[i]
		e.total += s * s
		for j, u := range row(e.m.basis, int(i), e.m.k) {
			e.x[j] += s * float64(u)
		}
	}
	for _, x := range e.x {
		e.inside += x * x
	}
}

// Inside returns the share of the energy inside the basis, in [0, 1]. It is 0 without a known
// event.
func (e *Energy) Inside() float64 {
	if e.total == 0 {
		return 0
	}
	return min(1, e.inside/e.total*float64(e.known)/float64(e.Events))
}

// InsideAtTraining returns Energy.Inside of the validation users, evenly spaced ones of many, at
// the time of the training. Like future users, they are not in the basis. With too few of them it
// is that of the training users, which is higher. It is 0 if there were no histories.
func (m *Model) InsideAtTraining() float64 { return m.insideAtTraining }

// measureEnergy sets insideAtTraining.
func (m *Model) measureEnergy(h fit.Histories) {
	const enough = 1 << 19 // events, or a few more, tell it to a thousandth
	users := slices.Values(h.Validation)
	if len(h.Validation) < fit.FewSequences {
		for range h.Train { // there is a training user
			users = h.Train
			break
		}
	}
	total, at := 0, 0
	for history := range users {
		total += len(history)
	}
	e, items := m.NewEnergy(), []int32(nil)
	for history := range users {
		if at++; at%(1+total/enough) > 0 {
			continue
		}
		items = items[:0]
		for _, event := range history {
			items = append(items, event.Item)
		}
		e.Add(items)
	}
	m.insideAtTraining = e.Inside()
}

// Drift returns Inside divided by InsideAtTraining, or NaN without events or without a measurement
// at the training. Samples of the same users differ by a tenth; below 0.75 it is time to train.
func (e *Energy) Drift() float64 {
	if e.m.insideAtTraining == 0 || e.Events == 0 {
		return math.NaN()
	}
	return e.Inside() / e.m.insideAtTraining
}
