package mapping

import (
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/event"
)

// mostItem is the largest size of the value of an item, so that hardly a message is larger than a
// server takes. An item of the most that the API takes is smaller.
const mostItem = 1 << 20

// Item is what a record says of an item of the catalogue.
type Item struct {
	*pb.Item // all but the id is empty if the item is to be deleted
	Deleted  bool
	// Mask names the fields to write. It is nil if no field of the record is empty; then the fields
	// that are set in Item are written.
	Mask []string
}

// ItemOf returns what a record says of the item that its key names. Other members of the value than
// the fields of an item are left alone, as those beside the fields of an event are.
func ItemOf(r *kgo.Record) (*Item, error) {
	id, err := itemKey(r.Key)
	if err != nil {
		return nil, err
	}
	if r.Value == nil {
		return &Item{Item: &pb.Item{ItemId: id}, Deleted: true}, nil
	}
	if len(r.Value) > mostItem {
		return nil, fmt.Errorf("the record has %d bytes, at most %d", len(r.Value), mostItem)
	}
	o, err := objectOf(r.Value)
	if err != nil {
		return nil, err
	}
	item := &pb.Item{}
	options := protojson.UnmarshalOptions{DiscardUnknown: true}
	if err := options.Unmarshal(r.Value, item); err != nil {
		return nil, fmt.Errorf("the record is no item: %w", err)
	}
	if own := item.GetItemId(); own != "" && own != id {
		return nil, fmt.Errorf("item_id is %.40q, and the key %.40q", own, id)
	}
	item.ItemId = id
	fields, empty := named(o, item)
	if len(fields) == 0 {
		return nil, errors.New("the record has no field of an item, such as title")
	}
	if !empty {
		fields = nil
	}
	return &Item{Item: item, Mask: fields}, nil
}

// itemKey reads the key of a record.
func itemKey(key []byte) (string, error) {
	switch {
	case len(key) == 0:
		return "", errors.New("the key is empty, want the id of an item")
	case !utf8.Valid(key) || key[0] == 0: // else a number or a schema's id would be one
		return "", errors.New("the key is no text, want the id of an item")
	case key[0] == '"' || key[0] == '{': // else the quotes would be of the id
		return "", errors.New("the key is JSON, want the id of an item as it is")
	case len(key) > mostText:
		return "", fmt.Errorf("the key has %d bytes, at most %d", len(key), mostText)
	}
	return string(key), nil
}

// named returns the fields that an object names beside the id, by their names in a mask, sorted,
// and whether one of them is empty, which the message cannot tell from one that is not there.
// Numbers are named one by one, unless there are none.
func named(o object, item *pb.Item) (fields []string, empty bool) {
	m := item.ProtoReflect()
	all := m.Descriptor().Fields()
	for _, member := range o {
		f := all.ByJSONName(string(member.name))
		if f == nil {
			f = all.ByName(protoreflect.Name(member.name))
		}
		if f == nil || f.Name() == "item_id" {
			continue
		}
		empty = empty || !m.Has(f)
		before := len(fields)
		if f.IsMap() {
			numbers, _ := members(nil, member.value)
			for _, number := range numbers {
				if name := string(number.name); event.ValidNumberName(name) { // else refused
					fields = append(fields, string(f.Name())+"."+name)
				}
			}
		}
		if len(fields) == before {
			fields = append(fields, string(f.Name()))
		}
	}
	slices.Sort(fields)
	return slices.Compact(fields), empty
}
