package cluster

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/redis/rueidis"
)

// clockAge is the time after which the clock of a node is read again. Until then the clocks of two
// machines drift apart by a millisecond or two, unless one of them is set.
const clockAge = 10 * time.Second

// clock is what a lane knows of the clock of its node. The zero value knows nothing.
type clock struct {
	said time.Time // the time of the node
	read time.Time // when its answer was there
}

// isOld reports whether the clock is to be read.
func (k *clock) isOld() bool { return time.Since(k.read) > clockAge }

// at converts a time of this machine to milliseconds of the node's clock. The result may be early,
// by the time of the round trip that read the clock, and is late only as far as the clocks have
// drifted apart since.
func (k *clock) at(t time.Time) int64 { return k.said.Add(t.Sub(k.read)).UnixMilli() }

// readClock asks a node for its time.
func readClock(ctx context.Context, conn rueidis.CoreClient) (clock, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	words, err := conn.Do(ctx, command("TIME")).AsStrSlice()
	if err != nil {
		return clock{}, err
	}
	if len(words) != 2 {
		return clock{}, errClock
	}
	seconds, err := strconv.ParseInt(words[0], 10, 64)
	micros, err2 := strconv.ParseInt(words[1], 10, 64)
	if err != nil || err2 != nil {
		return clock{}, errClock
	}
	return clock{said: time.UnixMicro(1e6*seconds + micros), read: time.Now()}, nil
}

var errClock = errors.New("the node does not tell the time")
