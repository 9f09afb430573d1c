// Package data has what the commands that learn and measure share: the flags that name events and
// the constants of a model, the events read and dealt out to training, validation and test users,
// the stages that a bar of progress shows, and the files of figures.
package data
