// Package mapping makes events and items of the records of topics. It knows nothing of brokers and
// servers: an event is a function of its record, so that a record that is read twice gives the same
// event twice, with the same event_id.
package mapping

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/event"
	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/internal/near"
)

// The fields of an event that a record may have.
const (
	userID = iota
	itemID
	eventType
	eventID
	recommendationID
	eventTime
	value
	count

	texts = eventTime // the fields before it are texts
)

// names are those of the fields, in the spellings of the API.
var names = [count]struct{ snake, camel string }{
	{"user_id", "userId"}, {"item_id", "itemId"}, {"event_type", "eventType"},
	{"event_id", "eventId"}, {"recommendation_id", "recommendationId"},
	{"event_time", "eventTime"}, {"value", "value"},
}

// Key is the place of the key of a record.
const Key = "@key"

// meantKey are [Key] and its misspellings with two neighbouring letters swapped. In any case of
// letters they mean the key of the record. Members of JSON such as @keys or @kty do not.
var meantKey = []string{Key, "@kye", "@eky"}

// Mapping says where in a record the fields of an event are.
type Mapping struct {
	places [count][]place // of each field: the first that is there counts
	prefix string         // of event ids
}

// place is a path into a JSON object, [Key] or a constant.
type place struct {
	name     string // as it is given
	path     []string
	constant json.RawMessage
}

// New returns a mapping. Each of changes, FIELD=PLACE, puts a field of the API, such as user_id, at
// another place: a path such as payload.user, [Key], or a constant after a second =. Events whose
// record has no event_id get PREFIX/PARTITION/OFFSET as theirs. The error is a [fault.Fault] of the
// field Map or IDPrefix.
func New(changes []string, prefix string) (*Mapping, error) {
	m := &Mapping{prefix: prefix}
	if prefix == "" || len(prefix) > mostPrefix {
		return nil, fault.New("IDPrefix", prefix, fmt.Sprintf("1 to %d bytes", mostPrefix))
	}
	for field, name := range names {
		m.places[field] = []place{{name: name.snake, path: []string{name.snake}},
			{name: name.camel, path: []string{name.camel}}}
	}
	changed := [count]bool{}
	for _, change := range changes {
		name, at, ok := strings.Cut(change, "=")
		if !ok {
			return nil, fault.New("Map", strconv.Quote(change),
				"FIELD=PLACE, such as user_id=payload.user")
		}
		field := slices.IndexFunc(names[:], func(n struct{ snake, camel string }) bool {
			return name == n.snake || name == n.camel
		})
		if field < 0 {
			return nil, noField(name)
		}
		if changed[field] {
			return nil, &fault.Fault{Field: "Map", Got: names[field].snake,
				Problem: "has two places", Want: "one"}
		}
		p, want := placeOf(field, at)
		if want != "" {
			return nil, fault.New("Map", change, want)
		}
		m.places[field], changed[field] = []place{p}, true
	}
	return m, nil
}

// nextField is the beginning of another field behind what does not separate fields.
var nextField = regexp.MustCompile(`[,\s]\w+=`)

// placeOf reads a place of a field, or says what is to be there instead.
func placeOf(field int, at string) (p place, want string) {
	p = place{name: at, path: strings.Split(at, ".")}
	constant, ok := strings.CutPrefix(at, "=")
	switch {
	case at != Key && slices.Contains(meantKey, strings.ToLower(at)):
		return p, Key + " for the key of the record"
	case nextField.MatchString(at): // else a part of the path
		return p, "; between fields"
	case ok && constant != "":
		p.constant = quoted(constant)
		return p, wanted(field, p.constant)
	case ok || slices.ContainsFunc(p.path, func(name string) bool {
		return name == "" || strings.TrimSpace(name) != name
	}):
		return p, "a path such as payload.user"
	}
	return p, ""
}

