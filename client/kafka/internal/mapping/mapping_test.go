package mapping

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/testing/protocmp"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/internal/test/check"
)

var produced = time.UnixMilli(1_795_000_000_123).UTC()

func record(value string) *kgo.Record {
	return &kgo.Record{Topic: "clicks", Partition: 3, Offset: 42, Timestamp: produced,
		Key: []byte("key"), Value: []byte(value)}
}

func TestEvent(t *testing.T) {
	const stamp = "2026-11-18T11:46:40.123Z"
	for _, c := range []struct {
		name    string
		changes []string
		prefix  string
		value   string
		want    string // the event as JSON
	}{
		{"least", nil, "clicks", `{"user_id":"u","item_id":"i"}`,
			`{"userId":"u","itemId":"i","eventId":"clicks/3/42","eventTime":"` + stamp + `"}`},
		{"all, in the other spelling", nil, "x", ` { "userId" : "u","itemId":"i","eventType":"buy",
			"eventTime":"2026-11-18T13:46:40.123+02:00","value":-2.5,"eventId":"e",
			"recommendationId":"r","other":{"a":[1,{"b":"}"}]}} `,
			`{"userId":"u","itemId":"i","eventType":"buy","value":-2.5,"eventId":"e",
			"recommendationId":"r","eventTime":"` + stamp + `"}`},
		{"seconds", nil, "clicks", `{"user_id":"u","item_id":"i","event_time":1795002400.123}`,
			`{"userId":"u","itemId":"i","eventId":"clicks/3/42","eventTime":"` + stamp + `"}`},
		{"milliseconds as a text", nil, "p",
			`{"user_id":"u","item_id":"i","event_time":"1795002400123","value":"3"}`,
			`{"userId":"u","itemId":"i","eventId":"p/3/42","value":3,"eventTime":"` + stamp + `"}`},
		{"numbers as ids, null is absent, the last counts", nil, "clicks",
			`{"user_id":1,"user_id":12345678901234567890,"item_id":-7,"event_id":null}`,
			`{"userId":"12345678901234567890","itemId":"-7","eventId":"clicks/3/42",
			"eventTime":"` + stamp + `"}`},
		{"escapes", nil, "clicks", `{"user\u005fid":"\u00e4\"\\","item_id":"é"}`,
			`{"userId":"ä\"\\","itemId":"é","eventId":"clicks/3/42","eventTime":"` + stamp + `"}`},
		{"other places", []string{"userId=" + Key, "item_id=p.q.sku",
			"event_type==buy", "value=p.n"}, "clicks",
			`{"p":{"q":{"sku":"i"},"n":2},"user_id":"not this"}`,
			`{"userId":"key","itemId":"i","eventType":"buy","value":2,"eventId":"clicks/3/42",
			"eventTime":"` + stamp + `"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := check.Get(New(c.changes, c.prefix))(t)
			r := record(c.value)
			r.Timestamp = time.UnixMilli(1_795_002_400_123)
			got := check.Get(m.Event(r))(t)
			want := &pb.Event{}
			check.Must(t, protojson.Unmarshal([]byte(c.want), want))
			if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What is no event is refused with its field and place, and never taken for another.
func TestUnreadable(t *testing.T) {
	m := check.Get(New([]string{"item_id=a.b"}, "clicks"))(t)
	for value, want := range map[string]string{
		"":                                      "empty",
		"\xff":                                  "UTF-8",
		"{\"user_id\":\"\xc3\"}":                "UTF-8",
		`{"user_id":`:                           "JSON",
		`{} {}`:                                 "JSON",
		`null`:                                  "not an object",
		`[{"user_id":"u"}]`:                     "not an object",
		`{"a":{"b":"i"}}`:                       "user_id: the record has none at user_id",
		`{"user_id":"u"}`:                       "item_id: the record has none at a.b",
		`{"user_id":"u","a":{"b":""}}`:          "item_id: the record has none",
		`{"userid":"u","a":{"b":"i"}}`:          `user_id: the record has none at user_id, want a string or a number: "userid" is there`,
		`{"user_id":"u","a":{"B":"i"}}`:         `item_id: the record has none at a.b, want a string or a number: "B" is there`,
		`{"user_id":"u","a":null}`:              "item_id: the record has none",
		`{"user_id":"u","a":7}`:                 "a.b is within what is no object",
		`{"user_id":true,"a":{"b":1}}`:          "user_id: true is neither",
		`{"user_id":"\ud800","a":{"b":1}}`:      "user_id: \"\\ud800\" holds what is no character",
		`{"user_id":1,"a":{"b":1},"value":"x"}`: "value: want a number from -1000 to 1000, not \"",
		`{"user_id":1,"a":{"b":1},"value":[]}`:  "value: want a number from -1000 to 1000, not \"",
		`{"user_id":1,"a":{"b":1},"value":"0x1p-2"}`:                       "value: want a number from -1000 to 1000, not \"",
		`{"user_id":1,"a":{"b":1},"value":1e999}`:                          "value: want a number from -1000 to 1000, not \"",
		`{"user_id":1,"a":{"b":1},"event_time":"yesterday"}`:               "event_time: \"yesterday\" is neither",
		`{"user_id":1,"a":{"b":1},"event_time":"NaN"}`:                     "event_time: NaN",
		`{"user_id":1,"a":{"b":1},"event_time":1795002400123456}`:          "event_time: 1795002400123456",
		`{"user_id":1,"a":{"b":"` + strings.Repeat("x", mostBytes) + `"}}`: "1025 bytes",
	} {
		if e, err := m.Event(record(value)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: event %v, error %v, want %q", value, e, err, want)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for _, c := range []struct{ changes, prefix, want string }{
		{"user_id=@Key", "p", "Map: user_id=@Key, want @key for the key of the record"}, // else a path
		{"user_id=@KEY", "p", "Map: user_id=@KEY, want @key"},
		{"user_id=@kye", "p", "Map: user_id=@kye, want @key"},
		{"user_id=@eky", "p", "Map: user_id=@eky, want @key"},
		{"user_id= u", "p", "Map: user_id= u, want a path such as payload.user"},
		{"user_id=a. u", "p", "Map: user_id=a. u, want a path"},
		{"user_id=a..b", "p", "Map: user_id=a..b, want a path"},
		{"user_id=", "p", "Map: user_id=, want a path"},
		{"user_id==", "p", "Map: user_id==, want a path"},
		{"", "p", `Map: "", want FIELD=PLACE, such as user_id=payload.user`},
		{"user_id", "p", `Map: "user_id", want FIELD=PLACE`},
		{"user_id=@key,item_id=sku", "p", "Map: user_id=@key,item_id=sku, want ; between fields"},
		{"user_id=a, item_id=sku", "p", "Map: user_id=a, item_id=sku, want ; between fields"},
		{"user_id=a item_id=sku", "p", "Map: user_id=a item_id=sku, want ; between fields"},
		{"event_type==buy,item_id=a", "p", "Map: event_type==buy,item_id=a, want ; between fields"},
		{"user_id=a;userId=b", "p", "Map: user_id has two places, want one"},
		// all but the first would be repeats
		{"event_id==x", "p", "Map: event_id==x, want an id for each event"},
		{"event_time==yesterday", "p", "want RFC 3339, seconds or milliseconds"},
		{"event_type==b u y", "p", "want a type of events, as ^"},
		{"item_id==\xff", "p", "want text in UTF-8"},
		{"item_id==" + strings.Repeat("x", mostText+1), "p", "want at most 256 bytes"},
		{"value==nan", "p", "Map: value==nan, want a number from -1000 to 1000"},
		{"value==1001", "p", "Map: value==1001, want a number from -1000 to 1000"},
		{"value==much", "p", "Map: value==much, want a number from -1000 to 1000"},
		{"user_id=u", "", "IDPrefix: , want 1 to"},
		{"user_id=u", strings.Repeat("x", mostPrefix+1), "IDPrefix: x"},
	} {
		_, err := New(strings.Split(c.changes, ";"), c.prefix)
		if e := new(fault.Fault); !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v", c, err)
		}
	}
}

// A field that nothing has is refused with the one that was meant, or with all.
func TestNoField(t *testing.T) {
	for field, want := range map[string]string{
		"user":     `Map: "user" is no field of an event: did you mean user_id?`,
		"itemid":   `Map: "itemid" is no field of an event: did you mean item_id?`,
		" item_id": `Map: " item_id" is no field of an event: did you mean item_id?`,
		"amount": `Map: "amount" is no field of an event, want user_id, item_id, event_type, ` +
			`event_id, recommendation_id, event_time, value`,
	} {
		_, err := New([]string{field + "=x"}, "p")
		if err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", field, err, want)
		}
	}
}

// Members of JSON that begin as @key does, or differ from it by a letter, are no misspelt @key, and
// their names may have blanks and commas.
func TestMembersLikeKey(t *testing.T) {
	for _, at := range []string{"@timestamp", "@id", "@type", "@keys", "@keyid", "@key_id", "@kty",
		"@hey", "@key.a", "Time Of Day", "a,b"} {
		check.Get(New([]string{"event_time=" + at}, "p"))(t)
	}
}

// A key in another form than text harms only the events that have a field of it.
func TestKeyIsNoText(t *testing.T) {
	for at, want := range map[string]string{"user_id": "", Key: "user_id: the key is not UTF-8"} {
		m := check.Get(New([]string{"user_id=" + at}, "clicks"))(t)
		r := record(`{"user_id":"u","item_id":"i"}`)
		r.Key = []byte{0, 0, 0, 0xff}
		if _, err := m.Event(r); (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("the user at %s: %v, want %q", at, err, want)
		}
	}
}

// An id has at most the 64 bytes of the server.
func TestLongIDs(t *testing.T) {
	m := check.Get(New(nil, strings.Repeat("t", mostPrefix)))(t)
	r := &kgo.Record{Partition: 1<<31 - 1, Offset: 1<<63 - 1}
	if id := m.id(r); len(id) > 64 || !strings.HasSuffix(id, "t/2147483647/9223372036854775807") {
		t.Errorf("id %q has %d bytes", id, len(id))
	}
}

// The members of an object are what encoding/json finds.
func FuzzMembers(f *testing.F) {
	for _, seed := range []string{`{}`, ` {"a":1,"b":[{"c":"}\""},2],"a":null} `, `[]`, `"{"`,
		`{"\u0061":"\\","":{}}`, "{\"a\"\t:\r\n-1e3 ,\"b\":true }"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !json.Valid(text) {
			return
		}
		var want map[string]json.RawMessage
		err := json.Unmarshal(text, &want)
		got, ok := members(nil, text)
		if ok != (err == nil && want != nil) {
			t.Fatalf("%q is an object: %v", text, ok)
		}
		if !ok {
			return
		}
		for name, value := range want {
			if !bytes.Equal(got.get(name), value) && !strings.ContainsRune(name, '\uFFFD') {
				t.Errorf("%q: %q is %q, want %q", text, name, got.get(name), value)
			}
		}
	})
}

func BenchmarkEvent(b *testing.B) {
	m := check.Get(New(nil, "clicks"))(b)
	r := record(`{"user_id":"u4711","item_id":"0114709","event_type":"view",` +
		`"event_time":1795715645123}`)
	b.ReportAllocs()
	for b.Loop() {
		check.Get(m.Event(r))(b)
	}
}
