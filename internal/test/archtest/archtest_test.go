package archtest

import (
	"bytes"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/gsimc/gsimc/"

// A house is what a table says: rooms from the ground up, and who may use which library.
type house struct {
	rooms     []room
	libraries []room
}

// A room is a folder and the names of what it may import. In the table of libraries it is a library
// and the folders that may import it.
type room struct {
	path  string
	names []string
}

// table reads lines of the form "path: names". A line without a colon goes on with the names, and
// what follows # is a remark.
func table(text string) (rooms []room) {
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		path, names, starts := strings.Cut(line, ":")
		switch {
		case starts:
			rooms = append(rooms, room{strings.TrimSpace(path), strings.Fields(names)})
		case len(rooms) > 0:
			last := &rooms[len(rooms)-1]
			last.names = append(last.names, strings.Fields(line)...)
		}
	}
	return rooms
}

// of returns the room of a package: the one with the longest path. A room with rooms below it is that
// folder alone, so that a new folder there needs a line of its own.
func of(rooms []room, pkg string) (found room) {
	for _, r := range rooms {
		if below(pkg, r.path) && len(r.path) > len(found.path) {
			found = r
		}
	}
	hall := slices.ContainsFunc(rooms, func(r room) bool {
		return r.path != found.path && below(r.path, found.path)
	})
	if hall && pkg != found.path {
		return room{}
	}
	return found
}

func below(pkg, folder string) bool { return pkg == folder || strings.HasPrefix(pkg, folder+"/") }

// library returns the line of an import: the one with the longest path.
func library(libraries []room, imp string) (found room) {
	for _, l := range libraries {
		if below(imp, l.path) && len(l.path) > len(found.path) {
			found = l
		}
	}
	if slices.Contains(watched, imp) && found.path != imp {
		return room{}
	}
	return found
}

// watched are packages of Go's library that a room needs a permission for, as for a library.
var watched = []string{"log", "log/slog", "net", "net/http", "os/exec"}

// refused returns what is wrong with an import of a package, or "".
func (h house) refused(pkg, imp string) string {
	own, inside := strings.CutPrefix(imp, module)
	if !inside {
		first, _, _ := strings.Cut(imp, "/")
		if !strings.Contains(first, ".") && !slices.Contains(watched, imp) {
			return ""
		}
		l := library(h.libraries, imp)
		if slices.ContainsFunc(l.names, func(f string) bool { return below(pkg, f) }) {
			return ""
		}
		return fmt.Sprintf("%s imports %s: the table of libraries does not name it there", pkg, imp)
	}
	from, to := of(h.rooms, pkg), of(h.rooms, own)
	if from.path == to.path || slices.Contains(from.names, to.path) {
		return ""
	}
	return fmt.Sprintf("%s imports %s: the room %q does not name the room %q", pkg, own,
		from.path, to.path)
}

func ours() house { return house{table(rooms), table(libraries)} }

// Every import of every package stands in the tables, and every name in the tables is used.
func TestImportsAreThoseOfTheTables(t *testing.T) {
	h := ours()
	used := map[[2]string]bool{}
	for pkg, imports := range packages(t) {
		from := of(h.rooms, pkg)
		if from.path == "" {
			t.Errorf("%s is in no room: give it a line in rooms_test.go", pkg)
		}
		used[[2]string{from.path}] = true
		for _, imp := range imports {
			if wrong := h.refused(pkg, imp); wrong != "" {
				t.Error(wrong)
			}
			used[[2]string{from.path, of(h.rooms, strings.TrimPrefix(imp, module)).path}] = true
			l := library(h.libraries, imp)
			for _, f := range l.names {
				used[[2]string{l.path, f}] = used[[2]string{l.path, f}] || below(pkg, f)
			}
		}
	}
	for _, r := range h.rooms {
		if !used[[2]string{r.path}] {
			t.Errorf("there is no package in the room %q", r.path)
		}
	}
	for _, r := range slices.Concat(h.rooms, h.libraries) {
		for _, name := range r.names {
			if !used[[2]string{r.path, name}] {
				t.Errorf("%q names %q, and no import needs it", r.path, name)
			}
		}
	}
}

// A room stands on rooms above its line in the table, so there is no circle and no way up.
func TestRoomsStandOnEarlierOnes(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range ours().rooms {
		for _, name := range r.names {
			if !seen[name] {
				t.Errorf("%q names %q, which has no line above its own", r.path, name)
			}
		}
		if seen[r.path] {
			t.Errorf("%q has two lines", r.path)
		}
		seen[r.path] = true
	}
}

