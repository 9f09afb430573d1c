package httpjson

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	gateway "github.com/grpc-ecosystem/grpc-gateway/v2/runtime"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/soak"
)

// A body is one document. What follows it was dropped once, with the status of success.
func TestBodiesAreOneDocument(t *testing.T) {
	c, h := door(t)
	const (
		event = `{"userId": "ann", "itemId": "i"}`
		batch = `{"events": [` + event + `]}`
	)
	for path, body := range map[string]string{"/v1/events": event, "/v1/events:batch": batch,
		"/v1/recommend": `{"userId": "ann"}`} {
		if code, got := ask(t, h, "POST", path, body+" \n\t"); code != http.StatusOK {
			t.Errorf("%s with a line end: %d %v", path, code, got)
		}
		c.last = nil
		for _, rest := range []string{event, "\n" + body, ",", "]", "x", "null", "\x00"} {
			code, got := ask(t, h, "POST", path, body+rest)
			want := refusalOf{Reason: "INVALID_ARGUMENT",
				Message: "the body goes on behind its JSON document; nothing was done"}
			if d := cmp.Diff(want, got); d != "" || code != http.StatusBadRequest || c.last != nil {
				t.Errorf("%s before %q: %d, the call %v (-want +got):\n%s", path, rest, code, c.last, d)
			}
		}
	}
	if code, got := ask(t, h, "POST", "/v1/recommend", " "); code != http.StatusOK {
		t.Errorf("no document, which is an empty message: %d %v", code, got)
	}
}

// A compressed body is refused as such, and not as bad JSON: gRPC inflates its messages.
func TestBodiesAreNotInflated(t *testing.T) {
	_, h := door(t)
	for encoding, want := range map[string]int{"gzip": http.StatusUnsupportedMediaType,
		"Zstd": http.StatusUnsupportedMediaType, "Identity": http.StatusOK, "": http.StatusOK,
		"utf-8": http.StatusOK} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest("POST", "/v1/recommend", strings.NewReader(`{"userId": "ann"}`))
		r.Header.Set("Content-Encoding", encoding)
		h.ServeHTTP(w, r)
		check.Same(t, want, w.Code, "a body of encoding %q: %s", encoding, w.Body)
	}
}

// What surrounds the document of a body costs its own bytes alone.
func TestBodiesAreNotCopied(t *testing.T) {
	text := []byte(strings.Repeat(" ", 3<<20) + `{"userId": "ann"}` + "\n")
	b := &body{text: text, decoded: func() {}}
	b.Reset(text)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var req pb.RecommendRequest
	err := lines{&gateway.JSONPb{}}.NewDecoder(b).Decode(&req)
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; err != nil || req.GetUserId() != "ann" ||
		n > 1<<20 {
		t.Errorf("%v, %v; %d bytes were allocated", &req, err, n)
	}
}

// The buffers of bodies serve the next ones, and hold nothing of theirs.
func TestBodiesLeaveNoGarbage(t *testing.T) {
	soak.Native(t) // with the race detector a pool drops what it is given at random
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	c, h := door(t)
	const times, blank = 20, 900 << 10
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	padding := strings.Repeat(" ", blank)
	for i := range times {
		user := strings.Repeat("u", times-i)
		code, got := ask(t, h, "POST", "/v1/recommend", padding+`{"userId": "`+user+`"}`)
		req, ok := c.last.(*pb.RecommendRequest)
		if !ok || code != http.StatusOK || req.GetUserId() != user {
			t.Fatalf("%d %v: the call is %v, want one about %s", code, got, c.last, user)
		}
	}
	runtime.ReadMemStats(&after)
	// The texts of this test are copied once, to join them.
	if n := int(after.TotalAlloc-before.TotalAlloc) / blank; n > 3*times/2 {
		t.Errorf("%d bodies took the memory of %d", times, n-times)
	}
}

