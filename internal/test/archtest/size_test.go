package archtest

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
)

// maxLines is the size, in lines with comments, from which a package owes a reason why it is one.
const maxLines = 3500

// largePackages are the packages above maxLines, each with its reason.
var largePackages = map[string]string{
	"store/pebble": "all that opens, serves, replays or checks a store reads the same rows in the " +
		"same way; what needs no rows is in the rooms below it",
}

func TestPackagesStaySmall(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	lines := map[string]int{}
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && skipFolder(entry.Name()):
			return filepath.SkipDir
		case entry.IsDir(), !strings.HasSuffix(path, ".go"), strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil || bytes.HasPrefix(text, []byte("// Code generated")) {
			return err
		}
		pkg, err := filepath.Rel(root, filepath.Dir(path))
		lines[filepath.ToSlash(pkg)] += bytes.Count(text, []byte("\n"))
		return err
	})
	check.Must(t, err)
	for pkg, n := range lines {
		if n > maxLines && largePackages[pkg] == "" {
			t.Errorf("%s has %d lines: split it, or say in largePackages why it is one", pkg, n)
		}
	}
	for pkg := range largePackages {
		if lines[pkg] <= maxLines {
			t.Errorf("%s has %d lines and needs no reason any more", pkg, lines[pkg])
		}
	}
}

// skipFolder tells folders that hold no package of this module: tools, and modules of their own.
func skipFolder(name string) bool {
	switch name {
	case ".git", ".tools", "bin", "bench", "deploy", "kafka", "mcp", "tools", "testdata":
		return true
	}
	return false
}
