package model

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/model/fit"
	"github.com/gsimc/gsimc/spectral"
)

// written builds a small model of a spec, writes it, and returns it with the path.
func written(t testing.TB, spec Spec) (*Model, string) {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, 4))
	m := mustNew(t, spec, randomBasis(rng, 30, 4), randomHistories(rng, 30, 10))
	path := filepath.Join(t.TempDir(), "m.gsimc")
	check.Must(t, m.WriteFile(path))
	return m, path
}

func mustOpen(t testing.TB, path string) *Model {
	t.Helper()
	m := check.Get(Open(path))(t)
	t.Cleanup(func() {
		check.Pass(t, m.Close(), "Close")
	})
	return m
}

func mustRead(t testing.TB, path string) []byte {
	t.Helper()
	data := check.Get(os.ReadFile(path))(t)
	return data
}

// TestRoundTrip: the opened model is the model in memory, in every field, state and answer, to the
// bit.
func TestRoundTrip(t *testing.T) {
	for name, spec := range specs() {
		t.Run(name, func(t *testing.T) {
			m, path := written(t, spec)
			opened := mustOpen(t, path)
			check.Same(t, m.Spec(), opened.Spec(), "Spec")
			if m.Version() != opened.Version() || len(m.Version()) != 16 {
				t.Errorf("version %q became %q", m.Version(), opened.Version())
			}
			for i, v := range [][2]any{
				{m.ids, opened.ids}, {m.index, opened.index}, {m.degrees, opened.degrees},
				{m.popular, opened.popular},
				{m.Kappa(), opened.Kappa()}, {m.Lambda(), opened.Lambda()},
				{m.response, opened.response},
			} {
				check.Same(t, v[0], v[1], "field %d", i)
			}
			check.Same(t, answers(m), answers(opened), "answers")
			again := filepath.Join(t.TempDir(), "again.gsimc")
			check.Must(t, opened.WriteFile(again))
			check.Same(t, string(mustRead(t, again)), string(mustRead(t, path)),
				"file written again")
		})
	}
}

// answers exercises everything that is computed from the tensors.
func answers(m *Model) []any {
	var all []any
	rng := rand.New(rand.NewPCG(5, 5))
	for range 5 {
		h := randomHistory(rng, m.NumItems(), 10)
		s := m.StateOf(h)
		all = append(all, *s, *m.InitialState(h))
		for _, est := range []Estimator{EstimatorGS, EstimatorBGS} {
			q := m.NewQuery()
			m.QueryTo(q, s, est)
			all = append(all, m.TopN(nil, q, 10, nil))
		}
	}
	return all
}

// TestFormatIsStable fails when the bytes of a file change: then old files may not be readable any
// more, and formatVersion has to change too. The model has no number that depends on a library's
// rounding.
func TestFormatIsStable(t *testing.T) {
	spec := testSpec()
	spec.Filter = spectral.DefaultFilter(spectral.Cutoff)
	b := &spectral.Basis{
		N: 4, K: 2, U: []float64{0.5, 0.5, 0.5, -0.5, 0.5, 0.5, 0.5, -0.5},
		Kappa: []float64{1, 0.25}, Lambda: []float64{0, 0.75}, Degrees: []int64{4, 2, 1, 1},
		Scale: []float64{0.5, 0.707, 1, 1},
	}
	m := check.Get(New(spec, b, []string{"a", "b", "c", "ö"}, fit.Histories{}))(t)
	check.Same(t, "ec6e7030737012e5", m.Version(), "version")
}

// TestSafetensors reads a file by the published rules of the format, without the code of the
// package: an 8-byte little-endian length, a JSON object that begins with '{' and may be padded
// with spaces, "__metadata__" from strings to strings, and tensors whose offsets cover the rest
// without overlap and without holes.
func TestSafetensors(t *testing.T) {
	for name, spec := range specs() {
		t.Run(name, func(t *testing.T) {
			m, path := written(t, spec)
			data := mustRead(t, path)
			length := binary.LittleEndian.Uint64(data)
			header, body := data[8:8+length], data[8+length:]
			if header[0] != '{' || !strings.HasSuffix(strings.TrimRight(string(header), " "), "}") {
				t.Error("the header is not an object padded with spaces")
			}
			var entries map[string]json.RawMessage
			check.Must(t, json.Unmarshal(header, &entries))
			var meta map[string]string
			check.Must(t, json.Unmarshal(entries["__metadata__"], &meta))
			if meta["gsimc.format"] != "4" || meta["provenance.command"] != "train --rank 5" ||
				meta["train_users"] != "100" {
				t.Errorf("metadata %v", meta)
			}
			delete(entries, "__metadata__")
			covered := make([]int, len(body))
			for name, raw := range entries {
				var info struct {
					DType       string   `json:"dtype"`
					Shape       []uint64 `json:"shape"`
					DataOffsets []uint64 `json:"data_offsets"`
				}
				check.Must(t, json.Unmarshal(raw, &info))
				size := map[string]uint64{"U8": 1, "F32": 4, "I32": 4, "I64": 8, "F64": 8}[info.DType]
				for _, d := range info.Shape {
					size *= d
				}
				begin, end := info.DataOffsets[0], info.DataOffsets[1]
				check.Same(t, end-begin, size,
					"%s: bytes for %s %v", name, info.DType, info.Shape)
				if !strings.HasPrefix(name, "pad.") && (8+length+begin)%4096 != 0 {
					t.Errorf("%s begins at %d, not on a page", name, 8+length+begin)
				}
				for i := begin; i < end; i++ {
					covered[i]++
				}
				if name == "basis" {
					got := math.Float32frombits(binary.LittleEndian.Uint32(body[begin+4*5:]))
					check.Same(t, m.basis[5], got, "basis[5] in the file")
				}
			}
			if i := slices.IndexFunc(covered, func(c int) bool { return c != 1 }); i >= 0 {
				t.Errorf("byte %d stands in %d tensors", i, covered[i])
			}
		})
	}
}

