package train_test

import (
	"cmp"
	"encoding/binary"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gsimc/gsimc/internal/file/safetensors"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/soak"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/learn/train"
	"github.com/gsimc/gsimc/learn/train/spectrumtest"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/fit"
)

// lake is a partition with weights and times, and the training of a model on it.
func lake(t *testing.T) (*dataset.Partition, train.Config) {
	t.Helper()
	p := pieces(t, 3, shape{
		body: 500, cliques: 5, perClique: 5, train: 3, validation: 1, test: 0,
	})
	cfg := train.Config{Spec: train.Recommended(), Rank: 24, Seed: 1,
		Origin: &train.Origin{TrainedAt: time.Unix(0, 0)}}
	cfg.Spec.Dynamics.Bands[1].HalfLife = 3600
	for _, h := range []*dataset.Histories{&p.Train, &p.Validation} {
		for at := range h.Item {
			h.Weight = append(h.Weight, 1+float32(at%3)/2)
		}
	}
	return p, cfg
}

func writeSpectrum(t *testing.T, f *spectrumtest.File) string {
	t.Helper()
	data := check.Get(f.Sealed())(t)
	path := filepath.Join(t.TempDir(), "spectrum.safetensors")
	check.Must(t, os.WriteFile(path, data, 0o600))
	return path
}

// spectrumOf is the spectrum that a job would write of the training users of p, and what train reads
// from its file.
func spectrumOf(
	t *testing.T, p *dataset.Partition, cfg train.Config,
) (*spectrumtest.File, *train.Spectrum) {
	t.Helper()
	file := check.Get(spectrumtest.New(p, cfg))(t)
	s := check.Get(train.ReadSpectrum(writeSpectrum(t, file), 0))(t)
	return file, s
}

// arraysOf returns the arrays of a model as its file has them.
func arraysOf(t *testing.T, m *model.Model) map[string][]byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "model.gsimc")
	check.Must(t, m.WriteFile(path))
	data := check.Get(os.ReadFile(path))(t)
	f := check.Get(safetensors.Parse(data))(t)
	arrays := map[string][]byte{}
	for name, info := range f.Arrays {
		arrays[name] = f.Body[info.Offsets[0]:info.Offsets[1]]
	}
	return arrays
}

// heldOut returns the validation users of p over the items of a spectrum, without training users.
func heldOut(p *dataset.Partition) *dataset.Partition {
	empty := dataset.Histories{Ptr: []int64{0}}
	return &dataset.Partition{Items: p.Items, Train: empty, Test: empty, Validation: p.Validation}
}

// TestSpectrumTrainsAlike: a model of a spectrum and of the validation users has the bytes of a
// model that is trained on the events themselves, at any rank, with and without a choice.
func TestSpectrumTrainsAlike(t *testing.T) {
	p, cfg := lake(t)
	_, s := spectrumOf(t, p, cfg)
	cases := []struct {
		name   string
		change func(*train.Config)
	}{
		{"as it is", func(*train.Config) {}},
		{"choice", func(c *train.Config) { c.ChooseRank, c.ChooseRidge = true, true }},
		{"without deviation", func(c *train.Config) { c.Spec.Dynamics.Deviation = false }},
		{"another ridge", func(c *train.Config) { c.Spec.Dynamics.Ridge = 3 }},
	}
	for _, i := range soak.SomeOf(t, len(cases), 1) {
		t.Run(cases[i].name, func(t *testing.T) {
			cfg := cfg
			cases[i].change(&cfg)
			want := check.Get(train.Run(p, cfg))(t)
			cfg.Rank = 0
			cfg.Spec.Window, cfg.Spec.DegreeRescale = 5, 2 // those of the job count
			got := check.Get(s.Learn(heldOut(p), s.Apply(cfg)))(t)
			check.Same(t, arraysOf(t, want.Model), arraysOf(t, got.Model), "arrays")
			a, b := want.Model.Spec(), got.Model.Spec()
			a.Provenance, b.Provenance = nil, nil
			check.Same(t, a, b, "specs")
			check.Same(t, want.Choice, got.Choice, "choices")
		})
	}
}