// noField is the fault of a name that no field of an event has.
func noField(name string) error {
	var all []string
	for _, n := range names {
		all = append(all, n.snake)
	}
	f := &fault.Fault{Field: "Map", Got: strconv.Quote(name), Problem: "is no field of an event",
		Want: strings.Join(all, ", ")}
	if at := near.Index(name, all); at >= 0 {
		f.Problem, f.Want = f.Problem+": did you mean "+all[at]+"?", ""
	}
	return f
}

// wanted says what is to be there instead of a constant with which no event would be right.
func wanted(field int, constant json.RawMessage) string {
	switch field {
	case eventID:
		return "an id for each event"
	case eventTime:
		if _, err := instant(constant); err != nil {
			return "RFC 3339, seconds or milliseconds"
		}
		return ""
	case value:
		if v, err := number(constant); err != nil || !(math.Abs(v) <= event.MaxWeight) {
			return wantValue
		}
		return ""
	}
	t, err := text(constant)
	switch {
	case err != nil:
		return "text in UTF-8"
	case field == eventType && !event.ValidType(t):
		return "a type of events, as " + event.TypePattern
	case len(t) > mostText:
		return fmt.Sprintf("at most %d bytes", mostText)
	}
	return ""
}

// wantValue says which values the server takes.
var wantValue = fmt.Sprintf("a number from %d to %d", -event.MaxWeight, event.MaxWeight)

// mostText is the largest size of an id.
const mostText = 256

// mostBytes is the largest size of all texts of an event. The server takes somewhat less; this is
// so that each message is far below the size that it takes, and none is refused as a whole.
const mostBytes = 1 << 10

// Event returns the event of a record. The error says what is wrong with the record.
func (m *Mapping) Event(r *kgo.Record) (*pb.Event, error) {
	o, err := objectOf(r.Value)
	if err != nil {
		return nil, err
	}
	e, bytes := &pb.Event{}, 0
	into := [texts]*string{&e.UserId, &e.ItemId, &e.EventType, &e.EventId, &e.RecommendationId}
	for field, to := range into {
		raw, err := m.find(field, r, o)
		if err == nil && raw != nil {
			*to, err = text(raw)
		}
		if err == nil && *to == "" && (field == userID || field == itemID) {
			err = m.places[field][0].none(o)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", names[field].snake, err)
		}
		bytes += len(*to)
	}
	if bytes > mostBytes {
		return nil, fmt.Errorf("the texts of the event have %d bytes, at most %d", bytes, mostBytes)
	}
	if e.EventId == "" {
		e.EventId = m.id(r)
	}
	return e, m.numbers(e, r, o)
}

// mostNear bounds the names that are compared, for the time of records that cannot become events.
const mostNear = 32

// none says that a record has nothing at a place where a text has to be, and which name there was
// probably meant.
func (p place) none(o object) error {
	text := fmt.Sprintf("the record has none at %s, want a string or a number", p.name)
	for is := true; is && p.name != Key && len(p.path) > 0; p.path = p.path[1:] {
		raw := o.get(p.path[0])
		if raw == nil {
			names := make([]string, min(len(o), mostNear))
			for i := range names {
				names[i] = string(o[i].name)
			}
			if at := near.Index(p.path[0], names); at >= 0 {
				text += fmt.Sprintf(": %.40q is there", names[at])
			}
			break
		}
		o, is = members(nil, raw)
	}
	return errors.New(text)
}

// objectOf returns the members of the JSON object that a record has as its value.
func objectOf(text []byte) (object, error) {
	switch {
	case len(text) == 0:
		return nil, errors.New("the record is empty")
	case !utf8.Valid(text):
		return nil, errors.New("the record is not UTF-8")
	case !json.Valid(text):
		return nil, fmt.Errorf("the record is not JSON: %w", json.Unmarshal(text, new(any)))
	}
	o, ok := members(make(object, 0, 16), text)
	if !ok {
		return nil, errors.New("the record is JSON, but not an object")
	}
	return o, nil
}

