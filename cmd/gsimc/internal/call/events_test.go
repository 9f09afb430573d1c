package call

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/internal/test/check"
)

// TestRepeatsWithoutTimes checks that repeated rows without times, or with positions as times,
// differ for the server, which compares user, item, type and time, and that a second reading of the
// file makes the same events.
func TestRepeatsWithoutTimes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.csv")
	written := time.Unix(1_700_000_000, 999_999_999)
	for typeColumn, text := range map[string]string{
		"": "user_id,item_id\nu,a\nu,a\nu,c\nu,b\nu,a\nv,a\n",
		"action": "user_id,item_id,action\n" +
			"u,a,view\nu,a,view\nu,a,buy\nu,b,view\nu,a,view\nv,a,view\n",
		"kind": "user_id,item_id,kind,timestamp\n" +
			"u,a,view,1\nu,a,view,2\nu,a,buy,3\nu,b,view,4\nu,a,view,5\nv,a,view,1\n",
	} {
		check.Must(t, os.WriteFile(path, []byte(text), 0o600))
		check.Must(t, os.Chtimes(path, written, written))
		for range 2 {
			a := &cli.App{Stderr: &strings.Builder{}}
			c := &Observe{}
			c.Data, c.TypeColumn = []string{path}, typeColumn
			c.UserColumn, c.ItemColumn, c.TimeColumn = "user_id", "item_id", "timestamp"
			events := check.Get(c.read(a, a.Progress()))(t)
			var later []time.Duration
			for i := range events.Len() {
				later = append(later, events.Event(i).GetEventTime().AsTime().Sub(written))
			}
			if want := []time.Duration{0, 1, 0, 0, 2, 0}; !slices.Equal(later, want) {
				t.Errorf("times after that of the file: %v, want %v", later, want)
			}
		}
	}
}

func TestParseTime(t *testing.T) {
	want := time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC)
	for _, text := range []string{"2026-11-24", "2026-11-24T01:00:00+01:00", "1795478400"} {
		if got := check.Get(parseTime("--time", text))(t); !got.Equal(want) {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
	for _, text := range []string{"2026-02-30", "today", "1795478400000", ""} {
		if got, err := parseTime("--time", text); err == nil {
			t.Errorf("%q is %s", text, got)
		}
	}
}
