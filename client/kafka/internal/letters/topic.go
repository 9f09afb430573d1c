package letters

import (
	"context"
	"errors"
	"strconv"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// topic keeps letters in another topic. Key and value are those of the record; the headers have the
// reason and where it stood.
type topic struct {
	*kgo.Client
	name string
}

// Topic returns a Box that produces records to a topic, by a client of its own that Close closes.
func Topic(client *kgo.Client, name string) *Box {
	b := newBox(&topic{client, name})
	b.Topic = name
	return b
}

// keep implements keeper.
func (t *topic) keep(ctx context.Context, batch []letter) (left []letter, failed error) {
	errs := make([]error, len(batch))
	var all sync.WaitGroup
	for i := range batch {
		all.Add(1)
		t.Produce(ctx, t.record(&batch[i]), func(_ *kgo.Record, err error) {
			errs[i] = err
			all.Done()
		})
	}
	all.Wait()
	for i, err := range errs {
		rest := batch[i : i+1]
		// The broker may mean the others, so each goes by itself first.
		if errors.Is(err, kerr.MessageTooLarge) && (len(batch) > 1 || rest[0].shrink()) {
			rest, err = t.keep(ctx, rest)
		} else if err == nil {
			rest[0].done()
		}
		if err != nil {
			left, failed = append(left, rest...), err
		}
	}
	return left, failed
}

// shrink takes away the value or else the key, if there is one: with the headers, which say where
// the record stands, a letter is larger than the record was.
func (l *letter) shrink() bool {
	there := l.Value != nil || l.Key != nil
	if l.Value == nil {
		l.Key = nil
	}
	l.Value = nil
	return there
}

func (t *topic) record(l *letter) *kgo.Record {
	return &kgo.Record{Topic: t.name, Key: l.Key, Value: l.Value, Headers: []kgo.RecordHeader{
		{Key: "reason", Value: []byte(l.reason)},
		{Key: "topic", Value: []byte(l.Topic)},
		{Key: "partition", Value: strconv.AppendInt(nil, int64(l.Partition), 10)},
		{Key: "offset", Value: strconv.AppendInt(nil, l.Offset, 10)},
	}}
}

// Close implements keeper.
func (t *topic) Close() error {
	t.Client.Close()
	return nil
}
