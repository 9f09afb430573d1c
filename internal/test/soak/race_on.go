//go:build race

package soak

// raceEnabled tells that the race detector is on: it takes much memory, and ten times as long.
const raceEnabled = true
