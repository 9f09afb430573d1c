package cli

import (
	"runtime"
	"runtime/debug"

	"github.com/gsimc/gsimc/internal/vec"
)

// BuildVersion returns the version that the linker has set or else, for a binary of
// `go install MODULE@VERSION`, that of the build info.
func BuildVersion(linked string) string {
	if linked != "" {
		return linked
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}

// VersionCmd is `gsimc version`.
type VersionCmd struct{}

// Run prints the version, the compiler, the platform and the scan kernel in use.
func (VersionCmd) Run(a *App) error {
	a.Printf("gsimc %s %s %s/%s kernel=%s\n", a.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH, vec.KernelName())
	return nil
}
