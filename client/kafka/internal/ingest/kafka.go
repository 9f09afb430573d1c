package ingest

import (
	"context"
	"log/slog"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// commitSync returns the first error of a commit.
func (c *Consumer) commitSync(
	ctx context.Context, moved map[string]map[int32]kgo.EpochOffset,
) (failed error) {
	c.kafka.CommitOffsetsSync(ctx, moved, func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest,
		answer *kmsg.OffsetCommitResponse, err error,
	) {
		if failed = err; err != nil {
			return
		}
		for _, topic := range answer.Topics {
			for _, p := range topic.Partitions {
				if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
					failed = err
				}
			}
		}
	})
	return failed
}

// logger takes what the Kafka client warns of to the log.
type logger struct{ *slog.Logger }

// Level implements kgo.Logger.
func (logger) Level() kgo.LogLevel { return kgo.LogLevelWarn }

// Log implements kgo.Logger.
func (l logger) Log(level kgo.LogLevel, message string, pairs ...any) {
	to := slog.LevelWarn
	if level == kgo.LogLevelError {
		to = slog.LevelError
	}
	l.Logger.Log(context.Background(), to, "kafka: "+message, pairs...)
}
