package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
)

// BenchmarkManyUsers streams 20 events of each user into a real server with a
// state cache of 64 MiB and the store on disk, then asks for the
// recommendations of random users. It reports events per second, the largest
// resident memory of the server, which must not grow with the users, and the
// latency of Recommend over gRPC, one call at a time. Run it with
// -benchtime=1x.
func BenchmarkManyUsers(b *testing.B) {
	dir := b.TempDir()
	model := filepath.Join(dir, "model.gsimc")
	data := filepath.Join(dir, "events.csv.gz")
	benchCLI(b, "generate", "--users", "20000", "--items", "20000", "--events", "1000000", "--seed",
		"1", "--out", data)
	benchCLI(b, "train", "--data", data, "--out", model, "--rank", "128")
	for _, users := range []int{100_000, 400_000} {
		b.Run(fmt.Sprintf("users=%d", users), func(b *testing.B) {
			benchmarkManyUsers(b, model,
				users)
		})
	}
}

func benchmarkManyUsers(b *testing.B, model string, users int) {
	const eventsPerUser, streams, requests = 20, 4, 5_000
	dir := b.TempDir()
	for i := range b.N {
		server := startServe(b, model, filepath.Join(dir, strconv.Itoa(i)), "--state-cache",
			"64MiB")
		conn := server.client(b)
		memory := watchRSS(server.PID())

		begin := time.Now()
		var wg sync.WaitGroup
		for s := range streams {
			wg.Go(func() {
				acked, err := streamEvents(b.Context(), conn,
					manyUsersEvents(s*users/streams, (s+1)*users/streams, eventsPerUser), nil)
				if err != nil {
					b.Errorf("stream %d: %d events acknowledged, then: %v", s, acked, err)
				}
			})
		}
		wg.Wait()
		streamed := time.Since(begin)
		afterStream := rssMiB(server.PID())

		rng := rand.New(rand.NewPCG(1, 2))
		latency := make([]time.Duration, requests)
		client := pb.NewRecommenderServiceClient(conn)
		for r := range latency {
			user := &pb.RecommendRequest_UserId{UserId: manyUsersID(rng.IntN(users))}
			begin := time.Now()
			if _, err := client.Recommend(b.Context(),
				&pb.RecommendRequest{Subject: user}); err != nil {
				b.Fatal(err)
			}
			latency[r] = time.Since(begin)
		}
		slices.Sort(latency)
		b.ReportMetric(float64(users*eventsPerUser)/streamed.Seconds(), "events/s")
		b.ReportMetric(afterStream, "MiB-after-stream")
		b.ReportMetric(memory(), "MiB-peak")
		b.ReportMetric(float64(latency[requests/2].Microseconds()), "µs-p50")
		b.ReportMetric(float64(latency[requests*99/100].Microseconds()), "µs-p99")
		server.mustStop(b)
	}
}

func benchCLI(b *testing.B, args ...string) {
	b.Helper()
	if code := run(append([]string{"--quiet"}, args...), strings.NewReader(""), os.Stderr,
		os.Stderr, nil); code != cli.ExitOK {
		b.Fatalf("gsimc %s: exit code %d", args[0], code)
	}
}

func manyUsersID(u int) string { return fmt.Sprintf("user-%06d", u) }

// manyUsersEvents interleaves the users' events, as they arrive in life: the
// first event of each user, then the second of each, and so on.
func manyUsersEvents(first, end, perUser int) []*pb.Event {
	rng := rand.New(rand.NewPCG(uint64(first), 3))
	events := make([]*pb.Event, 0, (end-first)*perUser)
	for j := range perUser {
		for u := first; u < end; u++ {
			events = append(events, &pb.Event{EventId: strconv.Itoa(j), UserId: manyUsersID(u),
				ItemId: fmt.Sprintf("i%05d", rng.IntN(20000))})
		}
	}
	return events
}

// watchRSS samples the resident memory of a process; the returned function ends
// that and returns the largest sample in MiB.
func watchRSS(pid int) func() float64 {
	stop, done := make(chan struct{}), make(chan float64)
	go func() {
		var peak float64
		for tick := time.NewTicker(50 * time.Millisecond); ; {
			peak = max(peak, rssMiB(pid))
			select {
			case <-stop:
				tick.Stop()
				done <- peak
				return
			case <-tick.C:
			}
		}
	}()
	return func() float64 {
		close(stop)
		return <-done
	}
}

// rssMiB is the resident memory of a process; 0 if the system does not tell.
func rssMiB(pid int) float64 {
	var all, resident int
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	_, _ = fmt.Sscan(string(text), &all, &resident)
	return float64(resident*os.Getpagesize()) / (1 << 20)
}
