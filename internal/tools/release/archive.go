package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"os"
	"slices"
	"strings"
	"time"
)

// programs are gsimc and those beside it, modules of their own below client.
var programs = []string{"gsimc", "gsimc-kafka", "gsimc-mcp", "gsimc-s3"}

// programsFor returns the programs in the archive of a platform.
func programsFor(platform string) []string {
	all := slices.Clone(programs)
	if strings.HasPrefix(platform, "windows-") { // gsimc-kafka locks files as Unix does
		all = slices.DeleteFunc(all, func(name string) bool { return name == "gsimc-kafka" })
	}
	return all
}

// archive writes the archive of a platform: a zip for Windows, a tar.gz for the others.
func (r *release) archive(platform string) error {
	folder := r.name(platform) + "/"
	files := []file{{name: folder, mode: 0o755}}
	windows := strings.HasPrefix(platform, "windows-")
	for _, program := range programsFor(platform) {
		data, err := os.ReadFile(r.beside(program, platform))
		if err != nil {
			return err
		}
		name := folder + program
		if windows {
			name += ".exe"
		}
		files = append(files, file{name: name, mode: 0o755, data: data})
	}
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		data, err := r.source(name)
		if err != nil {
			return err
		}
		files = append(files, file{name: folder + name, mode: 0o644, data: data})
	}
	if windows {
		data, err := zipped(files, r.time)
		if err != nil {
			return err
		}
		return r.write(r.name(platform+".zip"), data)
	}
	if strings.HasPrefix(platform, "linux-") {
		unit, err := r.source("deploy/systemd/gsimc.service")
		if err != nil {
			return err
		}
		files = append(files, file{name: folder + "gsimc.service", mode: 0o644, data: unit})
	}
	for _, f := range r.docs {
		f.name = folder + f.name
		files = append(files, f)
	}
	_, err := r.tarball(platform+".tar.gz", files)
	return err
}

// tarball writes and returns a compressed tar of the files.
func (r *release) tarball(end string, files []file) ([]byte, error) {
	data, err := tarred(files, r.time)
	if err != nil {
		return nil, err
	}
	if data, err = zippedAlone(data); err != nil {
		return nil, err
	}
	return data, r.write(r.name(end), data)
}

// tarred returns a tar of the files: nothing of this machine is in it.
func tarred(files []file, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range files {
		kind := byte(tar.TypeReg)
		if strings.HasSuffix(f.name, "/") {
			kind = tar.TypeDir
		}
		header := &tar.Header{Typeflag: kind, Name: f.name, Mode: f.mode, Size: int64(len(f.data)),
			Uid: f.uid, Gid: f.uid, ModTime: at, Format: tar.FormatPAX}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return out.Bytes(), err
}

func zippedAlone(data []byte) ([]byte, error) {
	var out bytes.Buffer
	w := gzip.NewWriter(&out) // with neither name nor time
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	err := w.Close()
	return out.Bytes(), err
}

func zipped(files []file, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, f := range files {
		w, err := z.CreateHeader(&zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: at})
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := z.Close()
	return out.Bytes(), err
}
