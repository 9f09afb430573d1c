package progress

import "time"

// A Stage is a part of a command whose length is predicted.
type Stage struct {
	Name    string  // the stage of Begin
	Seconds float64 // predicted; only the ratios between stages matter
}

// priorShare is the weight of the predicted speed beside the measured one, as a share of the whole
// plan. The prediction dominates until the first per cents of the work are done.
const priorShare = 0.02

// estimate predicts the time left of a command from a plan of its stages. The plan divides the work
// among the stages; the speed is measured. The share done of the running stage counts too, so the
// estimate follows the actual speed within a stage.
//
// With shares that are linear in time, and stages whose predictions are wrong by a common factor
// and by up to √2 beyond it, the estimate stays within a factor of two.
type estimate struct {
	plan []Stage
	next int // the first stage of the plan that has not begun

	spent float64 // actual seconds of the finished stages
	done  float64 // predicted seconds of the finished stages
	sum   float64 // predicted seconds of the whole plan

	outside bool // a stage outside of the plan is running
	running bool // a stage of the plan, plan[next-1]
	begin   time.Time
	share   float64   // of the running stage, as last reported
	step    float64   // the largest difference of two successive reports of the stage
	at      time.Time // of the report of share
}

// set replaces the plan.
func (e *estimate) set(plan []Stage) {
	*e = estimate{plan: plan}
	for _, s := range plan {
		e.sum += s.Seconds
	}
}

// start ends the running stage and begins the named one. Stages of the plan that were skipped no
// longer count.
func (e *estimate) start(name string, now time.Time) {
	e.finish(now)
	for i := e.next; i < len(e.plan); i++ {
		if e.plan[i].Name != name {
			continue
		}
		for _, skipped := range e.plan[e.next:i] {
			e.sum -= skipped.Seconds
		}
		e.next, e.running, e.begin = i+1, true, now
		e.share, e.step, e.at = 0, 0, now
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

// left returns the time until the end of the plan, given the share done of the running stage; a
// negative share is unknown. ok is false without a plan, after its end, and during a stage outside
// of the plan.
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
		// The running stage goes on at its own pace. Its weight is the share that is done.
		own += share * (elapsed/(share*current) - pace)
	}
	seconds := (1-share)*current*own + max(0, e.sum-e.done-current)*pace
	return time.Duration(seconds * float64(time.Second)), true
}

// current returns the share of the running stage at this moment. Reports come in steps, and some
// steps are long: the share is extrapolated from the last report at the pace of the stage, by at
// most the largest step so far and at most four fifths of the rest. The first bound matters after a
// short first step, whose pace says little.
func (e *estimate) current(told float64, now time.Time) float64 {
	if told > e.share {
		e.step = max(e.step, told-e.share)
		e.share, e.at = told, now
	}
	took := e.at.Sub(e.begin).Seconds()
	if e.share <= 0 || took <= 0 {
		return e.share
	}
	since := e.share * now.Sub(e.at).Seconds() / took
	return min(e.share+min(since, e.step), 1-(1-e.share)/5)
}

// unknownShare bounds the assumed share of a stage that reports none.
const unknownShare = 0.9
