package model

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/gsimc/gsimc/internal/file/safetensors"
	"github.com/gsimc/gsimc/internal/num/prefetch"
	"github.com/gsimc/gsimc/internal/num/topn"
	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/model/internal/sealed"
	"github.com/gsimc/gsimc/model/local"
	"github.com/gsimc/gsimc/model/trend"
)

// Model is a learned model, complete for serving. It does not change once it is built: all methods
// but Close are safe for concurrent use.
type Model struct {
	spec Spec
	identity
	additions
	n, k int // n without the extension

	table                // of the n items that the basis was learned from
	extension *extension // further items, with indices from n; nil for none, as in every file

	transition transition
	local      *local.Graph // the local term; nil for none
	localSums  *sync.Pool   // of *local.Sum
	rotation   rotation     // of the basis

	variances
	spectrum

	insideAtTraining float64 // see InsideAtTraining
	popularOnly      bool    // see NewPopular

	index map[string]int32 // of ids
	popularity

	memory  sealed.Memory // the file of the tensors in memory; empty if they are on the heap
	scratch *sync.Pool
}

// spectrum holds the eigenvalues of the item graph, and what the filter makes of them.
type spectrum struct {
	kappa, lambda []float64 // k, eigenvalues of K (descending, undivided) and of Ł (ascending)
	response      []float32 // k, H(λ), kept in the file like the scales of table
}

// identity names a model.
type identity struct {
	version string // without trends
	trended string // name of the trends; empty: none, or trends without a name
}

// additions are what a model of trends or of rules was made of.
type additions struct {
	plain   *Model // without the trends; nil: there are none
	unruled *Model // without the rules; nil: there are none

	factors []float32 // of scores, by item, which decoderScale has; nil: 1
}

// variances are those of states.
type variances struct {
	deviation     *kalman.Dynamics // transition.deviation(); nil if there are no variances
	freshVariance float64          // Σ_l V_l of a new user, see Uncertainty
}

// popularity orders the items by how many users have them.
type popularity struct {
	popular []int32 // all items, by falling Popularity
	now     []int64 // of trends, by item; nil: popularity is the degree
	rising  []int32 // see Rising
}

// finish checks the data of m and sets the derived fields. It is the last step of New and Open.
func (m *Model) finish() error {
	if err := m.check(); err != nil {
		return err
	}
	m.index = make(map[string]int32, m.n)
	for i, id := range m.ids {
		m.index[id] = int32(i)
	}
	m.popular = ranking.Order(m.degrees)
	m.top = topn.New(m.basis, m.decoderScale, m.k, 0)
	m.scratch = &sync.Pool{New: func() any { return new(topScratch) }}
	m.setLocalSums()
	m.findVariance()
	return nil
}

// check refuses data that training cannot produce. The caller has checked the lengths.
func (m *Model) check() error {
	if err := m.spec.Validate(); err != nil {
		return err
	}
	if err := m.checkTransition(); err != nil {
		return err
	}
	if err := sealed.CheckIDs(m.ids); err != nil {
		return err
	}
	for _, v := range []struct {
		name   string
		values []float32
	}{
		{"basis", m.basis}, {"response", m.response},
		{"encoder_scale", m.encoderScale}, {"decoder_scale", m.decoderScale},
	} {
		if err := sealed.CheckFinite(v.name, v.values); err != nil {
			return err
		}
	}
	if !(m.insideAtTraining >= 0 && m.insideAtTraining <= 1) {
		return fmt.Errorf("inside_at_training is %v, want 0 to 1", m.insideAtTraining)
	}
	return errors.Join(m.checkSpectrum(), m.checkDegrees(), m.checkGraphScale())
}

