package main

import (
	"debug/buildinfo"
	"encoding/json"
	"maps"
	"slices"
)

type (
	digest   map[string]string
	resource struct {
		Name   string `json:"name,omitempty"`
		URI    string `json:"uri,omitempty"`
		Digest digest `json:"digest"`
	}
)

// provenance writes, as in-toto and SLSA want it, what the files were made from and how. Nobody
// vouches for it: the workflow of a release has its own signed.
func (r *release) provenance(sums map[string]string) error {
	info, err := buildinfo.ReadFile(r.program(r.platforms[0]))
	if err != nil {
		return err
	}
	flags := map[string]string{}
	for _, s := range info.Settings {
		if s.Key != "GOARCH" && s.Key != "GOOS" && s.Key != "GOAMD64" && s.Key != "GOARM64" {
			flags[s.Key] = s.Value
		}
	}
	var subjects []resource
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		subjects = append(subjects, resource{Name: name, Digest: digest{"sha256": sums[name]}})
	}
	type object = map[string]any
	statement := object{
		"_type": "https://in-toto.io/Statement/v1", "subject": subjects,
		"predicateType": "https://slsa.dev/provenance/v1",
		"predicate": object{
			"buildDefinition": object{
				"buildType":          "https://github.com/gsimc/gsimc/blob/main/Makefile#release",
				"externalParameters": object{"version": r.version, "platforms": r.platforms},
				"internalParameters": object{"go": info.GoVersion, "flags": flags},
				"resolvedDependencies": []resource{{
					URI:    "git+https://github.com/gsimc/gsimc",
					Digest: digest{"gitCommit": r.commit}}},
			},
			"runDetails": object{"builder": object{"id": "local"}},
		},
	}
	text, err := json.MarshalIndent(statement, "", "  ")
	if err != nil {
		return err
	}
	return r.write(r.name("provenance.json"), append(text, '\n'))
}
