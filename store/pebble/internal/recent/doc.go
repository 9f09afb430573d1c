// Package recent holds in memory the part of the histories that a store needs at once: the newest
// events, which are in the journal and not yet in the rows of their users, and the event ids of the
// users who wrote recently.
//
// # Owners
//
// One goroutine, the committer, changes histories by the [Editor]. Another one, the sorter, writes
// the events of a [Generation] to rows and then says so by [Generation.Moved]. All methods of
// [Histories] may be called by any goroutine. A history has two faces: the planned one, which
// belongs to the committer, and the shown one, which is guarded by the lock of its shard.
//
// # Groups
//
// Changes that become durable together are a [Group]. It keeps what the planned face was when it
// was made, since the committer goes on while the disk works. [Histories.Show] makes that the shown
// face once the group is durable, so that readers never see what a loss of power could take back.
// A generation is sorted when all its groups are shown. Rows of an erased user are removed together
// with the group, so until it is shown readers find them in a snapshot.
//
// # Generations
//
// The journal is kept in memory as generations: one is filled while the one before is sorted. The
// parity of a generation, 0 or 1, says which of the two it is. An event is known by its place in
// the blocks of its generation.
//
// # Memory
//
// Histories that are wholly in rows are let go of when there is more than the limit. Those with
// events in the journal stay, but for the tables of ids of long ones, which take at most half of
// the limit. One such table may always stay.
package recent
