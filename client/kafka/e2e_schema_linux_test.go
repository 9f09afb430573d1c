package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/proctest"
)

// changed are records of a topic whose schema changes, in their order: the item's id is at
// payload.sku first. reason is that of a dead letter; an empty one is none.
var changed = []struct{ value, reason string }{
	{`{"user_id":"u","payload":{"sku":"1"},"amount":1}`, ""},
	{`{"user_id":"u","payload":{"sku":"2","colour":"red"},"amount":2,"session":{"pages":[7]}}`, ""},
	{`{"user_id":"u","payload":{"sku":3},"amount":"3"}`, ""},
	{`{"user_id":"u","payload":{"sku":"4"},"amount":"four"}`, `value: want a number from -1000 to 1000, not "four"`},
	{`{"user_id":"u","payload":{"article":"5"}}`,
		"item_id: the record has none at payload.sku, want a string or a number"},
	{`{"user_id":"u","payload":"6"}`, "item_id: payload.sku is within what is no object"},
	{`{"user_id":"u","payload":{"sku":"7"},"event_time":"1 May"}`,
		`event_time: "1 May" is neither RFC 3339 nor seconds nor milliseconds`},
	{`{"user_id":"u","payload":{"Sku":"8"}}`,
		`none at payload.sku, want a string or a number: "Sku" is there`},
	{`{"user_id":"u","payload":{"sku":"9"}}`, ""},
}

// Producers change the schema in the middle of a topic: what still maps goes on, what does not is a
// dead letter that names the field, and after the mapping is corrected the letters are sent again
// from their topic.
func TestSchemaChange(t *testing.T) {
	b := startBroker(t)
	s := startServer(t)
	f := &flow{Client: b.client(t), topic: b.topic(t, 1)}
	dead := f.topic + "-dead"
	b.make(t, dead, 1, 1<<20)
	consume := func(topic, group, place, letters string) *consumer {
		return startConsumer(t, "--brokers", b.address, "--topic", topic, "--group", group, "--server",
			s.address, "--dead-letter", letters, "--map", "item_id="+place+";value=amount")
	}
	settled := func(c *consumer, records int) {
		t.Helper()
		check.Within(t, proctest.Limit, "records that are done", func() bool {
			return c.sum("gsimc_kafka_records_total") == float64(records)
		})
		text, code := c.page("/healthz")
		check.Same(t, 200, code, "health: %s", text)
	}
	items := func() string {
		var all []string
		for _, e := range s.history(t, "u") {
			all = append(all, e.GetItemId())
		}
		slices.Sort(all)
		return strings.Join(all, " ")
	}

	c := consume(f.topic, "g", "payload.sku", topicPrefix+dead)
	reasons := map[int64]string{}
	for at, r := range changed {
		f.raw(t, "k", r.value)
		if r.reason != "" {
			reasons[int64(at)] = r.reason
		}
	}
	settled(c, len(changed))
	check.Same(t, "1 2 3 9", items(), "items of the records that map")
	got := b.inTopic(t, dead, len(reasons))
	for at, reason := range reasons {
		check.Has(t, got[at].Reason, reason, "the reason of offset %d", at)
		check.Same(t, changed[at].value, got[at].Value, "the letter of offset %d", at)
	}
	check.Same(t, len(reasons), len(got), "dead letters")
	c.Stop(t)

	c = consume(f.topic, "g", "payload.article", topicPrefix+dead)
	f.raw(t, "k", `{"user_id":"u","payload":{"article":"10"}}`)
	left := filepath.Join(t.TempDir(), "left")
	again := consume(dead, "again", "payload.article", left)
	settled(c, 1)
	settled(again, len(reasons))
	check.Same(t, "1 10 2 3 5 9", items(), "items with the letter that maps now")
	again.Stop(t)
	check.Same(t, len(reasons)-1, len(inFile(t, left)), "letters that still do not map")
}
