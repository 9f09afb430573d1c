package main

// failpoints are the places of TestFailpoints, in the order in which a write, an erasure, a
// retraction, a checkpoint, a reload and a shutdown pass them.
var failpoints = []failpoint{
	{"opened", "store/pebble/pebble.go", "histories, editor := l.histories, l.editor\n"},
	{"validated", "server/internal/ingest/ingest.go", "results, err := s.Append(ctx, in.records)\n"},
	{"planned", "store/pebble/committer.go", "c.group = append(c.group, call)\n"},
	{"filled", "store/pebble/committer.go", "c.apply(u, err)\n"},
	{"committed", "store/pebble/committer.go", "c.queue.sent()\n"},
	{"durable", "store/pebble/committer.go", "s.histories.Show(u.group)\n"},
	{"shown", "store/pebble/committer.go", "s.engine.Durable(u.commit, u.users)\n"},
	{"told", "store/pebble/committer.go", "finish(u.calls, nil)\n"},
	{"appended", "server/internal/ingest/ingest.go", "s.States.Fold(in.written)\n"},
	{"folded", "server/internal/ingest/ingest.go", "s.Follow.Observed(in.written)\n"},
	{"marking", "store/pebble/internal/mark/keeper.go", "turn := k.turn + 1\n"},
	{"marked", "store/pebble/internal/mark/keeper.go", "k.turn, k.mark.Commit, k.trouble ="},
	{"erasing", "server/internal/users/users.go", "n, err := s.States.Erase("},
	{"erased", "store/pebble/erase.go", "erasure.erased = c.erase(h)\n"},
	{"erasure-told", "server/internal/users/users.go", "if n > 0 {\n\t\ts.Follow.Forgot("},
	{"retracting", "server/internal/follow/follow.go", "versions, err := states.Rewrite("},
	{"rewriting", "store/pebble/rewrite.go", "c.editor.Begin()\n"},
	{"rewritten", "store/pebble/rewrite.go", "c.editor.Keep()\n"},
	{"retraction-told", "server/internal/follow/follow.go",
		"for i, user := range users {\n\t\tif made[i] != nil {\n"},
	{"sorting", "store/pebble/sorter.go", "w := sorting{sorter: s, gen: g}\n"},
	{"rows-written", "store/pebble/sorter.go", "for _, h := range w.written {\n"},
	{"journal-removed", "store/pebble/sorter.go", "w.sorter.emptied.Store(w.gen.Last())\n"},
	{"forgetting", "store/pebble/forgetter.go", "spans := []engine.Span{{First: row.JournalPrefix"},
	{"flushed", "store/pebble/internal/engine/forget.go", "before, err := e.files()\n"},
	{"compacted", "store/pebble/internal/engine/forget.go", "after, err := e.files()\n"},
	{"forgotten", "store/pebble/forgetter.go", "f.done = shown\n"},
	{"copying", "store/pebble/internal/engine/copies.go",
		"err = e.Do(func() error { return e.DB.Checkpoint("},
	{"copied", "store/pebble/internal/engine/copies.go",
		"e.copies.live = append(e.copies.live, name)\n"},
	{"reloading", "server/internal/models/holder.go", "return h.current.Swap(l)\n"},
	{"draining", "server/drain.go", "s.drain.tellStreams()\n"},
	{"drained", "server/drain.go", "s.log.Info(\"drained\")\n"},
	{"sealing", "store/pebble/internal/engine/seal.go",
		"content, err := seal(fs, fs.PathJoin(dir, DataName))\n"},
	{"breaking-seal", "store/pebble/internal/engine/seal.go",
		"if err := fs.Remove(fs.PathJoin(dir, SealName)); err != nil {\n"},
}

// extensionPoints are the places of TestOwnerIsKilled, in the order in which an owner passes them
// when it merges what servers have noticed and makes an extension of it.
var extensionPoints = []failpoint{
	{"merged", "server/internal/coldstart/internal/ledger/own.go", "s.owned.prune()\n"},
	{"keeping", "server/internal/coldstart/internal/ledger/own.go",
		"if err := s.put(ctx, topic, headName, note); err != nil {\n"},
	{"kept", "server/internal/coldstart/internal/ledger/own.go",
		"return s.store.DeleteNotes(ctx, noticesTopic(s.base), names, s.owned.fence(s.base))\n"},
	{"gathering", "server/internal/coldstart/foldin.go", "evidence.Add(history)\n"},
	{"publishing", "server/internal/coldstart/internal/ledger/follow.go",
		"if err := s.put(ctx, topic, name, document); err != nil {\n"},
	{"published", "server/internal/coldstart/internal/ledger/follow.go",
		"err = serve(name)\n"},
	{"served", "server/internal/coldstart/internal/ledger/follow.go",
		"if err != nil && !errors.Is(err, ErrOtherModel) {\n"},
}

// hurried are changes of the code that make its background work fit into a short test: the text
// that is once in the file, and what takes its place.
var hurried = []struct{ file, was, is string }{
	{"store/pebble/sorter.go", "eraseDelay = 10 * time.Second", "eraseDelay = 10 * time.Millisecond"},
}
