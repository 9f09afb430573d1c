package wire

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/ranking"
)

// Items knows the ids of items and the version of the model that numbered them.
type Items interface {
	ItemID(item int32) string // never empty
	Version() string          // never empty
}

// A List is the answer of one Recommend before it is encoded. It encodes itself straight from the
// items of the model: a message for each of a hundred results takes 109 allocations and ten times
// the time of the encoding. [List.Message] makes them for callers that need a message.
type List struct {
	Items        Items
	Top          []ranking.Scored
	Source       pb.ResultSource   // of all items that are not pinned
	Pinned       []bool            // of each item; empty: none is; not with Packed
	Deviations   []float32         // score_stddev of each item; empty: unset
	Explanations []*pb.Explanation // of each item; empty: unset
	Packed       bool              // the items are sent as PackedItems

	RecommendationID string // empty: unset
	NextPageToken    string // empty: unset
	Arm              string // empty: unset
	UserRevision     uint64
	Degradations     []pb.Degradation
	Uncertainty      float64
	Uncertain        bool // Uncertainty is set
	ExplorationSeed  uint64
	Because          string // the item that the others go with; empty: unset

	unknown []string
	listed  map[string]bool // unknown as a set; nil while it is empty
}

// Reset empties the list and keeps its memory.
func (l *List) Reset() {
	clear(l.unknown)
	*l = List{Deviations: l.Deviations[:0], unknown: l.unknown[:0],
		Degradations: l.Degradations[:0]}
}

// source is that of item i.
func (l *List) source(i int) pb.ResultSource {
	if len(l.Pinned) > 0 && l.Pinned[i] {
		return pb.ResultSource_RESULT_SOURCE_PINNED
	}
	return l.Source
}

// NoteUnknown adds an id that the model does not know, unless it is there.
func (l *List) NoteUnknown(id string) {
	if l.listed[id] {
		return
	}
	if l.listed == nil {
		l.listed = map[string]bool{}
	}
	l.listed[id] = true
	l.unknown = append(l.unknown, id)
}

// Unknown returns the ids that were noted. They are valid until Reset.
func (l *List) Unknown() []string { return l.unknown }

// Message returns the answer as a message that shares no memory with l, except the explanations.
func (l *List) Message() *pb.RecommendResponse {
	m := &pb.RecommendResponse{
		ModelVersion: l.Items.Version(), UserRevision: l.UserRevision,
		ExplorationSeed: l.ExplorationSeed, NextPageToken: l.NextPageToken,
		RecommendationId: l.RecommendationID, Arm: l.Arm, BecauseItemId: l.Because,
		UnknownItemIds: append([]string(nil), l.unknown...),
		Degradations:   append([]pb.Degradation(nil), l.Degradations...),
	}
	if l.Uncertain {
		m.Uncertainty = proto.Float64(l.Uncertainty)
	}
	if l.Packed {
		m.PackedItems = l.packedItems()
		return m
	}
	for i, t := range l.Top {
		item := &pb.ScoredItem{ItemId: l.Items.ItemID(t.Item), Score: float64(t.Score),
			Source: l.source(i)}
		if len(l.Deviations) > 0 {
			item.ScoreStddev = proto.Float64(float64(l.Deviations[i]))
		}
		if len(l.Explanations) > 0 {
			item.Explanation = l.Explanations[i]
		}
		m.Items = append(m.Items, item)
	}
	return m
}

func (l *List) packedItems() *pb.PackedItems {
	p := &pb.PackedItems{
		Source: l.Source, ScoreStddevs: append([]float32(nil), l.Deviations...),
		Explanations: append([]*pb.Explanation(nil), l.Explanations...),
	}
	for _, t := range l.Top {
		p.ItemIds = append(p.ItemIds, l.Items.ItemID(t.Item))
		p.Scores = append(p.Scores, t.Score)
	}
	return p
}

