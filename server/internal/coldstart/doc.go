// Package coldstart extends the serving model by cold-start items: items that events name or the
// catalogue describes, and the model was not trained on. It also measures how far users have
// drifted from the training.
//
// One goroutine does the work, at every tick and at once after a reload. It samples the users of
// each new item, reads their histories from the store, folds the item in by them
// ([model.Evidence]), and lets the extended model serve. Only events with a weight above 0 count.
// The states of users who have such items are rebuilt at their next request, and the events that
// waited become part of them. Items that nobody has borrow rows from known ones that the catalogue
// describes alike (package borrow), within seconds of its change, until their users tell more.
//
// The goroutine also counts the first events of users on all items: it reads the users whose
// histories have changed. They tell how many events have come since a new item did, and so how many
// users it would have in the training, as the others have ([trend.Degrees]); as it ages, it is
// folded in again. And they tell the trends of all items, if the model has some: the serving model
// gets those after the last span of time.
//
// A [Ledger] keeps who has new items and whose history has changed: in memory, or in a store that
// several servers share. docs/decisions/73 tells why no index of the store does.
//
// At the start, and after a reload, the whole store is searched for such items, at half speed.
// After a reload the items that are known by then serve before that. The search finds the items
// that only the model before knew. At the start the extension and the trends of the process before
// serve until then, from a file or from the store that several servers share.
package coldstart
