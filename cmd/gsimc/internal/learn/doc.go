// Package learn has the commands of gsimc that learn and measure: generate, train, evaluate, tune
// and model. Each command turns its flags into the options of a library and prints the library's
// figures.
package learn
