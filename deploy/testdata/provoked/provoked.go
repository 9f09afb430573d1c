// Package provoked is compiled into gsimc by TestAlertsFire only, which puts its calls into the
// code on their way to the compiler: a disk that is slow, hangs or breaks and a bug in a handler
// cannot be had otherwise.
package provoked

import (
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// on reports whether the test has switched a fault on: a file of its name is there.
func on(name string) bool {
	_, err := os.Stat(filepath.Join(os.Getenv("GSIMC_PROVOKED"), name))
	return err == nil
}

// Hang waits as long as the fault of this name is on.
func Hang(name string) {
	for on(name) {
		time.Sleep(10 * time.Millisecond)
	}
}

// Break is the error of a disk that takes nothing any more, while that fault is on.
func Break() error {
	if on("broken") {
		return syscall.EIO
	}
	return nil
}

// Bug panics if it is to.
func Bug() {
	if on("bug") {
		panic("provoked")
	}
}
