package python

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
	if err := os.WriteFile(base, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
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
			if err := os.WriteFile(installed, []byte("numpy==1\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		path, err := Environment(t.Context(), dir, []string{"/none/python3", base})
		if err != nil || path != filepath.Join(dir, "bin", "python") {
			t.Fatalf("%s: Environment returns %q, %v", c.name, path, err)
		}
		raw, err := os.ReadFile(ran)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(strings.Fields(string(raw)), " "); got != c.ran {
			t.Errorf("%s: the modules %q ran, want %q", c.name, got, c.ran)
		}
		if got, err := os.ReadFile(installed); err != nil || !bytes.Equal(got, requirements) {
			t.Errorf("%s: the environment says that it has %q, %v", c.name, got, err)
		}
	}
}

// TestEnvironmentMissing: what is missing is said, and what failed is tried again.
func TestEnvironmentMissing(t *testing.T) {
	failing, _ := fakeBase(t, "1")
	foreign := t.TempDir()
	if err := os.WriteFile(filepath.Join(foreign, "letter"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
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
		_, err := Environment(t.Context(), c.dir, c.bases)
		if err == nil || !strings.Contains(err.Error(), c.message) {
			t.Errorf("%v: error %v, want %q", c.bases, err, c.message)
		}
	}
	if _, err := os.Stat(filepath.Join(foreign, "letter")); err != nil {
		t.Errorf("a folder of others was cleared: %v", err)
	}
}

// TestCompile: what has to be built is built once, if there is a compiler.
func TestCompile(t *testing.T) {
	base, ran := fakeBase(t, "0")
	dir := filepath.Join(t.TempDir(), "env")
	if _, err := Environment(t.Context(), dir, []string{base}); err != nil {
		t.Fatal(err)
	}
	path := os.Getenv("PATH")
	t.Setenv("PATH", t.TempDir())
	t.Setenv("CXX", "")
	if err := Compile(t.Context(), dir); err == nil ||
		!strings.Contains(err.Error(), "no C++ compiler") {
		t.Errorf("error %v, want that there is no compiler", err)
	}
	t.Setenv("PATH", path)
	t.Setenv("CXX", "c++")
	for range 2 {
		if err := Compile(t.Context(), dir); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := os.ReadFile(ran)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(strings.Fields(string(raw)), " "); got != "venv pip pip" {
		t.Errorf("the modules %q ran, want pip once for each list", got)
	}
}
