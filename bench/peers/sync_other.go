//go:build !linux

package main

import "os"

// dataSync waits until the content of f is on disk.
func dataSync(f *os.File) error { return f.Sync() }
