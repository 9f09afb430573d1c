package kalman

// The gains of an update depend on the times and weights of the events, not on the items.
// With the gains a state can be written as a sum over the events, because the update is linear in
// everything else.

// GainTo stores K of the update that an event of weight w at time t would make to s, k numbers: 0
// without a deviation, or without positive weight. These are the bits that Update takes.
func (d *Dynamics) GainTo(dst []float32, s *State, w float32, t int64) {
	if !d.HasDeviation() || !(w > 0) {
		clear(dst)
		return
	}
	growth := d.growth(s, t)
	for j, p := range s.P {
		dst[j] = gain(p+float32(growth*d.SigmaEta[j]), noiseOf(d.SigmaNu[j], w))
	}
}

// DecayTo stores a_b, by which an event at time t would fade each of the r bands of s.
func (d *Dynamics) DecayTo(dst []float32, s *State, t int64) {
	dt := s.elapsed(t)
	for b, band := range d.Bands {
		dst[b] = float32(band.Decay(dt))
	}
}

// GainTo stores K of the update that an event at time t would make to s, k numbers, as Update takes
// it.
func (f *Filter) GainTo(dst []float32, s *State, t int64) {
	a := f.DecayAt(s, t)
	a2 := float32(a * a)
	for j, p := range s.P {
		dst[j] = gain(float32(a2*p)+f.SigmaEta, f.SigmaNu)
	}
}
