package ingest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ask asks the brokers for the topics, and for that of dead letters.
func (c *Consumer) ask(ctx context.Context) error {
	request := kmsg.NewPtrMetadataRequest()
	for _, name := range []string{c.events, c.items, c.letters.Topic} {
		if topic := kmsg.NewMetadataRequestTopic(); name != "" {
			topic.Topic = kmsg.StringPtr(name)
			request.Topics = append(request.Topics, topic)
		}
	}
	answer, err := request.RequestWith(ctx, c.kafka)
	if err != nil {
		return fmt.Errorf("no broker answers: %w", err)
	}
	for _, t := range answer.Topics {
		if err := kerr.ErrorForCode(t.ErrorCode); err != nil {
			return fmt.Errorf("topic %s: %w", *t.Topic, err)
		}
	}
	return nil
}

// ends asks the brokers for the offsets behind the last records, which a partition that is not
// fetched at present does not tell.
func (c *Consumer) ends(ctx context.Context, partitions []*partition) error {
	request := kmsg.NewPtrListOffsetsRequest()
	request.ReplicaID, request.IsolationLevel = -1, 1 // a consumer, which reads what is committed
	for _, name := range c.topics() {
		topic := kmsg.NewListOffsetsRequestTopic()
		topic.Topic = name
		for _, p := range partitions {
			part := kmsg.NewListOffsetsRequestTopicPartition()
			if part.Partition, part.Timestamp = p.number, -1; p.topic == name { // -1: the end
				topic.Partitions = append(topic.Partitions, part)
			}
		}
		request.Topics = append(request.Topics, topic)
	}
	answer, err := request.RequestWith(ctx, c.kafka)
	if err != nil {
		return err
	}
	for _, t := range answer.Topics {
		for _, part := range t.Partitions {
			if failed := kerr.ErrorForCode(part.ErrorCode); failed != nil {
				err = errors.Join(err, fmt.Errorf("%s/%d: %w", t.Topic, part.Partition, failed))
			} else if p := c.partition(t.Topic, part.Partition); p != nil {
				p.end.Store(part.Offset)
			}
		}
	}
	return err
}

// logger takes to the log what the Kafka client warns of, and that it begins elsewhere than where
// the group was, which it takes for a matter of course.
type logger struct{ *slog.Logger }

// Level implements kgo.Logger.
func (logger) Level() kgo.LogLevel { return kgo.LogLevelInfo }

// Log implements kgo.Logger.
func (l logger) Log(level kgo.LogLevel, message string, pairs ...any) {
	to := slog.LevelWarn
	switch {
	case level == kgo.LogLevelError:
		to = slog.LevelError
	case level == kgo.LogLevelInfo && !strings.Contains(message, "OFFSET_OUT_OF_RANGE"):
		return
	}
	l.Logger.Log(context.Background(), to, "kafka: "+message, pairs...)
}
