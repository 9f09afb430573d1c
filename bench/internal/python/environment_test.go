package python

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
)

// fakeBase writes an interpreter whose environments have a pip that ends by pipExit. All modules
// that run are written to the file ran.
func fakeBase(t *testing.T, pipExit string) (base, ran string) {
	t.Helper()
	dir := t.TempDir()
	base, ran = filepath.Join(dir, "python3"), filepath.Join(dir, "ran")
	script := `#!/bin/sh
echo "$2" >> ` + ran + `
mkdir -p "$4/bin" && touch "$4/pyvenv.cfg" && cat > "$4/bin/python" <<'EOF'
#!/bin/sh
echo "$2" >> ` + ran + `
echo 'no wheel fits' >&2
exit ` + pipExit + `
EOF
chmod 700 "$4/bin/python"
`
	check.Must(t, os.WriteFile(base, []byte(script), 0o700))
	return base, ran
}

// TestEnvironment: it is made once, and again when other packages are wanted.
func TestEnvironment(t *testing.T) {
	base, ran := fakeBase(t, "0")
	dir := filepath.Join(t.TempDir(), "new", "env")
	installed := filepath.Join(dir, "requirements.txt")
	for _, c := range []struct{ name, ran string }{
		{"made", "venv pip"},
		{"found", "venv pip"},
		{"of other packages", "venv pip venv pip"},
	} {
		if c.name == "of other packages" {
			check.Must(t, os.WriteFile(installed, []byte("numpy==1\n"), 0o600))
		}
		path, err := Environment(t.Context(), dir, []string{"/none/python3", base})
		if err != nil || path != filepath.Join(dir, "bin", "python") {
			t.Fatalf("%s: Environment returns %q, %v", c.name, path, err)
		}
		raw := check.Get(os.ReadFile(ran))(t)
		check.Same(t, c.ran, strings.Join(strings.Fields(string(raw)), " "),
			"%s: the modules that ran", c.name)
		check.Same(t, requirements, check.Get(os.ReadFile(installed))(t),
			"%s: what the environment has", c.name)
	}
}

// TestEnvironmentMissing: what is missing is said, and what failed is tried again.
func TestEnvironmentMissing(t *testing.T) {
	failing, _ := fakeBase(t, "1")
	foreign := t.TempDir()
	check.Must(t, os.WriteFile(filepath.Join(foreign, "letter"), nil, 0o600))
	unmade := filepath.Join(t.TempDir(), "env")
	for _, c := range []struct {
		dir     string
		bases   []string
		message string
	}{
		{unmade, nil, "no Python interpreter"},
		{unmade, []string{"/none/python3"}, "/none/python3"},
		{unmade, []string{failing}, "-m pip: exit status 1: no wheel fits"},
		{unmade, []string{failing}, "no wheel fits"}, // again, over what the first left behind
		{foreign, []string{failing}, "no virtual environment"},
	} {
		check.Says(t, check.Err(Environment(t.Context(), c.dir, c.bases)), c.message, "%v", c.bases)
	}
	check.Pass(t, check.Err(os.Stat(filepath.Join(foreign, "letter"))),
		"a folder of others was cleared")
}

// TestCompile: what has to be built is built once, if there is a compiler.
func TestCompile(t *testing.T) {
	base, ran := fakeBase(t, "0")
	dir := filepath.Join(t.TempDir(), "env")
	check.Must(t, check.Err(Environment(t.Context(), dir, []string{base})))
	path := os.Getenv("PATH")
	t.Setenv("PATH", t.TempDir())
	t.Setenv("CXX", "")
	check.Says(t, Compile(t.Context(), dir), "no C++ compiler", "without a compiler")
	t.Setenv("PATH", path)
	t.Setenv("CXX", "c++")
	for range 2 {
		check.Must(t, Compile(t.Context(), dir))
	}
	raw := check.Get(os.ReadFile(ran))(t)
	check.Same(t, "venv pip pip", strings.Join(strings.Fields(string(raw)), " "),
		"the modules that ran, pip once for each list")
}
