// Package ranking holds the order of results, once for all packages: falling score, ties to the
// smaller index. Search, popularity, offline evaluation and live measurement rank by it, so that a
// rank that is measured is the rank that is served.
//
// # Conventions
//
// Items are numbered from 0. The score of a result is a float32; [Of], [Order], [Sort] and [Merge]
// also take float64 scores and integers, such as counts. Between finite and infinite scores the
// order is that of the numbers, and −0 ties with 0. NaN comes after every number, with two
// exceptions: [TopN] replaces a NaN by −∞, and [Before] is for numbers only.
//
// The package imports nothing of this module.
package ranking
