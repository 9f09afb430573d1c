// Command sbom writes the bill of materials of Go programs: the modules that their binaries were
// built from, with version, checksum and licence, as CycloneDX JSON. Its dependencies say which
// program has which module; binaries of one program for several platforms count as one. It fails if
// a module has a licence that is not in allowed, or none that can be recognised.
//
//	go run ./sbom OUT BINARY...
//
// The first binary is the program that the bill is named after. The same binaries give the same
// bytes.
package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
	classifier "github.com/google/licenseclassifier/v2"
	"github.com/google/licenseclassifier/v2/assets"
)

// allowed are the licences, by their SPDX names, that a program under Apache-2.0 may be built from
// without further duties than to name them.
var allowed = []string{
	"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "Unlicense", "Zlib",
}

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: sbom OUT BINARY...")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

// program is what the binaries of a program were built from.
type program struct {
	name    string                   // path of its main package
	goes    string                   // version of Go
	modules map[string]*debug.Module // by path and version
}

// run writes the bill of materials of the binaries to the path out and prints it as a table.
func run(out string, binaries []string) error {
	programs, err := read(binaries)
	if err != nil {
		return err
	}
	licences, err := assets.DefaultClassifier()
	if err != nil {
		return err
	}
	modules := map[string]*debug.Module{}
	for _, p := range programs {
		maps.Copy(modules, p.modules)
	}
	components := []cdx.Component{{
		BOMRef: std, Type: cdx.ComponentTypeLibrary, Name: std,
		Version:  strings.TrimPrefix(programs[0].goes, "go"),
		Licenses: licenceOf([]string{"BSD-3-Clause"}),
	}}
	var faults []error
	for _, ref := range slices.Sorted(maps.Keys(modules)) {
		c, err := component(ref, modules[ref], licences)
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", ref, err))
			continue
		}
		components = append(components, c)
	}
	if err := errors.Join(faults...); err != nil {
		return err
	}
	return write(programs, components, out)
}

// std is the standard library.
const std = "std"

// read returns the programs of the binaries, in their order.
func read(binaries []string) (programs []*program, err error) {
	for _, binary := range binaries {
		info, err := buildinfo.ReadFile(binary)
		if err != nil {
			return nil, err
		}
		at := slices.IndexFunc(programs, func(p *program) bool { return p.name == info.Path })
		if at < 0 {
			at = len(programs)
			programs = append(programs, &program{info.Path, info.GoVersion, map[string]*debug.Module{}})
		}
		if info.GoVersion != programs[0].goes {
			return nil, fmt.Errorf("%s was built by %s, %s by %s: build all by one Go", binary,
				info.GoVersion, binaries[0], programs[0].goes)
		}
		programs[at].add(info.Deps)
	}
	return programs, nil
}

// add adds modules, but for folders of this repository, which have no checksum.
func (p *program) add(modules []*debug.Module) {
	for _, m := range modules {
		if m.Replace != nil {
			m = m.Replace
		}
		if m.Sum != "" {
			p.modules["pkg:golang/"+m.Path+"@"+m.Version] = m
		}
	}
}

// component describes a module whose URL is ref.
func component(ref string, m *debug.Module, licences *classifier.Classifier) (cdx.Component, error) {
	dir, zip, err := download(m)
	if err != nil {
		return cdx.Component{}, err
	}
	names, err := find(dir, licences)
	if err != nil {
		return cdx.Component{}, err
	}
	sum, err := sha256File(zip)
	if err != nil {
		return cdx.Component{}, err
	}
	return cdx.Component{
		BOMRef: ref, Type: cdx.ComponentTypeLibrary, Name: m.Path, Version: m.Version, PackageURL: ref,
		Hashes:     &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: sum}},
		Licenses:   licenceOf(names),
		Properties: &[]cdx.Property{{Name: "go:sum", Value: m.Sum}},
	}, nil
}

// download returns the folder of a module and its archive in the cache of Go, which fetches them
// unless they are there.
func download(m *debug.Module) (dir, zip string, err error) {
	var stderr bytes.Buffer
	cmd := exec.Command("go", "mod", "download", "-json", m.Path+"@"+m.Version)
	cmd.Stderr = &stderr
	raw, err := cmd.Output()
	if err != nil {
		return "", "", fmt.Errorf("go mod download: %w: %s%s", err, raw, stderr.Bytes())
	}
	var is struct{ Dir, Zip, Sum string }
	if err := json.Unmarshal(raw, &is); err != nil {
		return "", "", err
	}
	if is.Sum != m.Sum {
		return "", "", fmt.Errorf("the cache has %s, the binary was built from %s", is.Sum, m.Sum)
	}
	return is.Dir, is.Zip, nil
}

// find returns the licences that the files of a module's folder spell out, in their order.
func find(dir string, licences *classifier.Classifier) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		upper := strings.ToUpper(e.Name())
		if e.IsDir() || !strings.Contains(upper, "LICEN") && !strings.HasPrefix(upper, "COPYING") {
			continue
		}
		raw, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		for _, match := range licences.Match(raw).Matches {
			if match.MatchType == "License" {
				names = append(names, match.Name)
			}
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) == 0 {
		return nil, errors.New("no licence can be recognised")
	}
	for _, name := range names {
		if !slices.Contains(allowed, name) {
			return nil, fmt.Errorf("the licence %s is not allowed: see allowed in internal/tools/sbom", name)
		}
	}
	return names, nil
}

func licenceOf(names []string) *cdx.Licenses {
	var all cdx.Licenses
	for _, name := range names {
		all = append(all, cdx.LicenseChoice{License: &cdx.License{ID: name}})
	}
	return &all
}

func sha256File(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // read only
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// write writes the bill and prints a line for each component.
func write(programs []*program, components []cdx.Component, out string) error {
	bom := cdx.NewBOM()
	var applications []cdx.Component
	var dependencies []cdx.Dependency
	for _, p := range programs {
		applications = append(applications,
			cdx.Component{BOMRef: p.name, Type: cdx.ComponentTypeApplication, Name: p.name})
		of := append([]string{std}, slices.Sorted(maps.Keys(p.modules))...)
		dependencies = append(dependencies, cdx.Dependency{Ref: p.name, Dependencies: &of})
	}
	bom.Metadata = &cdx.Metadata{Component: &applications[0]}
	all := slices.Concat(applications[1:], components)
	bom.Components, bom.Dependencies = &all, &dependencies
	var raw bytes.Buffer
	encoder := cdx.NewBOMEncoder(&raw, cdx.BOMFileFormatJSON).SetPretty(true)
	if err := encoder.EncodeVersion(bom, cdx.SpecVersion1_6); err != nil { // what scanners read today
		return err
	}
	if err := os.WriteFile(out, raw.Bytes(), 0o644); err != nil { //nolint:gosec // for everybody
		return err
	}
	for _, c := range components {
		var names []string
		for _, l := range *c.Licenses {
			names = append(names, l.License.ID)
		}
		fmt.Printf("%-60s %-40s %s\n", c.Name, c.Version, strings.Join(names, ", "))
	}
	fmt.Printf("%d modules of %d programs, all with allowed licences: %s\n", len(components),
		len(programs), out)
	return nil
}
