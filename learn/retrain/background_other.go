//go:build !linux

package retrain

import "os/exec"

// runInBackground runs a command to its end.
func runInBackground(cmd *exec.Cmd) error { return cmd.Run() }
