package httpjson

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/server/internal/admission"
)

// calls is a server whose answers are empty. It keeps the last request, which is nil until there is
// one.
type calls struct {
	grpc.ClientConnInterface
	last proto.Message
	// messages of a stream, and the error behind them; nil: its end
	messages int
	err      error
}

func (c *calls) Invoke(_ context.Context, _ string, args, _ any, _ ...grpc.CallOption) error {
	c.last = args.(proto.Message)
	return nil
}

func (c *calls) NewStream(
	context.Context, *grpc.StreamDesc, string, ...grpc.CallOption,
) (grpc.ClientStream, error) {
	return &stream{calls: c}, nil
}

// stream is one of empty messages.
type stream struct {
	grpc.ClientStream
	calls    *calls
	received int
}

func (s *stream) SendMsg(m any) error {
	s.calls.last = m.(proto.Message)
	return nil
}
func (*stream) CloseSend() error             { return nil }
func (*stream) Header() (metadata.MD, error) { return nil, nil }

func (s *stream) RecvMsg(any) error {
	switch {
	case s.received < s.calls.messages:
		s.received++
	case s.calls.err != nil:
		return s.calls.err
	default:
		return io.EOF
	}
	return nil
}

// bounds are those of a server that knows everybody.
func bounds() Limits {
	return Limits{Body: 1 << 20, BodyTime: 20 * time.Second, Decoded: 1 << 20,
		Gate: admission.New(admission.Config{DefaultTimeout: time.Minute, MaxTimeout: time.Minute,
			MaxInFlight: 1000, MaxReceiving: 64, MaxBodies: 1 << 20}, admission.NewMetrics()),
		Known:    func([]string) error { return nil },
		Metadata: func(*http.Request) metadata.MD { return nil }}
}

// door is a handler before a server that answers everything.
func door(t *testing.T) (*calls, http.Handler) {
	t.Helper()
	c := &calls{}
	h := check.Get(NewHandler(t.Context(), c, bounds()))(t)
	return c, h
}

// refusalOf is an answer as tests compare it.
type refusalOf struct {
	Message, Reason, Field string
}

// ask returns the status of an answer, and what it says if it refuses.
func ask(t *testing.T, h http.Handler, method, path, body string) (int, refusalOf) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
	var st struct {
		Message string
		Details []struct {
			Reason          string
			FieldViolations []struct{ Field string }
		}
	}
	if w.Code == http.StatusOK {
		return w.Code, refusalOf{}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &st); err != nil || len(st.Details) == 0 {
		t.Fatalf("%s %s: %d, %v: %s", method, path, w.Code, err, w.Body)
	}
	got := refusalOf{Message: st.Message, Reason: st.Details[0].Reason}
	for _, d := range st.Details {
		for _, v := range d.FieldViolations {
			got.Field = v.Field
		}
	}
	return w.Code, got
}

