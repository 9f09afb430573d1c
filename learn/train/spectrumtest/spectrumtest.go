// Package spectrumtest writes spectrum files for tests, as a job over a lake does: from a partition
// in memory, by the definitions and not by the code that the reader of the file is compared with.
package spectrumtest

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/gsimc/gsimc/internal/file/safetensors"
	"github.com/gsimc/gsimc/internal/num/gemm"
	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/kalman/dynamics"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/learn/train"
	"github.com/gsimc/gsimc/model"
)

// Array is an array of a file.
type Array struct {
	DType safetensors.DType
	Shape []int64
	Data  []byte
}

// File is a spectrum file that a test may change before it is sealed.
type File struct {
	Meta   map[string]string
	Arrays map[string]Array
}

// New returns the file of the training users of p for the constants of cfg.
func New(p *dataset.Partition, cfg train.Config) (*File, error) {
	basis, err := train.Solve(p, cfg)
	if err != nil {
		return nil, err
	}
	spec := &cfg.Spec
	moments, err := dynamics.NewMoments(basis.N, train.Each(&p.Train), dynamics.Options{
		Bands: spec.Dynamics.Bands, Positions: int(spec.Dynamics.Positions),
	})
	if err != nil {
		return nil, err
	}
	u := gemm.ToFloat32(basis.U)
	e := make([]float32, len(u))
	for i, d := range basis.Degrees {
		g, _ := model.Rescale(d, spec.DegreeRescale)
		for j := range basis.K {
			e[i*basis.K+j] = g * u[i*basis.K+j]
		}
	}
	normal := moments.Project(e, basis.K, nil)
	n, k, rows := int64(basis.N), int64(basis.K), int64(normal.R*normal.K+1)
	f := &File{Meta: meta(p, &cfg), Arrays: map[string]Array{
		"basis":          {safetensors.F32, []int64{n, k}, safetensors.Bytes(u)},
		"eigenvalues":    {safetensors.F64, []int64{k}, safetensors.Bytes(basis.Kappa)},
		"degrees":        {safetensors.I64, []int64{n}, safetensors.Bytes(basis.Degrees)},
		"graph_scale":    {safetensors.F64, []int64{n}, safetensors.Bytes(basis.Scale)},
		"normal_states":  {safetensors.F64, []int64{rows, rows}, safetensors.Bytes(normal.G)},
		"normal_targets": {safetensors.F64, []int64{rows, k}, safetensors.Bytes(normal.T)},
	}}
	f.Meta["targets"] = strconv.Itoa(normal.N)
	f.Meta["residual"] = strconv.FormatFloat(basis.Report.Residual, 'g', -1, 64)
	f.addItems(p.Items)
	f.addSuccessions(p, basis.Degrees, spec.Local.Neighbours)
	return f, nil
}

func meta(p *dataset.Partition, cfg *train.Config) map[string]string {
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	spec := &cfg.Spec
	return map[string]string{
		"gsimc.spectrum": "1", "program": "a test", "seed": strconv.FormatUint(cfg.Seed, 10),
		"degree_exponent": number(spec.DegreeExponent), "window": strconv.Itoa(spec.Window),
		"degree_rescale":   number(spec.DegreeRescale),
		"bands":            kalman.FormatBands(spec.Dynamics.Bands),
		"positions":        strconv.FormatInt(spec.Dynamics.Positions, 10),
		"local_neighbours": strconv.Itoa(spec.Local.Neighbours),
		"train_users":      strconv.Itoa(p.Train.Len()),
		"interactions":     strconv.Itoa(len(p.Train.Item)),
		"min_user_events":  "2", "min_item_events": "3", "vectors": "7",
		"weighted": strconv.FormatBool(p.Train.Weight != nil), "last_event": "86400",
	}
}

func (f *File) addItems(ids []string) {
	offsets, packed := []int64{0}, []byte(nil)
	for _, id := range ids {
		packed = append(packed, id...)
		offsets = append(offsets, int64(len(packed)))
	}
	f.Arrays["item_offsets"] = Array{
		safetensors.I64, []int64{int64(len(offsets))}, safetensors.Bytes(offsets),
	}
	f.Arrays["item_ids"] = Array{safetensors.U8, []int64{int64(len(packed))}, packed}
}

// addSuccessions adds the strongest 2·neighbours successions of each item, by their definition.
func (f *File) addSuccessions(p *dataset.Partition, degrees []int64, neighbours int) {
	const maxGap, fade, shift, exponent = 10, 0.75, 3, 0.3
	type pair struct{ after, before float64 }
	rows := make([]map[int32]pair, len(degrees))
	for i := range rows {
		rows[i] = map[int32]pair{}
	}
	for u := range p.Train.Len() {
		items := p.Train.Of(u)
		for at, i := range items {
			for gap := 1; gap <= maxGap && at+gap < len(items); gap++ {
				j, w := items[at+gap], math.Pow(fade, float64(gap-1))
				x, y := rows[i][j], rows[j][i]
				rows[i][j] = pair{x.after + w, x.before}
				rows[j][i] = pair{y.after, y.before + w}
			}
		}
	}
	ptr, items, after, before := []int64{0}, []int32{}, []float32{}, []float32{}
	for _, row := range rows {
		strength := func(j int32) float64 {
			return (row[j].after + row[j].before/2) *
				math.Pow(float64(degrees[j]+shift), -exponent)
		}
		kept := slices.SortedFunc(maps.Keys(row), func(a, b int32) int {
			return cmp.Or(cmp.Compare(strength(b), strength(a)), cmp.Compare(a, b))
		})
		kept = kept[:min(len(kept), 2*neighbours)]
		slices.Sort(kept)
		for _, j := range kept {
			items = append(items, j)
			after = append(after, float32(row[j].after))
			before = append(before, float32(row[j].before))
		}
		ptr = append(ptr, int64(len(items)))
	}
	pairs := []int64{int64(len(items))}
	f.Arrays["succession_offsets"] = Array{
		safetensors.I64, []int64{int64(len(ptr))}, safetensors.Bytes(ptr),
	}
	f.Arrays["succession_items"] = Array{safetensors.I32, pairs, safetensors.Bytes(items)}
	f.Arrays["succession_after"] = Array{safetensors.F32, pairs, safetensors.Bytes(after)}
	f.Arrays["succession_before"] = Array{safetensors.F32, pairs, safetensors.Bytes(before)}
}

// Sealed returns the bytes of the file, with the checksum of what is in it now.
func (f *File) Sealed() ([]byte, error) {
	hash := sha256.New()
	for _, key := range slices.Sorted(maps.Keys(f.Meta)) {
		if key != "checksum" {
			hash.Write([]byte(key + "\x00" + f.Meta[key] + "\x00"))
		}
	}
	names := slices.Sorted(maps.Keys(f.Arrays))
	for _, name := range names {
		hash.Write([]byte(name + "\x00"))
		hash.Write(f.Arrays[name].Data)
	}
	f.Meta["checksum"] = hex.EncodeToString(hash.Sum(nil))
	entries, end := map[string]any{safetensors.MetaKey: f.Meta}, int64(0)
	var body bytes.Buffer
	for _, name := range names {
		a := f.Arrays[name]
		begin := end
		end += int64(len(a.Data))
		body.Write(a.Data)
		entries[name] = safetensors.Info{
			DType: a.DType.Name, Shape: a.Shape, Offsets: []int64{begin, end},
		}
	}
	header, err := json.Marshal(entries)
	if err != nil {
		return nil, err
	}
	data := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return slices.Concat(data, header, body.Bytes()), nil
}
