package model

import (
	"slices"

	"github.com/gsimc/gsimc/spectral"
)

// DriftWindow is the number of consecutive events whose signal [Energy] looks at: windows of a
// fixed length, so that users with short histories and with long ones compare.
const DriftWindow = 5

// Energy measures how much of what users do lies within the basis of a model. The signal of a
// window of a history is x = Σ_i s_i 1_i over its items, normalised by degree as in K (s_i is the
// diagonal of D_v^{−s/2}), and the energy inside the basis is its graph Fourier transform's, since
// the columns of U are orthonormal:
//
//	inside = Σ ‖Uᵀx‖² / Σ ‖x‖²
//
// Over the windows that a graph was made of, that is tr(UᵀKU)/tr K. An item that the model does not
// know is all outside, with the mean energy of a known one.
type Energy struct {
	Events int64 // items in windows
	Known  int64 // those that the basis was learned from

	m             *Model
	inside, total float64 // of the known
	x             []float64
}

// NewEnergy returns a measurement without events. It is not safe for concurrent use.
func (m *Model) NewEnergy() *Energy { return &Energy{m: m.Base(), x: make([]float64, m.k)} }

// Add takes in a user's history: item indices in the order of time; those that are negative or of
// an extension are unknown to the basis. O(length·k).
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
		e.Known++
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

// Inside is the share of the energy within the basis, in [0, 1]; 0 without a known event.
func (e *Energy) Inside() float64 {
	if e.total == 0 {
		return 0
	}
	return min(1, e.inside/e.total*float64(e.Known)/float64(e.Events))
}

// InsideAtTraining is Energy.Inside over the validation users at the time of the training: users
// that the basis was not learned from, as those to come will be. Where there were too few of them
// it is that of the training users, which is higher. 0: there were no histories.
func (m *Model) InsideAtTraining() float64 { return m.insideAtTraining }

// measureEnergy sets insideAtTraining.
func (m *Model) measureEnergy(h Histories) {
	users := slices.Values(h.Validation)
	if len(h.Validation) < fewSequences {
		for range h.Train { // there are any
			users = h.Train
			break
		}
	}
	e := m.NewEnergy()
	var items []int32
	for history := range users {
		items = items[:0]
		for _, event := range history {
			items = append(items, event.Item)
		}
		e.Add(items)
	}
	m.insideAtTraining = e.Inside()
}

// Verdicts on a drift.
const (
	NoDrift     = "none"       // the ratio is at least 0.9: what samples of users differ by
	SomeDrift   = "some"       // at least 0.75: train soon
	StrongDrift = "strong"     // below: train now
	NoBaseline  = "unmeasured" // nothing to compare with
)

// Drift compares e with the training: the ratio of the shares inside the basis, and what to think
// of it.
func (e *Energy) Drift() (ratio float64, verdict string) {
	if e.m.insideAtTraining == 0 || e.Events == 0 {
		return 0, NoBaseline
	}
	ratio = e.Inside() / e.m.insideAtTraining
	switch {
	case ratio >= 0.9:
		return ratio, NoDrift
	case ratio >= 0.75:
		return ratio, SomeDrift
	}
	return ratio, StrongDrift
}
