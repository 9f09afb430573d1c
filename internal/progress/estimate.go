package progress

import "time"

// A Stage is a part of a command whose length is predicted.
type Stage struct {
	Name    string  // as Begin is told
	Seconds float64 // predicted; only the ratios of the stages must be right
}

// priorShare is the weight of the predicted speed beside the speed that is measured, as a share of
// the whole plan: the prediction counts until the first per cents of the work are done.
const priorShare = 0.02

// estimate predicts the time that a command has left, from a plan of its stages. The plan says how
// the work is divided; the speed is measured. Of the running stage the share done counts, so the
// estimate follows the actual speed within a stage as well.
//
// With shares that are linear in time, and stages whose predictions are wrong by a common factor
// and by up to √2 beyond it, the estimate stays within a factor of two.
type estimate struct {
	plan []Stage
	next int // the first stage of the plan that has not begun

	spent, done, sum float64 // of the finished stages: actual and predicted seconds; predicted of the plan

	outside bool // a stage is running that is not of the plan
	running bool // a stage of the plan, plan[next-1]
	begin   time.Time
	share   float64   // of the running stage, when it was last told,
	at      time.Time // and since when it is known
}

// set replaces the plan.
func (e *estimate) set(plan []Stage) {
	*e = estimate{plan: plan}
	for _, s := range plan {
		e.sum += s.Seconds
	}
}

// start ends the running stage and begins a stage. Stages of the plan that are left out count as
// neither work nor time.
func (e *estimate) start(name string, now time.Time) {
	e.finish(now)
	for i := e.next; i < len(e.plan); i++ {
		if e.plan[i].Name != name {
			continue
		}
		for _, skipped := range e.plan[e.next:i] {
			e.sum -= skipped.Seconds
		}
		e.next, e.running, e.begin, e.share, e.at = i+1, true, now, 0, now
		return
	}
	e.outside = true
}

// finish ends the running stage.
func (e *estimate) finish(now time.Time) {
	e.outside = false
	if e.running {
		e.spent += now.Sub(e.begin).Seconds()
		e.done += e.plan[e.next-1].Seconds
		e.running = false
	}
}

// left returns the time until the end of the plan if the given share of the running stage is done;
// a negative share is not known. ok is false without a plan, after its end, and during a stage that
// is not of the plan.
func (e *estimate) left(share float64, now time.Time) (left time.Duration, ok bool) {
	if e.sum <= 0 || e.outside || !e.running && e.next == len(e.plan) {
		return 0, false
	}
	var current, elapsed float64
	if e.running {
		current, elapsed = e.plan[e.next-1].Seconds, now.Sub(e.begin).Seconds()
	}
	prior := priorShare * e.sum
	if e.running && share >= 0 {
		share = e.current(share, now)
	}
	if share < 0 {
		speed := (e.spent + prior) / (e.done + prior)
		share = 0
		if current > 0 {
			share = min(elapsed/(speed*current), unknownShare)
		}
	}
	worked := e.done + share*current
	pace := (e.spent + elapsed + prior) / (worked + prior) // actual seconds of a predicted one
	own := pace
	if share > 0 && current > 0 {
		// The running stage goes on at its own pace, more surely so the more of it is done.
		own += share * (elapsed/(share*current) - pace)
	}
	seconds := (1-share)*current*own + max(0, e.sum-e.done-current)*pace
	return time.Duration(seconds * float64(time.Second)), true
}

// current is the share of the running stage now. Shares are told in steps, and some steps are long:
// since the last one the stage goes on at its own pace, but not beyond four fifths of the rest.
func (e *estimate) current(told float64, now time.Time) float64 {
	if told > e.share {
		e.share, e.at = told, now
	}
	took := e.at.Sub(e.begin).Seconds()
	if e.share <= 0 || took <= 0 {
		return e.share
	}
	since := e.share * now.Sub(e.at).Seconds() / took
	return min(e.share+since, 1-(1-e.share)/5)
}

// unknownShare bounds the share of a stage that does not tell its share.
const unknownShare = 0.9
