package main

// ofStores break what is durable, and what is told of its loss.
var ofStores = []mutant{
	{
		name: "oldlife", breaks: "a returned user gets lists of an erased history",
		file: "store/pebble/internal/recent/view.go",
		was:  `known.Mark == head.Mark && known.Revision <=`,
		is:   `known.Revision <=`,
		pkg:  "./server", test: "TestErasedUsersReturnAtOtherServer",
	},
	{
		name: "nosync", breaks: "an acknowledged event is lost with the power",
		file: "store/pebble/committer.go",
		was:  `if err := engine.Safely(u.batch.SyncWait); err != nil {`,
		is:   `if err := error(nil); err != nil {`,
		pkg:  "./store/pebble", test: "TestReadersSeeDurableChanges",
	},
	{
		name: "dirtyread", breaks: "a reader sees an event that is then lost",
		file: "store/pebble/committer.go",
		was:  `	c.queue.sent()`,
		is:   `	c.histories.Show(u.group); c.queue.sent()`,
		pkg:  "./store/pebble", test: "TestReadersSeeDurableChanges",
	},
	{
		name: "nodedupe", breaks: "an event that is sent again counts again",
		file: "store/pebble/planner.go",
		was:  `	if err != nil || at.Revision == 0 {`,
		is:   `	if err != nil || at.Revision < 1<<62 {`,
		pkg:  "./store/pebble", test: "TestConformance",
	},
	{
		name: "journalfirst", breaks: "the journal goes before its events are in rows",
		file: "store/pebble/sorter.go",
		was:  "func (w *sorting) run() error {\n",
		is: "func (w *sorting) run() error {\n" +
			"\tif err := w.removeJournal(); err != nil {\n\t\treturn err\n\t}\n",
		pkg: "./store/pebble", test: "TestCrashWhileSorting",
	},
	{
		name: "nosorterlock", breaks: "an erasure beside the sorter brings erased events back",
		file: "store/pebble/sorter.go",
		was:  `rows: make(chan struct{}, 1), sorted`,
		is:   `rows: make(chan struct{}, 2), sorted`,
		pkg:  "./store/pebble", test: "TestConformance|TestModel", race: true,
	},
	{
		name: "staleprefix", breaks: "a rewrite writes a history of a former life back",
		file: "store/pebble/rewrite.go",
		was:  `if !recent.Begins(head, rw.known[i]) {`,
		is:   `if false {`,
		pkg:  "./store/pebble", test: "TestConformance/.*/rewrite",
	},
	{
		name: "lostinrewrite", breaks: "events that arrive during a retraction are lost",
		file: "store/pebble/rewrite.go",
		was:  `rw.events[i] = append(rw.events[i], e)`,
		is:   `_ = e`,
		pkg:  "./store/pebble", test: "TestConformance/.*/rewrite",
	},
	{
		name: "nomark", breaks: "the loss of acknowledged events at a crash is silent",
		file: "store/pebble/committer.go",
		was:  `	s.engine.Durable(u.commit, u.users)`,
		is:   ``,
		pkg:  "./store/pebble", test: "TestLossIsNoticed",
	},
	{
		name: "noseal", breaks: "damage to a store that was closed is silent",
		file: "store/pebble/internal/engine/engine.go",
		was:  `if err == nil && seal {`,
		is:   `if err != nil && seal {`,
		pkg:  "./store/pebble", test: "TestDamagedFiles",
	},
	{
		name: "unnamed", breaks: "verify does not name users whose rows are damaged",
		file: "store/pebble/walk.go",
		was:  `if err := w.within(ctx, span, from); err != nil {`,
		is:   `if err := error(nil); err != nil {`,
		pkg:  "./store/pebble", test: "TestVerifyNamesNeighbours",
	},
	{
		name: "unmended", breaks: "a flipped bit loses users in a salvage",
		file: "store/pebble/internal/mend/bit.go",
		was:  `if d == want {`,
		is:   `if d == want && bit < 0 {`,
		pkg:  "./store/pebble", test: "TestSalvageFlippedBits",
	},
	{
		name: "withoutlost", breaks: "after the loss of a table an old history passes for whole",
		file: "store/pebble/verify.go",
		was:  `case i.leftOut(row.HeadKey(nil, user), row.EndKey(nil, user)):`,
		is:   `case false:`,
		pkg:  "./store/pebble", test: "TestSalvageLostTables",
	},
	{
		name: "lostuncounted", breaks: "users who stood in a lost table alone are not counted",
		file: "store/pebble/verify.go",
		was:  `return max(0, r.Existed-r.Users)`,
		is:   `return 0`,
		pkg:  "./store/pebble", test: "TestSalvageLostTables",
	},
}
