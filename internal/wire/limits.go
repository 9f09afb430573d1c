package wire

import (
	"fmt"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Limits are the most elements that repeated fields may have, by the full names of the fields. A
// message with more is not decoded: an empty element takes two bytes of a message and a hundred
// times as many in memory. The elements of a field within the messages of a repeated field count
// together, and may be inLists times as many.
type Limits map[protoreflect.FullName]int

// inLists is the number of full lists that may stand in the messages of a list.
const inLists = 10

// counters has the counter of each message that was met, nil for those without limits.
type counters struct {
	limits Limits
	known  sync.Map // of *counter by protoreflect.FullName
}

// of returns the counter of a message.
func (c *counters) of(message protoreflect.MessageDescriptor) *counter {
	if known, ok := c.known.Load(message.FullName()); ok {
		return known.(*counter)
	}
	fields := 0
	made := c.limits.counter(message, 1, &fields)
	c.known.Store(message.FullName(), made)
	return made
}

// counter counts the elements of the repeated fields of an encoded message.
type counter struct{ fields []countedField }

// countedField is a field with a limit, or a message with such fields.
type countedField struct {
	number protowire.Number
	name   string
	limit  int // 0: none
	index  int // of its count
	inner  *counter
}

// maxCounted is the number of fields of one message that may have limits, inner ones included.
const maxCounted = 64

// counter returns the counter of a message, nil if it has no limit. Its recursion ends with the
// schema: no request contains itself.
func (l Limits) counter(
	message protoreflect.MessageDescriptor, times int, fields *int,
) *counter {
	c := &counter{}
	for i := range message.Fields().Len() {
		d := message.Fields().Get(i)
		f := countedField{number: d.Number(), name: string(d.Name())}
		f.limit = times * l[d.FullName()]
		if f.limit > 0 {
			f.index = *fields
			if *fields++; *fields > maxCounted {
				panic(fmt.Sprintf("wire: %s has more than %d limits", message.FullName(),
					maxCounted))
			}
		}
		switch {
		case d.Message() != nil && d.IsList():
			f.inner = l.counter(d.Message(), times*inLists, fields)
		case d.Message() != nil:
			f.inner = l.counter(d.Message(), times, fields)
		}
		if f.limit > 0 || f.inner != nil {
			c.fields = append(c.fields, f)
		}
	}
	if len(c.fields) == 0 {
		return nil
	}
	return c
}

// excess returns the path of the first field of an encoded message that has too many elements, and
// its limit. It looks no further than there, nor than the place where the encoding is broken, and
// allocates nothing for a good message. The parts of a message that is sent in parts are added up.
func (c *counter) excess(b []byte, counts *[maxCounted]int) (path string, limit int) {
	for len(b) > 0 {
		number, kind, tagLen := protowire.ConsumeTag(b)
		if tagLen < 0 {
			return "", 0
		}
		valueLen := protowire.ConsumeFieldValue(number, kind, b[tagLen:])
		if valueLen < 0 {
			return "", 0
		}
		value := b[tagLen : tagLen+valueLen]
		b = b[tagLen+valueLen:]
		f := c.field(number)
		if f == nil || kind != protowire.BytesType {
			continue
		}
		if f.limit > 0 {
			if counts[f.index]++; counts[f.index] > f.limit {
				return f.name, f.limit
			}
		}
		if f.inner != nil {
			content, _ := protowire.ConsumeBytes(value)
			if path, limit := f.inner.excess(content, counts); limit > 0 {
				return f.name + "." + path, limit
			}
		}
	}
	return "", 0
}

func (c *counter) field(number protowire.Number) *countedField {
	for i := range c.fields {
		if c.fields[i].number == number {
			return &c.fields[i]
		}
	}
	return nil
}

// tooMany is the problem of a field beyond its limit.
func tooMany(limit int) string { return fmt.Sprintf("has more than %d elements", limit) }
