package main

import (
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/filetest"
)

// TestUserCommands goes the way of support with the real binary: look at a user, take an event back,
// merge a guest, export, erase; kill -9 between a retraction and the next look loses nothing of it.
func TestUserCommands(t *testing.T) {
	t.Parallel()
	_, model := smallModel(t)
	dir := filepath.Join(t.TempDir(), "state")
	server := startServe(t, model, dir)
	on := func(args ...string) string {
		t.Helper()
		return execute(t, append(args, "--server", server.GRPC)...)
	}
	observe := func(user, item, id, at string) {
		t.Helper()
		on("observe", "--user", user, "--item", item, "--event-id", id, "--type", "view", "--time", at)
	}
	ids := func(lines string) (ids []string) {
		t.Helper()
		for line := range strings.Lines(lines) {
			e := struct {
				ID string `json:"event_id"`
			}{}
			decode(t, line, &e)
			ids = append(ids, e.ID)
		}
		return ids
	}
	observe("alice", "i1", "a1", "1000")
	observe("alice", "i2", "a2", "3000")
	observe("alice", "i1", "a3", "5000")
	observe("guest", "i3", "g1", "2000")
	observe("guest", "i4", "a2", "4000") // an id that is in use
	for args, want := range map[string]string{
		"show":              "3 events from 1970-01-01T00:16:40Z to 1970-01-01T01:23:20Z",
		"events":            "a3",
		"retract --event x": "0 events retracted, revision 3",
	} {
		says(t, args, on(append([]string{"user"}, append(strings.Fields(args), "--user",
			"alice")...)...), want)
	}
	for i, item := range listFor(t, server, "bob").GetItems()[:2] {
		observe("bob", item.GetItemId(), "", strconv.Itoa(1000+i*31*24*60*60))
	}
	if got := on("user", "show", "--user", "bob"); !regexp.MustCompile(
		`(?m)^shift of taste within 30 days: [01]\.\d{3} \(`).MatchString(got) {
		t.Errorf("user show printed %q, want a shift of taste in it", got)
	}
	check.Same(t, "2 events retracted, revision 1\n",
		on("user", "retract", "--user", "alice", "--item", "i1"), "user retract")
	check.Must(t, server.Kill())
	server = startServe(t, model, dir)
	events := on("user", "events", "--user", "alice", "--json")
	check.Same(t, []string{"a2"}, ids(events), "after kill -9")
	check.Same(t, "2 events merged, 0 were there, revision 3\n",
		on("user", "merge", "--from", "guest", "--into", "alice"), "user merge")
	export := on("user", "export", "--user", "alice")
	lines := strings.SplitAfterN(export, "\n", 2)
	if !strings.HasPrefix(lines[0], `{"summary":{"user_id":"alice","revision":3,`) {
		t.Errorf("the export begins with %q", lines[0])
	}
	got := ids(lines[1])
	if len(got) != 3 || got[0] != "g1" || got[1] != "a2" || !strings.HasPrefix(got[2], "merged:") {
		t.Errorf("the export has the events %q", got)
	}
	path := writeFile(t, "events.jsonl", lines[1])
	if files := filetest.With(t, dir, "alice"); len(files) == 0 {
		t.Fatal("the user is in no file: nothing is tested")
	}
	if got := on("user", "forget", "--user", "alice", "--wait"); !regexp.
		MustCompile(`^3 events erased\ndeleted \S+Z, erasure (\w{26})\n` +
			`gone from all files \S+Z, in the log as erasure \w{26}\n$`).
		MatchString(got) {
		t.Errorf("user forget printed %q", got)
	}
	if files := filetest.With(t, dir, "alice"); len(files) > 0 {
		t.Errorf("the user is still in %v", files)
	}
	if files := filetest.With(t, dir, "bob"); len(files) == 0 {
		t.Error("another user is gone")
	}
	says(t, "observe of the export", on("observe", "--data", path, "--type-column", "event_type"),
		"3 of 3 events acknowledged")
}
