// Package call has the commands that call a running server: observe sends events, recommend asks
// for a list, score for scores, items keeps the catalogue, user looks at what is held of a user and
// changes it.
package call
