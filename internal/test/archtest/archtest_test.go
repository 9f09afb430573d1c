package archtest

import (
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/gsimc/gsimc/"

// A rule says that no package at or below any of the roots may depend, directly or through others,
// on a package at or below any of the denied paths. A path whose first element has no dot is a
// folder of this module, unless it starts with "std:". A path that starts with "=" is that package
// alone.
type rule struct {
	name   string
	roots  []string
	denied []string
}

var (
	pure = []string{
		"internal/ranking", "spectral", "kalman", "model", "learn/dataset", "learn/train", "learn/evaluate",
		"learn/tune", "internal/num/stat", "internal/num/vec", "internal/num/topn", "internal/num/gemm",
		"internal/num/parallel", "internal/num/prefetch", "internal/num/simd", "internal/num/cost",
		"internal/file/atomicfile", "internal/chart", "internal/file/safetensors",
	}
	transport = []string{
		"google.golang.org/grpc", "google.golang.org/protobuf", "google.golang.org/genproto",
		"api", "server", "cmd",
	}

	// The parts of the server.
	rooms = []string{
		"server/internal/admission", "server/internal/coldstart", "server/internal/console",
		"server/internal/doors", "server/internal/filters", "server/internal/items",
		"server/internal/origin", "server/internal/outcome",
		"server/internal/models", "server/internal/passes", "server/internal/quality",
		"server/internal/state", "server/internal/tenure", "server/internal/tracing",
		"server/internal/valid",
	}

	rules = []rule{
		{"pure packages know no transport", pure, transport},
		{"pure packages know no stores, metrics or flags", pure, []string{
			"store", "github.com/cockroachdb", "github.com/jackc", "github.com/prometheus",
			"github.com/alecthomas/kong", "github.com/vbauerster/mpb",
		}},
		{"pure packages do not log", pure, []string{"std:log"}},
		{"numerics are leaves",
			[]string{"spectral", "kalman", "internal/num/vec", "internal/num/topn",
				"internal/num/gemm", "internal/num/parallel", "internal/num/prefetch", "internal/num/simd",
				"internal/num/cost"},
			[]string{"model", "learn/dataset", "learn/evaluate", "learn/tune", "internal/file/atomicfile"}},
		{"arrays in files know no other package", []string{"internal/file/safetensors"}, []string{
			"internal/ranking", "spectral", "kalman", "model", "learn/dataset", "learn/train",
			"learn/evaluate", "learn/tune", "internal/fault", "internal/event",
		}},
		{"charts know what to draw only", []string{"internal/chart"}, []string{
			"model", "learn/dataset", "learn/train", "learn/evaluate", "learn/tune", "store", "cmd",
			"internal/file/atomicfile",
		}},
		{"ranking knows no other package", []string{"internal/ranking"}, []string{
			"spectral", "kalman", "model", "learn/dataset", "learn/evaluate", "learn/tune", "store",
			"server", "api", "cmd", "internal", "internal/fault", "internal/event",
		}},
		{"rules of single values are leaves", []string{"internal/fault", "internal/event"}, []string{
			"spectral", "kalman", "model", "learn/dataset", "learn/evaluate", "learn/tune", "store",
			"server", "api", "cmd", "std:log",
		}},
		{"models are built from arrays and know none of their users", []string{"model"}, []string{
			"learn/dataset", "learn/train", "learn/retrain", "learn/evaluate", "learn/tune", "store", "server", "api", "client",
			"cmd", "cmd/gsimc/internal/progress", "internal/wire",
		}},
		{"training does not measure", []string{"learn/train"}, []string{"learn/evaluate", "learn/tune"}},
		{"retraining knows no server", []string{"learn/retrain"}, []string{
			"server", "api", "learn/evaluate", "learn/tune", "cmd", "store/memory", "store/pebble",
			"store/postgres", "store/valkey", "google.golang.org/grpc", "github.com/prometheus",
		}},
		{"evaluation does not choose", []string{"learn/evaluate"}, []string{"learn/tune"}},
		{"dataset knows file formats only", []string{"learn/dataset"},
			[]string{"model", "spectral", "kalman", "learn/evaluate", "learn/tune"}},
		{"stores keep histories only", []string{"store"}, []string{
			"model", "spectral", "kalman", "learn/dataset", "learn/evaluate", "learn/tune", "api",
			"server", "cmd", "google.golang.org/grpc",
		}},
		{"the engine and the rows of a store know nothing of the store",
			[]string{"store/pebble/internal/engine", "store/pebble/internal/row"},
			[]string{"=store/pebble", "store/pebble/internal/recent"}},
		{"the engine and the rows of a store know nothing of each other",
			[]string{"store/pebble/internal/engine"}, []string{"store/pebble/internal/row"}},
		{"rows, marks, tables and small files of a store are leaves",
			[]string{"store/pebble/internal/row", "store/pebble/internal/mark",
				"store/pebble/internal/smallfile", "store/pebble/internal/table"},
			[]string{"=store/pebble", "store/pebble/internal/engine",
				"store/pebble/internal/recent"}},
		{"histories in memory know no engine", []string{"store/pebble/internal/recent"}, []string{
			"store/pebble/internal/engine", "github.com/cockroachdb",
		}},
		{"the nodes of a cluster know nothing of histories",
			[]string{"store/valkey/internal/cluster"}, []string{"=store/valkey"}},
		{"the server gets its store from cmd", []string{"server"}, []string{
			"store/memory", "store/pebble", "store/postgres", "store/valkey", "github.com/cockroachdb",
			"github.com/redis", "github.com/jackc", "learn/dataset", "learn/evaluate", "learn/tune", "cmd",
		}},
		{"the parts of the server do not know it", []string{"server/internal"},
			[]string{"=server"}},
		{"forms of metrics, background work and files that are read again are leaves",
			[]string{"server/internal/metric", "server/internal/background",
				"server/internal/watched"}, rooms},
		{"passes know no other part of the server", []string{"server/internal/passes"},
			without("passes")},
		{"the serving model knows no other part of the server", []string{"server/internal/models"},
			without("models")},
		{"admission knows calls only", []string{"server/internal/admission"},
			append(without("admission"), "api", "model", "store", "kalman", "spectral", "learn/dataset")},
		{"doors know calls only", []string{"server/internal/doors"},
			append(without("doors"), "model", "store", "kalman", "spectral", "learn/dataset")},
		{"rules of requests know messages only", []string{"server/internal/valid"},
			append(without("valid"), "model", "kalman", "spectral", "learn/dataset")},
		{"items know models, rules and statuses", []string{"server/internal/items"},
			without("items", "models", "outcome", "valid", "admission", "doors", "filters")},
		{"filters by name know the catalogue only", []string{"server/internal/filters"},
			append(without("filters"), "api", "model", "kalman", "spectral", "learn/dataset")},
		{"the console knows nothing but its files", []string{"server/internal/console"}, []string{
			"api", "model", "store", "kalman", "spectral", "learn/dataset", "internal/event", "internal/fault", "internal/ranking",
			"=server", "server/internal", "internal", "google.golang.org", "github.com",
		}},
		{"traces know calls and stores only", []string{"server/internal/tracing"},
			append(without("tracing"), "api", "model", "kalman", "spectral", "learn/dataset")},
		{"the server knows no exporter of traces", []string{"server"}, []string{
			"go.opentelemetry.io/otel/sdk", "go.opentelemetry.io/otel/exporters"}},
		{"user states know no other part of the server", []string{"server/internal/state"},
			without("state")},
		{"cold-start items know models, states and who owns them",
			[]string{"server/internal/coldstart"},
			without("coldstart", "models", "state", "tenure")},
		{"the holder of a lease knows the store only", []string{"server/internal/tenure"},
			append(without("tenure"), "api", "model", "kalman", "spectral", "learn/dataset")},
		{"live quality knows models and states", []string{"server/internal/quality"},
			without("quality", "models", "state")},
		{"helpers of tests stay in tests", []string{"server", "client", "cmd", "store"},
			[]string{"=server/internal/servertest", "internal/test/certtest", "internal/test/enginetest",
				"internal/test/h2test"}},
		{"tests alone inject faults", []string{"server", "client", "cmd", "model", "store/memory",
			"store/pebble", "store/postgres", "store/valkey"}, []string{"internal/test/soak"}},
		{"the wire format knows messages only", []string{"internal/wire"}, []string{
			"model", "spectral", "kalman", "learn/dataset", "learn/evaluate", "learn/tune", "store",
			"server", "cmd",
		}},
		{"a client knows the protocol only", []string{"client"}, []string{
			"server", "store", "model", "spectral", "learn/dataset", "learn/train", "learn/retrain", "learn/evaluate",
			"learn/tune", "cmd",
		}},
		{"what commands share knows none of them",
			[]string{"cmd/gsimc/internal/cli", "cmd/gsimc/internal/child",
				"cmd/gsimc/internal/data", "cmd/gsimc/internal/stores"}, commands},
		{"bench knows no other command", []string{"cmd/gsimc/internal/bench"},
			otherCommands("bench")},
		{"call knows no other command", []string{"cmd/gsimc/internal/call"}, otherCommands("call")},
		{"demo knows no other command", []string{"cmd/gsimc/internal/demo"}, otherCommands("demo")},
		{"evaluate knows no other command", []string{"cmd/gsimc/internal/evaluate"},
			otherCommands("learn/evaluate")},
		{"train knows no other command", []string{"cmd/gsimc/internal/train"},
			otherCommands("learn/train")},
		{"plan knows no other command", []string{"cmd/gsimc/internal/plan"}, otherCommands("plan")},
		{"migrate knows no other command", []string{"cmd/gsimc/internal/migrate"},
			otherCommands("migrate")},
		{"serve knows no other command", []string{"cmd/gsimc/internal/serve"},
			otherCommands("serve")},
		{"tune knows no other command", []string{"cmd/gsimc/internal/tune"}, otherCommands("learn/tune")},
		{"look knows no other command", []string{"cmd/gsimc/internal/look"}, otherCommands("look")},
		{"standalone looks, and starts what else it needs",
			[]string{"cmd/gsimc/internal/standalone"}, otherCommands("standalone", "look")},
	}

	// The groups of commands.
	commands = []string{
		"cmd/gsimc/internal/bench", "cmd/gsimc/internal/call", "cmd/gsimc/internal/demo",
		"cmd/gsimc/internal/evaluate", "cmd/gsimc/internal/look", "cmd/gsimc/internal/migrate",
		"cmd/gsimc/internal/plan", "cmd/gsimc/internal/replay", "cmd/gsimc/internal/serve",
		"cmd/gsimc/internal/standalone", "cmd/gsimc/internal/train", "cmd/gsimc/internal/tune",
	}
)

// otherCommands are the groups of commands besides the named ones.
func otherCommands(names ...string) []string {
	return slices.DeleteFunc(slices.Clone(commands),
		func(p string) bool { return slices.Contains(names, path.Base(p)) })
}

// Every command is built on cli, so that all share the form of flags, errors and output.
func TestCommandsImportCLI(t *testing.T) {
	for pkg, imports := range dependencies(t) {
		if below(pkg, commands) && !slices.Contains(imports, full("cmd/gsimc/internal/cli")) {
			t.Errorf("%s does not import cmd/gsimc/internal/cli", pkg)
		}
	}
}

func TestImportDirections(t *testing.T) {
	deps := dependencies(t)
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			for pkg, imports := range deps {
				if !below(pkg, r.roots) {
					continue
				}
				for _, imp := range imports {
					if below(imp, r.denied) {
						t.Errorf("%s depends on %s (see docs/architecture.md)", pkg, imp)
					}
				}
			}
		})
	}
}

