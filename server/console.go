package server

import (
	"fmt"
	"strconv"

	"github.com/gsimc/gsimc/internal/fault"
)

// Console says when the console is served.
type Console string

// The console is a client whose calls come in plain text, by a listener without certificates.
const (
	// ConsoleAuto serves it where it opens no door: on an OpsListen that only this machine reaches,
	// unless clients have to show certificates.
	ConsoleAuto Console = "auto"
	ConsoleOn   Console = "on"  // serve it, or do not start where ConsoleAuto would not
	ConsoleOff  Console = "off" // never
)

// servesConsole reports whether the console is served.
func (c *Config) servesConsole() bool {
	return c.Console == ConsoleOn ||
		c.Console == ConsoleAuto && c.TLSClientCA == "" && onThisMachine(c.OpsListen)
}

// validateConsole returns the fault of a console that would open a door.
func (c *Config) validateConsole() error {
	off := fault.Change{Verb: "set", Field: "Console", To: string(ConsoleOff)}
	insecure := fault.Change{Verb: "set", Field: "Insecure", To: "to serve it there"}
	switch c.Console {
	case ConsoleAuto, ConsoleOff:
		return nil
	case ConsoleOn:
	default:
		return fault.New("Console", strconv.Quote(string(c.Console)),
			fmt.Sprintf("%q, %q or %q", ConsoleAuto, ConsoleOn, ConsoleOff))
	}
	switch {
	case c.Insecure:
		return nil
	case c.TLSClientCA != "":
		return &fault.Fault{Field: "Console", Problem: "goes without the certificates that " +
			"clients need", Advice: []fault.Change{off, insecure}}
	case !onThisMachine(c.OpsListen):
		return &fault.Fault{Field: "Console", Problem: strconv.Quote(c.OpsListen) +
			" may be reached from other machines, and the calls of the console are in plain text",
			Advice: []fault.Change{off, insecure}}
	}
	return nil
}