// TestSpectrumKeepsGivenBands: a job with the default bands leaves the choice open, one with other
// bands has made it.
func TestSpectrumKeepsGivenBands(t *testing.T) {
	p, cfg := lake(t)
	cfg.ChooseBands = true
	for bands, tried := range map[int]int{4: 2, 2: 0} {
		cfg.Spec.Dynamics.Bands = train.Recommended().Dynamics.Bands[:bands]
		_, s := spectrumOf(t, p, cfg)
		got := check.Get(s.Learn(heldOut(p), s.Apply(cfg)))(t)
		if c := got.Choice; (c == nil) != (tried == 0) || c != nil && len(c.Tried) != tried {
			t.Errorf("%d bands: choice %+v, want it among %d", bands, c, tried)
		}
	}
}

// TestSpectrumOfSmallerRank: the basis and the sums of a smaller rank are a part of those of the
// file.
func TestSpectrumOfSmallerRank(t *testing.T) {
	p, cfg := lake(t)
	_, s := spectrumOf(t, p, cfg)
	basis := check.Get(train.Solve(p, cfg))(t)
	want := check.Get(train.Learn(p, cfg, basis.Prefix(10)))(t)
	cfg.Rank = 10
	got := check.Get(s.Learn(heldOut(p), s.Apply(cfg)))(t)
	// The mean of the diagonal that the ridge is a multiple of is summed up in another order.
	for _, name := range []string{"basis", "eigenvalues", "local_items"} {
		check.Same(t, arraysOf(t, want.Model)[name], arraysOf(t, got.Model)[name], "%s", name)
	}
	check.Same(t, 10, got.Model.Rank(), "rank")
	cfg.Rank = 25
	if _, err := s.Learn(heldOut(p), s.Apply(cfg)); err == nil ||
		!strings.Contains(err.Error(), "Rank: 25, want 1 to 24, the rank of the spectrum") {
		t.Errorf("a rank above that of the file: %v", err)
	}
}

// TestSpectrumOrigin: the provenance says where the model comes from.
func TestSpectrumOrigin(t *testing.T) {
	p, cfg := lake(t)
	file, s := spectrumOf(t, p, cfg)
	cfg = s.Apply(cfg)
	cfg.Origin = s.Origin("hash of the sample")
	r := check.Get(s.Learn(heldOut(p), cfg))(t)
	got := r.Model.Spec().Provenance
	if _, has := got[train.KeyDataHash]; has {
		t.Error("the hash of the sample stands for that of the events")
	}
	for key, want := range map[string]string{
		train.KeySampleHash: "hash of the sample", train.KeySpectrum: "a test",
		train.KeySpectrumHash: file.Meta["checksum"], train.KeyLastEvent: "1970-01-02T00:00:00Z",
		train.KeyMinUserEvents: "2", train.KeyMinItemEvents: "3", train.KeySeed: "1",
	} {
		check.Same(t, want, got[key], "%s", key)
	}
	if report := got[train.KeySolverReport]; !strings.Contains(report, "block Lanczos of a test") {
		t.Errorf("the report of the solver is %q", report)
	}
}

// shortestRows returns the items of the shortest rows of the basis.
func shortestRows(s *train.Spectrum, count int) []int32 {
	items := make([]int32, s.Basis.N)
	for i := range items {
		items[i] = int32(i)
	}
	square := func(i int32) (sum float64) {
		for _, x := range s.Basis.U[int(i)*s.Basis.K : (int(i)+1)*s.Basis.K] {
			sum += x * x
		}
		return sum
	}
	slices.SortFunc(items, func(a, b int32) int { return cmp.Compare(square(a), square(b)) })
	return items[:count]
}

// TestSpectrumRefusesSamples: too few users, and users of other data.
func TestSpectrumRefusesSamples(t *testing.T) {
	p, cfg := lake(t)
	_, s := spectrumOf(t, p, cfg)
	few, other := heldOut(p), heldOut(p)
	h := &few.Validation
	h.User, h.Ptr = h.User[:fit.FewSequences-1], h.Ptr[:fit.FewSequences]
	other.Validation.Item = slices.Clone(p.Validation.Item)
	short := shortestRows(s, 40)
	for at := range other.Validation.Item {
		other.Validation.Item[at] = short[at%len(short)]
	}
	for _, c := range []struct {
		p    *dataset.Partition
		want string
	}{
		{few, "Data: has 19 users with two items of the spectrum, want at least 20"},
		{other, "not above the 0.0"},
	} {
		if _, err := s.Learn(c.p, s.Apply(cfg)); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want one with %q", err, c.want)
		}
	}
}

