package server

import (
	"context"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/server/internal/valid"
)

// full are requests with every field that has a rule set to a good value, several where fields
// exclude each other.
func full() map[string][]proto.Message {
	entry := &pb.HistoryEntry{ItemId: item(1), EventType: "like",
		EventTime: timestamppb.New(testNow), Value: proto.Float64(1)}
	history := &pb.InlineHistory{Entries: []*pb.HistoryEntry{entry}}
	filter := &pb.ItemFilter{}
	for i := range filter.ProtoReflect().Descriptor().Fields().Len() {
		f := filter.ProtoReflect().Descriptor().Fields().Get(i)
		if f.IsList() && f.Message() == nil {
			filter.ProtoReflect().Mutable(f).List().Append(protoreflect.ValueOf("name"))
		}
	}
	filter.Ranges = []*pb.NumberRange{{Name: "price", AnyOf: []float64{1}}}
	filter.Near = &pb.Near{Latitude: proto.Float64(1), Longitude: proto.Float64(1), RadiusKm: 1, LatitudeNumber: "lat",
		LongitudeNumber: "lon"}
	boosts := []*pb.Boost{{Name: "rule", Weight: 1, By: &pb.NumberCurve{Number: "price",
		Shape: pb.NumberCurve_SHAPE_GAUSS, Scale: 1}}}
	seen := &pb.SeenPolicy{Mode: pb.SeenPolicy_MODE_EXCLUDE_TYPES, EventTypes: []string{"like"},
		ReappearAfter: durationpb.New(time.Hour)}
	thompson := &pb.Exploration{Strategy: &pb.Exploration_Thompson_{
		Thompson: &pb.Exploration_Thompson{Scale: proto.Float64(1)}}}
	ucb := &pb.Exploration{Strategy: &pb.Exploration_UpperConfidence_{
		UpperConfidence: &pb.Exploration_UpperConfidence{Beta: proto.Float64(1)}}}
	event := newEvent("ann", 1)
	event.EventId, event.EventType, event.RecommendationId = "e", "like", "r"
	event.EventTime, event.Value = timestamppb.New(testNow), proto.Float64(1)
	user := &pb.RecommendRequest_UserId{UserId: "ann"}
	all := make(map[string][]proto.Message)
	for method, request := range honest() {
		all[method] = []proto.Message{request}
	}
	all[pb.RecommenderService_Recommend_FullMethodName] = []proto.Message{
		&pb.RecommendRequest{Subject: user, ExtraHistory: history, Filter: filter, Seen: seen,
			Exploration: thompson, PageSize: 1},
		&pb.RecommendRequest{Subject: user, Exploration: ucb},
		&pb.RecommendRequest{Subject: user, Boosts: boosts, NamedBoosts: []string{"name"}},
		&pb.RecommendRequest{Subject: user, Explain: 1, List: pb.ListKind_LIST_KIND_POPULAR},
		&pb.RecommendRequest{Subject: user, PageSize: 1000,
			Pinned: []*pb.Pin{{ItemId: item(1), Position: 1}}},
		&pb.RecommendRequest{Subject: user, PageSize: 100,
			Diversity: &pb.Diversity{MaxPerCategory: 1, Lambda: proto.Float64(1),
				Shares: []*pb.Share{{Filter: &pb.ItemFilter{}, AtLeast: 1},
					{Filter: &pb.ItemFilter{}, AtMost: proto.Int32(1)}}}},
		&pb.RecommendRequest{Subject: &pb.RecommendRequest_History{History: history}},
	}
	all[pb.RecommenderService_GetSpectrum_FullMethodName] = []proto.Message{
		&pb.GetSpectrumRequest{Subject: &pb.GetSpectrumRequest_UserId{UserId: "ann"},
			ExtraHistory: history},
		&pb.GetSpectrumRequest{Subject: &pb.GetSpectrumRequest_History{History: history}},
	}
	batch := all[pb.RecommenderService_BatchRecommend_FullMethodName][0].(*pb.BatchRecommendRequest)
	batch.Boosts, batch.NamedBoosts = boosts, []string{"name"}
	all[pb.RecommenderService_RecommendPage_FullMethodName] = []proto.Message{
		&pb.RecommendPageRequest{Subject: &pb.RecommendPageRequest_UserId{UserId: "ann"},
			ExtraHistory: history, Rows: []*pb.PageRow{{Name: "row", PageSize: 1, Filter: filter,
				Seen: seen, Boosts: boosts, NamedBoosts: []string{"name"},
				Diversity: &pb.Diversity{MaxPerCategory: 1, Lambda: proto.Float64(1)}}}},
		&pb.RecommendPageRequest{Explain: 1,
			Rows:    []*pb.PageRow{{List: pb.ListKind_LIST_KIND_POPULAR}},
			Subject: &pb.RecommendPageRequest_History{History: history}}}
	scores := all[pb.RecommenderService_ScoreItems_FullMethodName][0].(*pb.ScoreItemsRequest)
	scores.Boosts, scores.NamedBoosts = boosts, []string{"name"}
	all[pb.AdminService_SetLogLevel_FullMethodName] = []proto.Message{
		&pb.SetLogLevelRequest{Level: pb.LogLevel_LOG_LEVEL_INFO}}
	all[pb.AdminService_SetTraffic_FullMethodName] = []proto.Message{&pb.SetTrafficRequest{
		Shares: []*pb.ArmShare{{Arm: "b", SharePercent: proto.Float64(1)}}}}
	all[pb.EventService_Observe_FullMethodName] = []proto.Message{&pb.ObserveRequest{Event: event}}
	whole := upsert(&pb.Item{ItemId: "i", Title: "I", Categories: []string{"c"},
		Labels: []string{"l"}, AvailableFrom: timestamppb.New(testNow), Embedding: []float32{1},
		Numbers: map[string]float64{"price": 1}})
	whole.UpdateMask = &fieldmaskpb.FieldMask{Paths: valid.ItemFields[:]}
	all[pb.ItemService_BatchUpsertItems_FullMethodName] = []proto.Message{whole,
		upsert(&pb.Item{ItemId: "j", AvailableUntil: timestamppb.New(testNow)})}
	return all
}

