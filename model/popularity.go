package model

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
)

// popularVersion begins the version of a model of popularity.
const popularVersion = "popularity-"

// NewPopular returns a model that knows nothing but how popular items are, for a server that has
// not been trained yet. items are valid ids in bytewise order, of any number; degrees are their
// counts, in any unit, of at most total. Its rank is 1, and its rows are zero: the state of a user
// and all scores stay zero. It is not meant to be written or extended.
//
// The version is "popularity-" and 16 hexadecimal digits of a hash of the content.
func NewPopular(items []string, degrees []int64, total int64) (*Model, error) {
	const k = 1
	n := len(items)
	spec := DefaultSpec()
	spec.Dynamics = DynamicsSpec{Kind: DynamicsNone}
	spec.TrainUsers = max(total, 1) // there may be no event
	m := &Model{
		spec: spec, n: n, k: k, popularOnly: true,
		spectrum: spectrum{kappa: make([]float64, k), lambda: make([]float64, k),
			response: make([]float32, k)},
		table: table{
			basis: make([]float32, n*k), degrees: slices.Clone(degrees),
			ids:          slices.Clone(items),
			encoderScale: make([]float32, n), decoderScale: make([]float32, n),
			graphScale: make([]float64, n),
		},
	}
	m.transition = &diagonalFilter{newPaperFilter(&m.spec, m.response, flatPrior(k))}
	if err := m.finish(); err != nil {
		return nil, err
	}
	var text []byte
	for i, id := range m.ids {
		text = append(binary.AppendUvarint(text, uint64(len(id))), id...)
		text = binary.AppendVarint(text, m.degrees[i])
	}
	sum := sha256.Sum256(binary.AppendVarint(text, total))
	m.version = popularVersion + hex.EncodeToString(sum[:8])
	return m, nil
}

// Personal reports whether m tells users apart; a model of [NewPopular] does not.
func (m *Model) Personal() bool { return !m.popularOnly }
