package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/proctest"
)

// noItem are records of items that nobody can write, with a part of the reason; the server gives
// the last ones, which stand between others in one call.
var noItem = []struct{ key, value, reason string }{
	{"", `{"title":"T"}`, "the key is empty"},
	{"bad", `{"title":`, "JSON"},
	{"bad", `{"title":7}`, "no item"},
	{"bad", `{"name":"T"}`, "no field of an item"},
	{"bad", `{"title":"` + strings.Repeat("x", 600) + `"}`, "title"},
	{"bad", `{"numbers":{"Price":1}}`, "numbers"},
	{strings.Repeat("x", 256), `{"categories":[""]}`, "categories"},
}

// catalogue produces records of items.
type catalogue struct {
	*kgo.Client
	topic string
}

// put produces a record; without a value it is a tombstone.
func (c *catalogue) put(key, value string) {
	r := &kgo.Record{Topic: c.topic, Key: []byte(key)}
	if value != "" {
		r.Value = []byte(value)
	}
	c.Produce(context.Background(), r, nil)
}

// item returns what the catalogue has of an item, or why there is nothing.
func (s *server) item(t *testing.T, id string) string {
	t.Helper()
	got, err := pb.NewItemServiceClient(s.Conn()).GetItem(t.Context(), &pb.GetItemRequest{ItemId: id})
	if err != nil {
		return status.Code(err).String()
	}
	i := got.GetItem()
	return fmt.Sprintf("%s%v%v%v", i.GetTitle(), i.GetCategories(), i.GetLabels(), i.GetNumbers())
}

// The catalogue becomes what a compacted topic says, through kills of the program and the server,
// and what is no item is a dead letter. Events are taken beside it.
func TestItemsTopic(t *testing.T) {
	const many = 2500 // more than a call has
	b, dir := startBroker(t), t.TempDir()
	s := startServer(t, "--data-dir", dir)
	f := &flow{Client: b.client(t), topic: b.topic(t, 2), users: 5}
	items := &catalogue{f.Client, f.topic + "-items"}
	b.make(t, items.topic, 3, 1<<20, "cleanup.policy=compact")
	dead := filepath.Join(t.TempDir(), "dead")
	args := []string{"--brokers", b.address, "--topic", f.topic, "--items-topic", items.topic,
		"--group", "both", "--server", s.address, "--dead-letter", dead, "--session-timeout", "6s"}
	c := startConsumer(t, args...)
	f.produce(500)
	for i := range many {
		items.put(fmt.Sprint("i", i), fmt.Sprintf(`{"title":"T%d","categories":["c"]}`, i))
	}
	done := `gsimc_kafka_records_total{outcome="applied",topic="` + items.topic
	check.Within(t, proctest.Limit, "items that are written", func() bool { return c.sum(done) > 0 })
	c.Kill()
	s.Kill()
	for _, p := range noItem {
		items.put(p.key, p.value)
	}
	for i := range 100 {
		items.put("hot", fmt.Sprintf(`{"title":"H%d"}`, i))
	}
	items.put("i1", `{"numbers":{"price":2.5}}`)
	items.put("i2", `{"categories":[],"labels":["l"]}`)
	items.put("i3", "")
	items.put("i4", "")
	items.put("i4", `{"labels":["anew"]}`)
	items.put("i5", "")
	items.put("never", "") // deletes nothing
	items.put("last", `{"title":"L"}`)
	check.Must(t, f.Flush(t.Context()))
	c = startConsumer(t, args...)
	check.Within(t, proctest.Limit, "health that says no", func() bool {
		text, code := c.page("/healthz")
		return code == 503 && strings.Contains(text, "the server takes no ")
	})
	s = startServer(t, "--data-dir", dir, "--listen", s.address)
	check.Within(t, proctest.Limit, "a lag of 0", func() bool {
		return c.sum(`gsimc_kafka_records_total{outcome="deleted"`) == 4 && c.sum("gsimc_kafka_lag") == 0
	})
	f.check(t, s)
	for id, want := range map[string]string{"i0": "T0[c][]map[]", "i1": "T1[c][]map[price:2.5]",
		"i2": "T2[][l]map[]", "i3": codes.NotFound.String(), "i4": "[][anew]map[]",
		"i5": codes.NotFound.String(), "i2499": "T2499[c][]map[]", "hot": "H99[][]map[]",
		"last": "L[][]map[]", "bad": codes.NotFound.String()} {
		check.Same(t, want, s.item(t, id), "item %s", id)
	}
	c.Stop(t)
	reasons := map[string]string{}
	for _, l := range lettersIn(t, dead) {
		reasons[l.Key+l.Value] = l.Reason
	}
	for _, p := range noItem {
		if got := reasons[p.key+p.value]; !strings.Contains(got, p.reason) {
			t.Errorf("%.60q has the reason %q, want %q", p.value, got, p.reason)
		}
	}
}