// numbers sets the fields that are numbers.
func (m *Mapping) numbers(e *pb.Event, r *kgo.Record, o object) error {
	at := r.Timestamp // the same whenever the record is read
	raw, err := m.find(eventTime, r, o)
	if err == nil && raw != nil {
		at, err = instant(raw)
	}
	if err != nil {
		return fmt.Errorf("event_time: %w", err)
	}
	e.EventTime = timestamppb.New(at)
	raw, err = m.find(value, r, o)
	if err == nil && raw != nil {
		var v float64
		v, err = number(raw)
		e.Value = &v
	}
	if err != nil {
		return fmt.Errorf("value: %w", err)
	}
	return nil
}

func number(raw json.RawMessage) (float64, error) {
	s := strings.Trim(string(raw), `"`)
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || strings.Trim(s, "+-.0123456789eE") != "" { // hexadecimal, or Inf
		return 0, fmt.Errorf("want %s, not %.40q", wantValue, s)
	}
	return v, nil
}

// find returns the value of a field, or nil: absent, or null.
func (m *Mapping) find(field int, r *kgo.Record, o object) (json.RawMessage, error) {
	for _, p := range m.places[field] {
		switch {
		case p.name == Key && !utf8.Valid(r.Key):
			return nil, errors.New("the key is not UTF-8")
		case p.name == Key && len(r.Key) > 0:
			return quoted(string(r.Key)), nil
		case p.name == Key:
			return nil, nil
		case p.constant != nil:
			return p.constant, nil
		}
		raw := o.get(p.path[0])
		for _, name := range p.path[1:] {
			if raw == nil || string(raw) == "null" {
				raw = nil
				break
			}
			within, ok := members(nil, raw)
			if !ok {
				return nil, fmt.Errorf("%s is within what is no object", p.name)
			}
			raw = within.get(name)
		}
		if raw != nil && string(raw) != "null" {
			return raw, nil
		}
	}
	return nil, nil
}

func quoted(s string) json.RawMessage {
	b, _ := json.Marshal(s) // a string always can be
	return b
}

// text is a string, or a number as it is written.
func text(raw json.RawMessage) (s string, err error) {
	switch c := raw[0]; {
	case c == '"':
		s = string(unquote(raw))
		if strings.ContainsRune(s, utf8.RuneError) { // two different ids would be one
			return "", fmt.Errorf("%.40s holds what is no character", raw)
		}
	case c == '-' || '0' <= c && c <= '9':
		s = string(raw)
	default:
		err = fmt.Errorf("%.40s is neither a string nor a number", raw)
	}
	return s, err
}

// firstMilli is the least number that is a time in milliseconds, not in seconds.
const firstMilli = 1e11

// instant reads RFC 3339, seconds or milliseconds.
func instant(raw json.RawMessage) (time.Time, error) {
	s, err := text(raw)
	if err != nil {
		return time.Time{}, err
	}
	number, err := strconv.ParseFloat(s, 64)
	if err != nil {
		at, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			err = fmt.Errorf("%.40q is neither RFC 3339 nor seconds nor milliseconds", s)
		}
		return at, err
	}
	if math.Abs(number) >= firstMilli {
		number /= 1000
	}
	if !(math.Abs(number) < firstMilli) {
		return time.Time{}, fmt.Errorf("%.40s is above all times in milliseconds", s)
	}
	return time.UnixMicro(int64(math.Round(number * 1e6))), nil
}

// mostPrefix leaves room for the largest partition and offset within the 64 bytes of an event_id.
const mostPrefix = 64 - len("/2147483647/9223372036854775807")

// id is the event_id of a record without one.
func (m *Mapping) id(r *kgo.Record) string {
	b := strconv.AppendInt(append([]byte(m.prefix), '/'), int64(r.Partition), 10)
	return string(strconv.AppendInt(append(b, '/'), r.Offset, 10))
}