// TestSpectrumRefusals: every fault of a file is an error that names it.
func TestSpectrumRefusals(t *testing.T) {
	p, cfg := lake(t)
	good := check.Get(spectrumtest.New(p, cfg))(t)
	setFloat := func(name string, at int, x float64) func(*spectrumtest.File) {
		return func(f *spectrumtest.File) {
			binary.LittleEndian.PutUint64(f.Arrays[name].Data[8*at:], math.Float64bits(x))
		}
	}
	setInt := func(name string, at int, x int64) func(*spectrumtest.File) {
		return func(f *spectrumtest.File) {
			binary.LittleEndian.PutUint64(f.Arrays[name].Data[8*at:], uint64(x))
		}
	}
	setSingle := func(name string, at int, x float32) func(*spectrumtest.File) {
		return func(f *spectrumtest.File) {
			binary.LittleEndian.PutUint32(f.Arrays[name].Data[4*at:], math.Float32bits(x))
		}
	}
	set := func(key, value string) func(*spectrumtest.File) {
		return func(f *spectrumtest.File) { f.Meta[key] = value }
	}
	without := func(name string) func(*spectrumtest.File) {
		return func(f *spectrumtest.File) { delete(f.Arrays, name); delete(f.Meta, name) }
	}
	swap := func(name string, size int) func(*spectrumtest.File) {
		return func(f *spectrumtest.File) {
			d := f.Arrays[name].Data
			for at := range size {
				d[at], d[size+at] = d[size+at], d[at]
			}
		}
	}
	nan := math.NaN()
	last := (4*24+1)*(4*24+1) - 1 // of XᵀX
	for _, c := range []struct {
		name   string
		change func(*spectrumtest.File)
		want   string
	}{
		{"version", set("gsimc.spectrum", "2"), `format version "2", but this program reads "1"`},
		{"no spectrum", without("gsimc.spectrum"), `no "gsimc.spectrum", so this is no spectrum`},
		{"no residual", without("residual"), `the metadata have no "residual"`},
		{"bands", set("bands", "x"), `"bands" = "x", which is not a value in range`},
		{"window", set("window", "1"), "Window: 1, want 2 to 10000"},
		{"users", set("train_users", "-1"), `"train_users" = "-1", which is not a value`},
		{"event", set("last_event", "now"), `"last_event" = "now"`},
		{"residual", set("residual", "1e-3"), "largest residual 1.00e-03 is not within 0 to 1.00e-05"},
		{"residual is no number", set("residual", "NaN"), "largest residual NaN"},
		{"no basis", without("basis"), `no matrix "basis"`},
		{"no sums", without("normal_states"), `no tensor "normal_states"`},
		{"no counts", without("succession_after"), `no tensor "succession_after"`},
		{"fewer bands", set("bands", "0,0.5"), `"normal_states" has shape [97 97], want [49 49]`},
		{"basis not finite", setSingle("basis", 30, float32(nan)), "row 1 of the basis has NaN"},
		{"basis not orthogonal", setSingle("basis", 30, 0.5), "not orthonormal: UᵀU is off by"},
		{"a repeated column", func(f *spectrumtest.File) {
			u := f.Arrays["basis"].Data
			for at := 0; at < len(u); at += 4 * 24 {
				copy(u[at+4:at+8], u[at:at+4])
			}
		}, "not orthonormal: UᵀU is off by 1.00e+00"},
		{"eigenvalues rise", swap("eigenvalues", 8), "above the one before it"},
		{"eigenvalue below 0", setFloat("eigenvalues", 23, -1e-9), "eigenvalue 23 is -1e-09, want 0"},
		{"eigenvalue too large", setFloat("eigenvalues", 0, 1e9), "eigenvalue 0 is 1e+09, want 0 to"},
		{"eigenvalue not finite", setFloat("eigenvalues", 3, nan), "eigenvalue 3 is NaN"},
		{"degree 0", setInt("degrees", 2, 0), "item 2 has 0 training users, want 1 or more"},
		{"degree above the users", setInt("degrees", 2, 1e6), "item 2 has 1000000 training users"},
		{"scale", setFloat("graph_scale", 2, 2), "has the scale 2, want it above"},
		{"scale not finite", setFloat("graph_scale", 2, nan), "has the scale NaN"},
		{"ids not sorted", swap("item_ids", 5), "the id of item 1 does not come after"},
		{"ids twice", func(f *spectrumtest.File) {
			copy(f.Arrays["item_ids"].Data[5:10], f.Arrays["item_ids"].Data[:5])
		}, "the id of item 1 does not come after"},
		{"ids beyond the end", setInt("item_offsets", 3, 1<<40), "below the one before it"},
		{"sums not symmetric", setFloat("normal_states", 1, 7), "XᵀX is not symmetric: 7 at row 0"},
		{"sums not finite", setFloat("normal_states", 0, nan), "XᵀX has NaN at row 0, column 0"},
		{"sums negative", setFloat("normal_states", 0, -5), "XᵀX has a negative eigenvalue"},
		{"targets not finite", setFloat("normal_targets", 25, nan), "XᵀY has NaN at row 1, column 1"},
		{"another count", setFloat("normal_states", last, 5), "XᵀX counts 5 positions, and there are"},
		{"no targets", set("targets", "0"), "positions, and there are 0"},
		{"counts not finite", setSingle("succession_after", 0, float32(nan)), "for item"},
		{"counts of itself", func(f *spectrumtest.File) {
			binary.LittleEndian.PutUint32(f.Arrays["succession_items"].Data, 0)
		}, "row 0 of the successions has item 0 at place 0, want other items"},
		{"counts not sorted", swap("succession_items", 4), "ascending"},
		{"rows of counts", setInt("succession_offsets", 0, 1), "rows of the successions run from 1"},
		{"longer rows", set("local_neighbours", "1"), "of the successions has the places"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &spectrumtest.File{Meta: maps.Clone(good.Meta), Arrays: maps.Clone(good.Arrays)}
			for name, a := range f.Arrays {
				a.Data = slices.Clone(a.Data)
				f.Arrays[name] = a
			}
			c.change(f)
			path := writeSpectrum(t, f)
			_, err := train.ReadSpectrum(path, 0)
			if err == nil || !strings.Contains(err.Error(), c.want) ||
				!strings.HasPrefix(err.Error(), path+": ") {
				t.Errorf("error %v\nwant one with %q", err, c.want)
			}
		})
	}
}

