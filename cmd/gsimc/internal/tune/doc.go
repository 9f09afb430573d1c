// Package tune has the command of gsimc that finds the constants of a model: flags, a table of the
// best trials, and the file of flags for train and serve. The search is that of the library of the
// same name.
package tune
