package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble"
)

const (
	sortedUsers  = 400
	sortedEvents = 150 // of a user
)

// sortedUser and sortedEvent are those of sortedStore.
func sortedUser(u int) string { return fmt.Sprintf("user-%03d", u) }

func sortedEvent(u, i int) store.Event {
	return store.Event{ID: fmt.Sprintf("%0250d", i), Item: fmt.Sprint("item-", (u%7*9+i*i)%120),
		Value: 1}
}

// sortedStore makes the folder of a stopped server so large that its events stand in tables.
func sortedStore(t *testing.T) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "state")
	for i := range 2 { // an opening writes tables of what is in the log
		s := check.Get(pebble.Open(t.Context(), dir, pebble.Options{ReserveBytes: -1}))(t)
		for u := 0; i == 0 && u < sortedUsers; u++ {
			records := make([]store.Record, sortedEvents)
			for i := range records {
				records[i] = store.Record{User: sortedUser(u), Event: sortedEvent(u, i)}
			}
			check.Get(s.Append(t.Context(), records))(t)
		}
		check.Must(t, s.Close())
	}
	return dir
}

// flipTable flips a bit of a block of data of the largest table of a store.
func flipTable(t *testing.T, dir string) {
	t.Helper()
	path, size := largestTable(t, dir)
	flipByte(t, path, int(size/2))
}

func largestTable(t *testing.T, dir string) (path string, size int64) {
	t.Helper()
	names := check.Get(filepath.Glob(filepath.Join(dir, "histories", "*.sst")))(t)
	for _, name := range names {
		info := check.Get(os.Stat(name))(t)
		if info.Size() > size {
			path, size = name, info.Size()
		}
	}
	return path, size
}

func flipByte(t *testing.T, path string, at int) {
	t.Helper()
	content := []byte(mustRead(t, path))
	content[at] ^= 4
	write(t, path, string(content))
}

// TestVerifyCommand verifies a store before and after a bit flips in it.
func TestVerifyCommand(t *testing.T) {
	dir := sortedStore(t)
	list := filepath.Join(t.TempDir(), "damaged")
	out := mustRun(t, "verify", "--data-dir", dir, "--list", list)
	says(t, "verify of a whole store", out, fmt.Sprintf(" %d\n", sortedUsers*sortedEvents))
	check.Same(t, "", mustRead(t, list), "the list of damaged users of a whole store")
	flipTable(t, dir)
	code, out, stderr := runCLI(t, nil, "verify", "--data-dir", dir, "--list", list)
	if code != cli.ExitFailure || !strings.Contains(stderr, "damaged files: ") ||
		!strings.Contains(stderr, ".sst") || strings.Contains(stderr+out, "user-") {
		t.Errorf("verify of a damaged store: exit code %d, %s, prints\n%s", code, stderr, out)
	}
	if content := mustRead(t, list); !strings.HasPrefix(content, "user-") {
		t.Errorf("the list of damaged users: %q", content)
	}
}

// TestTrainFromDamagedStore learns from what can be read, and says that something is missing.
func TestTrainFromDamagedStore(t *testing.T) {
	dir, out := sortedStore(t), filepath.Join(t.TempDir(), "model.gsimc")
	train := []string{"train", "--from-store", dir, "--rank", "8", "--quick", "--out", out}
	if _, stderr := mustRunIn(t, nil, train...); strings.Contains(stderr, "damaged") {
		t.Fatalf("a whole store: %s", stderr)
	}
	flipTable(t, dir)
	_, stderr := mustRunIn(t, nil, train...)
	says(t, "a damaged store", stderr, "is damaged: the events are without those")
}

