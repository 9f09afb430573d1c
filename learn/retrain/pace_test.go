package retrain

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gsimc/gsimc/internal/test/check"
)

// trainedModel writes a model that says when it was trained.
func trainedModel(t *testing.T, path string, at time.Time) {
	t.Helper()
	file := check.Get(os.ReadFile(modelFile(t)))(t)
	file = bytes.Replace(file, []byte(anyTime.Format(time.RFC3339)),
		[]byte(at.UTC().Format(time.RFC3339)), 1)
	check.Must(t, os.WriteFile(path, file, 0o600))
}

// pace runs the loop of a server for some time and returns when attempts began, since the start.
// Each takes a second and does something.
func pace(
	t *testing.T, l *Loop, runs time.Duration, attempt func(n int),
) (began []time.Duration) {
	t.Helper()
	start := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), runs)
	defer cancel()
	l.pace(ctx, func(context.Context) bool {
		began = append(began, time.Since(start))
		time.Sleep(time.Second)
		attempt(len(began))
		return true
	})
	return began
}

// A server without a model tries for one soon and again, with growing waits, until there are enough
// events.
func TestFirstModelComesSoon(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.gsimc")
	synctest.Test(t, func(t *testing.T) {
		s := &fakeServer{}
		l := &Loop{cfg: Config{Every: 24 * time.Hour, Server: s}, model: path}
		got := pace(t, l, 26*time.Hour, func(n int) {
			if n == 6 {
				trainedModel(t, path, time.Now())
				s.version = "first"
			}
		})
		want := []time.Duration{time.Minute, 3*time.Minute + time.Second,
			7*time.Minute + 2*time.Second, 15*time.Minute + 3*time.Second,
			25*time.Minute + 4*time.Second, 35*time.Minute + 5*time.Second,
			24*time.Hour + 35*time.Minute + 6*time.Second}
		check.Same(t, want, got, "attempts")
	})
}

// The age of the model tells when it is trained again, however often the server is started and
// whoever trained it.
func TestAgeOfModelTellsWhen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.gsimc")
	synctest.Test(t, func(t *testing.T) {
		l := &Loop{cfg: Config{Every: 24 * time.Hour, Server: &fakeServer{version: "old"}},
			model: path}
		retrained := func(int) { trainedModel(t, path, time.Now()) }
		wantPace := func(what string, runs time.Duration, attempt func(int), want ...time.Duration) {
			t.Helper()
			check.Same(t, want, pace(t, l, runs, attempt), "%s: attempts", what)
		}
		trainedModel(t, path, time.Now())
		wantPace("first start", 10*time.Hour, retrained)
		wantPace("second start", 10*time.Hour, retrained)
		wantPace("third start", 10*time.Hour, retrained, 4*time.Hour)

		trainedModel(t, path, time.Now().Add(-48*time.Hour))
		kept := func(int) {}
		wantPace("an old model is kept", 25*time.Hour, kept, time.Minute,
			24*time.Hour+time.Minute+time.Second)

		trainedModel(t, path, time.Now().Add(48*time.Hour))
		wantPace("a clock that was ahead", 10*time.Hour, retrained, time.Minute)
	})
}

// A first training that fails, which takes its time, is tried again ever more seldom.
func TestFailuresOfTheFirstModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Loop{cfg: Config{Every: time.Hour, Server: &fakeServer{}}}
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Hour)
		defer cancel()
		start, got := time.Now(), []time.Duration{}
		l.pace(ctx, func(context.Context) bool {
			got = append(got, time.Since(start))
			return false
		})
		var want []time.Duration
		for _, minutes := range []time.Duration{1, 3, 7, 15, 31, 63, 123, 183} {
			want = append(want, minutes*time.Minute)
		}
		check.Same(t, want, got, "attempts")
	})
}
