package model

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/gsimc/gsimc/internal/file/safetensors"
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
// that come from powers or sums, so that every processor makes the same model of it.
//
// The errors are those of [Model.Extend].
func (m *Model) EncodeExtension(items []NewItem) ([]byte, error) {
	m = m.Base()
	items = slices.Clone(items)
	slices.SortFunc(items, func(a, b NewItem) int { return cmp.Compare(a.ID, b.ID) })
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
	im := layOut(meta, m.extensionTensors(items), extensionAlignment)
	document := im.header
	for _, t := range im.tensors {
		document = append(document, t.data...)
	}
	return document, nil
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
	return checkItems(ids)
}

// knows reports whether an item is in the basis.
func (m *Model) knows(id string) bool { _, known := m.index[id]; return known }

// extensionTensors lists the arrays of a document.
func (m *Model) extensionTensors(items []NewItem) []tensor {
	var (
		basis, predictions         []float32
		encoderScale, decoderScale []float32
		graphScale                 []float64
		users                      []int64
		ids                        []string
		arrivals                   []local.Arrival
	)
	for i := range items {
		item := &items[i]
		basis, predictions = append(basis, item.row...), append(predictions, item.predictions...)
		encoderScale = append(encoderScale, item.encoderScale)
		decoderScale = append(decoderScale, item.decoderScale)
		graphScale, users = append(graphScale, item.graphScale), append(users, item.Users)
		ids, arrivals = append(ids, item.ID), append(arrivals, item.local)
	}
	n, k, width := int64(len(items)), int64(m.k), int64(m.width)
	offsets, packed := packIDs(ids)
	ts := []tensor{
		{"basis", dtypeF32, []int64{n, k}, safetensors.Bytes(basis)},
		{"predictions", dtypeF32, []int64{n, width}, safetensors.Bytes(predictions)},
		{"graph_scale", dtypeF64, []int64{n}, safetensors.Bytes(graphScale)},
		{"users", dtypeI64, []int64{n}, safetensors.Bytes(users)},
		{"encoder_scale", dtypeF32, []int64{n}, safetensors.Bytes(encoderScale)},
		{"decoder_scale", dtypeF32, []int64{n}, safetensors.Bytes(decoderScale)},
		{"item_offsets", dtypeI64, []int64{n + 1}, safetensors.Bytes(offsets)},
		{"item_ids", dtypeU8, []int64{int64(len(packed))}, packed},
	}
	if m.local == nil {
		return ts
	}
	t := local.TableOf(arrivals)
	offsets, packed = packIDs(t.Names)
	ts = append(ts,
		tensor{"local_source", dtypeF64, []int64{n}, safetensors.Bytes(t.Source)},
		tensor{"local_target", dtypeF64, []int64{n}, safetensors.Bytes(t.Target)})
	ts = append(ts, entryTensors("row", &t.Rows)...)
	ts = append(ts, entryTensors("column", &t.Columns)...)
	ts = append(ts, entryTensors("other", &t.Others)...)
	return append(ts,
		tensor{"other_columns", dtypeF32, []int64{int64(len(t.OtherColumns))},
			safetensors.Bytes(t.OtherColumns)},
		tensor{"name_offsets", dtypeI64, []int64{int64(len(offsets))}, safetensors.Bytes(offsets)},
		tensor{"name_ids", dtypeU8, []int64{int64(len(packed))}, packed})
}

func entryTensors(name string, e *local.Entries) []tensor {
	n := int64(len(e.Item))
	return []tensor{
		{name + "_offsets", dtypeI64, []int64{int64(len(e.Ptr))}, safetensors.Bytes(e.Ptr)},
		{name + "_items", dtypeI32, []int64{n}, safetensors.Bytes(e.Item)},
		{name + "_values", dtypeF32, []int64{n}, safetensors.Bytes(e.Value)},
	}
}

