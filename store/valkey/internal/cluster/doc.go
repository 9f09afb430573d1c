// Package cluster sends function calls to the primaries of a Redis or Valkey cluster.
//
// # Writes
//
// [Cluster.Write] hands calls to the lanes of the primaries that have their slots. A lane is a
// connection and a goroutine. It takes the calls that have gathered, sends them as one pipeline
// that ends with WAIT, and reads all answers: one round trip. In newer servers WAIT counts the
// replicas that have the last write of its own connection, so it stands in the pipeline of the
// writes that it is for, and a function that changes nothing must write something all the same if
// its answer is to be durable.
//
// WAIT asks for all replicas that are linked to the primary, and at least one. That number is
// looked up at intervals. A call whose outcome is open, because the connection broke or too few
// replicas answered, is sent again until its context ends; so calls must be safe to repeat. Answers
// that say where a slot has gone, or that a node is not ready, are followed in the same way. The
// calls of a primary that has had no replica for some seconds are refused, as nobody would
// acknowledge them.
//
// Each primary has room for a number of calls. One that comes when the room is taken is refused at
// once, so that a primary that is out of reach neither fills the memory nor holds up the callers of
// the others.
//
// # Reads
//
// [Cluster.Read] asks the primary of a slot, over a connection that all reads share, and follows
// and repeats like a write, without WAIT.
//
// Errors wrap [store.ErrUnavailable] when the cluster cannot be reached or cannot promise what it
// is asked for, [store.ErrFull] when it has no memory for a write, and [store.ErrCorrupt] when a
// key holds what it should not.
package cluster
