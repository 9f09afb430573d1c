package watched

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/internal/test/check"
)

// A change is taken by the second reading that finds it, or at once on demand. A bad or missing
// file changes nothing and is reported once, or again on demand.
func TestFiles(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	var logs bytes.Buffer
	good, bad := 0, 0
	f := &Files[string]{Name: "words", Paths: []Path{{"Words", name}},
		Parse: func(texts [][]byte) (string, error) {
			if bytes.HasPrefix(texts[0], []byte("bad")) {
				return "", &fault.Fault{Field: "Words", Problem: "are bad"}
			}
			return string(texts[0]), nil
		},
		Log: slog.New(slog.NewTextHandler(&logs, nil))}
	f.Reloaded = func(ok bool) {
		if ok {
			good++
		} else {
			bad++
		}
	}
	if err := f.Open(); err == nil {
		t.Fatal("a file that is not there was opened")
	}
	check.Must(t, os.WriteFile(name, []byte("bad"), 0o600))
	check.Says(t, f.Open(), "Words: "+name+": are bad", "a bad file")
	check.Must(t, os.WriteFile(name, []byte("a"), 0o600))
	check.Must(t, f.Open())
	for i, step := range []struct {
		text      string // empty: no file
		now       bool
		want      string
		good, bad int
	}{
		{"a", false, "a", 0, 0},
		{"a", true, "a", 0, 0},
		{"b", false, "a", 0, 0},
		{"b", false, "b", 1, 0},
		{"c", false, "b", 1, 0},
		{"d", false, "b", 1, 0},
		{"c", true, "c", 2, 0},
		{"bad", false, "c", 2, 0},
		{"bad", false, "c", 2, 1},
		{"bad", false, "c", 2, 1},
		{"bad", true, "c", 2, 2},
		{"bad 2", true, "c", 2, 3},
		{"", false, "c", 2, 4},
		{"", false, "c", 2, 4},
		{"", true, "c", 2, 5},
		{"c", false, "c", 2, 5},
		{"c", false, "c", 3, 5},
		{"c", true, "c", 3, 5},
	} {
		var err error
		if step.text == "" {
			err = os.RemoveAll(name)
		} else {
			err = os.WriteFile(name, []byte(step.text), 0o600)
		}
		check.Must(t, err)
		before := good
		look := f.Look
		if step.now {
			look = f.LookNow
		}
		if got, want := look(t.Context()), good > before; got != want {
			t.Errorf("step %d: taken: %v, want %v", i, got, want)
		}
		if f.Get() != step.want || good != step.good || bad != step.bad {
			t.Errorf("step %d: %q, %d good, %d bad; want %q, %d, %d", i, f.Get(), good, bad,
				step.want, step.good, step.bad)
		}
	}
	if want := `error="` + name + `: are bad"`; strings.Count(logs.String(), want) != 3 {
		t.Errorf("the log does not have %s thrice: %s", want, &logs)
	}
}
