package store

import (
	"encoding/binary"
	"math"
	"testing"
)

// What AppendMore does not write is refused: by tags, lengths, names and numbers.
func TestReadMoreRefuses(t *testing.T) {
	number := func(name string, x float64) string {
		return string(binary.LittleEndian.AppendUint64(append([]byte{byte(len(name))}, name...),
			math.Float64bits(x)))
	}
	field := func(tag byte, content string) string {
		return string(binary.AppendUvarint([]byte{tag}, uint64(len(content)))) + content
	}
	point := string(binary.LittleEndian.AppendUint32(nil, math.Float32bits(1)))
	many := ""
	for at := range byte(21) {
		many += number("n"+string('a'+at), 1)
	}
	for text, good := range map[string]bool{
		"": true, field(1, point): true, field(2, number("a", 1)+number("b", -0.5)): true,
		field(1, point) + field(2, number("a", 1)):          true,
		field(2, number("a", 1)) + field(1, point):          false,
		field(2, number("a", 1)) + field(2, number("b", 1)): false,
		field(3, point): false, field(0, point): false, field(1, ""): false, field(2, ""): false,
		field(1, point+"x"): false, field(2, number("a", 1)+"x"): false,
		field(2, number("b", 1)+number("a", 1)): false, field(2, number("a", 1)+number("a", 2)): false,
		field(2, number("", 1)): false, field(2, number("A", 1)): false,
		field(2, number("a", math.NaN())): false, field(2, number("a", math.Inf(1))): false,
		field(2, many): false, "\x02": false, "\x02\x0a\x01": false,
		"\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01": false,
	} {
		if got := new(Item).ReadMore([]byte(text)); got != good {
			t.Errorf("%q is read: %t, want %t", text, got, good)
		}
	}
}
