package cli

import (
	"runtime"

	"github.com/alecthomas/kong"

	"github.com/gsimc/gsimc/internal/num/vec"
)

// versionFlag is --version.
type versionFlag bool

// BeforeReset is called by kong when the flag is given. It prints the version and ends the program.
func (versionFlag) BeforeReset(k *kong.Kong, a *App) error {
	if err := (VersionCmd{}).Run(a); err != nil {
		return err
	}
	k.Exit(ExitOK)
	return nil
}

// VersionCmd is `gsimc version`.
type VersionCmd struct{}

// Run prints the version, the compiler, the platform and the scan kernel in use.
func (VersionCmd) Run(a *App) error {
	a.Printf("gsimc %s %s %s/%s kernel=%s\n", a.Version, runtime.Version(), runtime.GOOS,
		runtime.GOARCH, vec.KernelName())
	return nil
}
