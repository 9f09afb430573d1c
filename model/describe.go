package model

import "slices"

// Description holds the figures of a model, for people. The slices share the memory of the model
// and must not be changed.
type Description struct {
	Version      string // see [Model.Version]
	Format       string // version of the file format
	Items, Rank  int    // n without an extension, and k
	Users        int64  // training users
	Interactions int64  // distinct pairs of a training user and an item
	Spec         Spec

	Kappa, Lambda []float64 // k, see [Model.Kappa] and [Model.Lambda]
	Response      []float32 // k, H(λ); nil with learned dynamics, which do not use it

	Prior     Range      // of P_0, k variances; zero with learned dynamics without a deviation
	Deviation *Deviation // nil unless learned dynamics track a deviation

	TellsUncertainty bool // see [Model.TellsUncertainty]
}

// Deviation describes the learned dynamics of a user's deviation from the bands, see
// [kalman.Dynamics].
type Deviation struct {
	ProcessNoise     Range   // Σ_η, variances per event
	MeasurementNoise Range   // Σ_ν, variances
	Drift            float64 // further process noise per second, in units of Σ_η
	Taste            Range   // Σ_θ, variances of the tastes of new users
	TasteFloor       float64 // share of Σ_θ that no evidence removes, 0 to 1

	// Calibration is the squared errors over the expected ones on validation users, for up to 8
	// equal ranges of frequencies, low ones first: the variances are learned from one half of the
	// users and measured on the other, and the other way round. 1 is right. nil: not measured.
	Calibration []float64
	// Withheld tells that Calibration is off by more than dynamics.MostOff. The model then has no
	// variances of its answers, and Taste is zero. Its answers are the same.
	Withheld bool
}

// Range is the smallest and the largest of a set of numbers. It is zero for the empty set.
type Range struct{ Low, High float64 }

func newRange(v []float32) Range {
	if len(v) == 0 {
		return Range{}
	}
	return Range{float64(slices.Min(v)), float64(slices.Max(v))}
}

// Describe returns the figures of the base of m, see [Model.Base].
func (m *Model) Describe() Description {
	d := Description{
		Version: m.version, Format: formatVersion, Items: m.n, Rank: m.k,
		Users: m.spec.TrainUsers, Spec: m.Spec(), Kappa: m.kappa, Lambda: m.lambda,
		TellsUncertainty: m.TellsUncertainty(),
	}
	for _, users := range m.degrees {
		d.Interactions += users
	}
	m.transition.describe(&d)
	return d
}
