package main

type modelCmd struct {
	Show  modelShowCmd  `cmd:"" help:"Print what a model file holds, with plots of its spectrum and filter."`
	Drift modelDriftCmd `cmd:"" help:"Compare recent events with those of the training: is it time to train again?"`
}
