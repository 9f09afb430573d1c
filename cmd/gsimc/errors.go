package main

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/gsimc/gsimc/dynamics"
	"github.com/gsimc/gsimc/fault"
)

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
		return err
	}
	text := rankError.ReplaceAllString(err.Error(), "--rank: $1 is above")
	text = landmarksError.ReplaceAllString(text, "--landmarks: $1 for --rank $2")
	if text == err.Error() {
		return err
	}
	return errors.New(text)
}
