// Package evaluate has the command of gsimc that measures methods on held-out users: flags, tables,
// JSON and figures. The methods and protocols are those of the library of the same name.
package evaluate
