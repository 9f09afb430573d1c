//go:build race

package topn

const raceDetector = true
