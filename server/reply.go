package server

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/model"
)

// reply is the answer of one Recommend: a RecommendResponse that was never made. It encodes itself straight from the items of
// the model; a message for each of a hundred results would cost more than to find them.
type reply struct {
	model        *model.Model
	top          []model.Scored
	source       pb.ResultSource   // of all items
	deviations   []float32         // score_stddev of each item; empty: unset
	explanations []*pb.Explanation // of each item; empty: unset

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

// The numbers of the fields, see the .proto files.
const (
	responseItems           = protowire.Number(1)
	responseModelVersion    = protowire.Number(4)
	responseUserRevision    = protowire.Number(6)
	responseUnknownItemIDs  = protowire.Number(7)
	responseDegradations    = protowire.Number(8)
	responseUncertainty     = protowire.Number(9)
	responseExplorationSeed = protowire.Number(10)

	itemItemID      = protowire.Number(1)
	itemScore       = protowire.Number(2)
	itemSource      = protowire.Number(3)
	itemScoreStddev = protowire.Number(4)
	itemExplanation = protowire.Number(5)
)

// appendTo appends the encoded RecommendResponse to b: the very bytes of proto.Marshal.
func (r *reply) appendTo(b []byte) ([]byte, error) {
	var err error
	for i := range r.top {
		if b, err = r.appendItem(b, i); err != nil {
			return nil, err
		}
	}
	b = appendString(b, responseModelVersion, r.model.Version())
	b = appendUint(b, responseUserRevision, r.revision)
	for _, id := range r.unknown {
		b = protowire.AppendTag(b, responseUnknownItemIDs, protowire.BytesType)
		b = protowire.AppendString(b, id)
	}
	if len(r.degradations) > 0 {
		b = protowire.AppendTag(b, responseDegradations, protowire.BytesType)
		b = append(b, byte(len(r.degradations))) // each of them, and their number, is less than 128
		for _, d := range r.degradations {
			b = append(b, byte(d))
		}
	}
	if r.uncertain {
		b = appendDouble(b, responseUncertainty, r.uncertainty)
	}
	return appendUint(b, responseExplorationSeed, r.seed), nil
}

// appendItem appends item i with its tag and its length.
func (r *reply) appendItem(b []byte, i int) ([]byte, error) {
	const tag, double = 1, 1 + 8 // sizes: all these field numbers take one byte
	id, score := r.model.ItemID(r.top[i].Item), float64(r.top[i].Score)
	size := tag + protowire.SizeBytes(len(id))
	if math.Float64bits(score) != 0 {
		size += double
	}
	if r.source != 0 {
		size += tag + protowire.SizeVarint(uint64(r.source))
	}
	if len(r.deviations) > 0 {
		size += double
	}
	explained, options := 0, proto.MarshalOptions{UseCachedSize: true}
	if len(r.explanations) > 0 {
		explained = proto.Size(r.explanations[i])
		size += tag + protowire.SizeBytes(explained)
	}

	b = protowire.AppendTag(b, responseItems, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(size))
	b = appendString(b, itemItemID, id)
	if math.Float64bits(score) != 0 { // a −0 is sent
		b = appendDouble(b, itemScore, score)
	}
	b = appendUint(b, itemSource, uint64(r.source))
	if len(r.deviations) > 0 {
		b = appendDouble(b, itemScoreStddev, float64(r.deviations[i]))
	}
	if len(r.explanations) == 0 {
		return b, nil
	}
	b = protowire.AppendTag(b, itemExplanation, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(explained))
	return options.MarshalAppend(b, r.explanations[i])
}

// appendString appends a field; like every field without presence, it is left out if it is empty.
func appendString(b []byte, field protowire.Number, s string) []byte {
	if s == "" {
		return b
	}
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), s)
}

func appendUint(b []byte, field protowire.Number, v uint64) []byte {
	if v == 0 {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
}

func appendDouble(b []byte, field protowire.Number, v float64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(b, field, protowire.Fixed64Type), math.Float64bits(v))
}
