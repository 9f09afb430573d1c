package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// poison is what cannot become an event, with a part of the reason.
var poison = []struct{ value, reason string }{
	{`{"user_id":`, "JSON"},
	{"\xff\xfe", "UTF-8"},
	{"", "empty"},
	{`{"item_id":"1"}`, "user_id"},
	{`{"user_id":"u0","item_id":"1","event_type":"No Type"}`, "event_type"},
	{`{"user_id":"u0","item_id":"1","event_time":"2999-01-01T00:00:00Z"}`, "event_time"},
	{`{"user_id":"u0","item_id":"1","event_id":"` + strings.Repeat("x", 65) + `"}`, "event_id"},
	{`{"user_id":"u0","item_id":"` + strings.Repeat("x", 2<<10) + `"}`, "bytes"},
	{`{"user_id":"same","item_id":"1","event_id":"same","value":2}`, "event_id"},
}

// Records that cannot become events are kept with their reasons, in a file or a topic, and hold up
// none of the others.
func TestPoisonedRecords(t *testing.T) {
	b := startBroker(t)
	for _, where := range []string{"file", "topic"} {
		t.Run(where, func(t *testing.T) {
			s := startServer(t)
			f := &flow{Client: b.client(t), topic: b.topic(t, 1), users: 3}
			file := filepath.Join(t.TempDir(), "dead.jsonl")
			dead := file
			if where == "topic" {
				dead = topicPrefix + b.topic(t, 1)
			}
			f.raw(t, `{"user_id":"same","item_id":"1","event_id":"same"}`)
			for _, p := range poison {
				f.raw(t, p.value)
				f.produce(30)
			}
			c := startConsumer(t, "--brokers", b.address, "--topic", f.topic, "--group", "g-"+where,
				"--server", s.address, "--dead-letter", dead)
			f.check(t, s)
			eventually(t, "a lag of 0", func() bool {
				return c.sum("gsimc_kafka_lag") == 0 && c.sum("gsimc_kafka_records_total") > 0
			})
			c.stop(t)
			reasons := inFile
			if where == "topic" {
				reasons = func(t *testing.T, _ string) map[int64]string {
					return b.inTopic(t, strings.TrimPrefix(dead, topicPrefix), len(poison))
				}
			}
			got := reasons(t, file)
			if len(got) != len(poison) {
				t.Errorf("%d dead letters, want %d: %v", len(got), len(poison), got)
			}
			for i, p := range poison {
				offset := int64(1 + i*31)
				if !strings.Contains(got[offset], p.reason) {
					t.Errorf("%.40q has the reason %q, want %q", p.value, got[offset], p.reason)
				}
			}
		})
	}
}

// raw produces one record and waits for the broker.
func (f *flow) raw(t *testing.T, value string) {
	t.Helper()
	if err := f.ProduceSync(t.Context(), &kgo.Record{Topic: f.topic, Key: []byte("k"),
		Value: []byte(value)}).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// inFile returns the reasons of a file by offset.
func inFile(t *testing.T, path string) map[int64]string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	reasons := map[int64]string{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var l struct {
			Offset int64
			Reason string
		}
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			t.Fatalf("line %q: %v", lines.Text(), err)
		}
		reasons[l.Offset] = l.Reason
	}
	return reasons
}

// inTopic returns the reasons of a topic with n records by offset of the record.
func (b *broker) inTopic(t *testing.T, topic string, n int) map[int64]string {
	t.Helper()
	cl := b.client(t, kgo.ConsumeTopics(topic))
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	reasons := map[int64]string{}
	for len(reasons) < n && ctx.Err() == nil {
		cl.PollFetches(ctx).EachRecord(func(r *kgo.Record) {
			headers := map[string]string{}
			for _, h := range r.Headers {
				headers[h.Key] = string(h.Value)
			}
			var offset int64
			_, _ = fmt.Sscan(headers["offset"], &offset)
			reasons[offset] = headers["reason"]
		})
	}
	return reasons
}

// Partitions go from one program to another, by a newcomer, by an end and by a kill, while records
// come: each history is what was produced.
func TestRebalance(t *testing.T) {
	b := startBroker(t)
	s := startServer(t)
	f := &flow{Client: b.client(t), topic: b.topic(t, 6), users: 60}
	next := func() *consumer {
		return startConsumer(t, "--brokers", b.address, "--topic", f.topic, "--group", "three",
			"--server", s.address, "--session-timeout", "2s", "--lanes", "2", "--dead-letter",
			filepath.Join(t.TempDir(), "dead"))
	}
	// shares waits until each has taken something since it was asked last.
	shares := func(all ...*consumer) {
		t.Helper()
		for _, c := range all {
			before := c.sum("gsimc_kafka_records_total")
			eventually(t, "records of each", func() bool {
				f.produce(300)
				return c.sum("gsimc_kafka_records_total") > before
			})
		}
	}
	one := next()
	shares(one)
	two := next()
	shares(one, two)
	three := next()
	shares(one, two, three)
	two.stop(t)
	shares(one, three)
	one.kill()
	shares(three)
	f.check(t, s)
}

// While the server is away nothing is lost, and the page of health says why nothing comes.
func TestServerAway(t *testing.T) {
	b := startBroker(t)
	dir := t.TempDir()
	s := startServer(t, "--data-dir", dir)
	f := &flow{Client: b.client(t), topic: b.topic(t, 2), users: 10}
	c := startConsumer(t, "--brokers", b.address, "--topic", f.topic, "--group", "away", "--server",
		s.address, "--dead-letter", filepath.Join(t.TempDir(), "dead"))
	f.produce(1000)
	f.check(t, s)
	if text, code := c.page("/healthz"); code != 200 {
		t.Errorf("health is %d: %s", code, text)
	}
	s.kill()
	f.produce(100_000) // more than is held in memory
	if err := f.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the lag of what is not even fetched", func() bool {
		return c.sum("gsimc_kafka_lag") == 100_000
	})
	eventually(t, "health that says no", func() bool {
		text, code := c.page("/healthz")
		return code == 503 && strings.Contains(text, s.address)
	})
	begin := time.Now()
	s = startServer(t, "--data-dir", dir, "--listen", s.address)
	f.check(t, s)
	eventually(t, "health that says yes", func() bool {
		_, code := c.page("/healthz")
		return code == 200
	})
	t.Logf("caught up %s after the server came back", time.Since(begin).Round(time.Millisecond))
	c.stop(t)
}

// Without a topic, or a broker, the program says so, and it ends when it is told to.
func TestTopicAway(t *testing.T) {
	b := startBroker(t)
	c := startConsumer(t, "--brokers", b.address, "--topic", "nowhere", "--group", "nowhere",
		"--dead-letter", filepath.Join(t.TempDir(), "dead"))
	c.says(t, `(topic nowhere: UNKNOWN_TOPIC_OR_PARTITION)`)
	eventually(t, "health that says no", func() bool {
		text, code := c.page("/healthz")
		return code == 503 && strings.Contains(text, "topic nowhere")
	})
	b.kill()
	eventually(t, "health that says why", func() bool {
		text, code := c.page("/healthz")
		return code == 503 && strings.Contains(text, "no broker answers")
	})
	c.stop(t)
	b.start(t)
}
