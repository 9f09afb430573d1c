// Package standalone has the command of gsimc that goes from files of events to a server. It starts
// the other commands as a person would.
package standalone