func TestUnknownParametersAreRefused(t *testing.T) {
	c, h := door(t)
	const list = "/v1/users/ann/recommendations"
	for _, tt := range []struct{ path, field, text string }{
		{list + "?filter.deny_item_id=i", "filter.deny_item_id",
			"is not a parameter of this call: did you mean filter.deny_item_ids?"},
		{list + "?filter.deny=i", "filter.deny",
			"is not a parameter of this call: did you mean filter.deny_item_ids?"},
		{list + "?deny_item_ids=i", "deny_item_ids",
			"is not a parameter of this call: did you mean filter.deny_item_ids?"},
		{list + "?pagesize=5", "pagesize",
			"is not a parameter of this call: did you mean page_size?"},
		{list + "?page_Size=5", "page_Size",
			"is not a parameter of this call: did you mean page_size?"},
		{list + "?filter.deny_item_ids[]=i", "filter.deny_item_ids[]",
			"is not a parameter of this call: did you mean filter.deny_item_ids?"},
		{list + "?page_size=5&zzz=1", "zzz", "is not a parameter of this call"},
		{list + "?z%00%FFz=1", "z?z", "is not a parameter of this call"},
		{list + "?" + strings.Repeat("%ff", 64) + "=1", "", "is not a parameter of this call"},
		{list + "?filter=i", "filter",
			"is not a parameter of this call: did you mean filter.allow_item_ids?"},
		{list + "?user_id=ben", "user_id", "is in the path, and may not be in the query"},
		{list + "?userId=ben", "userId", "is in the path, and may not be in the query"},
		{list + "?page_size=1&pageSize=2", "page_size", "is there in two spellings"},
		{list + "?page_size=1&page_size=2", "page_size", "is there more than once"},
		{list + "?page_size=abc", "page_size", "must be a whole number"},
		{list + "?explain=true", "explain", "must be a whole number"},
		{list + "?packed=2", "packed", "must be true or false"},
		{list + "?seen.mode=INCLUDE", "seen.mode",
			"must be one of MODE_UNSPECIFIED, MODE_EXCLUDE, MODE_EXCLUDE_TYPES, MODE_INCLUDE, MODE_ONLY"},
		{list + "?filter.any_labels=a&filter.any_labels=%ff", "filter.any_labels",
			"is not valid UTF-8"},
		{list + "?page_token=%c3", "page_token", "is not valid UTF-8"},
		{"/v1/items:batchGet?item_ids=%ed%a0%80", "item_ids", "is not valid UTF-8"},
		{list + "?a;b=1", "the query", "cannot be read"},
		{"/v1/users/ann?page_size=1", "page_size", "is not a parameter of this call"},
		{"/v1/users/ann/export?page_size=1", "page_size", "is not a parameter of this call"},
		{"/v1/items/i?hidden=true", "hidden", "is not a parameter of this call"},
		{"/v1/items:batchGet?item_id=i", "item_id",
			"is not a parameter of this call: did you mean item_ids?"},
	} {
		code, got := ask(t, h, "GET", tt.path, "")
		want := refusalOf{tt.field + " " + tt.text, "INVALID_FIELD", tt.field}
		if d := cmp.Diff(want, got); d != "" || code != http.StatusBadRequest {
			t.Errorf("%s: %d (-want +got):\n%s", tt.path, code, d)
		}
	}
	if code, _ := ask(t, h, "POST", "/v1/recommend?page_size=1", `{"userId": "ann"}`); code != 400 {
		t.Errorf("a parameter beside a body: %d", code)
	}
	if c.last != nil {
		t.Errorf("a call was made: %v", c.last)
	}
}

// Each route takes all that openapi.json names, in every spelling, and that is all that a query can
// set of its request.
func TestKnownParametersAreTaken(t *testing.T) {
	c, h := door(t)
	all := check.Get(readRoutes(openAPI))(t)
	values := map[string]string{"boolean": "true", "integer int32": "3", "number double": ".5",
		"string byte": "AAA=", "string uint64": "7", "string": "2s", "array": "x"}
	for route, known := range all {
		method, path, _ := strings.Cut(route, "/")
		path = "/" + strings.ReplaceAll(path, "{}", "x")
		if method == http.MethodPost {
			continue
		}
		if code, got := ask(t, h, method, path, ""); code != http.StatusOK {
			t.Fatalf("%s: %d %v", route, code, got)
		}
		var found []string
		want := leaves(c.last.ProtoReflect().Descriptor(), "")
		for _, p := range known.parameters {
			found = append(found, snake(p.Name))
			if p.In != inQuery {
				continue
			}
			value := values[strings.TrimSpace(p.Type+" "+p.Format)]
			if len(p.Enum) > 0 {
				value = p.Enum[1]
			}
			for _, key := range []string{p.Name, snake(p.Name)} {
				if code, got := ask(t, h, method, path+"?"+key+"="+value, ""); code != http.StatusOK {
					t.Errorf("%s, %s=%s: %d %v", route, key, value, code, got)
				} else if !has(c.last.ProtoReflect(), snake(p.Name)) {
					t.Errorf("%s, %s=%s: the call has not the parameter", route, key, value)
				}
			}
		}
		slices.Sort(want)
		slices.Sort(found)
		check.Same(t, want, found, "%s (-fields of the request +parameters)", route)
	}
}

// leaves are the fields of a message that a query can set, with their paths.
func leaves(m protoreflect.MessageDescriptor, path string) (names []string) {
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		name := path + string(f.Name())
		switch {
		case f.Message() == nil || f.Message().ParentFile().Package() == "google.protobuf":
			names = append(names, name)
		case !f.IsList() && !f.IsMap():
			names = append(names, leaves(f.Message(), name+".")...)
		}
	}
	return names
}

