package model

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/gsimc/gsimc/internal/test/check"
)

// TestStat: the header says what the model says, and a file without a header of a model is refused.
func TestStat(t *testing.T) {
	spec := testSpec()
	spec.Provenance = map[string]string{TrainedAtKey: "2026-03-04T05:06:07Z"}
	m, path := written(t, spec)
	got, err := Stat(path)
	want := Head{m.Version(), time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)}
	if err != nil || got.Version != want.Version || !got.Trained.Equal(want.Trained) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	_, undated := written(t, testSpec())
	if got, err := Stat(undated); err != nil || !got.Trained.IsZero() || got.Version == "" {
		t.Errorf("without a time: %v, %v", got, err)
	}
	file := check.Get(os.ReadFile(path))(t)
	_, x := extended(t, kinds()["paper"], 1)
	document, _ := documentOf(t, x)
	for what, data := range map[string][]byte{
		"empty": {}, "cut": file[:100], "text": []byte("a model"), "huge": bytes.Repeat([]byte{255}, 64),
		"no checksum":   bytes.Replace(file, []byte("checksum"), []byte("checkson"), 1),
		"an extension":  bytes.Replace(document, []byte("gsimc.format"), []byte("gsimc.forma_"), 1),
		"broken header": bytes.Replace(file, []byte(`{`), []byte(`[`), 1),
	} {
		bad := filepath.Join(t.TempDir(), "bad.gsimc")
		check.Must(t, os.WriteFile(bad, data, 0o600))
		if got, err := Stat(bad); !errors.As(err, new(*FileError)) {
			t.Errorf("%s: %v, %v, want a *FileError", what, got, err)
		}
	}
	for what, data := range map[string][]byte{"cut": file[:len(file)-1],
		"longer": append(bytes.Clone(file), 0)} {
		bad := filepath.Join(t.TempDir(), "bad.gsimc")
		check.Must(t, os.WriteFile(bad, data, 0o600))
		check.Pass(t, check.Err(Stat(bad)), "%s behind the header", what)
		if _, err := StatWhole(bad); !errors.As(err, new(*FileError)) {
			t.Errorf("%s behind the header: %v, want a *FileError", what, err)
		}
	}
	if _, err := StatWhole(path); err != nil {
		t.Error(err)
	}
	if _, err := Stat(t.TempDir()); !errors.As(err, new(*FileError)) {
		t.Errorf("a folder: %v", err)
	}
}

// TestNewer: the order of models is total, and one of contents alone.
func TestNewer(t *testing.T) {
	at := func(hour int) time.Time { return time.Date(2026, 1, 1, hour, 0, 0, 0, time.UTC) }
	order := []Head{{"zz", time.Time{}}, {"a", at(1)}, {"b", at(1)}, {"a", at(2)}}
	for i, a := range order {
		for j, b := range order {
			check.Same(t, i > j, a.Newer(b), "%v newer than %v", a, b)
		}
	}
	if !slices.IsSortedFunc(order, func(a, b Head) int {
		if a.Newer(b) {
			return 1
		}
		return -1
	}) {
		t.Error("not sorted")
	}
}
