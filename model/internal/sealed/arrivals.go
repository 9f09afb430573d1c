package sealed

import (
	"fmt"

	"github.com/gsimc/gsimc/internal/file/safetensors"
	"github.com/gsimc/gsimc/model/local"
)

// Arrivals lists the arrays of the local terms of new items.
func Arrivals(arrivals []local.Arrival) []Tensor {
	t := local.TableOf(arrivals)
	ts := []Tensor{Numbers("local_source", t.Source), Numbers("local_target", t.Target)}
	ts = append(ts, entryTensors("row", &t.Rows)...)
	ts = append(ts, entryTensors("column", &t.Columns)...)
	ts = append(ts, entryTensors("other", &t.Others)...)
	ts = append(ts, Numbers("other_columns", t.OtherColumns))
	return append(ts, Texts("name", t.Names)...)
}

func entryTensors(name string, e *local.Entries) []Tensor {
	return []Tensor{
		Numbers(name+"_offsets", e.Ptr),
		Numbers(name+"_items", e.Item),
		Numbers(name+"_values", e.Value),
	}
}

// ReadArrivals reads the arrays of [Arrivals] for items with these ids, which are new to n items
// with a local term by spec. After an error of r it returns nil.
func ReadArrivals(r *safetensors.Reader, spec *local.Spec, n int, ids []string) []local.Arrival {
	items := int64(len(ids))
	t := local.ArrivalTable{
		Source: safetensors.Array[float64](r, "local_source", items),
		Target: safetensors.Array[float64](r, "local_target", items),
		Rows:   readEntries(r, "row"), Columns: readEntries(r, "column"),
		Others:       readEntries(r, "other"),
		OtherColumns: safetensors.Array[float32](r, "other_columns", -1),
		Names:        ReadNames(r),
	}
	if r.Err != nil {
		return nil
	}
	var arrivals []local.Arrival
	arrivals, r.Err = t.Arrivals(spec, n, ids)
	return arrivals
}

// ReadNames reads the texts "name", of any number.
func ReadNames(r *safetensors.Reader) []string {
	shape := r.File.Arrays["name_offsets"].Shape
	if r.Err == nil && (len(shape) != 1 || shape[0] == 0) {
		r.Err = fmt.Errorf("name_offsets have the shape %v", shape)
	}
	if r.Err != nil {
		return nil
	}
	return r.Strings("name", shape[0]-1)
}

func readEntries(r *safetensors.Reader, name string) local.Entries {
	return local.Entries{
		Ptr:   safetensors.Array[int64](r, name+"_offsets", -1),
		Item:  safetensors.Array[int32](r, name+"_items", -1),
		Value: safetensors.Array[float32](r, name+"_values", -1),
	}
}
