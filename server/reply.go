package server

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/ranking"
)

// reply is the answer of one Recommend: a RecommendResponse that was never made. It encodes itself straight from the items of
// the model; a message for each of a hundred results would cost as much as to find them.
type reply struct {
	model        *model.Model
	top          []ranking.Scored
	source       pb.ResultSource   // of all items
	deviations   []float32         // score_stddev of each item; empty: unset
	explanations []*pb.Explanation // of each item; empty: unset
	packed       bool              // the items are sent as PackedItems

	revision     uint64
	unknown      []string
	listed       map[string]bool // unknown as a set; nil while it is empty
	degradations []pb.Degradation
	uncertainty  float64
	uncertain    bool // uncertainty is known
	seed         uint64
}

// reset keeps nothing but memory.
func (r *reply) reset() {
	clear(r.unknown)
	*r = reply{deviations: r.deviations[:0], unknown: r.unknown[:0], degradations: r.degradations[:0]}
}

// noteUnknown adds an id that the model does not know, unless it is there.
func (r *reply) noteUnknown(id string) {
	if r.listed[id] {
		return
	}
	if r.listed == nil {
		r.listed = map[string]bool{}
	}
	r.listed[id] = true
	r.unknown = append(r.unknown, id)
}

// The numbers of the fields, see the .proto files. All their tags take one byte.
const (
	responseItems           = protowire.Number(1)
	responseModelVersion    = protowire.Number(4)
	responseUserRevision    = protowire.Number(6)
	responseUnknownItemIDs  = protowire.Number(7)
	responseDegradations    = protowire.Number(8)
	responseUncertainty     = protowire.Number(9)
	responseExplorationSeed = protowire.Number(10)
	responsePackedItems     = protowire.Number(11)

	itemItemID      = protowire.Number(1)
	itemScore       = protowire.Number(2)
	itemSource      = protowire.Number(3)
	itemScoreStddev = protowire.Number(4)
	itemExplanation = protowire.Number(5)

	packedItemIDs      = protowire.Number(1)
	packedScores       = protowire.Number(2)
	packedSource       = protowire.Number(3)
	packedScoreStddevs = protowire.Number(4)
	packedExplanations = protowire.Number(5)

	tagSize, doubleSize, floatSize = 1, 1 + 8, 4 // bytes; that of a double with its tag
)

// appendTo appends the encoded RecommendResponse to b: the very bytes of proto.Marshal.
func (r *reply) appendTo(b []byte) ([]byte, error) {
	var err error
	if !r.packed {
		for i := range r.top {
			if b, err = r.appendItem(b, i); err != nil {
				return nil, err
			}
		}
	}
	b = appendString(b, responseModelVersion, r.model.Version())
	b = appendUint(b, responseUserRevision, r.revision)
	for _, id := range r.unknown {
		b = appendString(b, responseUnknownItemIDs, id)
	}
	if len(r.degradations) > 0 {
		b = appendLength(b, responseDegradations, len(r.degradations))
		for _, d := range r.degradations {
			b = protowire.AppendVarint(b, uint64(d)) // one byte
		}
	}
	if r.uncertain {
		b = appendDouble(b, responseUncertainty, r.uncertainty)
	}
	b = appendUint(b, responseExplorationSeed, r.seed)
	if r.packed {
		b, err = r.appendPacked(b)
	}
	return b, err
}

// appendItem appends item i as a ScoredItem.
func (r *reply) appendItem(b []byte, i int) ([]byte, error) {
	id, score := r.model.ItemID(r.top[i].Item), float64(r.top[i].Score)
	scored := math.Float64bits(score) != 0 // a −0 is sent
	size := tagSize + protowire.SizeBytes(len(id)) + r.sizeSource()
	if scored {
		size += doubleSize
	}
	if len(r.deviations) > 0 {
		size += doubleSize
	}
	if len(r.explanations) > 0 {
		size += sizeMessage(r.explanations[i])
	}
	b = appendLength(b, responseItems, size)
	b = appendString(b, itemItemID, id)
	if scored {
		b = appendDouble(b, itemScore, score)
	}
	b = appendUint(b, itemSource, uint64(r.source))
	if len(r.deviations) > 0 {
		b = appendDouble(b, itemScoreStddev, float64(r.deviations[i]))
	}
	if len(r.explanations) > 0 {
		return appendMessage(b, itemExplanation, r.explanations[i])
	}
	return b, nil
}

// appendPacked appends all items as PackedItems.
func (r *reply) appendPacked(b []byte) ([]byte, error) {
	size := r.sizeSource() + sizeFloats(len(r.top)) + sizeFloats(len(r.deviations))
	for _, t := range r.top {
		size += tagSize + protowire.SizeBytes(len(r.model.ItemID(t.Item)))
	}
	for _, x := range r.explanations {
		size += sizeMessage(x)
	}
	b = appendLength(b, responsePackedItems, size)
	for _, t := range r.top {
		b = appendString(b, packedItemIDs, r.model.ItemID(t.Item))
	}
	if len(r.top) > 0 {
		b = appendLength(b, packedScores, floatSize*len(r.top))
		for _, t := range r.top {
			b = protowire.AppendFixed32(b, math.Float32bits(t.Score))
		}
	}
	b = appendUint(b, packedSource, uint64(r.source))
	if len(r.deviations) > 0 {
		b = appendLength(b, packedScoreStddevs, floatSize*len(r.deviations))
		for _, d := range r.deviations {
			b = protowire.AppendFixed32(b, math.Float32bits(d))
		}
	}
	for _, x := range r.explanations {
		var err error
		if b, err = appendMessage(b, packedExplanations, x); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// The size… functions are the sizes of fields with their tags, in bytes.

func (r *reply) sizeSource() int {
	if r.source == 0 {
		return 0
	}
	return tagSize + protowire.SizeVarint(uint64(r.source))
}

func sizeFloats(n int) int {
	if n == 0 {
		return 0
	}
	return tagSize + protowire.SizeBytes(floatSize*n)
}

func sizeMessage(m proto.Message) int { return tagSize + protowire.SizeBytes(proto.Size(m)) }

// appendLength appends the start of a field of size bytes.
func appendLength(b []byte, field protowire.Number, size int) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.BytesType), uint64(size))
}

// appendString appends a string, which in a model and in a valid request is never empty.
func appendString(b []byte, field protowire.Number, s string) []byte {
	return append(appendLength(b, field, len(s)), s...)
}

// appendUint appends a field without presence: 0 is left out.
func appendUint(b []byte, field protowire.Number, v uint64) []byte {
	if v == 0 {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
}

func appendDouble(b []byte, field protowire.Number, v float64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(b, field, protowire.Fixed64Type), math.Float64bits(v))
}

func appendMessage(b []byte, field protowire.Number, m proto.Message) ([]byte, error) {
	return proto.MarshalOptions{UseCachedSize: true}.MarshalAppend(appendLength(b, field, proto.Size(m)), m)
}
