//go:build !race

package topn

const raceDetector = false
