package main

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	"github.com/goreleaser/nfpm/v2/rpm"
)

// parts are the files that only packages have.
//
//go:embed package
var parts embed.FS

// packages writes gsimc as .deb and .rpm: the program, its unit, settings that stay when they were
// changed, the user gsimc, manual and completions. Data are made by the scripts, so that removing
// the package leaves them.
func (r *release) packages(arch string) error {
	dir, err := os.MkdirTemp("", "gsimc-package-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	contents, err := r.contents(dir, arch)
	if err != nil {
		return err
	}
	var scripts nfpm.Scripts
	for path, script := range map[*string]string{&scripts.PostInstall: "postinstall.sh",
		&scripts.PreRemove: "preremove.sh", &scripts.PostRemove: "postremove.sh"} {
		*path = filepath.Join(dir, script)
		data, err := fs.ReadFile(parts, "package/"+script)
		if err == nil {
			err = os.WriteFile(*path, data, 0o755)
		}
		if err != nil {
			return err
		}
	}
	info := func() *nfpm.Info {
		return nfpm.WithDefaults(&nfpm.Info{
			Name: "gsimc", Arch: arch, Platform: "linux", Version: r.version, Release: "1",
			Section: "net", Priority: "optional", License: "Apache-2.0", MTime: r.time,
			Maintainer: "The authors of gsimc <gsimc@users.noreply.github.com>",
			Homepage:   "https://github.com/gsimc/gsimc",
			Description: "Online recommendations by graph signal sampling\n" +
				"A server that answers over gRPC and JSON, and its commands.",
			Overridables: nfpm.Overridables{Contents: contents, Scripts: scripts,
				RPM: nfpm.RPM{BuildHost: "localhost"}},
		})
	}
	for end, packager := range map[string]nfpm.Packager{".deb": deb.Default, ".rpm": rpm.DefaultRPM} {
		info := info()
		info.Depends = []string{"passwd"} // useradd, where systemd-sysusers is missing
		if end == ".rpm" {
			info.Depends = []string{"shadow-utils"}
		}
		if err := nfpm.PrepareForPackager(info, end[1:]); err != nil {
			return err
		}
		var out bytes.Buffer
		if err := packager.Package(info, &out); err != nil {
			return fmt.Errorf("%s: %w", end, err)
		}
		if err := r.write(r.name("linux-"+arch+end), out.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// contents writes the files of a package below dir and returns where they belong.
func (r *release) contents(dir, arch string) (files.Contents, error) {
	unit, err := r.unit()
	if err != nil {
		return nil, err
	}
	program, err := os.ReadFile(r.program("linux-" + arch))
	if err != nil {
		return nil, err
	}
	licence, err := r.source("LICENSE")
	if err != nil {
		return nil, err
	}
	settings, _ := fs.ReadFile(parts, "package/gsimc.yaml")
	users, _ := fs.ReadFile(parts, "package/sysusers.conf")
	all := []file{
		{name: "usr/bin/gsimc", mode: 0o755, data: program},
		{name: "usr/lib/systemd/system/gsimc.service", mode: 0o644, data: []byte(unit)},
		{name: "usr/lib/sysusers.d/gsimc.conf", mode: 0o644, data: users},
		{name: "usr/share/doc/gsimc/copyright", mode: 0o644, data: licence},
		{name: "etc/gsimc/gsimc.yaml", mode: 0o644, data: settings},
	}
	for _, f := range r.docs {
		f.name = "usr/" + f.name
		if strings.HasSuffix(f.name, ".1") {
			f.name += ".gz"
			if f.data, err = zippedAlone(f.data); err != nil {
				return nil, err
			}
		}
		all = append(all, f)
	}
	var contents files.Contents
	for _, f := range all {
		path := filepath.Join(dir, strings.ReplaceAll(f.name, "/", "_"))
		if err := os.WriteFile(path, f.data, 0o644); err != nil {
			return nil, err
		}
		c := &files.Content{Source: path, Destination: "/" + f.name,
			FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: fs.FileMode(f.mode), MTime: r.time}}
		if strings.HasPrefix(f.name, "etc/") {
			c.Type = files.TypeConfigNoReplace
		}
		contents = append(contents, c)
		if strings.Contains(f.name, "/zsh/") { // the zsh of Debian looks elsewhere
			c.Packager = "rpm"
			debian := *c
			debian.Packager = "deb"
			debian.Destination = "/usr/share/zsh/vendor-completions/_gsimc"
			contents = append(contents, &debian)
		}
	}
	return contents, nil
}

// unit is deploy/systemd/gsimc.service for a package: the user is one that stays, for who looks at
// the store while the server is stopped, and a server without a model begins without one.
func (r *release) unit() (string, error) {
	data, err := r.source("deploy/systemd/gsimc.service")
	if err != nil {
		return "", err
	}
	return edited(string(data),
		[2]string{"/usr/local/bin/gsimc", "/usr/bin/gsimc"},
		[2]string{" --model /var/lib/gsimc/models/model.gsimc", ""},
		[2]string{"DynamicUser=yes\nUser=gsimc\n", "User=gsimc\nGroup=gsimc\n"},
		[2]string{"docs/deploying.md says how to install it. ", ""})
}