// TestSpectrumDamage: a file that is cut anywhere, or has a flipped bit among its numbers, is
// refused.
func TestSpectrumDamage(t *testing.T) {
	p, cfg := lake(t)
	cfg.Rank = 5
	file := check.Get(spectrumtest.New(p, cfg))(t)
	path := writeSpectrum(t, file)
	data := check.Get(os.ReadFile(path))(t)
	refused := func(what string, data []byte) {
		t.Helper()
		check.Must(t, os.WriteFile(path, data, 0o600))
		_, err := train.ReadSpectrum(path, 0)
		if err == nil || !strings.Contains(err.Error(), "damaged") &&
			!strings.Contains(err.Error(), "spectrum.safetensors that the job wrote") {
			t.Errorf("%s: %v", what, err)
		}
	}
	refused("empty", nil)
	refused("cut by a byte", data[:len(data)-1])
	refused("longer by a byte", append(slices.Clone(data), 0))
	header := 8 + int(binary.LittleEndian.Uint64(data))
	rng := rand.New(rand.NewPCG(74, 1))
	trials := soak.Times(100)
	for range trials {
		refused("cut", data[:rng.IntN(len(data))])
		changed := slices.Clone(data)
		changed[header+rng.IntN(len(data)-header)] ^= 1 << rng.IntN(8)
		refused("a flipped bit", changed)
	}
	soak.Injected(t, trials, "cut files")
	soak.Injected(t, trials, "flipped bits")
	check.Must(t, os.WriteFile(path, data, 0o600))
	if _, err := train.ReadSpectrum(path, 0); err != nil {
		t.Errorf("the file itself: %v", err)
	}
}
