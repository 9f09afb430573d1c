package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
)

// A server without --model takes model.gsimc in its data folder, and has a training write beside
// it: model files may stand there, and nothing else.
func TestModelsBesideAStore(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"store/histories", "store/MARK", "other/histories",
		"store/checkpoints/1/histories", "store/checkpoints/1/MARK"} {
		check.Must(t, os.MkdirAll(filepath.Join(dir, name), 0o700))
	}
	for path, refused := range map[string]bool{
		"store/model.gsimc": false, "store/model.gsimc.retrained": false, "store/": false,
		"store/m.retrained": false, "store/models/": false, "storeroom/m": false,
		"other/new/m": false, "other/m": false,
		"store/histories.gsimc": false, "store/histories.gsimc.retrained": false,
		"store/m": true, "store/models/m": true, "store/histories/m.gsimc": true,
		"store/histories/": true, "store/MARK": true, "store/histories.new/m.gsimc": true,
		"store/checkpoints/m.gsimc": true, "store/checkpoints/1/m.gsimc": true,
	} {
		err := notInStore("--out", writesModel, dir+"/"+path)
		check.Same(t, refused, err != nil, "%s is refused: %v", path, err)
	}
	for kind, refused := range map[string]bool{writesDir: false, writesInto: true} {
		err := notInStore("--to", kind, filepath.Join(dir, "store"))
		check.Same(t, refused, err != nil, "the store for %s is refused: %v", kind, err)
	}
}

// The program that runs is no output, by another name neither.
func TestProgramIsNoOutput(t *testing.T) {
	exe := check.Get(os.Executable())(t)
	link := filepath.Join(t.TempDir(), "m.gsimc")
	check.Must(t, os.Symlink(exe, link))
	for path, refused := range map[string]bool{exe: true, link: true, exe + ".new": false,
		filepath.Dir(exe): false} {
		err := notProgram("--out", path)
		check.Same(t, refused, err != nil, "%s is refused: %v", path, err)
	}
}
