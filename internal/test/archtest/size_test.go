package archtest

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
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
	lines := map[string]int{}
	eachFile(t, func(pkg string, text []byte) {
		lines[pkg] += bytes.Count(text, []byte("\n"))
	})
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

// maxFields is the number of fields from which a struct is several. An embedded struct counts as
// one: it has a name of its own.
const maxFields = 20

// lists are the structs of which each field stands for itself: flags, settings and statements. All
// structs of cmd are flags or reports.
var lists = map[string]bool{"server.Config": true, "store/postgres.statements": true}

func TestStructsStaySmall(t *testing.T) {
	large := map[string]bool{}
	eachFile(t, func(pkg string, text []byte) {
		file := check.Get(parser.ParseFile(token.NewFileSet(), pkg, text, 0))(t)
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			fields, ok := spec.Type.(*ast.StructType)
			if !ok {
				return true
			}
			count := 0
			for _, f := range fields.Fields.List {
				count += max(1, len(f.Names))
			}
			if name := pkg + "." + spec.Name.Name; count > maxFields && !strings.HasPrefix(pkg, "cmd/") {
				if large[name] = true; !lists[name] {
					t.Errorf("%s has %d fields: which of them are one thing?", name, count)
				}
			}
			return true
		})
	})
	check.Same(t, lists, large, "large structs (-excused +found)")
}

// eachFile calls see for each file of the module that is neither a test nor generated, with the
// folder of its package.
func eachFile(t *testing.T, see func(pkg string, text []byte)) {
	t.Helper()
	root := filepath.Join("..", "..", "..")
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
		see(filepath.ToSlash(pkg), text)
		return err
	})
	check.Must(t, err)
}

// skipFolder tells folders that hold no package of this module: tools, and modules of their own.
func skipFolder(name string) bool {
	switch name {
	case ".git", ".tools", "bin", "bench", "deploy", "kafka", "mcp", "tools", "testdata":
		return true
	}
	return false
}
