// Package learn has the commands of gsimc that learn and measure: train and evaluate. Each command
// turns its flags into the options of a library and prints the library's figures.
package learn