// TestSalvageCommand salvages a store after a bit has flipped in it, and after a table has been cut
// off.
func TestSalvageCommand(t *testing.T) {
	dir := sortedStore(t)
	to, list := filepath.Join(t.TempDir(), "new"), filepath.Join(t.TempDir(), "lost")
	mustRun(t, "salvage", "--data-dir", dir, "--to", to, "--list", list)
	refused(t, cli.ExitFailure, "not empty", "salvage", "--data-dir", dir, "--to", to)
	flipTable(t, dir)
	salvage := func() (code int, out, stderr string) {
		t.Helper()
		check.Must(t, os.RemoveAll(to))
		code, out, stderr = runCLI(t, nil, "salvage", "--data-dir", dir, "--to", to, "--list", list)
		check.Lacks(t, stderr+out, "user-", "what is shown of users")
		return code, out, stderr
	}
	code, out, stderr := salvage()
	if code != cli.ExitOK || !strings.Contains(out, "flipped back") || len(mustRead(t, list)) > 0 ||
		len(wholeUsers(t, to)) != sortedUsers {
		t.Fatalf("a flipped bit: exit code %d, %s, prints\n%s", code, stderr, out)
	}
	path, size := largestTable(t, dir)
	check.Must(t, os.Truncate(path, size/2))
	code, out, stderr = salvage()
	if code != cli.ExitLeftOut || !strings.Contains(stderr, "the old store does not open") {
		t.Fatalf("a table that is cut off: exit code %d, %s, prints\n%s", code, stderr, out)
	}
	whole, told := wholeUsers(t, to), map[string]bool{}
	for _, name := range []string{list, list + ".doubtful"} {
		content, _ := os.ReadFile(name) // there may be none
		for user := range strings.FieldsSeq(string(content)) {
			told[user] = true
		}
	}
	neither := 0
	for u := range sortedUsers {
		if !whole[sortedUser(u)] && !told[sortedUser(u)] {
			neither++
		}
	}
	count := fmt.Sprintf("at least %d users stood only in what cannot be read (there were %d after "+
		"its last commit)", neither, sortedUsers)
	if neither == 0 || !strings.Contains(stderr, count) || len(mustRead(t, list+".ranges")) == 0 {
		t.Errorf("%d whole, %d told, %d neither: %s", len(whole), len(told), neither, stderr)
	}
	code, out, stderr = runCLI(t, nil, "verify", "--data-dir", dir)
	if code != cli.ExitFailure || !strings.Contains(stderr, count) {
		t.Errorf("verify: exit code %d, %s, prints\n%s", code, stderr, out)
	}
	mustRun(t, "verify", "--data-dir", to)
}

// TestDamageThatRefusesAStart damages the journal of a small store, and then the catalogue: the
// last line says what to do, and no line says that others are served.
func TestDamageThatRefusesAStart(t *testing.T) {
	for _, of := range []string{"journal", "catalogue"} {
		dir := filepath.Join(t.TempDir(), "state")
		for i := range 2 { // an opening writes tables of what is in the log
			s := check.Get(pebble.Open(t.Context(), dir, pebble.Options{ReserveBytes: -1}))(t)
			for n := 0; i == 0 && n < 100; n++ {
				item := sortedEvent(0, n).ID
				if of == "catalogue" {
					check.Must(t, s.PutItems(t.Context(), []store.Item{{ID: item}}))
				} else {
					check.Get(s.Append(t.Context(), []store.Record{{User: "u",
						Event: store.Event{ID: item, Item: item, Value: 1}}}))(t)
				}
			}
			check.Must(t, s.Close())
		}
		flipTable(t, dir)
		code, _, stderr := runCLI(t, nil, serveFlags("--data-dir", dir)...)
		lines := strings.Split(strings.TrimSpace(stderr), "\n")
		if last := lines[len(lines)-1]; code != cli.ExitFailure ||
			!strings.HasSuffix(last, "gsimc restore, or write what is whole to a new folder with "+
				"gsimc salvage --data-dir "+dir+" --to DIR") {
			t.Errorf("damaged %s: exit code %d, %s", of, code, stderr)
		}
		says(t, "damaged "+of, stderr, "is damaged: run gsimc verify; a server that runs refuses")
	}
}

// TestListOutlivesWrongFolder looks for a store where there is none: the lists of an earlier look
// stay. One that finds nothing empties them.
func TestListOutlivesWrongFolder(t *testing.T) {
	dir, list := sortedStore(t), filepath.Join(t.TempDir(), "lost")
	names := []string{list, list + ".doubtful", list + ".ranges"}
	for _, name := range names {
		write(t, name, "u\n")
	}
	to := filepath.Join(t.TempDir(), "to")
	for _, args := range [][]string{{"verify"}, {"salvage", "--to", to}} {
		args = append(args, "--data-dir", t.TempDir(), "--list", list)
		refused(t, cli.ExitFailure, "", args...)
		for _, name := range names {
			if got := mustRead(t, name); got != "u\n" {
				t.Errorf("%q: %s has %q", args, filepath.Base(name), got)
			}
		}
	}
	mustRun(t, "verify", "--data-dir", dir, "--list", list)
	if left, _ := filepath.Glob(list + "*"); len(left) != 1 || len(mustRead(t, list)) > 0 {
		t.Errorf("a look that finds nothing leaves %q", left)
	}
}

// wholeUsers returns the users with all events of [sortedStore].
func wholeUsers(t *testing.T, dir string) map[string]bool {
	t.Helper()
	r := check.Get(pebble.OpenReadOnly(dir, pebble.Options{}))(t)
	defer r.Close()
	users := map[string]bool{}
	check.Must(t, r.Each(t.Context(), func(user string, revision uint64, _ store.Event) error {
		if revision == sortedEvents {
			users[user] = true
		}
		return nil
	}))
	return users
}
