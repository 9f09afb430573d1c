package server

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/soak"
)

// notText stands for bytes that are not UTF-8, which the library would not encode.
const notText = "\x01\x02\x03\x04"

// hostileValues are values that a field of a kind should not have, or hardly ever has.
func hostileValues(f protoreflect.FieldDescriptor) (values []protoreflect.Value) {
	add := func(of ...any) {
		for _, v := range of {
			values = append(values, protoreflect.ValueOf(v))
		}
	}
	switch f.Kind() {
	case protoreflect.DoubleKind:
		add(math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, -math.MaxFloat64,
			math.SmallestNonzeroFloat64, math.Copysign(0, -1))
	case protoreflect.FloatKind:
		add(float32(math.NaN()), float32(math.Inf(1)), float32(math.MaxFloat32))
	case protoreflect.Int32Kind:
		add(int32(math.MaxInt32), int32(math.MinInt32), int32(-1))
	case protoreflect.Int64Kind:
		add(int64(math.MaxInt64), int64(math.MinInt64), int64(-1))
	case protoreflect.Uint32Kind:
		add(uint32(math.MaxUint32))
	case protoreflect.Uint64Kind:
		add(uint64(math.MaxUint64))
	case protoreflect.EnumKind:
		add(protoreflect.EnumNumber(-1), protoreflect.EnumNumber(math.MaxInt32))
	case protoreflect.StringKind:
		add("", "\x00", notText, strings.Repeat("x", 257), strings.Repeat("y", 3<<20),
			"../../etc/passwd", "\u202e\ufeff")
	case protoreflect.BytesKind:
		add([]byte{}, bytes.Repeat([]byte{0xff}, 3<<20))
	case protoreflect.BoolKind:
		add(true)
	}
	return values
}

// hostileMessages returns messages of a type with one hostile field each, at any depth, and calls
// it by its path.
func hostileMessages(m protoreflect.Message, then func(path string)) {
	for i := range m.Descriptor().Fields().Len() {
		f := m.Descriptor().Fields().Get(i)
		name := string(f.Name())
		switch {
		case f.IsMap():
			continue // none: TestRequestFieldsAreAnnotated would find one
		case f.IsList() && f.Message() != nil:
			list := m.Mutable(f).List()
			element := list.AppendMutable().Message()
			then(name + "[empty]")
			hostileMessages(element, func(path string) { then(name + "[0]." + path) })
			for range 20_000 {
				list.AppendMutable()
			}
			then(name + "[many]")
		case f.IsList():
			for _, v := range hostileValues(f) {
				list := m.Mutable(f).List()
				list.Append(v)
				then(name)
				for range 3 {
					list.Append(v)
				}
				if len(fmt.Sprint(v)) < 1000 {
					for range 30_000 {
						list.Append(v)
					}
				}
				then(name + "[many]")
				m.Clear(f)
			}
		case f.Message() != nil:
			element := m.Mutable(f).Message()
			then(name + "{}")
			hostileMessages(element, func(path string) { then(name + "." + path) })
		default:
			for _, v := range hostileValues(f) {
				m.Set(f, v)
				then(name)
			}
		}
		m.Clear(f)
	}
}

// hostileCodec sends bytes as they are.
type hostileCodec struct{ bytesCodec }

// Marshal implements encoding.CodecV2.
func (hostileCodec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*v.(*[]byte))}, nil
}