// What the annotations of a field call bad the server refuses by that field's name, and what they
// call good it does not refuse for it. So a client that checks its requests by protovalidate and
// the server agree.
func TestAnnotationsAgree(t *testing.T) {
	file := filepath.Join(t.TempDir(), "filters.yaml")
	must(t, os.WriteFile(file, []byte("name: {weight: 1}\n"), 0o600))
	ts := start(t, withArm(t, nil, 50, func(c *Config) {
		c.Now, c.FiltersFile = func() time.Time { return testNow }, file
	}))
	met := make(map[protoreflect.FullName]bool)
	tried := 0
	for method, requests := range full() {
		for _, request := range requests {
			if faults := ts.faults(t, method, request); len(faults) > 0 {
				t.Fatalf("%s: the good request has faults in %q", method, faults)
			}
			eachBoundary(request.ProtoReflect(), met, func(name string, good bool, value any) {
				tried++
				if named := slices.Contains(ts.faults(t, method, request), name); named == good {
					t.Errorf("%s: %s = %.80v is good by its annotation: %t, but the server named "+
						"it in an error: %t", method, name, value, good, named)
				}
			})
		}
	}
	eachRequestField(func(f protoreflect.FieldDescriptor) {
		name := f.FullName()
		if f.Parent().Name() != "StreamObserveRequest" && f.Parent().Name() != "ExportUserRequest" &&
			fieldRules(f) != nil && !met[name] {
			t.Errorf("the rule of %s was not tried", name)
		}
	})
	t.Logf("%d values at boundaries, of %d fields", tried, len(met))
}

// Each field of a request says whether it must be set, the options are ones that clients know, and
// the decoder's limits, one for each list, are those of the annotations.
func TestRequestFieldsAreAnnotated(t *testing.T) {
	limits := maps.Clone(valid.Limits)
	delete(limits, "google.protobuf.FieldMask.paths") // not a message of this protocol
	for _, name := range []protoreflect.FullName{"categories", "labels", "numbers"} {
		delete(limits, "gsimc.v1.Item."+name) // counted for a call as a whole
	}
	eachRequestField(func(f protoreflect.FieldDescriptor) {
		if f.ContainingMessage().IsMapEntry() {
			return
		}
		if f.ContainingOneof() == nil || f.HasOptionalKeyword() {
			check.Same(t, 1, len(behaviours(f)), "%s: REQUIRED and OPTIONAL", f.FullName())
		} else if oneofRules(f.ContainingOneof()) == nil {
			t.Errorf("%s does not say whether it must be set", f.ContainingOneof().FullName())
		}
		rules := fieldRules(f)
		for _, m := range []proto.Message{f.Options(), rules} {
			if len(m.ProtoReflect().GetUnknown()) > 0 {
				t.Errorf("%s has an option that nobody knows", f.FullName())
			}
		}
		// Numbers take no more memory than bytes of the message.
		if (f.IsList() || f.IsMap()) && valid.Limits[f.FullName()] == 0 &&
			f.Kind() != protoreflect.FloatKind && f.Kind() != protoreflect.DoubleKind {
			t.Errorf("%s has no limit", f.FullName())
		}
		if limit, ok := limits[f.FullName()]; ok && uint64(limit) == rules.GetRepeated().GetMaxItems() {
			delete(limits, f.FullName())
		}
	})
	for name, limit := range limits {
		t.Errorf("the decoder takes %d elements of %s, which its annotation does not say", limit, name)
	}
}

