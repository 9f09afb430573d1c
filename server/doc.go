// Package server joins a model with a store of user histories and answers the gRPC services of
// api/gsimc/v1.
//
// # What is true
//
// The history in the store is the truth; everything else here is derived from it and may be lost at
// any time. A user's state is the fold of (model, history). The [Server] caches states in a bounded
// number of bytes, and every read compares the revision of the cached state with that of the store
// and folds in what is missing, by the same code that folds in new events. So an acknowledged event
// is visible by construction, and an answer is the same, bit for bit, whether the state came from
// the cache or from a replay.
//
// # One request, one model
//
// A request acquires the serving model once and uses it to its end. A reload swaps one pointer; the
// old model is closed when the last request that acquired it is done.
//
// # Errors
//
// Handlers return plain Go errors; outcome.Status is the only place that knows codes, reasons and
// retry hints. The text of an internal error never leaves the process.
//
// Messages that cannot be decoded and unknown methods get here too, by way of a codec and a handler
// for them. What the gRPC library refuses before that has its code and message, but no ErrorInfo: a
// message over Config.MaxRecvBytes is RESOURCE_EXHAUSTED, an unknown compression UNIMPLEMENTED, a
// breach of the gRPC protocol itself INTERNAL.
//
// # Personal data
//
// User ids, item ids and event ids stand in no log line, metric or error text. Where a log line
// needs to tell users apart, it has a keyed hash.
package server
