// Package again says which items of their own history users come back to.
//
// # Conventions
//
// The score of an item i of the user's own history is higher by
//
//	c₀ + c₁ ln Σ_j age_j^−δ − c₂ [i is the newest]
//
// j runs over the user's visits of i. A visit is one event with a weight above 0, or several on the
// same item, one right after the other, such as a page that was loaded again: its time is that of
// the last of them. Age is counted to the next event. In visits, that of the newest one is 1; in
// days it is 1 + the elapsed days. Only the newest [Most] events of a history count.
//
// ln Σ_j age_j^−δ is the base-level activation of a memory (Anderson and Schooler, Reflections of
// the environment in memory, Psychological Science 2, 1991): it rises with the number of visits and
// falls with time as a power.
//
// The constants are those under which the next visits of users are most likely, see [Choose].
package again
