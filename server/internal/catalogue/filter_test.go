package catalogue

import (
	"bytes"
	"reflect"
	"testing"
)

// TestEveryListOfAFilterCounts sets each field of a filter alone: it is then not empty, and its
// answers are kept apart from those of all other filters.
func TestEveryListOfAFilterCounts(t *testing.T) {
	keys := [][]byte{new(Filter).key(nil, false)}
	for i := range reflect.TypeFor[Filter]().NumField() {
		f := new(Filter)
		field := reflect.ValueOf(f).Elem().Field(i)
		switch field.Kind() {
		case reflect.Pointer:
			field.Set(reflect.New(field.Type().Elem()))
		case reflect.Slice:
			field.Set(reflect.MakeSlice(field.Type(), 1, 1))
		default:
			t.Fatalf("%s: how is a field of this kind set?", reflect.TypeFor[Filter]().Field(i).Name)
		}
		if f.And != nil {
			f.And[0] = &Filter{AnyLabels: []string{"x"}}
		}
		key := f.key(nil, false)
		for _, other := range keys {
			if f.empty() || bytes.Equal(key, other) {
				t.Errorf("%s: empty %t, key %q, that of another filter %q",
					reflect.TypeFor[Filter]().Field(i).Name, f.empty(), key, other)
			}
		}
		keys = append(keys, key)
	}
}
