package server

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/event"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/store/memory"
)

// Other weights hold for all events: every state is then the fold of the whole history by them, bit
// by bit, whether it was cached or not, and so are the events that follow. A bad file changes
// nothing.
func TestEventTypesFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "types")
	write := func(text string) { must(t, os.WriteFile(file, []byte(text), 0o600)) }
	write("view 0.25\n")
	st := memory.New()
	ts := start(t, setup{store: st, config: func(c *Config) { c.EventTypesFile = file }})
	with := func(w event.Weights) *testServer {
		return start(t, setup{store: st, config: func(c *Config) { c.EventWeights = w }})
	}
	before := with(event.Weights{"view": 0.25})
	after := with(event.Weights{"view": -2, "like": 3, "buy": 0})
	const users = 20
	round := 0
	observe := func() {
		round++
		for u := range users {
			for i, kind := range []string{"view", "like", "buy"} {
				e := newEvent(fmt.Sprint("u", u), (u*3+7*i+round)%testItems)
				e.EventType = kind
				ts.observe(t, e)
			}
		}
	}
	compare := func(what string, want *testServer) {
		t.Helper()
		for u := range users {
			req := forUser(fmt.Sprint("u", u))
			mustSame(t, want.ask(t, req), ts.ask(t, req),
				"%s: u%d (-those weights alone +with the file)", what, u)
		}
	}
	await := func(metric string) {
		t.Helper()
		eventually(t, "the metrics say "+metric, func() bool {
			_, page := ts.get(t, "/metrics")
			return strings.Contains(page, metric)
		})
	}
	observe()
	compare("at the start", before)
	write("view many\n")
	await(`gsimc_event_types_reloads_total{result="failure"} 1`)
	compare("with a bad file", before)
	write("# other weights\nview -2\nlike 3\n\nbuy 0\n")
	await(`gsimc_event_types_reloads_total{result="success"} 1`)
	observe()
	compare("with other weights", after)
	got := reply(t, ts.users.GetUser, &pb.GetUserRequest{UserId: "u1"})
	for _, kind := range got.GetUser().GetEventTypes() {
		if want := (event.Weights{"view": -2, "like": 3, "buy": 0})[kind.GetEventType()]; kind.
			GetWeight() != want || kind.GetTotalWeight() != 2*want {
			t.Errorf("%v, want the weight %v", kind, want)
		}
	}
}

// Items that are new to the model are placed by the weights of now.
func TestEventTypesOfNewItems(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "types")
	write := func(text string) { must(t, os.WriteFile(file, []byte(text), 0o600)) }
	write("take 0\n")
	ts := start(t, setup{config: func(c *Config) {
		extending(c)
		c.EventTypesFile = file
	}})
	for u := range 5 {
		user := fmt.Sprint("u", u)
		for i := range 4 {
			ts.observe(t, newEvent(user, (u+i)%8))
		}
		ts.observe(t, &pb.Event{UserId: user, ItemId: novelty, EventType: "take"})
		ts.observe(t, &pb.Event{UserId: user, ItemId: "other"})
	}
	ts.awaitExtension(t, knows("other"))
	if l := ts.arms.Main().Models.Acquire(); true {
		if knows(novelty)(l.Model) {
			t.Error("the model knows an item whose events have no weight")
		}
		l.Release()
	}
	write("take 1\n")
	must(t, ts.Reload(ctx(t)))
	ts.awaitExtension(t, knows(novelty))
	write("take -1\n")
	must(t, ts.Reload(ctx(t)))
	ts.awaitExtension(t, func(m *model.Model) bool { return !knows(novelty)(m) })
	ts.awaitExtension(t, knows("other"))
	same(t, float64(-1), ts.EventWeights()["take"], "the weight")
}

func TestBadEventTypesFile(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad")
	must(t, os.WriteFile(bad, []byte("view\n"), 0o600))
	for file, want := range map[string]string{
		bad:                        "EventTypesFile: " + bad + ": line 1 has 1 words",
		filepath.Join(dir, "none"): "no such file"} {
		cfg := DefaultConfig()
		cfg.EventTypesFile = file
		check.Says(t, check.Err(New(cfg, memory.New(), nil)), want, "%s", file)
	}
	cfg := DefaultConfig()
	cfg.EventTypesFile, cfg.EventWeights = bad, event.Weights{"view": 1}
	check.Says(t, cfg.Validate(), "given twice", "weights of both kinds")
}
