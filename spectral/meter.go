package spectral

// meterSteps is the total that Options.Progress is told.
const meterSteps = 1000

// meter turns the progress of phases into one that never runs backwards. A nil meter tells nobody.
type meter struct {
	report   func(done, total int)
	from, to float64 // shares of the whole before and after the running phase
	last     int
}

func newMeter(report func(done, total int)) *meter {
	if report == nil {
		return nil
	}
	return &meter{report: report}
}

// begin ends the running phase and starts one at whose end the given share of the whole is done.
func (m *meter) begin(until float64) {
	if m == nil {
		return
	}
	m.update(1)
	m.from, m.to = m.to, max(m.to, until)
}

// update says how much of the phase is done.
func (m *meter) update(part float64) {
	if m == nil {
		return
	}
	if step := int(meterSteps * (m.from + (m.to-m.from)*min(1, part))); step > m.last {
		m.last = step
		m.report(step, meterSteps)
	}
}
