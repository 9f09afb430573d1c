package main

import (
	"errors"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"

	"github.com/gsimc/gsimc/model"
)

type modelCmd struct {
	Show  modelShowCmd  `cmd:"" help:"Print what a model file holds, with plots of its spectrum and filter."`
	Drift modelDriftCmd `cmd:"" help:"Compare recent events with those of the training: is it time to train again?"`
}

type modelShowCmd struct {
	File string `arg:"" help:"Model file."`
}

// Run checks the file as serve would, and describes it.
func (c *modelShowCmd) Run(a *cli.App) error {
	m, err := cli.OpenModel("<file>", c.File)
	if err != nil {
		return err
	}
	return errors.Join(model.Describe(a.Stdout, m), m.Close())
}