// A rule that matches nothing is worth nothing: a made-up closure must break each of them.
func TestRulesBite(t *testing.T) {
	for _, r := range rules {
		for _, d := range r.denied {
			alone, exact := strings.CutPrefix(d, "=")
			if !exact {
				alone += "/x"
			}
			if !below(full(alone), r.denied) {
				t.Errorf("rule %q does not deny %s", r.name, alone)
			}
		}
		for _, root := range r.roots {
			root = strings.TrimPrefix(root, "=")
			if !below(full(root), r.roots) || below(full(root)+"x", r.roots) {
				t.Errorf("rule %q: root %s matches wrongly", r.name, root)
			}
		}
	}
}

// dependencies maps every package of the module to its imports, direct and through other packages
// of the module. Imports of tests do not count. The walk does not enter third-party libraries,
// because their imports are their own matter: a Parquet reader links protobuf.
func dependencies(t *testing.T) map[string][]string {
	t.Helper()
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`,
		module+"...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	direct := make(map[string][]string)
	for line := range strings.Lines(string(out)) {
		if words := strings.Fields(line); len(words) > 0 {
			direct[words[0]] = words[1:]
		}
	}
	if len(direct) == 0 {
		t.Fatal("go list found no packages")
	}
	deps := make(map[string][]string, len(direct))
	for pkg := range direct {
		deps[pkg] = closure(pkg, direct)
	}
	return deps
}

func closure(pkg string, direct map[string][]string) []string {
	var found []string
	seen := map[string]bool{pkg: true}
	for queue := []string{pkg}; len(queue) > 0; queue = queue[1:] {
		for _, imp := range direct[queue[0]] {
			if !seen[imp] {
				seen[imp] = true
				found = append(found, imp)
				queue = append(queue, imp)
			}
		}
	}
	return found
}

// full is the import path that a path of the rules stands for.
func full(path string) string {
	if std, ok := strings.CutPrefix(path, "std:"); ok {
		return std
	}
	if first, _, _ := strings.Cut(path, "/"); strings.Contains(first, ".") {
		return path
	}
	return module + path
}

// without returns the parts of the server except the named ones.
func without(names ...string) []string {
	return slices.DeleteFunc(slices.Clone(rooms), func(room string) bool {
		return slices.Contains(names, path.Base(room))
	})
}

// below reports whether pkg is one of the paths or stands in a folder below one.
func below(pkg string, paths []string) bool {
	for _, p := range paths {
		if alone, ok := strings.CutPrefix(p, "="); ok {
			if pkg == full(alone) {
				return true
			}
			continue
		}
		if p := full(p); pkg == p || strings.HasPrefix(pkg, p+"/") {
			return true
		}
	}
	return false
}
