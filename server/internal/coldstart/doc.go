// Package coldstart extends the serving model by cold-start items: items that events name and the
// model was not trained on. It also measures how far users have drifted from the training.
//
// One goroutine does the work, at every tick and at once after a reload. It samples the users of
// each new item, reads their histories from the store, folds the item in by them
// ([model.Evidence]), and lets the extended model serve. Only events with a weight above 0 count.
// The states of users who have such items are rebuilt at their next request, and the events that
// waited become part of them.
//
// The users of the store are scaled to those of the training, so that the popularity of a new item
// compares with that of the others; but a user of a small store counts for at most maxUpscale
// users.
//
// A [Ledger] keeps who has new items: in memory, or in a store that several servers share. Were the
// store itself to count items, by an index new_items(item, user_hash) that it writes with the
// event, the ledger would become two reads of the store: the items with the numbers of their users,
// and the sample of an item. The owner would read samples where the truth is, erasure would need no
// second path, and of what servers write for each other the lease and the documents would stay.
//
// At the start, and after a reload, the whole store is searched for such items, at half speed.
// After a reload the items that are known by then serve before that. The search finds the items
// that only the model before knew.
package coldstart
