package main

import (
	"strings"
	"testing"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/soak"

	"github.com/alecthomas/kong"
)

// commands maps the path of every command to the flags that it takes.
func commands(t *testing.T) map[string][]*kong.Flag {
	t.Helper()
	parser := check.Get(program().Parser())(t)
	found := map[string][]*kong.Flag{}
	for _, leaf := range parser.Model.Leaves(true) { // without those that are for gsimc itself
		for _, level := range leaf.AllFlags(false) {
			found[leaf.Path()] = append(found[leaf.Path()], level...)
		}
	}
	return found
}

func TestHelpMentionsEverything(t *testing.T) {
	code, overview, _ := runCLI(t, nil, "help")
	check.MustSame(t, cli.ExitOK, code, "gsimc help: exit code")
	all := commands(t)
	if len(all) < 10 {
		t.Fatalf("only %d commands found", len(all))
	}
	for command, flags := range all {
		check.Has(t, overview, "\n  "+command, "gsimc help")
		code, manual, stderr := runCLI(t, nil, append([]string{"help"},
			strings.Fields(command)...)...)
		check.Same(t, cli.ExitOK, code, "gsimc help %s: %s: exit code", command, stderr)
		_, same, _ := runCLI(t, nil, append(strings.Fields(command), "--help")...)
		check.Same(t, same, manual, "gsimc help %s, as gsimc %s --help", command, command)
		for _, flag := range flags {
			if !strings.Contains(manual, "--"+flag.Name) &&
				!strings.Contains(manual, "--[no-]"+flag.Name) {
				t.Errorf("gsimc help %s does not mention --%s", command, flag.Name)
			}
			if flag.Help == "" {
				t.Errorf("gsimc %s --%s has no help", command, flag.Name)
			}
		}
	}
}

func TestExitCodes(t *testing.T) {
	for _, c := range []struct {
		args   []string
		code   int
		stdout string // part of it
		stderr string
	}{
		{nil, cli.ExitUsage, "", "Usage: gsimc <command>"},
		{[]string{"--help"}, cli.ExitOK, "Usage: gsimc <command>", ""},
		{[]string{"help"}, cli.ExitOK, "GSIMC_STATE_CACHE", ""},
		{[]string{"help", "nosuch"}, cli.ExitUsage, "",
			`gsimc: help: there is no command "nosuch"`},
		{[]string{"help", "model", "nosuch"}, cli.ExitUsage, "",
			`gsimc: help: there is no command "model nosuch"`},
		{[]string{"nosuch"}, cli.ExitUsage, "",
			"gsimc: unexpected argument nosuch (see gsimc help)"},
		{[]string{"model", "show", "/does/not/exist"}, cli.ExitFailure, "",
			"gsimc: /does/not/exist: no such file or directory: give a file that `gsimc " +
				"train` wrote"},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			code, stdout, stderr := runCLI(t, nil, c.args...)
			if code != c.code || !strings.Contains(stdout, c.stdout) ||
				!strings.Contains(stderr, c.stderr) {
				t.Errorf("exit code %d, want %d\nstdout: %s\nstderr: %s", code, c.code, stdout,
					stderr)
			}
			if c.code == cli.ExitOK && stderr != "" {
				t.Errorf("unexpected output on stderr: %s", stderr)
			}
		})
	}
}

