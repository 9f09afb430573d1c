package row

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/gsimc/gsimc/store"
)

const (
	itemVersion       = 1
	titledItemVersion = 2 // the title follows the names
	moreItemVersion   = 3 // and then store.Item.AppendMore

	flagHidden = 1
)

// ItemPrefix begins the keys of the items of the catalogue; the ids follow. ItemEnd is above them.
var (
	ItemPrefix = []byte("\x00\x00catalogue:")
	ItemEnd    = []byte("\x00\x00catalogue;")
)

// ItemKey returns the key of an item, in the memory of dst.
func ItemKey(dst []byte, id string) []byte { return append(append(dst[:0], ItemPrefix...), id...) }

// ItemID returns the id in the key of an item.
func ItemID(key []byte) string { return string(key[len(ItemPrefix):]) }

// EncodeItem returns the value of the row of an item, in the memory of dst.
func EncodeItem(dst, key []byte, i *store.Item) []byte {
	flags := byte(0)
	if i.Hidden {
		flags = flagHidden
	}
	version := byte(itemVersion)
	switch {
	case i.HasMore():
		version = moreItemVersion
	case i.Title != "":
		version = titledItemVersion
	}
	dst = append(dst[:0], version, flags)
	for _, t := range []time.Time{i.From, i.Until} {
		micros := int64(math.MinInt64)
		if !t.IsZero() {
			micros = t.UnixMicro()
		}
		dst = binary.AppendVarint(dst, micros)
	}
	for _, names := range [][]string{i.Categories, i.Labels} {
		dst = binary.AppendUvarint(dst, uint64(len(names)))
		for _, name := range names {
			dst = appendString(dst, name)
		}
	}
	if version >= titledItemVersion {
		dst = appendString(dst, i.Title)
	}
	return End(i.AppendMore(dst), 0, key)
}

// DecodeItem decodes the row of an item. Nothing in the result refers to key or value. Its error
// wraps [store.ErrCorrupt].
func DecodeItem(key, value []byte) (store.Item, error) {
	version := byte(itemVersion)
	if len(value) > 0 && value[0] <= moreItemVersion {
		version = max(version, value[0])
	}
	body, err := versioned(key, value, version)
	if err == nil {
		var i store.Item
		if i, err = decodeItem(body, version); err == nil {
			i.ID = ItemID(key)
			return i, nil
		}
		err = fmt.Errorf("%w: %w", store.ErrCorrupt, err)
	}
	return store.Item{}, fmt.Errorf("item: %w", err)
}

func decodeItem(b []byte, version byte) (i store.Item, err error) {
	if len(b) == 0 {
		return i, errShort
	}
	i.Hidden = b[0]&flagHidden != 0
	b = b[1:]
	for _, t := range []*time.Time{&i.From, &i.Until} {
		micros, n := binary.Varint(b)
		if n <= 0 {
			return i, errShort
		}
		b = b[n:]
		if micros != math.MinInt64 {
			*t = time.UnixMicro(micros).UTC()
		}
	}
	for _, names := range []*[]string{&i.Categories, &i.Labels} {
		count, n := binary.Uvarint(b)
		if n <= 0 || count > store.MaxItemNames {
			return i, errShort
		}
		b = b[n:]
		for range count {
			var name []byte
			if name, b, err = cut(b); err != nil {
				return i, err
			}
			*names = append(*names, string(name))
		}
	}
	if version >= titledItemVersion {
		var title []byte
		if title, b, err = cut(b); err != nil {
			return i, err
		}
		i.Title = string(title)
	}
	if version < moreItemVersion && len(b) > 0 {
		return i, errors.New("bytes behind the last field")
	}
	if !i.ReadMore(b) {
		return i, errors.New("fields behind the title that cannot be read")
	}
	return i, nil
}
