package serve

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/fit"
	"github.com/gsimc/gsimc/server"
	"github.com/gsimc/gsimc/spectral"
)

// modelAt returns the bytes of a model that was trained at a time.
func modelAt(t *testing.T, trained string, seed float64) (version string, file []byte) {
	t.Helper()
	spec := model.DefaultSpec()
	spec.Filter, spec.TrainUsers, spec.Alpha = spectral.DefaultFilter(spectral.Cutoff), 4, seed
	spec.Provenance = map[string]string{model.TrainedAtKey: trained}
	basis := &spectral.Basis{N: 2, K: 1, U: []float64{0.6, 0.8}, Kappa: []float64{0.5},
		Lambda: []float64{0.5}, Degrees: []int64{2, 3}, Scale: []float64{1, 1}}
	m := check.Get(model.New(spec, basis, []string{"a", "b"}, fit.Histories{}))(t)
	var b strings.Builder
	check.Get(m.WriteTo(&b))(t)
	return m.Version(), []byte(b.String())
}

// put gives a file its name when it is complete, as the delivery of a model does.
func put(t *testing.T, dir, name string, content []byte) {
	t.Helper()
	temp := filepath.Join(dir, "."+name+".1.tmp")
	check.Must(t, os.WriteFile(temp, content, 0o600))
	check.Must(t, os.Rename(temp, filepath.Join(dir, name)))
}

func TestModelDir(t *testing.T) {
	dir, refused := t.TempDir(), 0
	var log strings.Builder
	d := newModelDir(dir, slog.New(slog.NewTextHandler(&log, nil)), func() { refused++ })
	serves := func(what, want string) {
		t.Helper()
		if !d.changed() {
			t.Errorf("%s: the newest file is the one that serves", what)
		}
		m, err := d.open()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		defer m.Close()
		if m.Version() != want || d.changed() {
			t.Errorf("%s: version %s, want %s, which stays", what, m.Version(), want)
		}
	}
	if _, err := d.open(); !errors.Is(err, server.ErrNoModel) || d.changed() {
		t.Errorf("an empty folder: %v", err)
	}
	may, mayFile := modelAt(t, "2026-05-01T00:00:00Z", 1)
	june, juneFile := modelAt(t, "2026-06-01T00:00:00Z", 1)
	_, july := modelAt(t, "2026-07-01T00:00:00Z", 1)

	put(t, dir, "z.gsimc", mayFile)
	serves("the first model", may)
	put(t, dir, "a.gsimc", juneFile) // its name and its time of writing say nothing
	put(t, dir, "z.gsimc", mayFile)
	serves("a newer one", june)
	for _, name := range []string{".hidden.gsimc", "july.gsimc.tmp", "july"} {
		put(t, dir, name, july)
	}
	check.Must(t, os.Mkdir(filepath.Join(dir, "folder.gsimc"), 0o700))
	put(t, dir, "text.gsimc", []byte("no model"))
	for range 3 {
		if d.changed() {
			t.Fatal("something that is no model is the newest one")
		}
	}
	if refused != 1 || strings.Count(log.String(), "is no model") != 1 {
		t.Errorf("%d refused, log:\n%s", refused, &log)
	}

	damaged := append([]byte(nil), july...)
	damaged[len(damaged)-1] ^= 1
	put(t, dir, "july.gsimc", damaged)
	if !d.changed() {
		t.Error("a newer file that is damaged was not tried")
	}
	check.Says(t, check.Err(d.open()), "july.gsimc", "a damaged newest file")
	if d.changed() || d.behind() == nil {
		t.Error("a damaged file is tried again and again, or another one in its place")
	}
	starting := newModelDir(dir, slog.New(slog.NewTextHandler(&log, nil)), func() { refused++ })
	if m, err := starting.open(); err != nil || m.Version() != june || starting.changed() {
		t.Errorf("a start beside a damaged newest file: %v", err)
	} else {
		_ = m.Close()
	}
	check.Says(t, starting.behind(), "july.gsimc", "what keeps the newest from serving")
	check.Same(t, 1, strings.Count(log.String(), "trying an older one"),
		"older models that are tried in\n%s", &log)
	check.Must(t, os.Remove(filepath.Join(dir, "july.gsimc")))
	serves("the newest file is removed", june)
	check.Pass(t, d.behind(), "the newest serves, and yet")
	check.Must(t, os.Remove(filepath.Join(dir, "a.gsimc")))
	serves("back to the one before", may)

	check.Must(t, os.RemoveAll(dir))
	for range 3 {
		if d.changed() {
			t.Error("a missing folder has a newest file")
		}
	}
	check.Same(t, 1, strings.Count(log.String(), "cannot be read"),
		"complaints about a missing folder in\n%s", &log)
	if _, err := d.open(); err == nil || errors.Is(err, server.ErrNoModel) {
		t.Errorf("a missing folder: %v", err)
	}
}

// TestNewestModelIsOne: of models of one second all servers choose the same. Neither the order in
// which the files arrived nor their times of modification count.
func TestNewestModelIsOne(t *testing.T) {
	one, oneFile := modelAt(t, "2026-05-01T00:00:00Z", 1)
	two, twoFile := modelAt(t, "2026-05-01T00:00:00Z", 0.5)
	want := max(one, two)
	for _, files := range [][2][]byte{{oneFile, twoFile}, {twoFile, oneFile}} {
		dir := t.TempDir()
		put(t, dir, "a.gsimc", files[0])
		put(t, dir, "b.gsimc", files[1])
		m := check.Get(newModelDir(dir, slog.New(slog.DiscardHandler), func() {}).open())(t)
		check.Same(t, want, m.Version(), "version")
		_ = m.Close()
	}
}