func TestWriteFileReplaces(t *testing.T) {
	m, path := written(t, testSpec())
	opened := mustOpen(t, path)
	want := answers(opened)

	spec := testSpec()
	spec.Alpha = 0.5
	other := mustNew(t, spec, randomBasis(rand.New(rand.NewPCG(8, 8)), 3, 2), nil)
	check.Must(t, other.WriteFile(path))
	check.Same(t, want, answers(opened), "the open model changed when its file was replaced")
	if got := mustOpen(t, path).Version(); got != other.Version() || got == m.Version() {
		t.Errorf("version %s after the replacement, want %s", got, other.Version())
	}
	check.Same(t, os.FileMode(0o644), check.Get(os.Stat(path))(t).Mode(), "the mode")
	onlyEntry(t, filepath.Dir(path), "m.gsimc")
}

func TestWriteFileFails(t *testing.T) {
	m, _ := written(t, testSpec())
	dir := t.TempDir()
	if err := m.WriteFile(filepath.Join(dir, "none", "m.gsimc")); !errors.Is(err, fs.ErrNotExist) ||
		!strings.Contains(err.Error(), "none/m.gsimc") {
		t.Errorf("into no directory: %v", err)
	}
	target := filepath.Join(dir, "m.gsimc")
	check.Must(t, os.MkdirAll(filepath.Join(target, "full"), 0o755))
	if err := m.WriteFile(target); err == nil {
		t.Error("a directory was replaced")
	}
	onlyEntry(t, dir, "m.gsimc") // and no temporary file
}

func onlyEntry(t *testing.T, dir, want string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != want {
		t.Errorf("the directory holds %v (%v), want %s alone", entries, err, want)
	}
}

func TestClose(t *testing.T) {
	m, path := written(t, testSpec())
	if err := m.Close(); err != nil { // on the heap: nothing to unmap
		t.Error(err)
	}
	opened := check.Get(Open(path))(t)
	for range 2 {
		check.Pass(t, opened.Close(), "Close")
	}
	if id := opened.ItemID(3); id != "item-0000003" { // ids do not point into the mapping
		t.Errorf("item id %q after Close", id)
	}
}

// A loaded model is a copy: writing into its file, or cutting it off, changes no answer.
func TestLoadCopies(t *testing.T) {
	m, path := written(t, testSpec())
	loaded := check.Get(Load(path))(t)
	defer func() {
		check.Pass(t, loaded.Close(), "Close")
	}()
	file := check.Get(os.OpenFile(path, os.O_WRONLY, 0))(t)
	info := check.Get(file.Stat())(t)
	check.Get(file.Write(bytes.Repeat([]byte{0x55}, int(info.Size()))))(t)
	check.Must(t, errors.Join(file.Truncate(1), file.Close()))
	check.Same(t, m.basis, loaded.basis, "the basis after the file was replaced")
	if _, err := Load(path); !errors.As(err, new(*FileError)) {
		t.Errorf("loading the file that was cut off: %v, want a *FileError", err)
	}
	if want := int64(len(loaded.basis)) * 4; loaded.CopyBytes() < want {
		t.Errorf("the copy is counted as %d bytes, want at least %d", loaded.CopyBytes(), want)
	}
}

// A pipe is refused at once, though nobody writes to it.
func TestPipeIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	check.Must(t, unix.Mkfifo(path, 0o600))
	refused := make(chan error, 1)
	go func() {
		_, err := Load(path)
		refused <- err
	}()
	select {
	case err := <-refused:
		if !errors.As(err, new(*FileError)) {
			t.Errorf("loading a pipe: %v, want a *FileError", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("loading a pipe waits for a writer")
	}
}
