package valkey

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"strings"
)

//go:embed functions.lua
var functions string

// libraryName is the name of the library of functions, and how the names of the functions begin.
// It has a hash of the source, so that servers of two versions use their own functions side by
// side.
var libraryName = func() string {
	sum := sha256.Sum256([]byte(functions))
	return "gsimc_" + hex.EncodeToString(sum[:4])
}()

// library is the source of the library.
var library = strings.ReplaceAll(functions, "LIBRARY", libraryName)

// function returns the full name of a function.
func function(name string) string { return libraryName + "_" + name }
