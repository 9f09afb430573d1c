package eigen

// Steps is the total of the reports of a [Meter].
const Steps = 1000

// A Meter joins the progress of phases into one that never runs backwards. A nil Meter is silent.
type Meter struct {
	report   func(done, total int)
	from, to float64 // shares of the whole before and after the running phase
	last     int
}

// NewMeter returns a meter that calls report with a rising done, at most total = Steps. A nil
// report gives a nil Meter.
func NewMeter(report func(done, total int)) *Meter {
	if report == nil {
		return nil
	}
	return &Meter{report: report}
}

// Begin ends the running phase and starts one that takes the given share of the time left.
func (m *Meter) Begin(share float64) {
	if m == nil {
		return
	}
	m.Update(1)
	m.from, m.to = m.to, m.to+(1-m.to)*share
}

// Update sets the share of the phase that is done.
func (m *Meter) Update(part float64) {
	if m == nil {
		return
	}
	if step := int(Steps * (m.from + (m.to-m.from)*min(1, part))); step > m.last {
		m.last = step
		m.report(step, Steps)
	}
}