// has reports whether a message has the field of a path.
func has(m protoreflect.Message, path string) bool {
	name, rest, nested := strings.Cut(path, ".")
	f := m.Descriptor().Fields().ByName(protoreflect.Name(name))
	return m.Has(f) && (!nested || has(m.Get(f).Message(), rest))
}

// The body of a request has a name in the description, which is no parameter of the query.
func TestBodyIsNoParameter(t *testing.T) {
	_, h := door(t)
	for _, path := range []string{"/v1/events?event=x", "/v1/recommend?body=x"} {
		code, got := ask(t, h, "POST", path, "{}")
		if code != http.StatusBadRequest || !strings.Contains(got.Message, "is not a parameter") {
			t.Errorf("%s: %d %+v", path, code, got)
		}
	}
}

// A POST is no other method in disguise: a proxy that lets nobody erase would let it pass.
func TestMethodsAreNotOverridden(t *testing.T) {
	c, h := door(t)
	for path, allowed := range map[string]string{
		"/v1/users/ann":                    "DELETE, GET",
		"/v1/users/an%2Fn/recommendations": "GET",
	} {
		r := httptest.NewRequest("POST", path, strings.NewReader("page_size=3"))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("X-HTTP-Method-Override", "DELETE")
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != http.StatusMethodNotAllowed || c.last != nil {
			t.Errorf("%s: %d %s, the call %v", path, w.Code, w.Body, c.last)
		}
		check.Same(t, allowed, w.Header().Get("Allow"), "%s allows", path)
	}
}

// No path is the server's own fault.
func TestBadPaths(t *testing.T) {
	_, h := door(t)
	for _, id := range []string{"%ff", "a%c3", "%ed%a0%80"} {
		for _, call := range []string{"GET /v1/users/%s", "DELETE /v1/users/%s",
			"GET /v1/users/%s/export", "GET /v1/items/%s"} {
			method, path, _ := strings.Cut(fmt.Sprintf(call, id), " ")
			if code, got := ask(t, h, method, path, ""); code != http.StatusBadRequest ||
				got.Reason != "INVALID_FIELD" || !strings.HasSuffix(got.Message, "is not valid UTF-8") {
				t.Errorf("%s %s: %d %+v", method, path, code, got)
			}
		}
	}
}

// The document is of OpenAPI 3.1: what it refers to is there, and a call may need a token.
func TestDescription(t *testing.T) {
	var document struct {
		OpenAPI    string
		Security   []map[string][]string
		Components struct {
			Schemas         map[string]any
			SecuritySchemes map[string]struct{ Type, Scheme string }
		}
	}
	check.Must(t, json.Unmarshal(openAPI, &document))
	named := document.Components.SecuritySchemes["Bearer"]
	want := []map[string][]string{{"Bearer": {}}, {}}
	if document.OpenAPI != "3.1.0" || named.Type != "http" || named.Scheme != "bearer" ||
		!cmp.Equal(document.Security, want) {
		t.Errorf("OpenAPI %s, security %v by %v", document.OpenAPI, document.Security, named)
	}
	refs := regexp.MustCompile(`"\$ref": "(#/components/schemas/)?([^"]*)"`)
	all := refs.FindAllStringSubmatch(string(openAPI), -1)
	for _, ref := range all {
		if ref[1] == "" || document.Components.Schemas[ref[2]] == nil {
			t.Errorf("%s leads nowhere", ref[0])
		}
	}
	if len(all) < 100 {
		t.Errorf("%d references", len(all))
	}
}

// A parameter of a message that need not be there is not required.
func TestPartsAreNotRequired(t *testing.T) {
	var document struct {
		Paths map[string]map[string]struct {
			Parameters []struct {
				Name     string
				Required bool
			}
		}
	}
	check.Must(t, json.Unmarshal(openAPI, &document))
	parts := 0
	for path, operations := range document.Paths {
		for method, operation := range operations {
			for _, p := range operation.Parameters {
				if !strings.Contains(p.Name, ".") {
					continue
				}
				if parts++; p.Required {
					t.Errorf("%s %s requires %s", method, path, p.Name)
				}
			}
		}
	}
	if parts < 20 {
		t.Errorf("%d parameters are parts", parts)
	}
}
