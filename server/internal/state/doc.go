// Package state finds the state of a user: from the cache, from the store, or from both.
//
// A state is the fold of (model, history). Every read compares the version of the cached state with
// that of the store and folds in what is missing, by the same code that folds in new events. So a
// state is the same, bit for bit, whether it came from the cache or from a replay.
//
// # Versions
//
// A cached state has the [store.Version] of the history that it is the fold of. That is all that
// keeps it right, whatever other goroutines and other processes that share the store do to the
// user meanwhile:
//
//   - A read asks the store what the history has since the version of the state, in one call, hence
//     as of one moment. If the history does not begin with that version, because the user was
//     erased or the store lost writes, the state is made anew from the same answer.
//   - An event that was written is folded into a state only if that has the version before the
//     event. An event of a former life finds no such state. If it makes an entry, by being the
//     first event of a history, the next read finds that the history has another version.
//
// An erasure takes the entry out of the cache of the process that erases, to forget the user. The
// cache of another process, or a write that is late, may hold a state of the former life in memory.
// No read shows it, and the first one that meets it replaces it.
//
// No lock is held while the store works, except that of a single user's state.
package state
