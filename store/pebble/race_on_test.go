//go:build race

package pebble

// raceEnabled tells that the race detector is on: it takes much memory, and ten times as long.
const raceEnabled = true
