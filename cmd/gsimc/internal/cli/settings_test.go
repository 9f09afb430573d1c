package cli

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/internal/test/check"
)

// observe and recommend are two commands with flags of each kind.
type observe struct {
	InFlight int
}

func (observe) Run() error { return nil }

type recommend struct {
	User          string
	History       []string
	Items         int    `short:"n" default:"10"`
	Server        string `default:"127.0.0.1:50051"`
	Timeout       time.Duration
	Deny          []string
	Seen          string `enum:"exclude,include" default:"exclude"`
	ReappearAfter time.Duration
	MinRevision   *uint64
	StateCache    ByteSize           `default:"1MiB"`
	JSON          bool               `name:"json"`
	Weights       map[string]float64 `mapsep:","`

	fails error // of Run
}

func (c *recommend) Check() error {
	errs := []error{InRange("--items", float64(c.Items), 1, 1000)}
	if (c.User == "") == (len(c.History) == 0) {
		errs = append(errs, About("want either %s or %s", "--user", "--history"))
	}
	if c.ReappearAfter < 0 {
		errs = append(errs, fault.New("--reappear-after", c.ReappearAfter, "0s or more"))
	}
	return errors.Join(errs...)
}

func (c *recommend) Run() error { return c.fails }

type grammar struct {
	Root
	Observe   observe   `cmd:""`
	Recommend recommend `cmd:""`
}

// program returns a program that keeps its grammar in *at, with a command that fails.
func program(at **grammar, fails error) *Program {
	return &Program{New: func() any {
		g := &grammar{Recommend: recommend{fails: fails}}
		*at = g
		return g
	}}
}

// parse runs a command line; the error is what it prints.
func parse(t *testing.T, args, env []string) (*grammar, error) {
	t.Helper()
	var g *grammar
	var stdout, stderr bytes.Buffer
	code := program(&g, nil).Run(strings.NewReader(""), &stdout, &stderr, env, args...)
	if code != ExitOK {
		return g, errors.New(stderr.String())
	}
	return g, nil
}

func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	check.Must(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// Command line before environment before file before default, for each kind of value.
func TestPrecedence(t *testing.T) {
	file := writeFile(t, "gsimc.yaml", "items: 20\nserver: file:1\ntimeout: 7s\n"+
		"deny: [a, b]\njson: true\n")
	for _, c := range []struct {
		name      string
		args, env []string
		items     int
		server    string
	}{
		{"default", nil, nil, 10, "127.0.0.1:50051"},
		{"file", []string{"--config", file}, nil, 20, "file:1"},
		{"file named by the environment", nil, []string{"GSIMC_CONFIG=" + file}, 20, "file:1"},
		{"environment", []string{"--config", file}, []string{"GSIMC_ITEMS=30", "ITEMS=31"}, 30,
			"file:1"},
		{"command line", []string{"--config", file, "--items", "40"},
			[]string{"GSIMC_ITEMS=30", "GSIMC_SERVER=env:1"}, 40, "env:1"},
		{"short flag", []string{"-n", "50", "--config", file}, []string{"GSIMC_ITEMS=30"}, 50,
			"file:1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := parse(t, append([]string{"recommend", "--user", "u"}, c.args...), c.env)
			check.Must(t, err)
			if got.Recommend.Items != c.items || got.Recommend.Server != c.server {
				t.Errorf("items %d, server %s; want %d, %s", got.Recommend.Items,
					got.Recommend.Server, c.items, c.server)
			}
		})
	}
	got := check.Get(parse(t, []string{"recommend", "--user", "u", "--config", file}, nil))(t)
	if diff := cmp.Diff([]string{"a", "b"}, got.Recommend.Deny); diff != "" ||
		!got.Recommend.JSON || got.Recommend.Timeout.String() != "7s" {
		t.Errorf("list, switch or duration of the file not taken: %+v %s", got.Recommend, diff)
	}
	got = check.Get(parse(t, []string{"recommend", "--user", "u", "--timeout", "30d"}, nil))(t)
	check.Same(t, 720*time.Hour, got.Recommend.Timeout, "a duration in days")
}

