package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/gsimc/gsimc/client/internal/program"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/proctest"
)

// mostDead is the largest batch that the topic of dead letters takes.
const mostDead = 100 << 10

// noise returns n bytes that cannot be compressed much.
func noise(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return base64.StdEncoding.EncodeToString(b)[:n]
}

// poison is what cannot become an event, with a part of the reason. The key is cut where it and the
// reason do not fit into the topic of dead letters, and the value where that alone does not.
var poison = []struct{ key, value, reason string }{
	{"k", `{"user_id":`, "JSON"},
	{"k", "\xff\xfe", "UTF-8"},
	{"k", "", "empty"},
	{"k", `{"item_id":"1"}`, "user_id"},
	{"k", `{"user_id":"u0","item_id":"1","event_type":"No Type"}`, "event_type"},
	{"k", `{"user_id":"u0","item_id":"1","event_time":"2999-01-01T00:00:00Z"}`, "event_time"},
	{"k", `{"user_id":"u0","item_id":"1","event_id":"` + strings.Repeat("x", 65) + `"}`, "event_id"},
	{"k", `{"user_id":"u0","item_id":"` + strings.Repeat("x", 2<<10) + `"}`, "bytes"},
	{"k", `{"user_id":"same","item_id":"1","event_id":"same","value":2}`, "event_id"},
	// Together they are too large, each by itself is not.
	{"k", "1" + noise(mostDead*2/3), "JSON"},
	{"k", "2" + noise(mostDead*2/3), "JSON"},
	{"k", "3" + noise(mostDead*2/3), "JSON"},
	// The reason quotes all of it.
	{"k", `{"user_id":"\ud800` + noise(2*mostDead) + `"}`, "no character"},
	{noise(2 * mostDead), "4", "object"},
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
				name := f.topic + "-dead"
				b.make(t, name, 1, mostDead)
				dead = topicPrefix + name
			}
			f.raw(t, "k", `{"user_id":"same","item_id":"1","event_id":"same"}`)
			for _, p := range poison {
				f.raw(t, p.key, p.value)
				f.produce(30)
			}
			c := startConsumer(t, "--brokers", b.address, "--topic", f.topic, "--group", "g-"+where,
				"--server", s.address, "--dead-letter", dead)
			f.check(t, s)
			check.Within(t, proctest.Limit, "a lag of 0", func() bool {
				return c.sum("gsimc_kafka_lag") == 0 && c.sum("gsimc_kafka_records_total") > 0
			})
			c.Stop(t)
			reasons := inFile
			if where == "topic" {
				reasons = func(t *testing.T, _ string) map[int64]letter {
					return b.inTopic(t, strings.TrimPrefix(dead, topicPrefix), len(poison))
				}
			}
			got := reasons(t, file)
			check.Same(t, len(poison), len(got), "dead letters")
			for i, p := range poison {
				l := got[int64(1+i*31)]
				if !strings.Contains(l.Reason, p.reason) || len(l.Reason) > 2<<10 {
					t.Errorf("%.40q has the reason %.4000q, want %q", p.value, l.Reason, p.reason)
				}
				whole := l.Key == p.key && (l.Value == p.value || p.value == "\xff\xfe")
				if fits := len(p.key)+len(p.value) < mostDead; whole != (fits || where == "file") {
					t.Errorf("%.40q has %d bytes of its key, %d of its value", p.value, len(l.Key),
						len(l.Value))
				}
			}
		})
	}
}

// raw produces one record and waits for the broker.
func (f *flow) raw(t *testing.T, key, value string) {
	t.Helper()
	check.Must(t, f.ProduceSync(t.Context(), &kgo.Record{Topic: f.topic, Key: []byte(key),
		Value: []byte(value)}).FirstErr())
}

type letter struct {
	Offset             int64
	Reason, Key, Value string
}

// inFile returns the letters of a file by offset.
func inFile(t *testing.T, path string) map[int64]letter {
	t.Helper()
	all := map[int64]letter{}
	for _, l := range lettersIn(t, path) {
		all[l.Offset] = l
	}
	return all
}

func lettersIn(t *testing.T, path string) (all []letter) {
	t.Helper()
	text := check.Get(os.ReadFile(path))(t)
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var l letter
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			t.Fatalf("line %q: %v", lines.Text(), err)
		}
		all = append(all, l)
	}
	return all
}

// inTopic returns the letters of a topic with n of them by offset of the record.
func (b *broker) inTopic(t *testing.T, topic string, n int) map[int64]letter {
	t.Helper()
	cl := b.client(t, kgo.ConsumeTopics(topic))
	ctx, cancel := context.WithTimeout(t.Context(), proctest.Limit)
	defer cancel()
	all := map[int64]letter{}
	for len(all) < n && ctx.Err() == nil {
		cl.PollFetches(ctx).EachRecord(func(r *kgo.Record) {
			headers := map[string]string{}
			for _, h := range r.Headers {
				headers[h.Key] = string(h.Value)
			}
			l := letter{Reason: headers["reason"], Key: string(r.Key), Value: string(r.Value)}
			_, _ = fmt.Sscan(headers["offset"], &l.Offset)
			all[l.Offset] = l
		})
	}
	return all
}