// AppendTo appends the encoded RecommendResponse to b: the very bytes of
// proto.Marshal(l.Message()).
func (l *List) AppendTo(b []byte) ([]byte, error) {
	var err error
	if !l.Packed {
		for i := range l.Top {
			if b, err = l.appendItem(b, i); err != nil {
				return nil, err
			}
		}
	}
	if l.RecommendationID != "" {
		b = appendString(b, responseRecommendation, l.RecommendationID)
	}
	if l.NextPageToken != "" {
		b = appendString(b, responseNextPageToken, l.NextPageToken)
	}
	b = appendString(b, responseModelVersion, l.Items.Version())
	if l.Arm != "" {
		b = appendString(b, responseArm, l.Arm)
	}
	b = appendUint(b, responseUserRevision, l.UserRevision)
	for _, id := range l.unknown {
		b = appendString(b, responseUnknownItemIDs, id)
	}
	if len(l.Degradations) > 0 {
		b = appendLength(b, responseDegradations, len(l.Degradations))
		for _, d := range l.Degradations {
			b = protowire.AppendVarint(b, uint64(d)) // one byte
		}
	}
	if l.Uncertain {
		b = appendDouble(b, responseUncertainty, l.Uncertainty)
	}
	b = appendUint(b, responseExplorationSeed, l.ExplorationSeed)
	if l.Packed {
		if b, err = l.appendPacked(b); err != nil {
			return nil, err
		}
	}
	if l.Because != "" {
		b = appendString(b, responseBecause, l.Because)
	}
	return b, nil
}

// Encode returns the answer in the form that [Codec] sends as it is.
func (l *List) Encode() (*Encoded, error) {
	data := buffers.Get(0)
	var err error
	if *data, err = l.AppendTo(*data); err != nil {
		return nil, err
	}
	return &Encoded{data: data}, nil
}

// appendItem appends item i as a ScoredItem.
func (l *List) appendItem(b []byte, i int) ([]byte, error) {
	id, score := l.Items.ItemID(l.Top[i].Item), float64(l.Top[i].Score)
	scored := math.Float64bits(score) != 0 // a −0 is sent
	source := uint64(l.source(i))
	size := sizeString(id) + sizeUint(source)
	if scored {
		size += doubleSize
	}
	if len(l.Deviations) > 0 {
		size += doubleSize
	}
	if len(l.Explanations) > 0 {
		size += sizeMessage(l.Explanations[i])
	}
	b = appendLength(b, responseItems, size)
	b = appendString(b, itemItemID, id)
	if scored {
		b = appendDouble(b, itemScore, score)
	}
	b = appendUint(b, itemSource, source)
	if len(l.Deviations) > 0 {
		b = appendDouble(b, itemScoreStddev, float64(l.Deviations[i]))
	}
	if len(l.Explanations) > 0 {
		return appendMessage(b, itemExplanation, l.Explanations[i])
	}
	return b, nil
}

// appendPacked appends all items as PackedItems.
func (l *List) appendPacked(b []byte) ([]byte, error) {
	size := sizeUint(uint64(l.Source)) + sizeFloats(len(l.Top)) + sizeFloats(len(l.Deviations))
	for _, t := range l.Top {
		size += sizeString(l.Items.ItemID(t.Item))
	}
	for _, x := range l.Explanations {
		size += sizeMessage(x)
	}
	b = appendLength(b, responsePackedItems, size)
	for _, t := range l.Top {
		b = appendString(b, packedItemIDs, l.Items.ItemID(t.Item))
	}
	if len(l.Top) > 0 {
		b = appendLength(b, packedScores, floatSize*len(l.Top))
		for _, t := range l.Top {
			b = protowire.AppendFixed32(b, math.Float32bits(t.Score))
		}
	}
	b = appendUint(b, packedSource, uint64(l.Source))
	if len(l.Deviations) > 0 {
		b = appendLength(b, packedScoreStddevs, floatSize*len(l.Deviations))
		for _, d := range l.Deviations {
			b = protowire.AppendFixed32(b, math.Float32bits(d))
		}
	}
	for _, x := range l.Explanations {
		var err error
		if b, err = appendMessage(b, packedExplanations, x); err != nil {
			return nil, err
		}
	}
	return b, nil
}
