// Package call has the commands that call a running server: observe sends events, recommend asks
// for a list.
package call