// The text of a large message grows in memory that the next one uses again.
func TestTextsGrowInPlace(t *testing.T) {
	soak.Native(t) // as above
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	message := &pb.ListItemsResponse{}
	for range 10_000 {
		message.Items = append(message.Items, &pb.Item{ItemId: strings.Repeat("i", 250)})
	}
	l := lines{&gateway.JSONPb{}}
	var before, after runtime.MemStats
	text, err := l.Marshal(message)
	check.Must(t, err)
	runtime.ReadMemStats(&before)
	for range 10 {
		if text, err = l.Marshal(message); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if n := int(after.TotalAlloc-before.TotalAlloc) / len(text); n > 30 {
		t.Errorf("ten texts took the memory of %d", n)
	}
}

// An empty id is an empty id, and no redirection to the method of another path.
func TestEmptyIDsReachTheirMethod(t *testing.T) {
	c, h := door(t)
	code, got := ask(t, h, "GET", "/v1/users//recommendations?page_size=3", "")
	if code != http.StatusOK || c.last == nil || !has(c.last.ProtoReflect(), "page_size") {
		t.Errorf("%d %v, the call %v", code, got, c.last)
	}
}

// A bad body is told by what is wrong, and not in the words of a parser.
func TestBadBodies(t *testing.T) {
	_, h := door(t)
	for _, tt := range []struct{ path, body, field, text string }{
		{"/v1/events", `{"itemId": 17}`, "event.item_id", "must be a text in quotes"},
		{"/v1/events", `{"eventTime": "yesterday"}`, "event.event_time",
			`must be a time such as "2026-01-31T09:30:00Z"`},
		{"/v1/events", `{"value": "much"}`, "event.value", "must be a number"},
		{"/v1/items:batchUpsert", `{"items": [{"itemId": "a", "numbers": {"price": null}}]}`,
			"items[0].numbers.price", "must be a number"},
		{"/v1/items:batchUpsert", `{"items": [{"itemId": "ä"},
			{"numbers": {"ä": 1, "PriceEUR": "7 €"}}]}`, "items[1].numbers.PriceEUR", "must be a number"},
		{"/v1/items:batchUpsert", `{"items": [{"itemId": "a"}, {"item_id": "b", "titel": "B"}]}`,
			"items[1].titel", "is not a field of this call: did you mean title?"},
		{"/v1/recommend", `{"pageSize": 1.5}`, "page_size",
			"must be a whole number below 2147483648"},
		{"/v1/recommend", `{"seen": {"mode": "INCLUDE"}}`, "seen.mode",
			"must be one of MODE_EXCLUDE, MODE_EXCLUDE_TYPES, MODE_INCLUDE, MODE_ONLY, or unset"},
		{"/v1/recommend", `{"packed": 1}`, "packed", "must be true or false"},
		{"/v1/recommend", `{"sessionToken": "%"}`, "session_token",
			"must be a text of base64 in quotes"},
		{"/v1/recommend", `{"pagesize": 1}`, "pagesize",
			"is not a field of this call: did you mean pageSize?"},
		{"/v1/recommend", `{"denyItemIds": ["i"]}`, "denyItemIds",
			"is not a field of this call: did you mean filter.denyItemIds?"},
		{"/v1/recommend", `{"filter": {"deny": ["i"]}}`, "filter.deny",
			"is not a field of this call: did you mean denyItemIds?"},
		{"/v1/events", `{"event": {"userId": "a"}}`, "event",
			"is the body itself: put what is in it there"},
		{"/v1/events:batch", `{"userId": "a"}`, "userId",
			"is not a field of this call: did you mean events[0].userId?"},
		{"/v1/recommend", `{"zzz": 1}`, "zzz", "is not a field of this call"},
		{"/v1/users:merge", `{"fromUserId": "a"}`, "fromUserId",
			"is not a field of this call: it has sourceUserId, targetUserId"},
		{"/v1/recommend", `{"filter": {"anyLabels": "new"}}`, "filter.any_labels",
			"must be a list"},
		{"/v1/recommend", `{"filter": {"ranges": [{"name": "p"}, []]}}`, "filter.ranges[1]",
			"must be an object"},
		{"/v1/recommend", `{"filter": {"near": "Berlin"}}`, "filter.near", "must be an object"},
		{"/v1/recommend", `{"seen": {"reappearAfter": "5 days"}}`, "seen.reappear_after",
			`must be a number of seconds such as "90s"`},
		{"/v1/recommend", `{"userId": "a", "history": {}}`, "history",
			"stands beside another one: give only one of user_id, history"},
		{"/v1/items:batchUpsert", `{"items": [{"itemId": "a", "availableFrom": "tomorrow"}]}`,
			"items[0].available_from", `must be a time such as "2026-01-31T09:30:00Z"`},
		{"/v1/items:batchUpsert", `{"items": [{"itemId": "a", "numbers": [1]}]}`, "items[0].numbers",
			"must be an object"},
		{"/v1/items:batchUpsert", `{"updateMask": "available_from"}`, "update_mask",
			`must be names with commas between them, such as "title,availableFrom"`},
		{"/v1/recommend", `{"userId": "a", "userId": "b"}`, "user_id",
			"is there twice"},
		{"/v1/events", `{"userId": "\udc00 and so on"}`, "event.user_id",
			`has an escape such as \ud800 that is half of a character`},
		{"/v1/items:batchUpsert", `{"items": [{"itemId": "a", "title": "\ud800"}]}`, "",
			`the body has an escape such as \ud800 that is half of a character`},
		{"/v1/recommend", "not json", "", "the body is not JSON: see byte 2"},
		{"/v1/recommend", `{"userId": `, "", "the body is not JSON: it ends too early"},
	} {
		code, got := ask(t, h, "POST", tt.path, tt.body)
		want := refusalOf{tt.text, "INVALID_ARGUMENT", ""}
		if tt.field != "" {
			want = refusalOf{tt.field + " " + tt.text, "INVALID_FIELD", tt.field}
		}
		if d := cmp.Diff(want, got); d != "" || code != http.StatusBadRequest {
			t.Errorf("%s: %d (-want +got):\n%s", tt.body, code, d)
		}
	}
	for _, space := range []string{" ", "\u00a0"} { // of which a build of the library has one
		err := badBody(errors.New("proto:"+space+"(line 1:12): invalid value for string field itemId: 17"),
			[]byte(`{"itemId": 17}`), new(pb.Event).ProtoReflect().Descriptor())
		check.Same(t, (&fault{"item_id", "must be a text in quotes"}).Error(), err.Error(), "with %q", space)
	}
	for _, body := range []string{"[]", `[{}]`, "7"} {
		if code, got := ask(t, h, "POST", "/v1/recommend", body); code != http.StatusBadRequest ||
			got.Reason != "INVALID_ARGUMENT" {
			t.Errorf("%q: %d %v", body, code, got)
		}
	}
}
