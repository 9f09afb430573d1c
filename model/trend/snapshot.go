package trend

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/gsimc/gsimc/internal/file/safetensors"
	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/model/internal/sealed"
)

// A Snapshot holds the trends of the items of a model at one time. Servers that have the same model
// and the same snapshot give the same lists.
type Snapshot struct {
	Gain     float64   // of the Spec
	Factors  []float32 // e^{β g_i} of the items of G; nil: 1
	Expected float64   // R π_i of an item that one training user has
	G        []float32 // g_i: of the items of a model as it was learned, then of those of Names
	Now      []int64   // likewise, π_i e^g_i as of [Rates.Popular]; nil: not counted
	Names    []string  // ids of further items, rising bytewise
	Exposed  []float32 // E_i/R of the items of Names; nil: 1
	Shares   []int64   // their shares when they were counted; nil: those of the model
	Name     string    // tells the snapshots of a model apart; empty: it needs none
}

// Of returns g_i, the share now and the expected events of an item that the model was extended by,
// and that has this share. The snapshot may be older than the item, or than its share.
func (s *Snapshot) Of(id string, share int64) (g float32, now int64, expected float64) {
	at, found := slices.BinarySearch(s.Names, id)
	if !found {
		return 0, share << popularDigits, s.Expected * float64(share)
	}
	counted, exposed := share, float32(1)
	if s.Exposed != nil {
		exposed = s.Exposed[at]
	}
	if s.Shares != nil {
		counted = s.Shares[at]
	}
	expected = s.Expected * float64(counted) * float64(exposed)
	at += len(s.G) - len(s.Names)
	if s.Now != nil {
		now = rescaled(s.Now[at], counted, share)
	}
	return s.G[at], now, expected
}

// rescaled is the share now of an item that had another share when it was counted. Its factor
// stays; one that had no share has the factor 1.
func rescaled(now, counted, share int64) int64 {
	const most = 1 << 62
	switch counted {
	case share:
		return now
	case 0:
		return share << popularDigits
	}
	return int64(min(most, math.Round(float64(now)*float64(share)/float64(counted))))
}

// FactorsOfAll returns the factors of the scores of all items of a model that may be extended; nil
// if all are 1.
func (s *Snapshot) FactorsOfAll(items int, id func(i int32) string) []float32 {
	if s.Factors == nil {
		return nil
	}
	factors, known := make([]float32, items), len(s.G)-len(s.Names)
	for i := copy(factors, s.Factors[:known]); i < items; i++ {
		factors[i] = 1
		if at, found := slices.BinarySearch(s.Names, id(int32(i))); found {
			factors[i] = s.Factors[known+at]
		}
	}
	return factors
}

// OfAll returns what the trends add to the scores of all items of a model that may be extended, nil
// for nothing, their shares now, which are all 0 if they were not counted, and their expected
// events.
func (s *Snapshot) OfAll(
	items int, id func(i int32) string, share func(i int32) int64,
) (added []float32, now []int64, expected []float64) {
	added, now, expected = make([]float32, items), make([]int64, items), make([]float64, items)
	known := len(s.G) - len(s.Names)
	copy(now, s.Now)
	for i := range added {
		var g float32
		if i < known {
			g, expected[i] = s.G[i], s.Expected*float64(share(int32(i)))
		} else {
			g, now[i], expected[i] = s.Of(id(int32(i)), share(int32(i)))
		}
		added[i] = float32(s.Gain * float64(g))
	}
	if s.Gain == 0 {
		added = nil
	}
	return added, now, expected
}

// Snapshot returns the trends of all items at these faded counts, without a name. shares are in
// proportion to π_i, with a sum above 0.
func (r *Rates) Snapshot(spec *Spec, shares []int64) *Snapshot {
	s := &Snapshot{Expected: r.expected(shares), G: make([]float32, len(shares)),
		Now: r.Popular(shares)}
	r.TrendsTo(s.G, shares)
	s.SetBy(spec)
	for i := r.known; i < len(shares); i++ {
		s.Exposed, s.Shares = append(s.Exposed, r.exposed(i)), append(s.Shares, shares[i])
	}
	return s
}

// SetBy sets the gain and the factors.
func (s *Snapshot) SetBy(spec *Spec) {
	s.Gain, s.Factors = spec.Gain, nil
	if spec.Power > 0 {
		s.Factors = make([]float32, len(s.G))
		for i, g := range s.G {
			s.Factors[i] = float32(exp(spec.Power * float64(g)))
		}
	}
}

// Constants of the documents of snapshots, which have the format of model files otherwise.
const (
	format      = "trends 1"
	withFactors = "trends 2" // has factors, which servers of before would leave out
	formatKey   = "format"
	ofKey       = "model"
	gainKey     = "gain"
	expectedKey = "expected"
	exposedName = "exposed" // it and the next are not in documents of before
	sharesName  = "shares"
	factorsName = "factors"
	alignment   = 64
)

