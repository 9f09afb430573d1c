package model

import (
	"math"
	"slices"

	"github.com/gsimc/gsimc/internal/num/topn"
	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/model/internal/sealed"
	"github.com/gsimc/gsimc/model/local"
)

// extension holds items that the basis was not learned from.
type extension struct {
	table
	of    *Model           // the base
	index map[string]int32 // of ids, in the numbering of the extended model
	near  [][]int32        // see Like
}

// NewItem is an item with a row in the basis of a model, from [Evidence.Place] or from a document
// of [Model.EncodeExtension]. [Model.Extend] adds it to the model.
type NewItem struct {
	ID          string
	Users       int64     // at the scale of the training, at least 1
	row         []float32 // k, u in the coordinates of Model.basis
	predictions []float32 // as in table.predictions

	encoderScale, decoderScale float32
	graphScale                 float64
	local                      local.Arrival
	near                       []int32 // items of the base that it borrowed from
}

// Extend returns a model of the items of the base, [Model.Base], and the given items. The given
// items must have been placed by evidence for that base. An earlier extension of m is not part of
// the new model. It is the model that [Model.DecodeExtension] makes of their document, to the bit.
//
// The items of the base keep their indices. The new items follow, in the bytewise order of their
// ids. The extension has no trends. All methods take part in the extension except WriteTo and
// WriteFile, which leave it out. The extended model shares the memory of the base and must not
// outlive it. Its Version is the version of the base, a plus sign, and 16 hexadecimal digits of a
// hash of the document. A state without events on new items is equal to the state of the base, to
// the bit. Its query has the local terms of the base for items of the base, and others for new
// items.
//
// O(extension·(k + log n) + n). It is an error if an id is invalid, repeated, or known to the base;
// the error names the item.
func (m *Model) Extend(items []NewItem) (*Model, error) {
	document, err := m.EncodeExtension(items)
	if err != nil {
		return nil, err
	}
	x, _, err := m.DecodeExtension(document)
	return x, err
}

// extendBy returns the base m with the items, which are new to it, in the order of their ids.
// version is that of the extension.
func (m *Model) extendBy(items []NewItem, version string) *Model {
	e := newExtension(m, items)
	e.index = make(map[string]int32, len(items))
	for i := range items {
		e.index[items[i].ID] = int32(m.n + i)
	}
	e.top = topn.New(e.basis, e.decoderScale, m.k, int32(m.n))
	x := *m
	x.extension, x.memory = e, sealed.Memory{}
	x.extendLocal(items)
	x.version += "+" + version
	x.popular = e.popular()
	return &x
}

// Base returns the model that m extends, or m itself, without trends and rules.
func (m *Model) Base() *Model {
	m = m.WithoutTrends()
	if m.extension == nil {
		return m
	}
	return m.extension.of
}

// InBase reports whether item i is in the basis, not in an extension.
func (m *Model) InBase(i int32) bool { return int(i) < m.n }

// newExtension returns an extension of the base m that has the arrays of the items alone.
func newExtension(m *Model, items []NewItem) *extension {
	e := &extension{of: m, table: table{width: m.width}}
	e.basis = make([]float32, 0, len(items)*m.k)
	e.predictions = make([]float32, 0, len(items)*m.width)
	for i := range items {
		e.append(m, &items[i])
	}
	return e
}

// append adds an item and its row.
func (e *extension) append(m *Model, item *NewItem) {
	e.ids = append(e.ids, item.ID)
	e.degrees = append(e.degrees, min(item.Users, m.spec.TrainUsers))
	e.graphScale = append(e.graphScale, item.graphScale)
	e.encoderScale = append(e.encoderScale, item.encoderScale)
	e.decoderScale = append(e.decoderScale, item.decoderScale)
	e.basis = append(e.basis, item.row...)
	e.predictions = append(e.predictions, item.predictions...)
	e.near = append(e.near, slices.Clone(item.near)) // which may be a part of a document
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

// infinite reports whether x is not in the range of finite float32 numbers.
func infinite(x float64) bool { return !(math.Abs(x) <= math.MaxFloat32) }
