package main

// ofDoors let in callers who may not come in, or bind a token to less than its user.
var ofDoors = []mutant{
	{
		name: "issuersalike", breaks: "a token of one issuer has the roles of another's",
		file: "server/internal/doors/signed.go",
		was:  `if l.issuer != by || !claims.Audience.Contains(l.audience) {`,
		is:   `if !claims.Audience.Contains(l.audience) {`,
		pkg:  "./server/internal/doors", test: "TestTokensOfTwoIssuers",
	},
	{
		name: "anyaudience", breaks: "a token for another service counts here",
		file: "server/internal/doors/signed.go",
		was:  `if l.issuer != by || !claims.Audience.Contains(l.audience) {`,
		is:   `if l.issuer != by {`,
		pkg:  "./server/internal/doors", test: "TestSignedTokens",
	},
	{
		name: "timeless", breaks: "a token counts for ever once it has been seen",
		file: "server/internal/doors/signed.go",
		was:  `if now.After(who.until) {`,
		is:   `if now.IsZero() {`,
		pkg:  "./server/internal/doors", test: "TestWhyTokensAreRefused",
	},
	{
		name: "otheruser", breaks: "a token of one user acts for another",
		file: "server/internal/doors/doors.go",
		was:  `self && (about == "" || about == only) {`,
		is:   `self {`,
		pkg:  "./server", test: "TestTokensBoundToAUser",
	},
	{
		name: "unbound", breaks: "a call goes on although its token is bound to another user now",
		file: "server/internal/doors/doors.go",
		was:  `who.user != OnlyUser(ctx) {`,
		is:   `who.user == "\x00" {`,
		pkg:  "./server/internal/doors", test: "TestBoundCalls",
	},
	{
		name: "onelimit", breaks: "one customer uses up the calls of all",
		file: "server/internal/doors/doors.go",
		was:  `who.rates.take(who.subject, d.now) {`,
		is:   `who.rates.take("", d.now) {`,
		pkg:  "./server/internal/doors", test: "TestRates",
	},
	{
		name: "onelimitofusers", breaks: "one customer uses up the new users of all",
		file: "server/internal/doors/doors.go",
		was:  `who.newUsers.of(who.subject, d.now)`,
		is:   `who.newUsers.of("", d.now)`,
		pkg:  "./server/internal/doors", test: "TestNewUsersOfALine",
	},
}