// checkTransition checks the transition, unless it has not been learned yet.
func (m *Model) checkTransition() error {
	if m.transition == nil {
		return nil
	}
	if err := m.transition.Validate(); err != nil {
		return err
	}
	for _, t := range m.transition.tensors(&m.table) {
		if t.DType == safetensors.F32 {
			if err := sealed.CheckFinite(t.Name, safetensors.View[float32](t.Data)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *Model) checkSpectrum() error {
	for j := range m.k {
		if math.IsNaN(m.kappa[j]-m.lambda[j]) || math.IsInf(m.kappa[j]-m.lambda[j], 0) {
			return fmt.Errorf("eigenvalue %d is %v with λ = %v, want finite numbers",
				j, m.kappa[j], m.lambda[j])
		}
		if j > 0 && (m.kappa[j] > m.kappa[j-1] || m.lambda[j] < m.lambda[j-1]) {
			return fmt.Errorf("eigenvalue %d is above the one before it, "+
				"want them in descending order", j)
		}
	}
	return nil
}

func (m *Model) checkDegrees() error {
	for i, d := range m.degrees {
		if d < 0 || d > m.spec.TrainUsers {
			return fmt.Errorf("item %d has degree %d, want 0 to TrainUsers = %d",
				i, d, m.spec.TrainUsers)
		}
	}
	return nil
}

func (m *Model) checkGraphScale() error {
	for i, x := range m.graphScale {
		if !(x >= 0 && x <= math.MaxFloat32) {
			return fmt.Errorf("graph_scale[%d] is %v, want a finite number of at least 0", i, x)
		}
	}
	return nil
}

// Version returns the first 16 hexadecimal digits of the checksum of the model's file. Models with
// equal content, provenance included, have equal versions. The version of an extended model has a
// plus sign and 16 more digits, see Extend, that of a model with trends then a tilde and 16 more.
func (m *Model) Version() string { return m.version + m.trended }

// StateVersion is the Version without the trends, on which no state depends.
func (m *Model) StateVersion() string { return m.version }

// Spec returns a copy of the choices that the model was built by.
func (m *Model) Spec() Spec { return m.spec.clone() }

// Rank is k, the number of eigenvectors.
func (m *Model) Rank() int { return m.k }

// NumItems is the number of items, those of an extension included.
func (m *Model) NumItems() int {
	if m.extension == nil {
		return m.n
	}
	return m.n + len(m.extension.ids)
}

// NumTrainUsers is the number of users that the basis was learned from: Degree(i)/NumTrainUsers()
// is the popularity of i.
func (m *Model) NumTrainUsers() int64 { return m.spec.TrainUsers }

// ItemID returns the id of item i.
func (m *Model) ItemID(i int32) string {
	t, at := m.at(i)
	return t.ids[at]
}

// FetchIDs starts to load the ids of items into the cache and does not wait for them. Without it, a
// caller that reads the ids of a long list would wait for memory twice for most ids: for the place
// of the id, and for the id.
func (m *Model) FetchIDs(items []ranking.Scored) {
	places := prefetch.Stage{Distance: idsAhead, Begin: func(i int) {
		t, at := m.at(items[i].Item)
		prefetch.Value(&t.ids[at])
	}}
	for i := range prefetch.Ahead(len(items), places) {
		prefetch.String(m.ItemID(items[i].Item))
	}
}

// idsAhead is the distance in items at which FetchIDs loads the place of an id.
const idsAhead = 16

// ItemIndex returns the index of an item id, and whether the model knows it.
func (m *Model) ItemIndex(id string) (int32, bool) {
	i, ok := m.index[id]
	if !ok && m.extension != nil {
		i, ok = m.extension.index[id]
	}
	return i, ok
}

// Degree returns d_v(i), the number of training users of item i. For an item of an extension it is
// NewItem.Users, at most NumTrainUsers.
func (m *Model) Degree(i int32) int64 {
	t, at := m.at(i)
	return t.degrees[at]
}

// Degrees returns the Degree of every item. Not to be changed.
func (m *Model) Degrees() []int64 {
	if m.extension == nil {
		return m.degrees
	}
	return slices.Concat(m.degrees, m.extension.degrees)
}

// Kappa returns the k eigenvalues of K, descending, before any division. Not to be changed.
func (m *Model) Kappa() []float64 { return m.kappa }

// Lambda returns the k eigenvalues of Ł, ascending. Not to be changed.
func (m *Model) Lambda() []float64 { return m.lambda }

// Popular returns all items by falling Popularity, ties to the smaller index. Not to be changed.
func (m *Model) Popular() []int32 { return m.popular }

// Popularity is the Degree of item i or, with trends, the number of training users that its share
// of the events now stands for.
func (m *Model) Popularity(i int32) float64 {
	if m.now != nil {
		return trend.Popularity(m.now[i])
	}
	return float64(m.Degree(i))
}

// Close gives back the memory of a model that Open or Load returned. m, and slices that it handed
// out, must not be used any more, nor must extensions of m and models with trends or rules. Closing
// one of these does not close the model that it was made of.
func (m *Model) Close() error {
	if m.extension == nil && m.plain == nil && m.unruled == nil && m.top != nil {
		m.top.Close()
	}
	m.table, m.extension, m.kappa, m.lambda, m.response = table{ids: m.ids}, nil, nil, nil, nil
	m.transition, m.rotation, m.deviation, m.local = nil, nil, nil, nil
	return m.memory.Close()
}
