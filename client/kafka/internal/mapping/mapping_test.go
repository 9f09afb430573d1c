package mapping

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func BenchmarkEvent(b *testing.B) {
	m, err := New(nil, "")
	if err != nil {
		b.Fatal(err)
	}
	r := &kgo.Record{Topic: "events", Partition: 3, Offset: 123456, Timestamp: time.Now(),
		Value: []byte(`{"user_id":"u4711","item_id":"0114709","event_type":"view",` +
			`"event_time":1795715645123}`)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Event(r); err != nil {
			b.Fatal(err)
		}
	}
}
