package admission

import (
	"net"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gsimc/gsimc/internal/test/check"
)

// TestAnswersAfterTheClose queues answers before and after their connection is closed. Nobody
// reports those that the transport drops, so they must neither keep memory nor count as unread.
func TestAnswersAfterTheClose(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer inner.Close()
	metrics := NewMetrics()
	l := Limit(inner, Bounds{Connections: 3, AnswerTime: time.Hour, AnswerBytes: 1 << 20}, metrics)
	_, server := accepted(t, l)
	before, after, gone := &Answer{conn: server}, &Answer{conn: server}, &Answer{conn: server}
	before.Queued(100)
	check.Same(t, 100+callBytes, l.answers.bytes, "bytes of an open connection")
	server.Close()
	after.Queued(100)
	gone.Queued(100)
	gone.Gone()
	before.Gone()
	check.Same(t, 0, l.answers.bytes, "bytes of a closed connection")
	for range 2 * steps {
		l.answers.next()
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics.unread)
	families := check.Get(registry.Gather())(t)
	check.MustSame(t, 1, len(families), "series")
	check.Same(t, 0.0, families[0].GetMetric()[0].GetCounter().GetValue(),
		"connections count as unread")
	check.Same(t, 0, len(l.answers.owing), "owing connections after the close")
}
