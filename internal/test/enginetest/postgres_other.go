//go:build !linux

package enginetest

// childProcesses returns nothing: the processes of PostgreSQL notice that the first one is gone.
func childProcesses(int) []int { return nil }