func fieldRules(f protoreflect.FieldDescriptor) *validate.FieldRules {
	return proto.GetExtension(f.Options(), validate.E_Field).(*validate.FieldRules)
}

func oneofRules(o protoreflect.OneofDescriptor) *validate.OneofRules {
	return proto.GetExtension(o.Options(), validate.E_Oneof).(*validate.OneofRules)
}

func behaviours(f protoreflect.FieldDescriptor) []annotations.FieldBehavior {
	return proto.GetExtension(f.Options(), annotations.E_FieldBehavior).([]annotations.FieldBehavior)
}

// eachRequestField calls fn for each field of this protocol that a request can have, at any depth.
func eachRequestField(fn func(protoreflect.FieldDescriptor)) {
	met := make(map[protoreflect.FullName]bool)
	var walk func(protoreflect.MessageDescriptor)
	walk = func(m protoreflect.MessageDescriptor) {
		if met[m.FullName()] || m.ParentFile().Package() != "gsimc.v1" {
			return
		}
		met[m.FullName()] = true
		for i := range m.Fields().Len() {
			f := m.Fields().Get(i)
			fn(f)
			if f.Message() != nil {
				walk(f.Message())
			}
		}
	}
	protoregistry.GlobalFiles.RangeFilesByPackage("gsimc.v1", func(
		file protoreflect.FileDescriptor,
	) bool {
		for i := range file.Services().Len() {
			for j := range file.Services().Get(i).Methods().Len() {
				walk(file.Services().Get(i).Methods().Get(j).Input())
			}
		}
		return true
	})
}

// eachBoundary sets the fields that a message has to values just inside their rules and just
// outside, one at a time, and calls fn. met collects the fields.
func eachBoundary(
	m protoreflect.Message, met map[protoreflect.FullName]bool, fn func(string, bool, any),
) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.IsList() && f.Message() != nil:
			eachBoundary(v.List().Get(0).Message(), met, fn)
		case f.Message() != nil && !f.IsMap():
			eachBoundary(v.Message(), met, fn)
		}
		return true
	})
	saved := proto.Clone(m.Interface())
	try := func(name string, good bool, value any) {
		fn(name, good, value)
		proto.Reset(m.Interface())
		proto.Merge(m.Interface(), saved)
	}
	for i := range m.Descriptor().Oneofs().Len() {
		o := m.Descriptor().Oneofs().Get(i)
		if f := m.WhichOneof(o); f != nil && oneofRules(o).GetRequired() {
			m.Clear(f)
			try(string(o.Name()), false, "nothing")
		}
	}
	for i := range m.Descriptor().Fields().Len() {
		f := m.Descriptor().Fields().Get(i)
		if !m.Has(f) && f.Kind() != protoreflect.Int32Kind { // no field excludes a number
			continue
		}
		met[f.FullName()] = true
		name := string(f.Name())
		if slices.Contains(behaviours(f), annotations.FieldBehavior_REQUIRED) {
			m.Clear(f)
			try(name, false, "nothing")
		}
		good, bad := boundaries(saved.ProtoReflect(), f)
		for _, v := range good {
			m.Set(f, v)
			try(name, true, v)
		}
		for _, v := range bad {
			m.Set(f, v)
			try(name, false, v)
		}
	}
}

// boundaries returns values of a field that its rules allow and forbid.
func boundaries(m protoreflect.Message, f protoreflect.FieldDescriptor) (good, bad []protoreflect.Value) {
	rules := fieldRules(f)
	if f.IsMap() {
		return mapBoundaries(m, f)
	}
	if !f.IsList() {
		good, bad = scalarBoundaries(rules)
		return good, bad
	}
	if rules.GetRepeated() == nil {
		return nil, nil
	}
	list := func(v protoreflect.Value, n uint64) protoreflect.Value {
		l := m.NewField(f).List()
		for range n {
			l.Append(v)
		}
		return protoreflect.ValueOfList(l)
	}
	const other = "another" // a list of one
	element := protoreflect.ValueOf(other)
	if f.Kind() != protoreflect.StringKind {
		element = m.Get(f).List().Get(0)
	}
	bad = append(bad, list(element, rules.GetRepeated().GetMaxItems()+1))
	if f.Message() == nil {
		good = append(good, list(element, 1))
		goodElements, badElements := scalarBoundaries(rules.GetRepeated().GetItems())
		for _, v := range goodElements {
			good = append(good, list(v, 1))
		}
		for _, v := range badElements {
			bad = append(bad, list(v, 1))
		}
	}
	return good, bad
}