// Encode returns the document of a snapshot for the model of a version, as it was learned. It sets
// the name of the snapshot, which is a hash of the document. It holds all numbers that come from
// logarithms or sums, so that every processor makes the same lists of it.
func (s *Snapshot) Encode(version string) ([]byte, error) {
	meta := map[string]string{formatKey: format, ofKey: version,
		gainKey:     strconv.FormatFloat(s.Gain, 'g', -1, 64),
		expectedKey: strconv.FormatFloat(s.Expected, 'g', -1, 64)}
	ts := []sealed.Tensor{sealed.Numbers("g", s.G), sealed.Numbers("now", s.Now)}
	if s.Factors != nil {
		meta[formatKey] = withFactors
		ts = append(ts, sealed.Numbers(factorsName, s.Factors))
	}
	if s.Exposed != nil {
		ts = append(ts, sealed.Numbers(exposedName, s.Exposed))
	}
	if s.Shares != nil {
		ts = append(ts, sealed.Numbers(sharesName, s.Shares))
	}
	im := sealed.LayOut(meta, append(ts, sealed.Texts("name", s.Names)...), alignment)
	var document bytes.Buffer
	if _, err := im.WriteTo(&document); err != nil {
		return nil, err
	}
	s.Name = im.Version()
	return document.Bytes(), nil
}

// Decode reads a document of [Snapshot.Encode] for the model of a version with this number of
// items, as it was learned. It is an error if the document is damaged, or of another model. The
// snapshot keeps using its memory.
func Decode(document []byte, version string, items int) (*Snapshot, error) {
	f, err := safetensors.Parse(document)
	if err != nil {
		return nil, fmt.Errorf("they are damaged: %w", err)
	}
	if got := f.Meta[formatKey]; got != format && got != withFactors {
		return nil, fmt.Errorf("the format is %+q, want %q", got, format)
	}
	s := &Snapshot{}
	if s.Name, err = sealed.Verify(f, document); err != nil {
		return nil, fmt.Errorf("they are damaged: %w", err)
	}
	if of := f.Meta[ofKey]; of != version {
		return nil, fmt.Errorf("they are trends of the model %+q, and not of %q", of, version)
	}
	for key, number := range map[string]*float64{gainKey: &s.Gain, expectedKey: &s.Expected} {
		if *number, err = strconv.ParseFloat(f.Meta[key], 64); err != nil ||
			!(*number >= 0 && *number <= math.MaxFloat32) {
			return nil, fmt.Errorf("%s is %+q", key, f.Meta[key])
		}
	}
	r := &safetensors.Reader{File: f}
	s.Names = sealed.ReadNames(r)
	all := int64(items + len(s.Names))
	s.G = safetensors.Array[float32](r, "g", all)
	s.Now = safetensors.Array[int64](r, "now", all)
	if _, has := f.Arrays[exposedName]; has {
		s.Exposed = safetensors.Array[float32](r, exposedName, int64(len(s.Names)))
	}
	if _, has := f.Arrays[sharesName]; has {
		s.Shares = safetensors.Array[int64](r, sharesName, int64(len(s.Names)))
	}
	if f.Meta[formatKey] == withFactors {
		s.Factors = safetensors.Array[float32](r, factorsName, all)
	}
	if r.Err != nil {
		return nil, r.Err
	}
	return s, errors.Join(sealed.CheckIDs(s.Names), s.check())
}

// mostFactor is larger than any factor of counts, and lets scores be finite.
const mostFactor = 1 << 60

// check reports numbers that are not those of trends.
func (s *Snapshot) check() error {
	for i, g := range s.G {
		if added := s.Gain * float64(g); !(math.Abs(added) < math.MaxFloat32) {
			return fmt.Errorf("item %d has the trend %v, with a gain of %v", i, g, s.Gain)
		}
		if s.Now[i] < 0 {
			return fmt.Errorf("item %d is taken %d times now", i, s.Now[i])
		}
	}
	for i, factor := range s.Factors {
		if !(factor > 0 && factor <= mostFactor) {
			return fmt.Errorf("item %d has the factor %v", i, factor)
		}
	}
	for at, part := range s.Exposed {
		if !(part >= 0 && part <= 1) {
			return fmt.Errorf("%v of the events have come since item %q has", part, s.Names[at])
		}
	}
	for at, share := range s.Shares {
		if share < 0 {
			return fmt.Errorf("item %q has the share %d", s.Names[at], share)
		}
	}
	return nil
}

// leastRising is the number of faded events of an item from which on it can be rising: fewer may be
// chance.
const leastRising = 5

// Rising returns the items of a model that users take more often now than in the training data, and
// at least leastRising times of late, by falling factor. now are the numbers of all items, shares
// those of the training, expected the events that go with these.
func Rising(now []int64, expected []float64, share func(i int32) int64) []int32 {
	factor := func(i int32) float64 { return Popularity(now[i]) / max(1, float64(share(i))) }
	var rising []int32
	for i := range int32(len(now)) {
		events := float64((expected[i]+Prior)*factor(i)) - Prior
		if factor(i) > 1 && events >= leastRising {
			rising = append(rising, i)
		}
	}
	ranking.Sort(rising, factor)
	return rising
}
