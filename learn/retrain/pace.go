package retrain

import (
	"context"
	"time"

	"github.com/gsimc/gsimc/model"
)

// Waits of a server without a model, each of which is at most Config.Every. The wait is doubled
// from the first on, and up to the last as long as there are too few events, which is found out
// without a training. The first one also passes before a model that is old at the start of the
// server is trained again.
const (
	firstWait = time.Minute
	lastWait  = 10 * time.Minute
)

// pace makes attempts when they are due, until ctx ends. An attempt reports whether it found too
// few events.
func (l *Loop) pace(ctx context.Context, attempt func(context.Context) (few bool)) {
	wait := min(firstWait, l.cfg.Every)
	for next := wait; ; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(next):
		}
		if next = l.young(); next > 0 {
			continue
		}
		few := attempt(ctx)
		if next = l.cfg.Every; l.cfg.Server.ModelVersion() == "" {
			if wait = min(2*wait, l.cfg.Every); few {
				wait = min(wait, lastWait)
			}
			next = wait
		}
	}
}

// young returns the time until the serving model has the age of Config.Every, which does not begin
// anew with each start of a server. It is 0 or less for an older model, and for one whose file does
// not say when it was trained, or says a time to come.
func (l *Loop) young() time.Duration {
	if l.cfg.Server.ModelVersion() == "" {
		return 0
	}
	head, err := model.Stat(l.model)
	if err != nil || head.Trained.After(time.Now()) {
		return 0 // the attempt finds out
	}
	return time.Until(head.Trained.Add(l.cfg.Every))
}