// mapBoundaries are boundaries of a map of numbers.
func mapBoundaries(m protoreflect.Message, f protoreflect.FieldDescriptor) (good, bad []protoreflect.Value) {
	of := func(n int, key string, value float64) protoreflect.Value {
		pairs := m.NewField(f)
		for i := range n {
			pairs.Map().Set(protoreflect.ValueOfString(key+strings.Repeat("x", i)).MapKey(),
				protoreflect.ValueOfFloat64(value))
		}
		return pairs
	}
	rules := fieldRules(f).GetMap()
	keys, badKeys := scalarBoundaries(rules.GetKeys())
	for _, key := range keys {
		good = append(good, of(1, key.String(), 1))
	}
	for _, key := range badKeys {
		bad = append(bad, of(1, key.String(), 1))
	}
	most := int(rules.GetMaxPairs())
	good = append(good, of(most, "k", -math.MaxFloat64))
	bad = append(bad, of(most+1, "k", 1), of(1, "k", math.NaN()), of(1, "k", math.Inf(-1)))
	return good, bad
}

func scalarBoundaries(rules *validate.FieldRules) (good, bad []protoreflect.Value) {
	sort := func(ok bool, v any) {
		if ok {
			good = append(good, protoreflect.ValueOf(v))
		} else {
			bad = append(bad, protoreflect.ValueOf(v))
		}
	}
	switch r := rules.GetType().(type) {
	case *validate.FieldRules_String_:
		pattern := regexp.MustCompile(r.String_.GetPattern())
		min, max := int(r.String_.GetMinBytes()), int(r.String_.GetMaxBytes())
		for _, s := range []string{"", "a", "A", "0a", "a_.-9", "é", strings.Repeat("x", 64),
			strings.Repeat("x", 65), strings.Repeat("y", max), strings.Repeat("y", max+1),
			strings.Repeat("é", max/2+1)} {
			sort(len(s) >= min && (max == 0 || len(s) <= max) && pattern.MatchString(s), s)
		}
	case *validate.FieldRules_Double:
		for _, v := range []float64{r.Double.GetGte(), r.Double.GetLte()} {
			sort(true, v)
		}
		sort(false, math.Nextafter(r.Double.GetGte(), math.Inf(-1)))
		sort(false, math.Nextafter(r.Double.GetLte(), math.Inf(1)))
		sort(false, math.NaN())
	case *validate.FieldRules_Int32:
		sort(true, r.Int32.GetGte())
		sort(false, r.Int32.GetGte()-1)
		if r.Int32.HasLte() {
			sort(true, r.Int32.GetLte())
			sort(false, r.Int32.GetLte()+1)
		}
	case *validate.FieldRules_Enum:
		sort(!r.Enum.GetDefinedOnly(), protoreflect.EnumNumber(1<<20))
	case *validate.FieldRules_Timestamp:
		from := r.Timestamp.GetGte().GetSeconds()
		sort(true, (&timestamppb.Timestamp{Seconds: from}).ProtoReflect())
		sort(false, (&timestamppb.Timestamp{Seconds: from - 1}).ProtoReflect())
	case *validate.FieldRules_Duration:
		over := r.Duration.GetGt().AsDuration()
		sort(true, durationpb.New(over+1).ProtoReflect())
		sort(false, durationpb.New(over).ProtoReflect())
	}
	return good, bad
}

// faults are the fields, without what they are in, that the server finds bad in a request, or in
// the first entry of a batch.
func (ts *testServer) faults(t *testing.T, method string, request proto.Message) []string {
	t.Helper()
	c, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	name := protoreflect.FullName(strings.ReplaceAll(method[1:], "/", "."))
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(name)
	must(t, err)
	answer := dynamicpb.NewMessage(d.(protoreflect.MethodDescriptor).Output())
	conn := ts.conn
	if d.Parent().Name() == "AdminService" {
		conn = ts.adminConn
	}
	err = conn.Invoke(c, method, request, answer)
	s := status.Convert(err)
	if results := answer.Descriptor().Fields().ByName("results"); err == nil && results != nil {
		first := answer.Get(results).List().Get(0).Message()
		raw, err := proto.Marshal(first.Get(first.Descriptor().Fields().ByName("error")).Message().
			Interface())
		var of spb.Status
		if err == nil {
			err = proto.Unmarshal(raw, &of)
		}
		must(t, err)
		s = status.FromProto(&of)
	}
	if s.Code() != codes.InvalidArgument {
		return nil
	}
	var fields []string
	for _, d := range s.Details() {
		if b, ok := d.(*errdetails.BadRequest); ok {
			for _, v := range b.GetFieldViolations() {
				if v.GetReason() == "UNKNOWN_FILTER" { // the server does not know the name
					continue
				}
				field := v.GetField()
				if list, _, of := strings.Cut(field, ".numbers."); of { // one of them
					field = list + ".numbers"
				}
				field = field[strings.LastIndexByte(field, '.')+1:]
				field, _, _ = strings.Cut(field, "[")
				fields = append(fields, field)
			}
		}
	}
	return fields
}