// honest are requests that are good but for one field.
func honest() map[string]proto.Message {
	return map[string]proto.Message{
		pb.RecommenderService_Recommend_FullMethodName: forUser("ann"),
		pb.RecommenderService_BatchRecommend_FullMethodName: &pb.BatchRecommendRequest{
			Subjects: []*pb.BatchSubject{{Subject: &pb.BatchSubject_UserId{UserId: "ann"}}}},
		pb.RecommenderService_RecommendPage_FullMethodName: &pb.RecommendPageRequest{
			Subject: &pb.RecommendPageRequest_UserId{UserId: "ann"}, Rows: []*pb.PageRow{{}}},
		pb.RecommenderService_SimilarItems_FullMethodName: &pb.SimilarItemsRequest{ItemId: item(1)},
		pb.RecommenderService_GetSpectrum_FullMethodName: &pb.GetSpectrumRequest{
			Subject: &pb.GetSpectrumRequest_UserId{UserId: "ann"}},
		pb.RecommenderService_ScoreItems_FullMethodName: &pb.ScoreItemsRequest{
			Subject: &pb.ScoreItemsRequest_UserId{UserId: "ann"}, ItemIds: []string{item(1)}},
		pb.EventService_Observe_FullMethodName: &pb.ObserveRequest{Event: newEvent("ann", 1)},
		pb.EventService_BatchObserve_FullMethodName: &pb.BatchObserveRequest{
			Events: []*pb.Event{newEvent("ann", 1)}},
		pb.ItemService_BatchUpsertItems_FullMethodName: upsert(&pb.Item{ItemId: "i",
			Categories: []string{"c"}}),
		pb.ItemService_GetItem_FullMethodName:     &pb.GetItemRequest{ItemId: "i"},
		pb.ItemService_ListItems_FullMethodName:   &pb.ListItemsRequest{},
		pb.ItemService_SearchItems_FullMethodName: &pb.SearchItemsRequest{Query: "i"},
		pb.ItemService_BatchGetItems_FullMethodName: &pb.BatchGetItemsRequest{
			ItemIds: []string{"i"}},
		pb.ItemService_BatchDeleteItems_FullMethodName: &pb.BatchDeleteItemsRequest{
			ItemIds: []string{"j"}},
		pb.ItemService_ListNamedFilters_FullMethodName: &pb.ListNamedFiltersRequest{},
		pb.ItemService_SaveNamedFilter_FullMethodName: &pb.SaveNamedFilterRequest{Name: "n",
			Entry: "{no_labels: [l]}", Version: "v"},
		pb.UserService_GetUser_FullMethodName: &pb.GetUserRequest{UserId: "ann"},
		pb.UserService_BatchGetChanges_FullMethodName: &pb.BatchGetChangesRequest{
			Users: []*pb.UserHistory{{UserId: "ann"}}},
		pb.UserService_DeleteUser_FullMethodName: &pb.DeleteUserRequest{UserId: "nobody"},
		pb.UserService_RetractEvents_FullMethodName: &pb.RetractEventsRequest{
			UserId: "bob", EventIds: []string{"e"}, ItemIds: []string{"i"}},
		pb.UserService_MergeUsers_FullMethodName: &pb.MergeUsersRequest{
			SourceUserId: "bob", TargetUserId: "cid"},
		pb.UserService_ListUserEvents_FullMethodName: &pb.ListUserEventsRequest{
			UserId: "ann", PageSize: 1},
	}
}

// Each field of each request takes values that it should not have: the server answers with a code
// of its contract and never INTERNAL, and goes on.
func TestHostileFields(t *testing.T) {
	t.Parallel()
	soak.Native(t)
	ts := start(t, setup{})
	ts.observe(t, newEvent("ann", 2))
	allowed := []codes.Code{codes.OK, codes.InvalidArgument, codes.NotFound, codes.AlreadyExists,
		codes.FailedPrecondition, codes.ResourceExhausted, codes.Unavailable}
	sent, chance := 0, soak.Chance(t)
	send := func(method, path string, body []byte) {
		sent++
		c, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		answer := []byte{}
		err := ts.conn.Invoke(c, method, &body, &answer, grpc.ForceCodecV2(hostileCodec{}))
		if code := status.Code(err); !slices.Contains(allowed, code) {
			t.Errorf("%s with a bad %s: %v", method, path, err)
		}
	}
	all := honest()
	for _, method := range slices.Sorted(maps.Keys(all)) { // one order, which a seed repeats
		request := all[method]
		hostileMessages(request.ProtoReflect(), func(path string) {
			if !chance() {
				return
			}
			body := check.Get(proto.Marshal(request))(t)
			send(method, path, bytes.ReplaceAll(body, []byte(notText), []byte("\xff\xfe\xc0\x80")))
		})
		good := check.Get(proto.Marshal(honest()[method]))(t)
		for depth := range 3 { // groups within groups, of a field that nobody has; not closed too
			n := []int{100, 9_999, 1 << 20}[depth]
			deep := append(slices.Clone(good), bytes.Repeat([]byte{0xfb, 0x07}, n)...)
			send(method, "nesting", deep)
			send(method, "nesting", append(deep, bytes.Repeat([]byte{0xfc, 0x07}, n)...))
		}
	}
	ts.ask(t, forUser("ann"))
	same(t, 0.0, value1(t, ts, "gsimc_panics_total"), "panics")
	t.Logf("%d hostile requests", sent)
}
