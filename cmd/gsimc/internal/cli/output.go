package cli

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/internal/file/atomicfile"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/store/pebble"
)

// Flags that name what a command writes have the tag writes, whose value is one of these.
const (
	writesFile  = "file"
	writesModel = "model" // a model file, for which there is a place beside a store
	writesDir   = "dir"   // a new folder, or the end of a file
	writesInto  = "into"  // a folder that may have other files
	writesStore = "store" // a new folder, or a store at a URL
)

// checkOutputs refuses what a command would write to at the cost of something else.
func (l *line) checkOutputs(ctx *kong.Context) (err error) {
	for _, flag := range ctx.Flags() {
		kind := flag.Tag.Get("writes")
		path, _ := flag.Target.Interface().(string)
		if kind == "" || path == "" || kind == writesStore && strings.Contains(path, "://") {
			continue
		}
		name := "--" + flag.Name
		if path == dataset.Stdin {
			err = errors.Join(err, Flagf(name, "- is not standard output: give a name"))
			continue
		}
		err = errors.Join(err, notProgram(name, path), notInStore(name, kind, path))
		if kind == writesFile || kind == writesModel {
			err = errors.Join(err, l.notRead(ctx, name, path))
		}
	}
	return Usage(err)
}

// notProgram refuses a path of the program that runs, as that of `--out $(which gsimc)`.
func notProgram(flag, path string) error {
	exe, err := os.Executable()
	if err != nil {
		return nil // it cannot be told
	}
	out, outErr := os.Stat(path)
	in, inErr := os.Stat(exe)
	if outErr != nil || inErr != nil || !os.SameFile(in, out) {
		return nil
	}
	return Flagf(flag, "%s is this program: choose another name", path)
}

// notInStore refuses a path in the folder of a store or of a backup.
func notInStore(flag, kind, path string) error {
	dir, inside := pebble.Around(path)
	if dir == "" || inside == "" && kind != writesInto {
		return nil // a command that makes a folder looks at it by itself
	}
	if kind == writesModel && !pebble.Owns(inside) &&
		(strings.Contains(inside, ".gsimc") || strings.HasSuffix(inside, ".retrained") ||
			strings.HasSuffix(path, "/")) {
		return nil // as `serve` without --model and with --retrain-every has it
	}
	return Flagf(flag, "%s is in the folder of the store or backup %s: give a path outside of it",
		path, dir)
}

// notRead refuses a path of a file that the command reads.
func (l *line) notRead(ctx *kong.Context, flag, path string) error {
	out, err := os.Stat(path)
	if err != nil || out.IsDir() {
		return nil // it replaces nothing
	}
	same := func(read string) bool {
		in, err := os.Stat(read)
		return err == nil && os.SameFile(in, out)
	}
	refuse := func(of string) error {
		return Flagf(flag, "%s would replace the file of %s: choose another name", path, of)
	}
	if same(l.settings.path) {
		return refuse("--config")
	}
	for _, other := range ctx.Flags() {
		for _, read := range filesRead(other) {
			switch {
			case read == dataset.Stdin && isFile(l.app.Stdin, out):
				return refuse("standard input")
			case same(read):
				return refuse("--" + other.Name)
			}
		}
	}
	return nil
}

// filesRead are the files that a flag names for reading. The placeholder of such a flag is FILE. A
// model of a flag with the tag renewed is one that a training may replace.
func filesRead(flag *kong.Flag) []string {
	if flag.Tag.Has("writes") || flag.Tag.Has("renewed") || flag.PlaceHolder != "FILE" {
		return nil
	}
	switch value := flag.Target.Interface().(type) {
	case string:
		return []string{value}
	case []string:
		return value
	}
	return nil
}

// isFile reports whether a stream is of the file.
func isFile(stream io.Reader, file os.FileInfo) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && os.SameFile(info, file)
}

var errIsDir = errors.New("is a directory")

// probe tries to make a file in the folder of path. It returns the folder, and the error without
// the name of the probe.
func probe(path string) (dir string, err error) {
	dir = filepath.Dir(path)
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return dir, errIsDir
	}
	f, err := atomicfile.Create(path)
	if err != nil {
		return dir, fault.Cause(err)
	}
	return dir, f.Abort()
}
