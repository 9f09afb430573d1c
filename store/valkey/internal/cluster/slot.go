package cluster

import (
	"strconv"
	"strings"
	"sync"
)

// Slots is the number of slots of a cluster.
const Slots = 16384

// Slot returns the slot of a key: the CRC-16 (XMODEM) of its tag modulo [Slots]. The tag is what
// stands between the first brace and the next closing one, if there is anything, and else the key.
func Slot(key string) uint16 {
	if _, rest, ok := strings.Cut(key, "{"); ok {
		if tag, _, ok := strings.Cut(rest, "}"); ok && tag != "" {
			key = tag
		}
	}
	table := crcTable()
	var crc uint16
	for i := range len(key) {
		crc = crc<<8 ^ table[byte(crc>>8)^key[i]]
	}
	return crc % Slots
}

var crcTable = sync.OnceValue(func() *[256]uint16 {
	const polynomial = 0x1021
	var table [256]uint16
	for i := range table {
		crc := uint16(i) << 8
		for range 8 {
			carry := crc&0x8000 != 0
			if crc <<= 1; carry {
				crc ^= polynomial
			}
		}
		table[i] = crc
	}
	return &table
})

// Tags returns a tag with the prefix for each slot, so that a key that belongs to no user can stand
// in the slot of one.
func Tags(prefix string) *[Slots]string {
	var tags [Slots]string
	for i, left := 0, Slots; left > 0; i++ {
		tag := prefix + strconv.Itoa(i)
		if s := Slot(tag); tags[s] == "" {
			tags[s] = tag
			left--
		}
	}
	return &tags
}
