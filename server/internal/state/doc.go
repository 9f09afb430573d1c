// Package state finds the state of a user: from the cache, from the store, or from both.
//
// A state is the fold of (model, history). Every read compares the revision of the cached state
// with that of the store and folds in what is missing, by the same code that folds in new events.
// So a state is the same, bit for bit, whether it came from the cache or from a replay.
//
// # Erasure
//
// A revision is a count, so an erased user who comes back reaches the revisions of the former life
// with other content. A comparison of revisions cannot tell the lives apart. Therefore erasures are
// counted. Users share a fixed number of stripes; a stripe has an epoch, which rises when an
// erasure begins, and the number of erasures under way. A [Ticket], taken before the store is
// asked, tells whether an erasure was under way and later whether one has begun since.
//
//   - A state that is read from the cache counts only if the ticket is still valid afterwards.
//     Otherwise the read is done again without the cache: one Read of the store is of one moment,
//     hence of one life.
//   - An event that was written is folded into a cached state only if the ticket is still valid.
//   - The end of an erasure takes the entry out of the cache. An entry is put in empty and filled
//     afterwards, so everything that was filled in before the erasure took place goes with it.
//
// No lock is held while the store works, except that of a single user's state.
package state
