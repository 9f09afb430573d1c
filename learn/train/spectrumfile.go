package train

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/internal/file/safetensors"
	"github.com/gsimc/gsimc/internal/num/gemm"
	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/kalman/dynamics"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/local"
	"github.com/gsimc/gsimc/spectral"
)

// The format of spectrum files, which deploy/spark writes too.
const (
	spectrumFormat    = "gsimc.spectrum" // entry with the version of the format
	spectrumVersion   = "1"
	spectrumChecksum  = "checksum"
	spectrumNoEvent   = "" // last_event of events without times
	spectrumDamaged   = "the file is cut off or damaged: copy it again, or run the job again"
	spectrumNoSuch    = "give the file spectrum.safetensors that the job wrote"
	spectrumOtherJob  = "run the job of this release"
	spectrumWrongNums = "the job that wrote it has gone wrong: run it again"
)

// ReadSpectrum reads a file of arrays in the format of package safetensors, which a job over a lake
// has written, and checks all of it. With n items, rank k, r bands and m = r·k+1:
//
//	basis                 F32 n×k  the eigenvectors U of K
//	eigenvalues           F64 k    κ, descending
//	degrees               I64 n    training users of each item
//	graph_scale           F64 n    the diagonal of D_v^{−s/2}
//	item_offsets          I64 n+1  the ids: id i is [item_offsets[i], item_offsets[i+1]) of
//	item_ids              U8
//	normal_states         F64 m×m  XᵀX of package dynamics
//	normal_targets        F64 m×k  XᵀY
//	succession_offsets    I64 n+1  the counts of package local, unless there is no local term:
//	succession_items      I32      row i is [succession_offsets[i], succession_offsets[i+1])
//	succession_after      F32      F_ij
//	succession_before     F32      F_ji
//
// Its metadata have the version of the format as gsimc.spectrum; degree_exponent, window,
// degree_rescale, bands, positions, local_neighbours, tolerance of the basis and seed; the counts
// train_users, interactions and targets, min_user_events and min_item_events; residual, vectors,
// weighted (true or false), last_event in seconds since 1970 or empty, and the program that wrote
// it. checksum is the SHA-256 of all other metadata, by key, as key, zero byte, value, zero byte,
// and then of the arrays, by name, as name, zero byte, bytes.
//
// tolerance is the largest residual, 0 for the default. Errors begin with the path; a residual that
// is too large is a fault of Tolerance.
func ReadSpectrum(path string, tolerance float64) (*Spectrum, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	s, err := parseSpectrum(data, tolerance)
	return s, fault.In(path, err)
}

func parseSpectrum(data []byte, tolerance float64) (*Spectrum, error) {
	f, err := safetensors.Parse(data)
	if err != nil {
		advice := spectrumDamaged
		if bad, ok := errors.AsType[*safetensors.Error](err); ok && bad.Foreign {
			advice = spectrumNoSuch
		}
		return nil, fmt.Errorf("%w; %s", err, advice)
	}
	switch version, found := f.Meta[spectrumFormat]; {
	case !found:
		return nil, fmt.Errorf("the metadata have no %q, so this is no spectrum; %s",
			spectrumFormat, spectrumNoSuch)
	case version != spectrumVersion:
		return nil, fmt.Errorf("format version %q, but this program reads %q; %s", version,
			spectrumVersion, spectrumOtherJob)
	}
	if sum := checksumOf(f); sum != f.Meta[spectrumChecksum] {
		return nil, fmt.Errorf("the checksum does not match; %s", spectrumDamaged)
	}
	r := &spectrumReader{
		metaReader: metaReader{meta: f.Meta}, Reader: safetensors.Reader{File: f},
	}
	s := r.read()
	if err := errors.Join(r.metaReader.err, r.Err); err != nil {
		return nil, fmt.Errorf("%w; %s", err, spectrumOtherJob)
	}
	if err := r.check(s, tolerance); err != nil {
		if len(fault.Fields(err)) > 0 {
			return nil, err
		}
		return nil, fmt.Errorf("%w; %s", err, spectrumWrongNums)
	}
	return s, nil
}

