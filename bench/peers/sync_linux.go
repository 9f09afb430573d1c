package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// dataSync waits until the content of f is on disk.
func dataSync(f *os.File) error { return unix.Fdatasync(int(f.Fd())) }
