package main

import (
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
)

// TestLogLevelOfARunningServer lets a server write its calls to the log, without a restart.
func TestLogLevelOfARunningServer(t *testing.T) {
	t.Parallel()
	_, model := smallModel(t)
	server := startServe(t, model, t.TempDir())
	check.Same(t, "log level debug, before: info\n",
		execute(t, "log-level", "debug", "--server", server.Admin), "log-level prints")
	execute(t, "observe", "--server", server.GRPC, "--user", "u", "--item", "i1")
	server.awaitLog(t, `"msg":"call"`, 1)
	server.awaitLog(t, `"msg":"log level changed"`, 1)
	server.awaitLog(t, `AdminService/SetLogLevel","caller"`, 1) // the account
}