// checksumOf returns the checksum that f is to have.
func checksumOf(f *safetensors.File) string {
	hash := sha256.New()
	for _, key := range slices.Sorted(maps.Keys(f.Meta)) {
		if key != spectrumChecksum {
			hash.Write([]byte(key + "\x00" + f.Meta[key] + "\x00"))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.Arrays)) {
		hash.Write([]byte(name + "\x00"))
		at := f.Arrays[name].Offsets
		hash.Write(f.Body[at[0]:at[1]])
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// metaReader reads entries of the metadata. It keeps the first error.
type metaReader struct {
	meta map[string]string
	err  error
}

func (r *metaReader) text(key string) string {
	text, found := r.meta[key]
	if !found && r.err == nil {
		r.err = fmt.Errorf("the metadata have no %q", key)
	}
	return text
}

// parsed returns an entry as parse reads it.
func parsed[T any](r *metaReader, key string, parse func(string) (T, error)) T {
	text := r.text(key)
	value, err := parse(text)
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("the metadata have %q = %+q, which is not a value in range", key, text)
	}
	return value
}

func (r *metaReader) number(key string) float64 {
	return parsed(r, key, func(s string) (float64, error) { return strconv.ParseFloat(s, 64) })
}

// count returns a number of 0 or more.
func (r *metaReader) count(key string) int {
	return parsed(r, key, func(s string) (int, error) {
		n, err := strconv.ParseUint(s, 10, 63)
		return int(n), err
	})
}

// spectrumReader reads the parts of a spectrum, which check then checks.
type spectrumReader struct {
	metaReader
	safetensors.Reader

	given               spectral.Given
	successionPtr       []int64
	successionItem      []int32
	successionAfter     []float32
	successionBefore    []float32
	successionsExpected bool
}

// read reads the metadata and the arrays, whose shapes follow from the basis and the bands.
func (r *spectrumReader) read() *Spectrum {
	s := &Spectrum{
		spec: r.spec(), Users: int64(r.count("train_users")),
		Interactions:  int64(r.count("interactions")),
		MinUserEvents: r.count("min_user_events"), MinItemEvents: r.count("min_item_events"),
		Weighted: parsed(&r.metaReader, "weighted", strconv.ParseBool),
		seed: parsed(&r.metaReader, "seed", func(s string) (uint64, error) {
			return strconv.ParseUint(s, 10, 64)
		}),
		program: r.text("program"), checksum: r.meta[spectrumChecksum],
	}
	s.lastEvent = parsed(&r.metaReader, "last_event", eventTime)
	shape := r.File.Arrays["basis"].Shape
	if len(shape) != 2 || shape[1] < 1 || shape[0] < shape[1] {
		r.Err = errors.New(`there is no matrix "basis" of n items and rank k, 1 ≤ k ≤ n`)
		return s
	}
	n, k := shape[0], shape[1]
	r.readBasis(n, k, s)
	bands := int64(len(s.spec.Dynamics.Bands))
	rows := bands*k + 1
	s.normal = &dynamics.Normal{
		R: int(bands), K: int(k), N: r.count("targets"),
		G: safetensors.Array[float64](&r.Reader, "normal_states", rows, rows),
		T: safetensors.Array[float64](&r.Reader, "normal_targets", rows, k),
	}
	if r.successionsExpected = s.spec.Local.Neighbours > 0; r.successionsExpected {
		r.readSuccessions(n)
	}
	s.Items = r.Strings("item", n)
	return s
}

// spec returns the constants of the job.
func (r *spectrumReader) spec() model.Spec {
	spec := Recommended()
	spec.Graph = spectral.Hypergraph
	spec.DegreeExponent, spec.Window = r.number("degree_exponent"), r.count("window")
	spec.DegreeRescale = r.number("degree_rescale")
	spec.Dynamics.Bands = parsed(&r.metaReader, "bands", kalman.ParseBands)
	spec.Dynamics.Positions = int64(r.count("positions"))
	if spec.Local.Neighbours = r.count("local_neighbours"); spec.Local.Neighbours == 0 {
		spec.Local = local.Spec{}
	}
	spec.TrainUsers = int64(r.count("train_users"))
	return spec
}

func (r *spectrumReader) readBasis(n, k int64, s *Spectrum) {
	u := safetensors.Array[float32](&r.Reader, "basis", n, k)
	r.given = spectral.Given{
		N: int(n), K: int(k), U: gemm.ToFloat64(u),
		Kappa:    safetensors.Array[float64](&r.Reader, "eigenvalues", k),
		Degrees:  safetensors.Array[int64](&r.Reader, "degrees", n),
		Scale:    safetensors.Array[float64](&r.Reader, "graph_scale", n),
		Residual: r.number("residual"), Passes: r.count("vectors"),
		Solver:         "block Lanczos of " + s.program,
		DegreeExponent: s.spec.DegreeExponent, Window: s.spec.Window,
	}
}

func (r *spectrumReader) readSuccessions(n int64) {
	r.successionPtr = safetensors.Array[int64](&r.Reader, "succession_offsets", n+1)
	r.successionItem = safetensors.Array[int32](&r.Reader, "succession_items", -1)
	pairs := int64(len(r.successionItem))
	r.successionAfter = safetensors.Array[float32](&r.Reader, "succession_after", pairs)
	r.successionBefore = safetensors.Array[float32](&r.Reader, "succession_before", pairs)
}

// check checks the numbers, and finishes s.
func (r *spectrumReader) check(s *Spectrum, tolerance float64) (err error) {
	if err := s.spec.Validate(); err != nil {
		return fmt.Errorf("the settings of the job are out of range: %w", err)
	}
	for i, d := range r.given.Degrees {
		if d > s.Users {
			return fmt.Errorf("item %d has %d training users, and there are %d", i, d, s.Users)
		}
	}
	if i := unsorted(s.Items); i > 0 {
		return fmt.Errorf("the id of item %d does not come after the one before it: want the ids "+
			"in bytewise order, each once", i)
	}
	if s.Basis, err = r.given.Basis(tolerance); err != nil {
		return err
	}
	if err := s.normal.Check(); err != nil {
		return err
	}
	if !r.successionsExpected {
		return nil
	}
	s.successions, err = local.NewSuccessions(s.Basis.Degrees, r.successionPtr, r.successionItem,
		r.successionAfter, r.successionBefore, s.spec.Local.Neighbours)
	return err
}

// unsorted returns the first id that is not above the one before it, 0 if there is none.
func unsorted(ids []string) int {
	for i := 1; i < len(ids); i++ {
		if strings.Compare(ids[i-1], ids[i]) >= 0 {
			return i
		}
	}
	return 0
}

// eventTime turns seconds since 1970 into RFC 3339.
func eventTime(text string) (string, error) {
	if text == spectrumNoEvent {
		return "", nil
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	return time.Unix(seconds, 0).UTC().Format(time.RFC3339), err
}
