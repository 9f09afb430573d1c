package postgres

import (
	"testing"
	"time"
)

// Writes are refused once looks that follow each other have missed a standby for long enough, and
// not because an old look missed one too.
func TestOldLookDoesNotCount(t *testing.T) {
	t.Parallel()
	now := time.Now()
	missed := &standby{looked: now.Add(-standbyAge + 1), gone: now.Add(-time.Hour)}
	old := &standby{looked: now.Add(-standbyAge), gone: now.Add(-time.Hour)}
	for _, c := range []struct {
		what      string
		before    *standby
		connected int64
		gone      time.Time
	}{
		{"one is there", missed, 1, time.Time{}},
		{"the first look", nil, 0, now},
		{"one was there", &standby{looked: missed.looked}, 0, now},
		{"missed again", missed, 0, missed.gone},
		{"missed long ago", old, 0, now},
	} {
		if got := seen(c.before, c.connected, now); got.looked != now || got.gone != c.gone {
			t.Errorf("%s: looked at %v and gone since %v, want %v", c.what, got.looked, got.gone,
				c.gone)
		}
	}
}
