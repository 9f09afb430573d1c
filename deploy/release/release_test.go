// Package release tries what make release makes, for this machine: the archives are the same twice,
// the package installs, serves, upgrades and goes, the image serves.
package release

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
)

// built makes a release from the program, and returns its folder.
func built(t *testing.T, bin string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "dist")
	run(t, "../../internal/tools", "go", "run", "./release", "--bin", bin, "--out", out, "--version",
		"v0.0.2", "--commit", strings.Repeat("0", 40), "--time", "1700000000", "--platforms", platform)
	return out
}

const platform = "linux-" + runtime.GOARCH

// program compiles gsimc, and the programs beside it, where a release looks for it.
func program(t *testing.T) (bin string) {
	t.Helper()
	bin = t.TempDir()
	t.Setenv("CGO_ENABLED", "0")
	for folder, program := range map[string]string{"cmd/gsimc": "gsimc",
		"client/kafka": "gsimc-kafka", "client/mcp": "gsimc-mcp", "client/s3": "gsimc-s3"} {
		run(t, filepath.Join("../..", folder), "go", "build", "-trimpath", "-buildvcs=false",
			"-tags", "grpcnotrace", "-ldflags=-s -w", "-o", filepath.Join(bin, program+"-"+platform))
	}
	return bin
}

func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return string(out)
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestRelease(t *testing.T) {
	if os.Getenv("GSIMC_RELEASE") == "" || runtime.GOOS != "linux" {
		t.Skip("packs the program twice, on Linux: make release-check")
	}
	bin := program(t)
	dist := built(t, bin)
	again := built(t, bin)
	entries, err := os.ReadDir(dist)
	if err != nil || len(entries) < 7 {
		t.Fatalf("%d files, %v", len(entries), err)
	}
	for _, e := range entries {
		first, second := read(t, filepath.Join(dist, e.Name())), read(t, filepath.Join(again, e.Name()))
		if !slices.Equal(first, second) {
			t.Errorf("%s differs when it is made again", e.Name())
		}
	}
	run(t, dist, "sha256sum", "--check", "--strict", "SHA256SUMS")
	dir := t.TempDir()
	unpack(t, filepath.Join(dist, "gsimc_0.0.2_"+platform+".tar.gz"), dir, true)
	for _, program := range []string{"gsimc", "gsimc-kafka", "gsimc-mcp", "gsimc-s3"} {
		packed := filepath.Join(dir, "gsimc_0.0.2_"+platform, program)
		run(t, dir, packed, "--version")
		testMaterials(t, filepath.Join(dist, "gsimc_0.0.2_sbom.cdx.json"), packed)
	}
	t.Run("Chart", func(t *testing.T) { testChart(t, dist) })
	t.Run("Package", func(t *testing.T) { testPackage(t, dist) })
	t.Run("Image", func(t *testing.T) { testImage(t, dist) })
}

// testMaterials: the bill of materials has the modules of a program of the archive, each with a
// licence, and says which they are.
func testMaterials(t *testing.T, bill, program string) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"std"}
	for _, m := range info.Deps {
		if m.Replace == nil { // by a folder of this repository
			want = append(want, "pkg:golang/"+m.Path+"@"+m.Version)
		}
	}
	var has struct {
		Components []struct {
			Ref      string `json:"bom-ref"`
			Licenses []any
		}
		Dependencies []struct {
			Ref       string
			DependsOn []string
		}
	}
	parse(t, bill, &has)
	licences := map[string]int{}
	for _, c := range has.Components {
		licences[c.Ref] = len(c.Licenses)
	}
	var of []string
	for _, d := range has.Dependencies {
		if d.Ref == info.Path {
			of = d.DependsOn
		}
	}
	slices.Sort(want)
	if slices.Sort(of); !slices.Equal(of, want) {
		t.Errorf("the bill has %d modules of %s, which has %d", len(of), info.Path, len(want))
	}
	for _, ref := range want {
		if licences[ref] == 0 {
			t.Errorf("the bill has no licence of %s, which %s has", ref, info.Path)
		}
	}
}

// copied is what package.sh does first, which is not permitted everywhere.
const copied = `mount -t tmpfs none "$0"; cd "$0"; mkdir upper work root
mount -t overlay none -o lowerdir=/,upperdir=upper,workdir=work root
mount -t proc proc root/proc; ip link set lo up; chroot --userspec 0:0 root test -e /var/lib/dpkg/status`

// apart runs a script in namespaces of its own.
func apart(t *testing.T, script string, args ...string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root may have a copy of this machine to install into")
	}
	for _, tool := range []string{"unshare", "ip", "setpriv", "chroot"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	namespaces := []string{"--mount", "--net", "--pid", "--kill-child"}
	out, err := exec.Command("unshare", append(namespaces, "sh", "-ec", copied, t.TempDir())...).
		CombinedOutput()
	if err != nil {
		t.Skipf("a copy of this machine cannot be made: %v: %s", err, out)
	}
	t.Log(run(t, ".", "unshare", append(append(namespaces, "sh", script), args...)...))
}

func testPackage(t *testing.T, dist string) {
	packed := filepath.Join(dist, "gsimc_0.0.2_"+platform)
	// Nothing here reads an RPM; the names of its folders stand in its header.
	folders := read(t, packed+".rpm")
	if !bytes.Contains(folders, []byte("/usr/share/zsh/site-functions/\x00")) ||
		bytes.Contains(folders, []byte("/usr/share/zsh/vendor-completions/\x00")) {
		t.Error("the completions of zsh are not where zsh of an RPM looks for them")
	}
	if _, err := exec.LookPath("dpkg"); err != nil {
		t.Skip("no dpkg: the package was made and not installed")
	}
	apart(t, "package.sh", t.TempDir(), packed+".deb")
}