// A file that is given to a command has flags of no other one. A file of the environment may.
func TestFlagsOfOtherCommands(t *testing.T) {
	file := writeFile(t, "gsimc.yaml", "items: 20\nquiet: true\nin-flight: 9\nuser: u\n")
	_, err := parse(t, []string{"recommend", "--config", file}, nil)
	check.Says(t, err, file+": line 3: --in-flight is a flag of observe, and not of recommend: "+
		"take the line out, or name the file by GSIMC_CONFIG instead", "recommend with a flag of observe")
	_, err = parse(t, []string{"observe", "--config", file}, nil)
	check.Says(t, err, "line 1: --items is a flag of recommend, and not of observe", "observe")
	got := check.Get(parse(t, []string{"recommend"}, []string{"GSIMC_CONFIG=" + file}))(t)
	check.Same(t, 20, got.Recommend.Items, "items by the file of the environment")
}

// A variable that is nearly one of a flag is a mistake. Any other may be there for another program.
func TestMistypedVariables(t *testing.T) {
	env := []string{"GSIMC_STATE_CACHE=1", "GSIMC_PORT=tcp://10.0.0.1", "GSIMC_SERVICE_HOST=10.0.0.1",
		"GSIMC_USR=short", "LISTN=x"}
	flags := []string{"listen", "state-cache", "user", "store", "server"}
	for name, want := range map[string]string{"GSIMC_LISTN": "GSIMC_LISTEN",
		"GSIMC_LITSEN": "GSIMC_LISTEN", "GSIMC_STATECACHE": "GSIMC_STATE_CACHE",
		"GSIMC_SERVERS": "GSIMC_SERVER", "GSIMC_STORED_AT": "", "GSIMC_USER": ""} {
		var all []string
		if want != "" {
			all = []string{name + " is not a variable of any flag: did you mean " + want + "?"}
		}
		check.Same(t, all, newSettings(append(env, name+"=x")).mistyped(flags), "%s", name)
	}
}

func TestBadSettings(t *testing.T) {
	for _, c := range []struct{ name, yaml, want string }{
		{"unknown key", "items: 3\nitmes: 4\n",
			`line 2: unknown key "itmes": did you mean items?`},
		{"key with underscore", "min_revision: 4\n",
			`line 1: unknown key "min_revision": did you mean min-revision?`},
		{"key like none", "colour: red\n",
			`line 1: unknown key "colour": no command has a flag --colour`},
		{"key like a flag of the command line alone", "confg: x.yaml\n",
			`line 1: unknown key "confg": no command has a flag --confg`},
		{"twice", "items: 3\nitems: 4\n", `line 2: the key "items" stands twice`},
		{"second document", "items: 3\n---\njson: true\n",
			"line 2: begins a second document: want one, without ---"},
		{"not a mapping", "# x\n- items\n", "line 2: want flag-name: value, such as quiet: true"},
		{"a command line", "--items 3\n", "line 1: want flag-name: value"},
		{"below a command", "recommend:\n  items: 3\n",
			`line 1: unknown key "recommend": want flags alone, without a name above them`},
		{"no value", "items:\n", "line 1: items: a value is missing"},
		{"no element", "deny: [a, null]\n", "line 1: deny: want a list of single values"},
		{"list in a mapping", "json: true\nweights: {a: [1]}\n",
			"line 2: weights: want a single value of a"},
		{"twice in a mapping", "weights: {a: 1, a: 2}\n",
			`line 1: weights: the key "a" stands twice`},
		{"nested list", "deny: [[a]]\n", "line 1: deny: want a list of single values"},
		{"list for a value", "items: [3]\n", "--items: is a list, want one value (from"},
		{"list for a switch", "json: [true]\n", "--json: is a list, want one value (from"},
		{"list for a mapping", "weights: [a=1]\n", "--weights: is a list, want a mapping (from"},
		{"mapping without numbers", "weights: {a: 1, b: x}\n",
			`--weights: "b=x", want TYPE=W, such as view=0.2 (from`},
		{"not yaml", "items: [\n", "line 1 is not YAML: want flag-name: value"},
		{"not yaml behind a list", "deny: [a,\n b]\na: b: c\n", "line 3 is not YAML"},
		{"open quote", "json: true\nserver: \"x\nitems: 3\n", "line 2 is not YAML"},
		{"no such anchor", "# x\nseen: *all\njson: true\n", "line 2 is not YAML"},
		{"config in config", "config: other.yaml\n",
			"line 1: --config stands on the command line alone"},
		{"a change", "items: 3\nshare: next=25\n", "line 2: --share stands on the command line alone"},
		{"not yaml behind a kilobyte", strings.Repeat("# a comment of many words\n", 500) +
			"json: true\n items: 3\n", "line 502 is not YAML"},
		{"not yaml at a line that is not known", strings.Repeat("# a comment of many words\n", 2000) +
			"server: \xff\n", ": this is not YAML: want flag-name: value: invalid leading UTF-8"},
		{"wrong type", "items: many\n",
			`--items: "many", want a whole number, such as 1000 (from line 1 of `},
		{"a power of ten", "json: true\nitems: 1e6\n",
			`--items: "1e6", want a whole number, such as 1000 (from line 2 of `},
		{"out of range", "json: true\r\nitems: 0\r\n",
			"--items: 0, want 1 to 1000 (from line 2 of "},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := writeFile(t, "gsimc.yaml", c.yaml)
			_, err := parse(t, []string{"recommend", "--user", "u", "--config", file}, nil)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want %q in it", err, c.want)
			}
			if !strings.Contains(err.Error(), file) || strings.Contains(err.Error(), "--help") {
				t.Errorf("error %q does not name the file, or names --help", err)
			}
		})
	}
}

