// Command release makes what is published of gsimc from its compiled programs: archives, packages
// for Debian and for RPM, an image, the chart, the documentation, their checksums and where they
// come from. It opens no connection and needs no container engine.
//
//	go run ./release --root ../.. --bin DIR --out DIR --version v1.2.3 --commit HASH --time SECONDS
//
// DIR holds gsimc-linux-amd64, gsimc-s3-linux-amd64 and so on. The same programs give the same bytes.
package main

import (
	"cmp"
	"crypto/sha256"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// release is what everything is made from.
type release struct {
	root, bin, out  string
	version, commit string // version is that of the tag: v1.2.3
	time            time.Time
	platforms       []string
	docs            []file // manual and completions, by the paths below /usr/share
}

// file is one in an archive, a package or a layer; a name with a slash at its end is a folder.
type file struct {
	name string
	mode int64
	data []byte
	uid  int // and group
}

func main() {
	var r release
	flag.StringVar(&r.root, "root", "../..", "the folder of the source")
	flag.StringVar(&r.bin, "bin", "", "the folder of the programs")
	flag.StringVar(&r.out, "out", "", "the folder to write, made anew")
	flag.StringVar(&r.version, "version", "", "the version, as v1.2.3")
	flag.StringVar(&r.commit, "commit", "", "the commit")
	seconds := flag.Int64("time", 0, "the time of the commit, the one of all files")
	platforms := flag.String("platforms", "linux-amd64", "what to release, separated by spaces")
	flag.Parse()
	r.time, r.platforms = time.Unix(*seconds, 0).UTC(), strings.Fields(*platforms)
	if err := r.run(); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func (r *release) run() (err error) {
	if err := cmp.Or(os.RemoveAll(r.out), os.MkdirAll(r.out, 0o755)); err != nil {
		return err
	}
	if r.docs, err = documents(r.program("linux-" + runtime.GOARCH)); err != nil {
		return err
	}
	var steps []func() error
	var linux []string
	for _, p := range r.platforms {
		steps = append(steps, func() error { return r.archive(p) })
		if arch, ok := strings.CutPrefix(p, "linux-"); ok {
			linux = append(linux, arch)
			steps = append(steps, func() error { return r.packages(arch) })
		}
	}
	steps = append(steps, func() error { return r.image(linux) }, r.chart, r.clients, r.site,
		r.materials)
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	sums, err := r.sums()
	if err != nil {
		return err
	}
	if err := r.provenance(sums); err != nil {
		return err
	}
	if sums, err = r.sums(); err != nil { // with the provenance
		return err
	}
	var lines strings.Builder
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		fmt.Fprintf(&lines, "%s  %s\n", sums[name], name)
	}
	fmt.Print(lines.String())
	return r.write("SHA256SUMS", []byte(lines.String()))
}

func (r *release) program(platform string) string { return r.beside("gsimc", platform) }

// beside is the file of one of the programs.
func (r *release) beside(program, platform string) string {
	name := program + "-" + platform
	if strings.HasPrefix(platform, "windows-") {
		name += ".exe"
	}
	return filepath.Join(r.bin, name)
}

// number is the version of packages, of the image and of the chart: 1.2.3.
func (r *release) number() string { return strings.TrimPrefix(r.version, "v") }

// name is that of a file of this release.
func (r *release) name(end string) string { return "gsimc_" + r.number() + "_" + end }

func (r *release) write(name string, data []byte) error {
	return os.WriteFile(filepath.Join(r.out, name), data, 0o644)
}

// source reads a file of the source.
func (r *release) source(name string) ([]byte, error) {
	return os.ReadFile(filepath.Join(r.root, name))
}

// edited replaces texts, each of which stands in the text once.
func edited(text string, edits ...[2]string) (string, error) {
	for _, edit := range edits {
		if strings.Count(text, edit[0]) != 1 {
			return "", fmt.Errorf("there is %q not once", edit[0])
		}
		text = strings.Replace(text, edit[0], edit[1], 1)
	}
	return text, nil
}

// clients takes along the packages of the clients of this version, if they have been made.
func (r *release) clients() error {
	files, err := filepath.Glob(filepath.Join(r.bin, "clients", "gsimc-"+r.number()+`[.\-]*`))
	if err == nil && len(files) == 0 {
		fmt.Fprintln(os.Stderr, "release: without clients: make clients-pack makes their packages")
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if err := r.write(filepath.Base(name), data); err != nil {
			return err
		}
	}
	return err
}

// site writes the documentation as pages, to be opened from a disk.
func (r *release) site() error {
	dir, err := os.MkdirTemp("", "gsimc-site-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := tool("site", "--root", r.root, "--out", dir, "--ref", r.commit); err != nil {
		return err
	}
	files, err := below(dir)
	if err != nil {
		return err
	}
	for i := range files {
		files[i].name = r.name("docs/") + files[i].name
	}
	_, err = r.tarball("docs.tar.gz", files)
	return err
}

// materials writes the bill of materials of all programs in the archives.
func (r *release) materials() error {
	out, err := filepath.Abs(filepath.Join(r.out, r.name("sbom.cdx.json")))
	if err != nil {
		return err
	}
	args := []string{out}
	for _, platform := range r.platforms {
		for _, program := range programsFor(platform) {
			args = append(args, r.beside(program, platform))
		}
	}
	return tool("sbom", args...)
}

// tool runs another command of this module.
func tool(name string, args ...string) error {
	cmd := exec.Command("go", append([]string{"run", "./" + name}, args...)...)
	text, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, text)
	}
	return nil
}

// sums returns the checksums of the files by their names.
func (r *release) sums() (map[string]string, error) {
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return nil, err
	}
	sums := map[string]string{}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(r.out, e.Name()))
		if err != nil {
			return nil, err
		}
		sums[e.Name()] = fmt.Sprintf("%x", sha256.Sum256(data))
	}
	return sums, nil
}
