//go:build !linux

package main

// startWithSlack does nothing: only Linux has a slack of timers.
func startWithSlack() {}
