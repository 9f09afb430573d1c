package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/client"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/proctest"
)

// many are n events as flow produces them, of other users.
type many struct {
	n, users int
	name, id string
	at       *timestamppb.Timestamp
}

func (m many) Len() int { return m.n }

func (m many) Event(i int) *pb.Event {
	return &pb.Event{UserId: m.name + strconv.Itoa(i%m.users), ItemId: strconv.Itoa(i / m.users),
		EventType: "view", EventTime: m.at, EventId: m.id + strconv.Itoa(i)}
}

// TestMeasure prints what a topic costs: GSIMC_MEASURE=500000 is the number of records.
func TestMeasure(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("GSIMC_MEASURE"))
	if n == 0 {
		t.Skip("GSIMC_MEASURE is not set")
	}
	const lanes, users = 4, 5000
	b := startBroker(t)
	s := startServer(t, "--model", trained(t))
	f := &flow{Client: b.client(t, kgo.ProducerLinger(0)), topic: b.topic(t, 8), users: users}
	f.produce(n)
	check.Must(t, f.Flush(t.Context()))
	for round := range 3 {
		begin := time.Now()
		var streams sync.WaitGroup
		for i := range lanes {
			streams.Go(func() {
				m := many{n / lanes, users / lanes, fmt.Sprintf("direct%d-", i),
					fmt.Sprintf("d%d/%d/", round, i), timestamppb.Now()}
				if _, err := s.Send(t.Context(), m, client.SendOptions{InFlight: 4096,
					GiveUp: time.Minute}); err != nil {
					t.Error(err)
				}
			})
		}
		streams.Wait()
		direct := float64(n) / time.Since(begin).Seconds()
		// Each round is a group of its own, with event ids of its own.
		c := startConsumer(t, "--brokers", b.address, "--topic", f.topic, "--group",
			fmt.Sprint("g", round), "--id-prefix", fmt.Sprint("r", round), "--server", s.address,
			"--dead-letter", filepath.Join(t.TempDir(), "dead"))
		check.Within(t, proctest.Limit, "records", func() bool {
			return c.sum("gsimc_kafka_records_total") > 0
		})
		first, begin := c.sum("gsimc_kafka_records_total"), time.Now()
		check.Within(t, proctest.Limit, "all records", func() bool {
			return c.sum("gsimc_kafka_records_total") >= float64(n)
		})
		taken := (float64(n) - first) / time.Since(begin).Seconds()
		c.Stop(t)
		t.Logf("round %d: StreamObserve %.0f events/s, from the topic %.0f, %.0f %%", round, direct,
			taken, 100*taken/direct)
	}
	f.latency(t, b, s)
}

// trained makes a model of the items 0 to 119.
func trained(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	events, model := filepath.Join(dir, "events.csv"), filepath.Join(dir, "model.gsimc")
	for _, args := range [][]string{
		{"generate", "--users", "300", "--items", "120", "--events", "6000", "--out", events},
		{"train", "--data", events, "--rank", "16", "--out", model},
	} {
		if out, err := exec.Command("../../bin/gsimc", args...).CombinedOutput(); err != nil {
			t.Fatalf("gsimc %s: %v\n%s", args[0], err, out)
		}
	}
	return model
}

// latency prints how long it takes from produce until a record is in the next list.
func (f *flow) latency(t *testing.T, b *broker, s *server) {
	topic := b.topic(t, 1)
	c := startConsumer(t, "--brokers", b.address, "--topic", topic, "--group", "l", "--server",
		s.address, "--dead-letter", filepath.Join(t.TempDir(), "dead"))
	var took []time.Duration
	for i := range 1100 {
		name := fmt.Sprintf("late%d", i)
		begin := time.Now()
		f.Produce(t.Context(), &kgo.Record{Topic: topic,
			Value: fmt.Appendf(nil, `{"userId":"%s","itemId":"1"}`, name)}, nil)
		for {
			list := check.Get(pb.NewRecommenderServiceClient(s.Conn()).Recommend(t.Context(),
				&pb.RecommendRequest{Subject: &pb.RecommendRequest_UserId{UserId: name}}))(t)
			if list.GetUserRevision() == 1 {
				break
			}
			time.Sleep(200 * time.Microsecond) // the lists before it cost time, too
		}
		if i >= 100 {
			took = append(took, time.Since(begin))
		}
	}
	c.Stop(t)
	slices.Sort(took)
	t.Logf("from produce to the next list: p50 %s, p99 %s, most %s", took[len(took)/2],
		took[len(took)*99/100], took[len(took)-1])
}
