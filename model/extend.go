package model

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"slices"

	"github.com/gsimc/gsimc/internal/gemm"
	"github.com/gsimc/gsimc/internal/topn"
	"github.com/gsimc/gsimc/local"
	"github.com/gsimc/gsimc/ranking"
)

// extension holds items that the basis was not learned from.
type extension struct {
	table
	of    *Model           // the base
	index map[string]int32 // of ids, in the numbering of the extended model
	local *local.Graph     // further entries and rows of the local term; nil for none
}

// NewItem is an item with a row in the basis of a model, from [Evidence.Place]. [Model.Extend] adds
// it to the model.
type NewItem struct {
	ID    string
	Users int64     // at the scale of the training, at least 1
	row   []float64 // k, u in the coordinates of Model.basis
	scale float64   // as in table.graphScale
	local local.Arrival
}

// Extend returns a model of the items of the base, [Model.Base], and the given items. The given
// items must have been placed by evidence for that base. An earlier extension of m is not part of
// the new model.
//
// The items of the base keep their indices. The new items follow, in the bytewise order of their
// ids. All methods take part in the extension except WriteTo and WriteFile, which leave it out. The
// extended model shares the memory of the base and must not outlive it. Its Version is the version
// of the base, a plus sign, and 8 hexadecimal digits of a hash of the extension. A state without
// events on new items is equal to the state of the base, to the bit. Its query has the local terms
// of the base for items of the base, and others for new items.
//
// O(extension·(k² r + log n) + n). It is an error if an id is invalid, repeated, or known to the
// base; the error names the item.
func (m *Model) Extend(items []NewItem) (*Model, error) {
	m = m.Base()
	items = slices.Clone(items)
	slices.SortFunc(items, func(a, b NewItem) int { return cmp.Compare(a.ID, b.ID) })
	e := &extension{of: m, index: make(map[string]int32, len(items))}
	for i, item := range items {
		if _, known := m.index[item.ID]; known {
			return nil, fmt.Errorf("new item %q is not new: the model knows it", item.ID)
		}
		if len(item.row) != m.k {
			panic(fmt.Sprintf("model: rank %d, but new item with a row of %d", m.k, len(item.row)))
		}
		e.index[item.ID] = int32(m.n + i)
		e.append(m, &item)
	}
	if err := checkItems(e.ids); err != nil {
		return nil, err
	}
	rows := make([][]float64, len(items))
	for i := range items {
		rows[i] = items[i].row
	}
	e.setPredictions(m.transition.predict(&e.table, rows))
	e.top = topn.New(e.basis, e.decoderScale, m.k, int32(m.n))
	x := *m
	x.extension, x.mapping = e, mapping{}
	x.extendLocal(items)
	x.version += "+" + e.digest()
	x.popular = e.popular()
	return &x, nil
}

// Base returns the model that m extends, or m itself.
func (m *Model) Base() *Model {
	if m.extension == nil {
		return m
	}
	return m.extension.of
}

// InBase reports whether item i is in the basis, not in an extension.
func (m *Model) InBase(i int32) bool { return int(i) < m.n }

// append adds an item and its row.
func (e *extension) append(m *Model, item *NewItem) {
	degree := min(item.Users, m.spec.TrainUsers)
	e.ids = append(e.ids, item.ID)
	e.degrees = append(e.degrees, degree)
	e.graphScale = append(e.graphScale, item.scale)
	encoder, decoder := Rescale(degree, m.spec.DegreeRescale)
	e.encoderScale = append(e.encoderScale, encoder)
	e.decoderScale = append(e.decoderScale, decoder)
	e.basis = append(e.basis, gemm.ToFloat32(item.row)...)
}

// digest returns 8 hexadecimal digits of a hash of the content.
func (e *extension) digest() string {
	hash := sha256.New()
	for _, id := range e.ids {
		var length [2]byte
		binary.LittleEndian.PutUint16(length[:], uint16(len(id))) // at most event.MaxIDBytes
		hash.Write(length[:])
		hash.Write([]byte(id))
	}
	hash.Write(bytesOf(e.degrees))
	hash.Write(bytesOf(e.basis))
	if e.local != nil {
		hash.Write(bytesOf(e.local.Ptr))
		hash.Write(bytesOf(e.local.Item))
		hash.Write(bytesOf(e.local.Value))
	}
	return hex.EncodeToString(hash.Sum(nil)[:4])
}

// popular merges the items of e into the popularity order of the base.
func (e *extension) popular() []int32 {
	own := ranking.Order(e.degrees)
	for i := range own {
		own[i] += int32(e.of.n)
	}
	return ranking.Merge(e.of.popular, own, func(i int32) int64 {
		if int(i) < e.of.n {
			return e.of.degrees[i]
		}
		return e.degrees[int(i)-e.of.n]
	})
}

// finite reports whether all elements of v are in the range of finite float32 numbers.
func finite(v []float64) bool {
	for _, x := range v {
		if !(math.Abs(x) <= math.MaxFloat32) {
			return false
		}
	}
	return true
}