// Each case is refused with exit code 2, before anything is read or written, with a message that
// names the flag.
func TestBadFlags(t *testing.T) {
	const (
		train     = "train --data x.csv --out y.gsimc "
		filtered  = train + "--filter power "
		evaluate  = "evaluate --data x.csv "
		generate  = "generate --out x.csv "
		serve     = "serve --model m.gsimc "
		recommend = "recommend --user u "
	)
	cases := []struct{ args, want string }{
		{"train --out y.gsimc", "missing flags: --data=FILE or --from-store=DIR"},
		{"train --from-store d --out y.gsimc --user-column u",
			"--user-column: has no effect with --from-store: leave it out"},
		{"evaluate --from-store d --time-unit ms", "--time-unit: has no effect with --from-store"},
		{"train --from-store d --out y.gsimc --columns a,b",
			"--columns: has no effect with --from-store: leave it out (see"},
		{"train --from-store d --out y.gsimc --max-bad-rows 5",
			"--max-bad-rows: has no effect with --from-store"},
		{"train --from-store d --out y.gsimc --weight-column w",
			"--weight-column: has no effect with --from-store"},
		{train + "--filter power --dynamics learned",
			"--filter: has no effect with --dynamics learned"},
		{evaluate + "--time-cuts 2", "--time-cuts: has no effect without --protocol time"},
		{evaluate + "--new-share 0.1", "--new-share: has no effect without --protocol new-items"},
		{evaluate + "--items-separator ,", "--items-separator: has no effect without --items-file"},
		{"evaluate --data x --server h:1", "--server: has no effect without --from-store"},
		{"train --data x --out y.gsimc --tls", "--tls: has no effect without --server"},
		{"train --data x.csv", "missing flags: --out=FILE"},
		{train + "--rank 0", "--rank: 0, want at least 1"},
		{train + "--delimiter ::", `--delimiter: "::", want one ASCII character or tab: take : and --columns`},
		{train + "--rank many", `--rank: "many", want a whole number, such as 1000`},
		{train + "--graph bipartite",
			`--graph must be one of "hypergraph","covariance" but got "bipartite"`},
		{train + "--filter lowpass", `--filter must be one of "tikhonov"`},
		{train + "--solver qr", `--solver must be one of "auto","exact","nystrom"`},
		{train + "--nystrom-form fast", "--nystrom-form must be one of"},
		{train + "--landmarks -1", "--landmarks: -1, want at least 0"},
		{train + "--tolerance 0", "--tolerance: 0, want at least 1e-12"},
		{train + "--tolerance 1", "--tolerance: 1, want a number below 1"},
		{train + "--tolerance NaN", "--tolerance: NaN"},
		{train + "--degree-exponent 2.5", "--degree-exponent: 2.5, want 0 to 2"},
		{train + "--window 1", "--window: 1, want 2 to 10000, or 0 for whole histories"},
		{train + "--degree-rescale -3", "--degree-rescale: -3, want -2 to 2"},
		{filtered + "--phi 0", "--phi: 0, want a number above 0"},
		{filtered + "--gamma -1", "--gamma: -1, want at least 0"},
		{filtered + "--a 1.5", "--a: 1.5, want at least 2"},
		{filtered + "--power 0", "--power: 0, want a number above 0"},
		{filtered + "--alpha 0", "--alpha: 0, want a number above 0"},
		{filtered + "--half-life -1h", "--half-life: -1h0m0s, want 0s or at least 1s"},
		{filtered + "--half-life 5", "--half-life"},
		{filtered + "--sigma-nu 1e-30", "--sigma-nu: 1e-30, want 1e-12 to 1e+12"},
		{filtered + "--sigma-eta 1e13", "--sigma-eta: 1e+13, want 1e-12 to 1e+12"},
		{train + "--filter power --ridge 2", "--ridge: has no effect without learned dynamics"},
		{train + "--preset paper --bands 0", "--bands: has no effect without learned dynamics"},
		{train + "--bands 0,2", `--bands: "2" is not a number from 0 to 1`},
		{train + "--covariance block", `--covariance must be one of "diagonal","full"`},
		{train + "--min-user-events -1", "--min-user-events: -1, want 0 or more"},
		{train + "--max-bad-rows -1", "--max-bad-rows: -1, want 0 or more"},
		{train + "--item-column user_id",
			`--item-column: column "user_id" has a use already: ` +
				`change --item-column or change --user-column`},
		{train + "--seed -1", "--seed"},
		{evaluate + "--sigma-eta 0", "--sigma-eta: 0, want 1e-12 to 1e+12"},
		{evaluate + "--methods best", `--methods: unknown method "best"`},
		{evaluate + "--protocol time --test-share 0", "--test-share: 0, want a number above 0"},
		{evaluate + "--protocol time --time-cuts 1 --test-share 0.5",
			"--test-share: 0.5, want a number below 0.5"},
		{evaluate + "--protocol time --time-cuts 0", "--time-cuts: 0, want 1 to 100"},
		{evaluate + "--protocol time --svg d --methods ease",
			"--svg draws how the model of dynamics ages: add it to --methods"},
		{evaluate + "--protocol new-items --svg d",
			"--svg draws the figures of --protocol last-item and time"},
		{evaluate + "--protocol time --time-users -1", "--time-users: -1, want 0 to 1000000000"},
		{evaluate + "--protocol time --split s.csv",
			"--split divides the users, and --protocol time divides their events"},
		{evaluate + "--protocol new-items --new-share 1", "--new-share: 1, want a number below 1"},
		{evaluate + "--protocol new-items --methods popularity",
			"--protocol new-items measures the model that is served, and popularity"},
		{evaluate + "--mrfcf-a 1", "--mrfcf-a: 1, want a number above 1"},
		{generate + "--users 0", "--users: 0, want 1 to"},
		{generate + "--items 1", "--items: 1, want 2 to"},
		{generate + "--events 5", "--events: 5, want 10000 (one for each user)"},
		{"serve --popularity-half-life 0s", "--popularity-half-life: 0s, want at least 1s"},
		{serve + "--listen nowhere", `--listen: "nowhere" is not a HOST:PORT address`},
		{serve + "--listen 127.0.0.1:65536",
			`--listen: "127.0.0.1:65536", want a port from 0 to 65535`},
		{serve + "--listen 0.0.0.0:0", "--listen: \"0.0.0.0:0\" may be reached from other machines, " +
			"which takes TLS, and tokens or client certificates: see --tls-cert, see --token-file or " +
			"set --insecure to do without"},
		{serve + "--tls-cert x", "--tls-cert: goes with a key: set --tls-key"},
		{serve + "--tls-key x", "--tls-key: goes with a certificate: set --tls-cert"},
		{serve + "--tls-client-ca x", "--tls-client-ca: goes with TLS: set --tls-cert"},
		{serve + "--pprof --ops-listen :9090", "--pprof: "},
		{serve + "--console on --ops-listen :9090", "--console: "},
		{serve + "--console maybe", "--console must be one of"},
		{"token web --roles root", `--roles: "root", want some of recommend, observe, user, items, admin`},
		{"token a/b --roles user", `name: "a/b", want up to 64 letters`},
		{serve + "--admin-listen 90", `--admin-listen: "90" is not a HOST:PORT address`},
		{serve + "--admin-listen unix:x", `--admin-listen: "unix:x" is not unix: and an absolute path`},
		{serve + "--ops-listen 90", `--ops-listen: "90" is not a HOST:PORT address`},
		{serve + "--store redis", `--store: "redis", want pebble, memory, valkey://`},
		{serve + "--store postgres://u:p@h/d", "--store: the address of the store: it has a password"},
		{serve + "--store postgres://h/d?profile=x", "--store: the address of the store: profile is"},
		{serve + "--store postgres://h/d --data-dir x", "--data-dir: a store that servers share has"},
		{serve + "--store pebble://x", `--store: pebble:// and more, want pebble alone`},
		{serve + "--store valkey://h/n", `--store: valkey: Addrs: "h", want HOST:PORT`},
		{serve + "--store valkey://h:1", "want valkey://h:1/NAMESPACE"},
		{serve + "--store valkey://h:1/a.b", `--store: valkey: Namespace: "a.b", want 1 to 32 letters`},
		{serve + "--store valkey://u:p@h:1/n", "--store: a name or password before @"},
		{serve + "--store valkey://h:1/n?password=x", `--store: the parameter "password", want some`},
		{serve + "--store valkey://h:1/n?replicas=0", "--store: replicas=0, want a number from 1 on"},
		{serve + "--store valkey://h:1/n?tls-ca=x", "--store: files for TLS without tls=on"},
		{serve + "--store valkey://h:1/n?tls=on&tls-cert=x", "--store: want both tls-cert and"},
		{serve + "--store valkey://h:1/n --data-dir x", "--data-dir: a store that servers share has"},
		{serve + "--store valkey://h:1/n --accept-loss", "--accept-loss: a store that servers share"},
		{serve + "--store valkey://h:1/n --store-cache 1GiB", "--store-cache: a store that servers"},
		{serve + "--store valkey://h:1/n --retrain-every 24h", "--retrain-every: each server would"},
		{serve + "--model-dir d", "--model-dir: has no effect with --model"},
		{"serve --model-dir d --retrain-every 24h", "--retrain-every: writes the file of --model"},
		{serve + "--store memory --retrain-every 24h",
			"--retrain-every: histories that are kept in memory cannot be learned from"},
		{serve + "--retrain-every 1ms", "--retrain-every: 1ms, want 0s or at least 1s"},
		{serve + "--retrain-cpus -1", "--retrain-cpus: -1, want 0 or more"},
		{serve + "--quality-sample 1.5", "--quality-sample: 1.5, want a share from 0 to 1"},
		{serve + "--quality-sample 0 --shadow-model m",
			"--shadow-model: no event is measured: set --quality-sample above 0"},
		{serve + "--arm next=m", "want NAME=FILE:PERCENT"},
		{serve + "--arm Next=m:5", `the name "Next" must`},
		{serve + "--arm next=m:101", "0 to 100 percent"},
		{serve + "--arm next=m:5 --canary next --quality-sample 0",
			"--arm: no event is measured, and next is a canary: set --quality-sample above 0"},
		{serve + "--canary next", `no --arm of the name "next"`},
		{serve + "--canary-events 1", "--canary-events: 1, want at least 2"},
		{serve + "--canary-z -1", "--canary-z: -1, want a number from 0"},
		{serve + "--json-listen nowhere", `--json-listen: "nowhere" is not`},
		{serve + "--json-origin https://shop.example",
			"--json-origin: has no effect: set --json-listen to an address"},
		{serve + "--json-listen 127.0.0.1:0 --json-origin shop.example",
			`--json-origin: "shop.example" is not an origin such as https://`},
		{serve + "--estimator als", `--estimator must be one of "bgs-imc","gs-imc"`},
		{serve + "--state-cache 5furlongs", `"5furlongs" is not a size`},
		{serve + "--state-cache 256", "--state-cache: 256 has no unit: want one, such as 256MiB"},
		{serve + "--drain-delay 1.5d", `"1.5d" is not a duration: want one such as 90s, 1h30m or 30d`},
		{serve + "--max-catalogue-size many", `--max-catalogue-size: "many" is not a size`},
		{serve + "--store-reserve 1MiB", "--store-reserve"},
		{serve + "--event-weight view=high", "--event-weight"},
		{serve + "--event-weight View=1", `--event-weight: event type "View" must match`},
		{serve + "--event-weight view=1e9", `--event-weight: weight of "view" is 1e+09`},
		{serve + "--drain-delay -1s", "--drain-delay: -1s, want at least 0s"},
		{serve + "--max-connections 0", "--max-connections: 0, want at least 1"},
		{"models --share next", `--share: "next", want NAME=PERCENT`},
		{"models --share next=half", `--share: "next=half", want NAME=PERCENT`},
		{"models --share next=101", `--share: "next=101", want NAME=PERCENT`},
		{"models --share next=1 --share next=2", "next is given twice"},
		{serve + "--log-format xml", `--log-format must be one of "auto","json","text"`},
		{serve + "--log-level loud", `--log-level: "loud", want debug, info, warn or error`},
		{"observe", "want --user and --item, or --data"},
		{"observe --user u --item i --time-unit ms", "--time-unit: has no effect without --data"},
		{"observe --data x.csv --items-file i.csv", "--items-file: has no effect with --data"},
		{"observe --data x.csv --user u --user v", // once, however often the flag is given
			"gsimc: --user: has no effect with --data: leave it out (see gsimc help observe)"},
		{"model show x --svg", "--svg: want a value after it (see gsimc help model show)"},
		{"observe --data x.csv --in-flight 0", "--in-flight: 0, want 1 to 100000"},
		{"observe --user u --item i --type Purchase", `--type: "Purchase", want 1 to 64 small letters`},
		{"observe --user u --item i --time yesterday", `--time: "yesterday" is not a time`},
		{"observe --user u --item i --time 1700000000000", "or seconds since 1970"},
		{"recommend", "want either --user, --history, --users or --similar-to"},
		{recommend + "--history a,b", "want either --user, --history, --users or --similar-to"},
		{"recommend --users x.csv", "--users goes with --out only"},
		{recommend + "--out y.csv", "--out goes with --users only"},
		{"recommend --users x.csv --out y.csv --json", "--users does not go with --json or"},
		{"recommend --users x.csv --out y.xlsx", "--out: y.xlsx, want a name that ends in"},
		{"recommend --users x.csv --out y.parquet.gz", "--out: y.parquet.gz, want a name that ends in"},
		{"recommend --similar-to x --explain 1",
			"--similar-to goes with --items and the flags for which items only"},
		{"score --items a", "want either --user or --history"},
		{"score --user u", "missing flags: --items=ITEM,..."},
		{"score --user u --explain 51 --items a", "--explain: 51, want 0 to 50"},
		{recommend + "--beta 2", "--beta goes with --explore only"},
		{recommend + "--explain 1 --items 101", "--items: 101, want at most 100 with --explain"},
		{recommend + "--explore boldly", "--explore must be one of"},
		{recommend + "--explore ucb --beta 101", "--beta: 101, want 0 to 100"},
		{recommend + "--seed 5", "--seed goes with --explore thompson only"},
		{recommend + "--items 1001", "--items: 1001, want 1 to 1000"},
		{recommend + "--pin book", `--pin: "book", want an item and its place`},
		{recommend + "--lambda 2", "--lambda: 2, want 0 to 1"},
		{recommend + "--max-per-category -1", "--max-per-category: -1, want 0 to 1000"},
		{recommend + "--list popular --explore ucb", "--explore does not go with --list popular"},
		{recommend + "--seen maybe", `--seen must be one of "exclude","include","only"`},
		{recommend + "--seen only --seen-types view",
			"--seen only does not go with --seen-types"},
		{recommend + "--seen only --reappear-after 1h",
			"--seen only does not go with --reappear-after"},
		{recommend + "--seen include --seen-types view",
			"--seen include does not go with --seen-types"},
		{recommend + "--reappear-after -1s", "--reappear-after: -1s, want 0s or more"},
		{recommend + "--timeout 0s", "--timeout: 0s, want more than 0s"},
		{"validate x --event-weight view", `--event-weight: "view", want TYPE=W, such as view=0.2 (see`},
		{"validate x --event-weight buy=1,view=low", `--event-weight: "view=low", want TYPE=W`},
		{"validate --data e.csv", "flag --data; give the file as an argument, without a flag (see"},
		{"train e.csv", "unexpected argument e.csv; did you mean --data e.csv? (see"},
		{"observe e.csv", "unexpected argument e.csv; did you mean --data e.csv? (see"},
		{"user show ann", "unexpected argument ann; did you mean --user ann? (see"},
		{"model show", `expected "<file>"`},
		{"user show", "missing flags: --user=ID"},
		{"user events --user u --events 0", "--events: 0, want 1 to"},
		{"user retract --user u", "want --event or --item"},
		{"user merge --from u", "missing flags: --into=ID"},
		{"validate", `expected "<files> ..."`},
		{"validate x --max-bad-rows -1", "--max-bad-rows: -1, want 0 or more"},
		{"standalone -", "standard input is read once"},
		{"items import", `expected "<file>"`},
		{"items import x --max-bad-rows -1", "--max-bad-rows: -1, want 0 to"},
		{"items list --items 0", "--items: 0, want 1 to"},
		{"items search --items 101", "--items: 101, want 1 to 100"},
		{"items get", `expected "<item> ..."`},
	}
	for _, i := range soak.SomeOf(t, len(cases), 40) { // each run builds all commands
		c := cases[i]
		t.Run(c.args, func(t *testing.T) {
			code, stdout, stderr := runCLI(t, nil, strings.Fields(c.args)...)
			if code != cli.ExitUsage || !strings.Contains(stderr, c.want) {
				t.Errorf("exit code %d, want 2; stderr %q, want %q in it", code, stderr, c.want)
			}
			if stdout != "" || strings.Count(stderr, "\n") != 1 {
				t.Errorf("want one line on stderr and nothing on stdout, got %q and %q", stderr,
					stdout)
			}
		})
	}
}