// Errors say which variable or file the culprit is from, and nothing about what is from the command
// line.
func TestSourcesInErrors(t *testing.T) {
	file := writeFile(t, "gsimc.yaml", "items: 0\nreappear-after: -1s\n")
	for _, c := range []struct{ name, args, env, want string }{
		{"variable of the wrong type", "", "GSIMC_ITEMS=x",
			`--items: "x", want a whole number, such as 1000 (from GSIMC_ITEMS)`},
		{"optional variable of the wrong type", "", "GSIMC_MIN_REVISION=x",
			`--min-revision: "x", want a whole number of 0 or more (from GSIMC_MIN_REVISION)`},
		{"variable out of range", "", "GSIMC_ITEMS=0",
			"--items: 0, want 1 to 1000 (from GSIMC_ITEMS)"},
		{"no such choice in a variable", "", "GSIMC_SEEN=maybe",
			`--seen: must be one of "exclude","include" but got "maybe" (from GSIMC_SEEN)`},
		{"file out of range, twice", "--config " + file, "", "--items: 0, want 1 to 1000 (from " +
			"line 1 of " + file + "); --reappear-after: -1s, want 0s or more (from line 2 of " +
			file + ")"},
		{"variable before file", "--config " + file, "GSIMC_ITEMS=-3",
			"--items: -3, want 1 to 1000 (from GSIMC_ITEMS)"},
		{"two flags", "", "GSIMC_HISTORY=a",
			"want either --user or --history (from GSIMC_HISTORY)"},
		{"command line before variable", "--items 0", "GSIMC_ITEMS=5",
			"--items: 0, want 1 to 1000 (see gsimc help recommend)"},
		{"absent file", "--config /does/not/exist", "",
			"--config: /does/not/exist: no such file or directory: name a YAML file that can be " +
				"read (see"},
		{"absent file of a variable", "", "GSIMC_CONFIG=/does/not/exist",
			"--config: /does/not/exist: no such file or directory: name a YAML file that can be " +
				"read (from GSIMC_CONFIG)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := parse(t, append([]string{"recommend", "--user", "u"},
				strings.Fields(c.args)...), []string{c.env})
			if err == nil || !strings.Contains(err.Error(), c.want) ||
				strings.Contains(err.Error(), "--help") {
				t.Errorf("error %v, want %q in it", err, c.want)
			}
		})
	}
}

func TestGoodSettings(t *testing.T) {
	for _, text := range []string{"", "# nothing\n", "---\n# nothing\n", "{}\n", "items: 9\n...\n",
		"\xef\xbb\xbfitems: &n 9\ntimeout: 9s\nmin-revision: *n\n"} {
		file := writeFile(t, "good.yaml", text)
		args := []string{"recommend", "--user", "u", "--config", file}
		if _, err := parse(t, args, nil); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}
