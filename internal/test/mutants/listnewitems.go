package main

// ofNewItems break what is known of new items, and how it follows the store.
var ofNewItems = []mutant{
	{
		name: "toolong", breaks: "a new item with a few users is on top of all lists",
		file: "model/internal/nystrom/nystrom.go",
		was:  `		row[j] *= part`,
		is:   `		row[j] *= 1`,
		pkg:  "./model", test: "TestSampledRowsAreNotTooLongForABasis",
	},
	{
		name: "pumped", breaks: "one user keeps an item up by taking it often",
		file: "server/internal/coldstart/internal/tally/tally.go",
		was:  `if _, seen := h.first[item]; !seen {`,
		is:   `{`,
		pkg:  "./server/internal/coldstart", test: "TestTrendsCountUsersOnce",
	},
	{
		name: "onlystays", breaks: "a list of new items has the policy of a list of old ones",
		file: "server/internal/recommend/list.go",
		was:  `seenRule{kinds: l.rule.kinds}`,
		is:   `l.rule`,
		pkg:  "./server", test: "TestBatchIsManyRecommends",
	},
	{
		name: "trendsstay", breaks: "an erased user counts on in the trends",
		file: "server/internal/coldstart/internal/ledger/memory.go",
		was: `	m.Changed(user)
	return m.account.Samples.Forget(user)`,
		is:  `	return m.account.Samples.Forget(user)`,
		pkg: "./server/internal/coldstart", test: "TestTrendsFollowTheStore",
	},
	{
		name: "erasuresuntold", breaks: "the owner counts on who was erased at another server",
		file: "server/internal/coldstart/internal/ledger/own.go",
		was: `	for _, user := range t.erased {
		counted.Pending.Add(user)
	}
`,
		is:  ``,
		pkg: "./server/internal/coldstart/internal/ledger", test: "TestOwnersAreToldWhoChanged",
	},
	{
		name: "trendsuntold", breaks: "the owner does not count what users do at other servers",
		file: "server/internal/coldstart/internal/ledger/shared.go",
		was:  `s.notices.changed.Add(user)`,
		is:   `_ = user`,
		pkg:  "./server", test: "TestTrendsOfSharedStores/memory",
	},
	{
		name: "heavytails", breaks: "new items that two users take in a moment push known ones off",
		file: "model/trend/degrees.go",
		was:  `of / sum * users * users / (users*users + doubt)`,
		is:   `users / max(t, 1/d.Events)`,
		pkg:  "./learn/evaluate", test: "TestNewItemsPayForThemselves",
	},
	{
		name: "nearest", breaks: "an item of frequent tokens alone is left out of the nearest ones",
		file: "model/content/search.go",
		was:  `if least := s.least(k, norm); least > most {`,
		is:   `if least := s.least(k, norm); least > most/4 {`,
		pkg:  "./model/content", test: "TestNearest",
	},
	{
		name: "likenothing", breaks: "a document may say that an item is like one that is nowhere",
		file: "model/internal/sealed/near.go",
		was:  `if j < 0 || int(j) >= n ||`,
		is:   `if j < 0 ||`,
		pkg:  "./model", test: "TestDocumentsWithNeighbours",
	},
	{
		name: "likemany", breaks: "a document may say that an item is like all of them",
		file: "model/internal/sealed/near.go",
		was:  ` || to-from > int64(most) {`,
		is:   ` {`,
		pkg:  "./model", test: "TestDocumentsWithNeighbours",
	},
	{
		name: "alwaysborrow", breaks: "what neighbours say is not outweighed by what users do",
		file: "model/borrow.go",
		was:  `float64(histories)*float64(histories))`,
		is:   `0*float64(histories))`,
		pkg:  "./model", test: "TestPlaceNear",
	},
	{
		name: "noages", breaks: "new items are as popular as on their first day for ever",
		file: "server/internal/coldstart/pace.go",
		was:  `if p.counted == nil || old.Fault {`,
		is:   `if p != nil {`,
		pkg:  "./server/internal/coldstart", test: "TestPaceFollowsTheStore",
	},
	{
		name: "samplepace", breaks: "new items are overrated where a sample of the users counts",
		file: "server/internal/coldstart/internal/tally/pace.go",
		was:  `math.Ldexp(p.eventsSince(since), p.halved)`,
		is:   `math.Ldexp(p.eventsSince(since), 0)`,
		pkg:  "./server/internal/coldstart/internal/tally", test: "TestPaceOfSamples",
	},
	{
		name: "samplefades", breaks: "trends of a sample of the users fade too slowly",
		file: "server/internal/coldstart/internal/tally/tally.go",
		was:  `math.Ldexp(t.spec.HalfLife, -t.halved)`,
		is:   `t.spec.HalfLife`,
		pkg:  "./server/internal/coldstart/internal/tally", test: "TestRoomIsBounded",
	},
	{
		name: "borrowedlast", breaks: "items that nobody has wait for histories that are folded in",
		file: "server/internal/coldstart/foldin.go",
		was:  `if a.Unserved && (!failed || !a.Counted) {`,
		is:   `if a.Unserved && failed && !a.Counted {`,
		pkg:  "./server/internal/coldstart", test: "TestContentDoesNotWaitForHistories",
	},
	{
		name: "borrowedstays", breaks: "what the owner before has left is not looked at again",
		file: "server/internal/coldstart/content.go",
		was:  `|| len(a.Borrowed) > 0 {`,
		is:   `{`,
		pkg:  "./server/internal/coldstart", test: "TestRowsOfTheOwnerBefore",
	},
	{
		name: "staleindex", breaks: "new items are like what known ones were before they changed",
		file: "server/internal/coldstart/internal/borrow/borrow.go",
		was:  `(changes == r.indexed || now.Before(r.reindex))`,
		is:   `true`,
		pkg:  "./server/internal/coldstart/internal/borrow", test: "TestRowsFollowTheCatalogue",
	},
	{
		name: "indexalways", breaks: "a living catalogue makes all rows anew every second",
		file: "server/internal/coldstart/internal/borrow/pass.go",
		was:  `max(r.every/2, indexShare*time.Since(r.began))`,
		is:   `0`,
		pkg:  "./server/internal/coldstart/internal/borrow", test: "TestKnownItemsAreReadRarely",
	},
	{
		name: "borrowwithoutend", breaks: "any number of items borrow a row",
		file: "server/internal/coldstart/internal/borrow/pass.go",
		was:  `rows[:min(len(rows), Most)]`,
		is:   `rows`,
		pkg:  "./server/internal/coldstart/internal/borrow", test: "TestMostBorrow",
	},
	{
		name: "hiddenborrows", breaks: "hidden items borrow rows that others need",
		file: "server/internal/catalogue/documents.go",
		was:  `!e.hidden && wanted(e.id)`,
		is:   `wanted(e.id)`,
		pkg:  "./server/internal/catalogue", test: "TestDocuments",
	},
}
