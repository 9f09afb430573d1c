package letters

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// topic is a Box in another topic.
type topic struct {
	client *kgo.Client
	name   string
	failed func(error)
	ctx    context.Context
	stop   context.CancelFunc
}

// Topic returns a Box that produces records to a topic, by a client of its own that Close closes.
// Key and value are those of the record; the headers have the reason and where it stood. failed is
// told why nothing could be produced.
func Topic(client *kgo.Client, name string, failed func(error)) Box {
	ctx, stop := context.WithCancel(context.Background())
	return &topic{client, name, failed, ctx, stop}
}

// Put implements Box.
func (b *topic) Put(r *kgo.Record, reason string, done func()) {
	b.produce(&kgo.Record{Topic: b.name, Key: r.Key, Value: r.Value, Headers: []kgo.RecordHeader{
		{Key: "reason", Value: []byte(reason)},
		{Key: "topic", Value: []byte(r.Topic)},
		{Key: "partition", Value: strconv.AppendInt(nil, int64(r.Partition), 10)},
		{Key: "offset", Value: strconv.AppendInt(nil, r.Offset, 10)},
	}}, done)
}

func (b *topic) produce(r *kgo.Record, done func()) {
	b.client.Produce(b.ctx, r, func(r *kgo.Record, err error) {
		switch {
		case err == nil:
			done()
		case b.ctx.Err() != nil:
		case errors.Is(err, kerr.MessageTooLarge) && r.Value != nil:
			// With the headers it is larger than it was. They say where it stands.
			b.produce(&kgo.Record{Topic: b.name, Key: r.Key, Headers: r.Headers}, done)
		default:
			b.failed(err)
			time.AfterFunc(retryAfter, func() {
				if b.ctx.Err() == nil {
					b.produce(&kgo.Record{Topic: b.name, Key: r.Key, Value: r.Value,
						Headers: r.Headers}, done)
				}
			})
		}
	})
}

// Close implements Box.
func (b *topic) Close() error {
	b.stop()
	b.client.Close()
	return nil
}
