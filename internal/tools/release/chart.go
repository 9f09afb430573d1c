package main

import (
	"bytes"
	"encoding/json"
	"io"
	"path/filepath"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"go.yaml.in/yaml/v3"
)

const chartFile = "gsimc/Chart.yaml"

// chart writes the chart of Helm as .tgz and, for registries, as an OCI archive. Its version and
// that of its application, which is the tag of the image, are those of the release.
func (r *release) chart() error {
	files, err := below(filepath.Join(r.root, "deploy/helm"))
	if err != nil {
		return err
	}
	files = slices.DeleteFunc(files, func(f file) bool { return f.name == "gsimc/.helmignore" })
	at := slices.IndexFunc(files, func(f file) bool { return f.name == chartFile })
	text, err := edited(string(files[at].data),
		[2]string{"\nversion: 0.0.0\n", "\nversion: " + r.number() + "\n"},
		[2]string{"\nappVersion: \"0.0.0\"\n", "\nappVersion: \"" + r.number() + "\"\n"})
	if err != nil {
		return err
	}
	files[at].data = []byte(text)
	data, err := r.tarball("chart.tgz", files)
	if err != nil {
		return err
	}
	return r.oci("chart.oci.tar", func(path layout.Path, name map[string]string) error {
		return r.chartImage(path, name, files[at].data, data)
	})
}

// chartImage writes what helm push would: the description of the chart, and the chart as a layer.
func (r *release) chartImage(path layout.Path, name map[string]string, about, chart []byte) error {
	var description map[string]any
	if err := yaml.Unmarshal(about, &description); err != nil {
		return err
	}
	config, err := json.Marshal(description)
	if err != nil {
		return err
	}
	manifest := v1.Manifest{SchemaVersion: 2, MediaType: types.OCIManifestSchema1,
		Annotations: map[string]string{label + "revision": r.commit}}
	for key, of := range map[string]string{"title": "name", "description": "description",
		"url": "home", "version": "version"} {
		manifest.Annotations[label+key], _ = description[of].(string)
	}
	if sources, _ := description["sources"].([]any); len(sources) > 0 { // the package's repository
		manifest.Annotations[label+"source"], _ = sources[0].(string)
	}
	manifest.Config, err = blob(path, "application/vnd.cncf.helm.config.v1+json", config)
	if err != nil {
		return err
	}
	layer, err := blob(path, "application/vnd.cncf.helm.chart.content.v1.tar+gzip", chart)
	if err != nil {
		return err
	}
	manifest.Layers = []v1.Descriptor{layer}
	data, err := json.Marshal(manifest)
	if err != nil {
		return err
	}
	whole, err := blob(path, manifest.MediaType, data)
	if err != nil {
		return err
	}
	whole.Annotations = name
	return path.AppendDescriptor(whole)
}

func blob(path layout.Path, kind types.MediaType, data []byte) (v1.Descriptor, error) {
	digest, size, err := v1.SHA256(bytes.NewReader(data))
	if err != nil {
		return v1.Descriptor{}, err
	}
	err = path.WriteBlob(digest, io.NopCloser(bytes.NewReader(data)))
	return v1.Descriptor{MediaType: kind, Size: size, Digest: digest}, err
}
