package main

import (
	"runtime"
	"runtime/debug"

	"github.com/gsimc/gsimc/internal/vec"
)

// version is set by the linker: -X main.version=$(git describe).
var version = ""

// buildVersion is the version of this binary; a build with plain `go install MODULE@VERSION` has it in its build info.
func buildVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}

type versionCmd struct{}

// Run prints the version, the compiler, the platform and the scan kernel in use.
func (versionCmd) Run(a *app) error {
	a.printf("gsimc %s %s %s/%s kernel=%s\n", buildVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH, vec.KernelName())
	return nil
}