// The rules bite: each import of one room by another is refused unless the table names it, and so
// are a library that nobody listed and one in a room that may not have it.
func TestTablesBite(t *testing.T) {
	h := ours()
	for _, from := range h.rooms {
		for _, to := range h.rooms {
			named := slices.Contains(from.names, to.path) || from.path == to.path
			if got := h.refused(from.path, module+to.path) == ""; got != named {
				t.Errorf("%s imports %s: allowed %t", from.path, to.path, got)
			}
		}
		for _, imp := range []string{"example.org/new", "log/slog", "google.golang.org/grpc"} {
			allowed := slices.ContainsFunc(h.libraries, func(l room) bool {
				return l.path == imp &&
					slices.ContainsFunc(l.names, func(f string) bool { return below(from.path, f) })
			})
			if got := h.refused(from.path, imp) == ""; got != allowed {
				t.Errorf("%s imports %s: allowed %t", from.path, imp, got)
			}
		}
	}
	if h.refused("nowhere", module+"model") == "" {
		t.Error("a package outside every room may import a model")
	}
}

// What computes knows nothing of calls, stores, metrics, flags and logs, not even through others.
func TestMathematicsIsAlone(t *testing.T) {
	h := ours()
	reached := []string{"spectral", "kalman", "model", "learn/dataset", "learn/train",
		"learn/evaluate"}
	for i := 0; i < len(reached); i++ {
		for _, name := range of(h.rooms, reached[i]).names {
			if !slices.Contains(reached, name) {
				reached = append(reached, name)
			}
		}
		for _, imp := range append([]string{"google.golang.org/grpc", "google.golang.org/protobuf",
			"github.com/prometheus/client_golang", "github.com/cockroachdb/pebble/v2",
			"github.com/jackc/pgx/v5", "github.com/redis/rueidis", "github.com/alecthomas/kong"},
			watched...) {
			if h.refused(reached[i], imp) == "" {
				t.Errorf("what computes reaches %s, which may import %s", reached[i], imp)
			}
		}
	}
	for _, r := range []string{"api", "store", "server", "client", "cmd/gsimc"} {
		if slices.Contains(reached, r) {
			t.Errorf("what computes reaches %s", r)
		}
	}
}

// Every command is built on cli, so that all share the form of flags, errors and output.
func TestCommandsImportCLI(t *testing.T) {
	const cli = "cmd/gsimc/internal/cli"
	for _, r := range ours().rooms {
		if below(r.path, "cmd") && !slices.Contains(noCommands, r.path) &&
			!slices.Contains(r.names, cli) {
			t.Errorf("%s does not import %s", r.path, cli)
		}
	}
}

// light are the modules that a program of Go gets with package client and the protocol, besides
// this one. They are all that `go get` downloads and writes into its go.mod, so the two need no
// module of their own, which would need tags and a line of replace of its own.
const light = `
buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go
github.com/cespare/xxhash/v2
golang.org/x/net
golang.org/x/sys
golang.org/x/text
google.golang.org/genproto/googleapis/api
google.golang.org/genproto/googleapis/rpc
google.golang.org/grpc
google.golang.org/protobuf
`

// A client does not pay for the stores and the metrics of the server.
func TestClientIsLight(t *testing.T) {
	const path = `{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}`
	cmd := exec.Command("go", "list", "-deps", "-f", path, module+"client", module+"api/gsimc/v1")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	got := slices.Compact(slices.Sorted(strings.FieldsSeq(string(out))))
	if want := strings.Fields(light); !slices.Equal(got, want) {
		t.Errorf("modules of a client:\n%s\nwant\n%s", strings.Join(got, "\n"),
			strings.Join(want, "\n"))
	}
}

// packages maps each package of the module to its imports. Imports of tests do not count.
func packages(t *testing.T) map[string][]string {
	t.Helper()
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`,
		module+"...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	found := make(map[string][]string)
	for line := range bytes.Lines(out) {
		if words := strings.Fields(string(line)); len(words) > 0 {
			found[strings.TrimPrefix(words[0], module)] = words[1:]
		}
	}
	if len(found) == 0 {
		t.Fatal("go list found no packages")
	}
	return found
}
