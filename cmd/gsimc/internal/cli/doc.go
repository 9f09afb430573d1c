// Package cli is what all commands of gsimc share: the streams, flags and settings, the checks of
// flags, exit codes, sizes, tables, output files, progress, interrupts and the memory limit.
//
// # Errors
//
// An error stays a value until [Main] prints it. A check of a flag returns a [fault.Fault] whose
// field is the flag itself, such as "--rank". A library returns a fault that names its own field,
// such as "Rank"; [Main] prints it with the flag of the command that sets this field, see [flagOf].
// A value from the environment or from a file of settings is followed by its source.
//
// # Conventions
//
// A command is a struct that kong fills from the command line. Its method Run(*App) error does the
// work. A method Check() error, if there is one, checks the flags before; its errors are wrong
// usage.
package cli