// Partitions go from one program to another, by a newcomer, by an end and by a kill, while records
// come: each history is what was produced.
func TestRebalance(t *testing.T) {
	b := startBroker(t)
	s := startServer(t)
	f := &flow{Client: b.client(t), topic: b.topic(t, 6), users: 60}
	next := func() *consumer {
		return startConsumer(t, "--brokers", b.address, "--topic", f.topic, "--group", "three",
			"--server", s.address, "--session-timeout", "6s", "--lanes", "2", "--dead-letter",
			filepath.Join(t.TempDir(), "dead"))
	}
	// shares waits until each has taken something since it was asked last.
	shares := func(all ...*consumer) {
		t.Helper()
		for _, c := range all {
			before := c.sum("gsimc_kafka_records_total")
			check.Within(t, proctest.Limit, "records of each", func() bool {
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
	two.Stop(t)
	shares(one, three)
	one.Kill()
	shares(three)
	f.check(t, s)
}

// While the server is away nothing is lost, and the page of health says why nothing comes.
func TestServerAway(t *testing.T) {
	b := startBroker(t)
	dir := t.TempDir()
	s := startServer(t, "--data-dir", dir)
	f := &flow{Client: b.client(t), topic: b.topic(t, 2), users: 10}
	// A member that does not leave is waited for longer than the test may take.
	args := []string{"--brokers", b.address, "--topic", f.topic, "--group", "away", "--server",
		s.address, "--dead-letter", filepath.Join(t.TempDir(), "dead"), "--session-timeout", "30m"}
	c := startConsumer(t, args...)
	f.produce(1000)
	f.check(t, s)
	if text, code := c.page("/healthz"); code != 200 {
		t.Errorf("health is %d: %s", code, text)
	}
	s.Kill()
	f.produce(100_000) // more than is held in memory
	check.Must(t, f.Flush(t.Context()))
	check.Within(t, proctest.Limit, "the lag of what is not even fetched", func() bool {
		return c.sum("gsimc_kafka_lag") == 100_000
	})
	check.Within(t, proctest.Limit, "health that says no", func() bool {
		text, code := c.page("/healthz")
		return code == 503 && strings.Contains(text, s.address)
	})
	c.Stop(t) // with events under way
	c = startConsumer(t, args...)
	c.Says(t, `partitions assigned" partitions="?(map\S+)`)
	begin := time.Now()
	s = startServer(t, "--data-dir", dir, "--listen", s.address)
	f.check(t, s)
	check.Within(t, proctest.Limit, "health that says yes", func() bool {
		_, code := c.page("/healthz")
		return code == 200
	})
	t.Logf("caught up %s after the server came back", time.Since(begin).Round(time.Millisecond))
	c.Stop(t)
}

// Without a topic, or a broker, the program says so, and it ends when it is told to.
func TestTopicAway(t *testing.T) {
	b := startBroker(t)
	nowhere := startConsumer(t, "--brokers", b.address, "--topic", b.topic(t, 1), "--group", "n",
		"--dead-letter", topicPrefix+"no-letters")
	nowhere.Says(t, `(topic no-letters: UNKNOWN_TOPIC_OR_PARTITION)`)
	nowhere.Stop(t)
	c := startConsumer(t, "--brokers", b.address, "--topic", "nowhere", "--group", "nowhere",
		"--dead-letter", filepath.Join(t.TempDir(), "dead"))
	c.Says(t, `(topic nowhere: UNKNOWN_TOPIC_OR_PARTITION)`)
	check.Within(t, proctest.Limit, "health that says no", func() bool {
		text, code := c.page("/healthz")
		return code == 503 && strings.Contains(text, "topic nowhere")
	})
	defer b.start(t)
	b.kill()
	check.Within(t, proctest.Limit, "health that says why", func() bool {
		text, code := c.page("/healthz")
		return code == 503 && strings.Contains(text, "no broker answers")
	})
	c.Stop(t)
}

// A topic that is deleted ends the program, since the records of one that is made anew under its
// name would be taken for the old ones.
func TestTopicDeleted(t *testing.T) {
	b := startBroker(t)
	s := startServer(t)
	f := &flow{Client: b.client(t), topic: b.topic(t, 2), users: 10}
	c := startConsumer(t, "--brokers", b.address, "--topic", f.topic, "--group", "deleted",
		"--server", s.address, "--dead-letter", filepath.Join(t.TempDir(), "dead"))
	f.produce(1000)
	f.check(t, s)
	request := kmsg.NewPtrDeleteTopicsRequest()
	topic := kmsg.NewDeleteTopicsRequestTopic()
	topic.Topic = kmsg.StringPtr(f.topic)
	request.Topics, request.TopicNames = append(request.Topics, topic), []string{f.topic}
	check.Get(request.RequestWith(t.Context(), b.client(t)))(t)
	b.make(t, f.topic, 2, 1<<20)
	c.Says(t, `(was deleted: give another --id-prefix)`)
	check.Same(t, program.Failure, c.Wait(), "exit code")
}
