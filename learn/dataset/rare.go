package dataset

// The rule of [Options.LeaveOutRare].
const (
	// RareEvents is the filter of users and items that the rule applies: fewer events say little.
	RareEvents = 5

	rareItems = 2000 // items above which the rule applies: a smaller catalogue trains in seconds
	rareUsers = 200  // users that must be left
	rareShare = 0.4  // of the events that must be left
)

// leaveOutRare applies the rule of [Options.LeaveOutRare]. It returns the number of removed events
// and the filter that was applied, 0 if none was.
func (d *Interactions) leaveOutRare() (removed int64, filter int) {
	if d.NumItems() <= rareItems {
		return 0, 0
	}
	userGone, itemGone := d.outsideCore(RareEvents, RareEvents)
	users, events := 0, 0
	for u := range d.Users {
		if userGone[u] {
			continue
		}
		users++
		for _, i := range d.Of(u) {
			if !itemGone[i] {
				events++
			}
		}
	}
	if users < rareUsers || float64(events) < rareShare*float64(d.Len()) {
		return 0, 0
	}
	return d.compact(userGone, itemGone), RareEvents
}
