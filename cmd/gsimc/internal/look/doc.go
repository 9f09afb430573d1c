// Package look has the commands of gsimc that look into files, and one that makes a file to look
// into: validate, model show, model items and generate.
package look
