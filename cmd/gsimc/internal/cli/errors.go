package cli

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/model"
)

// Exit codes.
const (
	ExitOK          = 0
	ExitFailure     = 1
	ExitUsage       = 2
	ExitTooFew      = 3   // too few new events to compare models on
	ExitLeftOut     = 4   // done, without what is damaged
	ExitInterrupted = 130 // ended by SIGINT or SIGTERM; what was kept is said
)

// ErrInterrupted is the end of a command by a signal. It gives [ExitInterrupted].
var ErrInterrupted = errors.New("interrupted")

// Interrupted is [ErrInterrupted] with what was kept and how to go on.
func Interrupted(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInterrupted, fmt.Sprintf(format, args...))
}

// coded is an error with an exit code.
type coded struct {
	error
	code int
}

func (e *coded) Unwrap() error { return e.error }

// WithCode gives an error the exit code of the process. It returns nil if err is nil.
func WithCode(code int, err error) error {
	if err == nil {
		return nil
	}
	return &coded{err, code}
}

// Usage marks an error as wrong usage: [ExitUsage].
func Usage(err error) error { return WithCode(ExitUsage, err) }

// Usagef is [Usage] of [fmt.Errorf].
func Usagef(format string, args ...any) error { return Usage(fmt.Errorf(format, args...)) }

// exitCode returns the exit code of an error.
func exitCode(err error) int {
	if e := new(coded); errors.As(err, &e) {
		return e.code
	}
	if errors.Is(err, ErrInterrupted) {
		return ExitInterrupted
	}
	return ExitFailure
}

// Flag returns the fault of a flag such as "--data" with a cause. It returns nil if err is nil.
func Flag(flag string, err error) error {
	if err == nil {
		return nil
	}
	return &fault.Fault{Field: flag, Err: err}
}

// Flagf returns the fault of a flag such as "--data" with what is wrong.
func Flagf(flag, format string, args ...any) error {
	return &fault.Fault{Field: flag, Problem: fmt.Sprintf(format, args...)}
}

// about is an error about several flags.
type about struct {
	text  string
	flags []string
	err   error // the cause; may be nil
}

func (e *about) Error() string { return e.text }
func (e *about) Unwrap() error { return e.err }

// About returns an error about several flags, which are the arguments of the format:
// About("want either %s or %s", "--user", "--history").
func About(format string, flags ...string) error {
	args := make([]any, len(flags))
	for i, flag := range flags {
		args[i] = flag
	}
	return &about{text: fmt.Sprintf(format, args...), flags: flags}
}

// PathError returns an error of the operating system as "path: reason", without the system call. It
// returns other errors as they are.
func PathError(err error) error { return fault.PathError(err) }

// OpenModel opens the model file that a flag such as "--model" gives, or an argument, which has no
// name.
func OpenModel(flag, path string) (*model.Model, error) {
	return modelOf(flag, path, model.Open)
}

// LoadModel is OpenModel for a server: the model does not change with the file.
func LoadModel(flag, path string) (*model.Model, error) {
	return modelOf(flag, path, model.Load)
}

// FindModel returns the error of LoadModel if the file is missing, or by its header is no model or
// not as long as one.
func FindModel(flag, path string) error {
	if _, err := model.StatWhole(path); err == nil {
		return nil
	}
	_, err := LoadModel(flag, path)
	return err
}

func modelOf(
	flag, path string, open func(path string) (*model.Model, error),
) (*model.Model, error) {
	m, err := open(path)
	if errors.As(err, new(*fs.PathError)) {
		err = fmt.Errorf("%w: give a file that `gsimc train` wrote", PathError(err))
		if flag != "" {
			err = Flag(flag, err)
		}
		return nil, err
	}
	return m, err
}

// DataError names the flag --data if one of its files cannot be opened. All other errors of the
// data name file and line themselves.
func DataError(err error) error {
	if errors.As(err, new(*fs.PathError)) {
		return Flag("--data", PathError(err))
	}
	return err
}