// DecodeExtension returns the base of m, [Model.Base], extended by a document of
// [Model.EncodeExtension], and the items of the document. Both keep using its memory. It checks the
// checksum and all numbers. It is an error if the document is damaged, or of another base.
func (m *Model) DecodeExtension(document []byte) (*Model, []NewItem, error) {
	m = m.Base()
	h, err := readHeader(document)
	if err != nil {
		return nil, nil, withoutAdvice(err)
	}
	if format := h.Meta[formatKey]; format != formatExtension {
		return nil, nil, fmt.Errorf("the format is %+q, want %q", format, formatExtension)
	}
	version, err := h.verify(document)
	if err != nil {
		return nil, nil, withoutAdvice(err)
	}
	if base := h.Meta[baseKey]; base != m.version {
		return nil, nil, fmt.Errorf("it extends the model %+q, and not %q", base, m.version)
	}
	if rank := h.Meta[rankKey]; rank != strconv.Itoa(m.k) {
		return nil, nil, fmt.Errorf("it is of rank %+q, and the model is of %d", rank, m.k)
	}
	items, err := h.newItems(m)
	if err != nil {
		return nil, nil, err
	}
	return m.extendBy(items, version), items, nil
}

// withoutAdvice is the error of a damaged file without the advice, which is about models.
func withoutAdvice(err error) error {
	if bad, ok := errors.AsType[*badFile](err); ok {
		err = bad.problem
	}
	return fmt.Errorf("it is damaged: %w", err)
}

// newItems reads the items of a document whose checksum is right.
func (h *header) newItems(m *Model) ([]NewItem, error) {
	r := &tensorReader{safetensors.Reader{File: h.File}}
	shape := h.Arrays["basis"].Shape
	if len(shape) != 2 {
		return nil, errors.New(`there is no matrix "basis"`)
	}
	n, k, width := shape[0], int64(m.k), int64(m.width)
	basis := safetensors.View[float32](r.Read("basis", dtypeF32, n, k))
	predictions := safetensors.View[float32](r.Read("predictions", dtypeF32, n, width))
	graphScale := safetensors.View[float64](r.Read("graph_scale", dtypeF64, n))
	users := safetensors.View[int64](r.Read("users", dtypeI64, n))
	encoderScale := safetensors.View[float32](r.Read("encoder_scale", dtypeF32, n))
	decoderScale := safetensors.View[float32](r.Read("decoder_scale", dtypeF32, n))
	ids := r.Strings("item", n)
	arrivals := r.readArrivals(m, ids)
	if r.Err != nil {
		return nil, r.Err
	}
	for _, values := range [][]float32{basis, predictions, encoderScale, decoderScale} {
		if err := checkFinite("an array", values); err != nil {
			return nil, err
		}
	}
	items := make([]NewItem, n)
	for i := range items {
		items[i] = NewItem{ID: ids[i], Users: users[i],
			row: row(basis, i, m.k), predictions: row(predictions, i, m.width),
			encoderScale: encoderScale[i], decoderScale: decoderScale[i],
			graphScale: graphScale[i]}
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

// readArrivals reads the local terms of the items, or returns nil if m has none or after an error.
func (r *tensorReader) readArrivals(m *Model, ids []string) []local.Arrival {
	if m.local == nil {
		return nil
	}
	n := int64(len(ids))
	t := local.ArrivalTable{
		Source: safetensors.View[float64](r.Read("local_source", dtypeF64, n)),
		Target: safetensors.View[float64](r.Read("local_target", dtypeF64, n)),
		Rows:   r.readEntries("row"), Columns: r.readEntries("column"),
		Others:       r.readEntries("other"),
		OtherColumns: safetensors.View[float32](r.Read("other_columns", dtypeF32, -1)),
		Names:        r.readNames(),
	}
	if r.Err != nil {
		return nil
	}
	var arrivals []local.Arrival
	arrivals, r.Err = t.Arrivals(&m.spec.Local, m.n, ids)
	return arrivals
}

// readNames reads the names of the items of which lists have numbers.
func (r *tensorReader) readNames() []string {
	shape := r.File.Arrays["name_offsets"].Shape
	if r.Err == nil && (len(shape) != 1 || shape[0] == 0) {
		r.Err = fmt.Errorf("name_offsets have the shape %v", shape)
	}
	if r.Err != nil {
		return nil
	}
	return r.Strings("name", shape[0]-1)
}

func (r *tensorReader) readEntries(name string) local.Entries {
	return local.Entries{
		Ptr:   safetensors.View[int64](r.Read(name+"_offsets", dtypeI64, -1)),
		Item:  safetensors.View[int32](r.Read(name+"_items", dtypeI32, -1)),
		Value: safetensors.View[float32](r.Read(name+"_values", dtypeF32, -1)),
	}
}
