//go:build !linux

package main

import "time"

// separate does nothing: this system cannot tie processes to processors.
func separate(int) (free func(), err error) { return func() {}, nil }

func pause(d time.Duration) { time.Sleep(d) }
