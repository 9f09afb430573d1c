package main

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"github.com/gsimc/gsimc/dynamics"
	"github.com/gsimc/gsimc/fault"
	"github.com/gsimc/gsimc/model"
)

// pathError words an error of the operating system as "path: reason", without the system call.
func pathError(err error) error {
	if e := new(fs.PathError); errors.As(err, &e) {
		return fmt.Errorf("%s: %w", e.Path, e.Err)
	}
	return err
}

// openModel opens the model file that the named flag or argument gives.
func openModel(name, path string) (*model.Model, error) {
	m, err := model.Open(path)
	if errors.As(err, new(*fs.PathError)) {
		return nil, fmt.Errorf("%s: %w: give a file that `gsimc train` wrote", name, pathError(err))
	}
	return m, err
}

// The errors of spectral.Solve that depend on the data and therefore are not found among the flags before.
var (
	rankError      = regexp.MustCompile(`^rank (\d+) is above`)
	landmarksError = regexp.MustCompile(`^nystrom: (\d+) landmarks for rank (\d+)`)
)

// inFlags words an error of spectral.Solve or of the learning of dynamics in flags.
func inFlags(err error) error {
	if errors.Is(err, dynamics.ErrNothingToPredict) {
		return fmt.Errorf("%w: give histories of more events, or --preset paper, which needs no order of events", err)
	}
	if errors.As(err, new(*fault.Fault)) {
		return errors.New(fault.Text(err, func(field string) string { return "--" + strings.ToLower(field) }))
	}
	text := rankError.ReplaceAllString(err.Error(), "--rank: $1 is above")
	text = landmarksError.ReplaceAllString(text, "--landmarks: $1 for --rank $2")
	if text == err.Error() {
		return err
	}
	return errors.New(text)
}
