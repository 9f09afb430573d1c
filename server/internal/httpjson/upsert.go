package httpjson

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/event"
	"github.com/gsimc/gsimc/server/internal/valid"
)

// nameFields gives an upsert without a mask one, if an item names a field whose value is empty,
// such as "categories": []. The message cannot tell it from a field that is not there, which the
// item keeps. One mask is for all items, so they have to name the same fields then. text is the
// JSON of the request.
func nameFields(req *pb.BatchUpsertItemsRequest, text []byte) error {
	if len(req.GetUpdateMask().GetPaths()) > 0 || len(req.GetItems()) > valid.MaxItems {
		return nil
	}
	var body struct {
		Items []map[string]json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(text, &body); err != nil {
		return err
	}
	var (
		mask  []string
		empty string // the first field that is
		only  string // the first field that not all items name, with one that does
	)
	for i, item := range body.Items {
		names := fieldsOf(item)
		if i == 0 {
			mask = names
		}
		if only == "" {
			only = cmp.Or(onlyIn(0, mask, names), onlyIn(i, names, mask))
		}
		m := req.GetItems()[i].ProtoReflect()
		for _, name := range names {
			field, _, _ := strings.Cut(name, ".")
			f := m.Descriptor().Fields().ByName(protoreflect.Name(field))
			if empty == "" && !m.Has(f) {
				empty = fmt.Sprintf("items[%d].%s", i, name)
			}
		}
	}
	switch {
	case empty == "":
	case only != "":
		return &fault{empty, "is empty, and " + only + " is not there in all items: say in " +
			"updateMask which fields to write, or leave out what an item keeps"}
	default:
		req.UpdateMask = &fieldmaskpb.FieldMask{Paths: mask}
	}
	return nil
}

// onlyIn names the first field of item i that is not one of the others; empty: there is none.
func onlyIn(i int, fields, others []string) string {
	for _, name := range fields {
		if !slices.Contains(others, name) {
			return fmt.Sprintf("items[%d].%s", i, name)
		}
	}
	return ""
}

// fieldsOf returns the fields that a JSON item names beside its id, sorted. Numbers are named one
// by one, unless there are none.
func fieldsOf(item map[string]json.RawMessage) (names []string) {
	for key, value := range item {
		name := snake(key)
		var numbers map[string]json.RawMessage
		if name == valid.FieldNumbers && json.Unmarshal(value, &numbers) == nil {
			for number := range numbers {
				if event.ValidNumberName(number) { // the others are refused where they stand
					names = append(names, valid.FieldNumber+number)
				}
			}
		}
		if name != "item_id" && len(numbers) == 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
