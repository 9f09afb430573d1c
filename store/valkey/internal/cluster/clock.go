package cluster

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"github.com/gsimc/gsimc/store/internal/clock"
)

// readClock asks a node for its time.
func readClock(ctx context.Context, conn rueidis.CoreClient) (clock.Clock, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	words, err := conn.Do(ctx, command("TIME")).AsStrSlice()
	if err != nil {
		return clock.Clock{}, err
	}
	if len(words) != 2 {
		return clock.Clock{}, errClock
	}
	seconds, err := strconv.ParseInt(words[0], 10, 64)
	micros, err2 := strconv.ParseInt(words[1], 10, 64)
	if err != nil || err2 != nil {
		return clock.Clock{}, errClock
	}
	return clock.Read(time.UnixMicro(1e6*seconds + micros)), nil
}

var errClock = errors.New("the node does not tell the time")
