package repair

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/store/pebble"
)

// TestLossesSayHowWell wants no more of a number than is known.
func TestLossesSayHowWell(t *testing.T) {
	loss, ranges := errors.New("damaged"), [][2]string{{"a", "b"}}
	for _, test := range []struct {
		report pebble.Report
		want   string
	}{
		{pebble.Report{Unnamed: ranges, Existed: 9}, "at least 9 users stood only in what cannot " +
			"be read (there were 9 after its last commit)"},
		{pebble.Report{Unnamed: ranges, Existed: 9, Loss: loss}, "(there were 9 after the last " +
			"commit that can be read); the last events of others may be missing, of the last 100 ms"},
		{pebble.Report{Unnamed: ranges, Existed: 9, AsOf: time.Unix(0, 0), Loss: loss,
			LostCommits: 2}, "of at most 2 commits and of the last 100 ms before a crash"},
		{pebble.Report{Unnamed: ranges, Existed: 9, AsOf: time.Unix(0, 0)}, "about 9 users stood"},
		{pebble.Report{Unnamed: ranges, Existed: 1}, "at least 1 user stood"},
	} {
		check.Has(t, strings.Join(losses(&test.report), "; "), test.want, "losses")
	}
}
