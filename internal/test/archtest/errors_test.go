package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
)

// rewriting is a call that searches or changes the text of an error.
var rewriting = regexp.MustCompile(
	`\.(Replace|Find|Match|Cut|Trim|Split|Fields|Contains|HasPrefix|HasSuffix|Index)\w*` +
		`\(.*\.Error\(\)`)

// Errors are values: nothing searches or changes their text. errors.As finds what they say, and
// package fault prints it.
func TestNoTextOfErrors(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "bin") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for i, line := range strings.Split(string(text), "\n") {
			if rewriting.MatchString(line) {
				t.Errorf("%s:%d: %s", path, i+1, strings.TrimSpace(line))
			}
		}
		return nil
	})
	check.Must(t, err)
}

// An expression that matches nothing is worth nothing: it must find calls of each kind.
func TestRewritingBites(t *testing.T) {
	for _, line := range []string{
		`text := rankError.ReplaceAllString(err.Error(), "--rank")`,
		`return errors.New(flags.Replace(err.Error()))`,
		`worded := errors.New(strings.Replace(err.Error(), "--out: ", "--json: ", 1))`,
		`flags := flagInText.FindAllString(err.Error(), -1)`,
		`if strings.HasPrefix(ctx.Error.Error(), "unexpected argument") {`,
	} {
		if !rewriting.MatchString(line) {
			t.Errorf("not found: %s", line)
		}
	}
}
