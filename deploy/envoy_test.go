package deploy

import (
	"slices"
	"strings"
	"testing"

	bootstrap "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	cluster "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	route "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	manager "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3" //nolint:lll // an `import` path is one line
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/retry/host/previous_hosts/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"
	"sigs.k8s.io/yaml"
)

// TestEnvoy decodes the configuration into the messages of Envoy, those inside of others too, where
// a field that they do not have fails, and holds each to the rules that Envoy itself checks.
func TestEnvoy(t *testing.T) {
	text := get(yaml.YAMLToJSON([]byte(read(t, "envoy.yaml"))))(t)
	var config bootstrap.Bootstrap
	must(t, protojson.Unmarshal(text, &config))
	inside := 0
	checkRules(t, &config, &inside)
	if inside < 4 {
		t.Errorf("%d messages inside of others", inside)
	}
	servers := config.GetStaticResources().GetClusters()[0]
	if servers.GetLbPolicy() != cluster.Cluster_RING_HASH {
		t.Errorf("calls are spread by %v", servers.GetLbPolicy())
	}
	checkRoutes(t, &config, servers.GetName())
}

// checkRules checks a message and those in it by their own rules.
func checkRules(t *testing.T, m proto.Message, inside *int) {
	t.Helper()
	if checked, ok := m.(interface{ ValidateAll() error }); ok {
		if err := checked.ValidateAll(); err != nil {
			t.Errorf("%T: %v", m, err)
		}
	}
	var visit func(protoreflect.Message)
	visit = func(m protoreflect.Message) {
		if packed, ok := m.Interface().(*anypb.Any); ok {
			*inside++
			unpacked := get(packed.UnmarshalNew())(t)
			checkRules(t, unpacked, inside)
			return
		}
		m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
			switch {
			case field.IsMap():
				value.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool {
					if field.MapValue().Message() != nil {
						visit(v.Message())
					}
					return true
				})
			case field.IsList() && field.Message() != nil:
				for i := range value.List().Len() {
					visit(value.List().Get(i).Message())
				}
			case field.Message() != nil:
				visit(value.Message())
			}
			return true
		})
	}
	visit(m.ProtoReflect())
}

// checkRoutes checks that all calls go by the header of package client, and that calls which may run
// twice are repeated, as that package does.
func checkRoutes(t *testing.T, config *bootstrap.Bootstrap, servers string) {
	t.Helper()
	filter := config.GetStaticResources().GetListeners()[0].GetFilterChains()[0].GetFilters()[0]
	var connections manager.HttpConnectionManager
	must(t, filter.GetTypedConfig().UnmarshalTo(&connections))
	header := find(t, "../client/ring.go", `routeHeader = "([a-z-]+)"`)
	var repeated []string
	for _, r := range connections.GetRouteConfig().GetVirtualHosts()[0].GetRoutes() {
		to := r.GetRoute()
		if to.GetCluster() != servers {
			t.Errorf("%v leads to %s", r.GetMatch(), to.GetCluster())
		}
		if to.GetTimeout() == nil || to.GetTimeout().AsDuration() != 0 {
			t.Errorf("%v ends streams after %v", r.GetMatch(), to.GetTimeout())
		}
		if !slices.ContainsFunc(to.GetHashPolicy(), func(p *route.RouteAction_HashPolicy) bool {
			return p.GetHeader().GetHeaderName() == header
		}) {
			t.Errorf("%v does not go by %s", r.GetMatch(), header)
		}
		if to.GetRetryPolicy() != nil {
			repeated = append(repeated, r.GetMatch().GetPrefix()+r.GetMatch().GetPath())
		}
	}
	want := "/gsimc.v1.RecommenderService/ /gsimc.v1.EventService/Observe"
	if got := strings.Join(repeated, " "); got != want {
		t.Errorf("repeated: %s, want %s", got, want)
	}
}
