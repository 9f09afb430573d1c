package main

import (
	"bytes"
	"encoding/pem"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// user is who runs in the image, as in Dockerfile.
const user = 65532

// label begins the names of what is said about images.
const label = "org.opencontainers.image."

// image writes the image of all architectures as an OCI archive: what Dockerfile makes, and the
// authorities of the web.
func (r *release) image(architectures []string) error {
	var index v1.ImageIndex = mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arch := range architectures {
		image, err := r.imageOf(arch)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}}})
	}
	return r.oci("image.oci.tar", func(path layout.Path, name map[string]string) error {
		return path.AppendIndex(index, layout.WithAnnotations(name))
	})
}

// oci writes an archive that fill fills; what is in it is named by the version.
func (r *release) oci(end string, fill func(p layout.Path, name map[string]string) error) error {
	dir, err := os.MkdirTemp("", "gsimc-oci-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	if err := fill(path, map[string]string{label + "ref.name": r.number()}); err != nil {
		return err
	}
	files, err := below(dir)
	if err != nil {
		return err
	}
	archive, err := tarred(files, r.time)
	if err != nil {
		return err
	}
	return r.write(r.name(end), archive)
}

// below returns the files in a folder by their names there, in order.
func below(dir string) (files []file, err error) {
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path) // what a link leads to
		name, _ := filepath.Rel(dir, path)
		files = append(files, file{name: filepath.ToSlash(name), mode: 0o644, data: data})
		return err
	})
	return files, err
}

func (r *release) imageOf(arch string) (v1.Image, error) {
	program, err := os.ReadFile(r.program("linux-" + arch))
	if err != nil {
		return nil, err
	}
	// What changes seldom is a layer of its own.
	certificates, err := r.layer([]file{
		{name: "etc/", mode: 0o755}, {name: "etc/ssl/", mode: 0o755},
		{name: "etc/ssl/certs/", mode: 0o755},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, data: authorities()},
		{name: "tmp/", mode: 0o1777},
		{name: "var/", mode: 0o755}, {name: "var/lib/", mode: 0o755},
		{name: "var/lib/gsimc/", mode: 0o755, uid: user},
	})
	if err != nil {
		return nil, err
	}
	binary, err := r.layer([]file{
		{name: "usr/", mode: 0o755}, {name: "usr/local/", mode: 0o755},
		{name: "usr/local/bin/", mode: 0o755},
		{name: "usr/local/bin/gsimc", mode: 0o755, data: program},
	})
	if err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1),
		types.OCIConfigJSON)
	image, err := mutate.Append(base,
		mutate.Addendum{Layer: certificates, History: v1.History{Created: v1.Time{Time: r.time}}},
		mutate.Addendum{Layer: binary, History: v1.History{Created: v1.Time{Time: r.time}}})
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = "linux", arch, v1.Time{Time: r.time}
	config.Config = r.settings()
	return mutate.ConfigFile(image, config)
}

// settings are those of Dockerfile.
func (r *release) settings() v1.Config {
	return v1.Config{
		User: "65532:65532", WorkingDir: "/var/lib/gsimc", StopSignal: "SIGTERM",
		Entrypoint: []string{"/usr/local/bin/gsimc"}, Cmd: []string{"serve"},
		Env: []string{"PATH=/usr/local/bin", "GSIMC_MODEL=/models/model.gsimc",
			"GSIMC_LISTEN=0.0.0.0:50051", "GSIMC_OPS_LISTEN=0.0.0.0:9090"},
		ExposedPorts: map[string]struct{}{"50051/tcp": {}, "9090/tcp": {}},
		Labels: map[string]string{
			label + "title":       "gsimc",
			label + "description": "Online recommendations by graph signal sampling, over gRPC",
			label + "source":      "https://github.com/gsimc/gsimc",
			label + "licenses":    "Apache-2.0",
			label + "version":     r.version,
			label + "revision":    r.commit,
		},
	}
}

func (r *release) layer(files []file) (v1.Layer, error) {
	data, err := tarred(files, r.time)
	if err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(data)), nil
	}, tarball.WithMediaType(types.OCILayer))
}

// authorities are the roots that Mozilla trusts, in the version that go.mod names. Those that it
// trusts in part only are left out.
func authorities() []byte {
	var out []byte
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			block := &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}
			out = append(out, pem.EncodeToMemory(block)...)
		}
	}
	return out
}