// testChart: the chart starts the image of its release, as Helm reads the one and a registry the
// other, and the archive for registries has the chart as Helm would have pushed it.
func testChart(t *testing.T, dist string) {
	packed := filepath.Join(dist, "gsimc_0.0.2_chart.tgz")
	c, err := loader.LoadFile(packed)
	if err != nil {
		t.Fatal(err)
	}
	values, err := chartutil.ToRenderValues(c, nil, chartutil.ReleaseOptions{Name: "shop"},
		chartutil.DefaultCapabilities)
	if err != nil {
		t.Fatal(err)
	}
	files, err := engine.Render(c, values)
	if err != nil {
		t.Fatal(err)
	}
	_, name := opened(t, filepath.Join(dist, "gsimc_0.0.2_image.oci.tar"))
	image := "image: \"ghcr.io/gsimc/gsimc:" + name + "\""
	if !strings.Contains(files["gsimc/templates/statefulset.yaml"], image) || name != "0.0.2" ||
		c.Metadata.Version != name {
		t.Errorf("chart %s starts no %s:\n%s", c.Metadata.Version, image,
			files["gsimc/templates/statefulset.yaml"])
	}
	blob, name := opened(t, filepath.Join(dist, "gsimc_0.0.2_chart.oci.tar"))
	var manifest struct {
		Config struct{ Digest, MediaType string }
		Layers []struct{ Digest, MediaType string }

		Annotations map[string]string
	}
	var about chart.Metadata
	parse(t, blob(""), &manifest)
	parse(t, blob(manifest.Config.Digest), &about)
	if name != about.Version || !reflect.DeepEqual(about, *c.Metadata) ||
		manifest.Annotations["org.opencontainers.image.source"] != about.Sources[0] ||
		manifest.Config.MediaType != "application/vnd.cncf.helm.config.v1+json" ||
		manifest.Layers[0].MediaType != "application/vnd.cncf.helm.chart.content.v1.tar+gzip" {
		t.Errorf("a registry has %s %+v: %+v", name, about, manifest)
	}
	if !slices.Equal(read(t, packed), read(t, blob(manifest.Layers[0].Digest))) {
		t.Error("a registry has another chart")
	}
}

// opened unpacks an OCI archive. It returns the path of each blob by its digest, "" being the one
// that the index names, and the name of that one.
func opened(t *testing.T, archive string) (blob func(digest string) string, name string) {
	t.Helper()
	dir := t.TempDir()
	unpack(t, archive, dir, false)
	var index struct {
		Manifests []struct {
			Digest      string
			Annotations map[string]string
		}
	}
	parse(t, filepath.Join(dir, "index.json"), &index)
	return func(digest string) string {
		if digest == "" {
			digest = index.Manifests[0].Digest
		}
		return filepath.Join(dir, "blobs", strings.Replace(digest, ":", "/", 1))
	}, index.Manifests[0].Annotations["org.opencontainers.image.ref.name"]
}

func testImage(t *testing.T, dist string) {
	root := filepath.Join(t.TempDir(), "root")
	blob, _ := opened(t, filepath.Join(dist, "gsimc_0.0.2_image.oci.tar"))
	var images struct{ Manifests []struct{ Digest string } }
	var manifest struct {
		Config struct{ Digest string }
		Layers []struct{ Digest string }
	}
	var config struct {
		Config struct {
			User, WorkingDir     string
			Env, Entrypoint, Cmd []string
		}
	}
	parse(t, blob(""), &images)
	parse(t, blob(images.Manifests[0].Digest), &manifest)
	parse(t, blob(manifest.Config.Digest), &config)
	for _, layer := range manifest.Layers {
		unpack(t, blob(layer.Digest), root, true)
	}
	if n := strings.Count(string(read(t, filepath.Join(root, "etc/ssl/certs/ca-certificates.crt"))),
		"BEGIN CERTIFICATE"); n < 50 {
		t.Errorf("%d authorities", n)
	}
	args := slices.Concat([]string{root, config.Config.User, config.Config.WorkingDir},
		config.Config.Env, []string{"--"}, config.Config.Entrypoint, config.Config.Cmd)
	apart(t, "image.sh", args...)
}

func parse(t *testing.T, path string, into any) {
	t.Helper()
	if err := json.Unmarshal(read(t, path), into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// unpack writes the files of a tar below dir, with their owners where this may be done.
func unpack(t *testing.T, archive, dir string, zipped bool) {
	t.Helper()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var r io.Reader = f
	if zipped {
		if r, err = gzip.NewReader(f); err != nil {
			t.Fatal(err)
		}
	}
	files := tar.NewReader(r)
	for {
		h, err := files.Next()
		if err == io.EOF {
			return
		}
		if err == nil {
			err = extract(files, h, filepath.Join(dir, h.Name))
		}
		if err != nil {
			t.Fatalf("%s: %v", archive, err)
		}
	}
}

func extract(r io.Reader, h *tar.Header, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	switch h.Typeflag {
	case tar.TypeDir:
		if err := os.MkdirAll(path, 0o755); err != nil {
			return err
		}
	case tar.TypeReg:
		data, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return err
		}
	default:
		return fmt.Errorf("%s has type %c", h.Name, h.Typeflag)
	}
	if os.Getuid() == 0 {
		if err := os.Chown(path, h.Uid, h.Gid); err != nil {
			return err
		}
	}
	return os.Chmod(path, os.FileMode(h.Mode).Perm())
}
