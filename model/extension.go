package model

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/gsimc/gsimc/internal/file/safetensors"
	"github.com/gsimc/gsimc/model/internal/sealed"
	"github.com/gsimc/gsimc/model/local"
)

// Constants of the documents of extensions, which have the format of model files otherwise.
const (
	formatExtension    = "extension 1"
	extensionAlignment = 64 // of tensors, so that a small extension is a small document
	baseKey            = "base"
	rankKey            = "rank"
)

// EncodeExtension returns the document of an extension of the base of m, [Model.Base], by the
// items. The same items, in any order, give the same bytes. It holds all numbers of the extension
// that come from powers or sums, so that every processor makes the same model of it. The errors are
// those of [Model.Extend].
func (m *Model) EncodeExtension(items []NewItem) ([]byte, error) {
	m, items = m.Base(), byID(items)
	for i := range items {
		if k := len(items[i].row); k != m.k {
			panic(fmt.Sprintf("model: rank %d, but new item with a row of %d", m.k, k))
		}
	}
	if err := m.checkNew(items); err != nil {
		return nil, err
	}
	meta := map[string]string{
		formatKey: formatExtension, baseKey: m.version, rankKey: strconv.Itoa(m.k),
	}
	return sealed.LayOut(meta, m.extensionTensors(items), extensionAlignment).Bytes(), nil
}

// byID returns the items in the order of their ids. They are large, so pointers to them are sorted.
func byID(items []NewItem) (sorted []NewItem) {
	var order []*NewItem
	for i := range items {
		order = append(order, &items[i])
	}
	slices.SortFunc(order, func(a, b *NewItem) int { return cmp.Compare(a.ID, b.ID) })
	for _, item := range order {
		sorted = append(sorted, *item)
	}
	return sorted
}

// checkNew checks that the items, in the order of their ids, are new to the base m.
func (m *Model) checkNew(items []NewItem) error {
	ids := make([]string, len(items))
	for i := range items {
		if ids[i] = items[i].ID; m.knows(ids[i]) {
			return fmt.Errorf("item %d of the extension is not new: the model knows it", i)
		}
	}
	if len(items) > math.MaxInt32-m.n {
		return fmt.Errorf("%d new items beside %d are more than a model may have", len(items), m.n)
	}
	return sealed.CheckIDs(ids)
}

// knows reports whether an item is in the basis.
func (m *Model) knows(id string) bool { _, known := m.index[id]; return known }

// extensionTensors lists the arrays of a document.
func (m *Model) extensionTensors(items []NewItem) []sealed.Tensor {
	e := newExtension(m, items)
	users, arrivals := make([]int64, len(items)), make([]local.Arrival, len(items))
	for i := range items {
		users[i], arrivals[i] = items[i].Users, items[i].local
	}
	n := int64(len(items))
	ts := []sealed.Tensor{
		sealed.Numbers("basis", e.basis, n, int64(m.k)),
		sealed.Numbers("predictions", e.predictions, n, int64(m.width)),
		sealed.Numbers("graph_scale", e.graphScale),
		sealed.Numbers("users", users),
		sealed.Numbers("encoder_scale", e.encoderScale),
		sealed.Numbers("decoder_scale", e.decoderScale),
	}
	ts = append(append(ts, sealed.Texts("item", e.ids)...), sealed.Near(e.near)...)
	if m.local == nil {
		return ts
	}
	return append(ts, sealed.Arrivals(arrivals)...)
}

// DecodeExtension returns the base of m, [Model.Base], extended by a document of
// [Model.EncodeExtension], and the items of the document, which keep using its memory. It checks
// the checksum and all numbers. It is an error if the document is damaged, or of another base.
func (m *Model) DecodeExtension(document []byte) (*Model, []NewItem, error) {
	m = m.Base()
	f, err := safetensors.Parse(document)
	if err != nil {
		return nil, nil, fmt.Errorf("it is damaged: %w", err)
	}
	if format := f.Meta[formatKey]; format != formatExtension {
		return nil, nil, fmt.Errorf("the format is %+q, want %q", format, formatExtension)
	}
	version, err := sealed.Verify(f, document)
	if err != nil {
		return nil, nil, fmt.Errorf("it is damaged: %w", err)
	}
	if base := f.Meta[baseKey]; base != m.version {
		return nil, nil, fmt.Errorf("it extends the model %+q, and not %q", base, m.version)
	}
	if rank := f.Meta[rankKey]; rank != strconv.Itoa(m.k) {
		return nil, nil, fmt.Errorf("it is of rank %+q, and the model is of %d", rank, m.k)
	}
	items, err := m.newItems(f)
	if err != nil {
		return nil, nil, err
	}
	return m.extendBy(items, version), items, nil
}

// newItems reads the items of a document whose checksum is right.
func (m *Model) newItems(f *safetensors.File) ([]NewItem, error) {
	r := &safetensors.Reader{File: f}
	shape := f.Arrays["basis"].Shape
	if len(shape) != 2 {
		return nil, errors.New(`there is no matrix "basis"`)
	}
	n, k, width := shape[0], int64(m.k), int64(m.width)
	basis := safetensors.Array[float32](r, "basis", n, k)
	predictions := safetensors.Array[float32](r, "predictions", n, width)
	graphScale := safetensors.Array[float64](r, "graph_scale", n)
	users := safetensors.Array[int64](r, "users", n)
	encoderScale := safetensors.Array[float32](r, "encoder_scale", n)
	decoderScale := safetensors.Array[float32](r, "decoder_scale", n)
	ids := r.Strings("item", n)
	near := sealed.ReadNear(r, n, m.n, ContentNeighbours)
	var arrivals []local.Arrival
	if m.local != nil {
		arrivals = sealed.ReadArrivals(r, &m.spec.Local, m.n, ids)
	}
	if r.Err != nil {
		return nil, r.Err
	}
	for _, values := range [][]float32{basis, predictions, encoderScale, decoderScale} {
		if err := sealed.CheckFinite("an array", values); err != nil {
			return nil, err
		}
	}
	items := make([]NewItem, n)
	for i := range items {
		items[i] = NewItem{ID: ids[i], Users: users[i],
			row: row(basis, i, m.k), predictions: row(predictions, i, m.width),
			encoderScale: encoderScale[i], decoderScale: decoderScale[i],
			graphScale: graphScale[i], near: near[i]}
		if arrivals != nil {
			items[i].local = arrivals[i]
		}
		if users[i] < 1 || !(graphScale[i] >= 0 && graphScale[i] <= math.MaxFloat32) {
			return nil, fmt.Errorf("new item %d has %d users and the scale %v", i, users[i],
				graphScale[i])
		}
	}
	return items, m.checkNew(items)
}
