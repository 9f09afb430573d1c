package train_test

import (
	"math"
	"testing"
	"time"

	"github.com/gsimc/gsimc/learn/train"
)

func TestKnownUntil(t *testing.T) {
	const early, late = "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	for _, c := range []struct {
		last, trained string
		want          int64
	}{
		{early, late, at}, {late, early, at}, {early, "", at}, {"", early, at},
		{"yesterday", early, at}, {"", "", math.MinInt64},
	} {
		if got := train.KnownUntil(map[string]string{"last_event": c.last,
			"trained_at": c.trained}); got != c.want {
			t.Errorf("%+v: got %d", c, got)
		}
	}
}
