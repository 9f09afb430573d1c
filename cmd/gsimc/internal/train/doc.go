// Package train has the command of gsimc that makes a model file: flags, the plan, the summary, and
// the constants taken from another model or a spectrum. The training is that of the library of the
// same name.
package train
