package main

import (
	"strconv"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
)

// withCommands writes out the commands that most cases start from.
var withCommands = strings.NewReplacer(
	"$TRAIN", "train --data $DATA --out $OUT/new.gsimc",
	"$SERVE", "serve --model $MODEL --store memory --admin-listen 127.0.0.1:0 "+
		"--ops-listen 127.0.0.1:0",
).Replace

// testBadSettingsTable gives flags, variables and YAML files that must be refused, most of them
// before anything is read.
func testBadSettingsTable(t *testing.T) {
	events, model := smallModel(t)
	b := newBadCommands(t, "$DATA", events, "$MODEL", model)
	for _, c := range []struct {
		args string
		exit int
		want []string
	}{
		{"advise --user u", cli.ExitUsage, []string{"unexpected argument advise",
			"see gsimc help"}},
		{"$TRAIN --colour red", cli.ExitUsage, []string{"unknown flag --colour",
			"see gsimc help train"}},
		{"train --data $DATA", cli.ExitUsage, []string{"missing flags: --out=FILE"}},
		{"$TRAIN --rank 0", cli.ExitUsage, []string{"--rank: 0, want at least 1"}},
		{"$TRAIN --rank many", cli.ExitUsage, []string{"--rank: expected", `"many"`}},
		{"$TRAIN --rank 121", cli.ExitFailure, []string{"--rank: 121 is above the number of " +
			"items 120", "want at most 120"}},
		{"$TRAIN --filter nonsense", cli.ExitUsage,
			[]string{"--filter must be one of", `"random-walk"`, `"nonsense"`}},
		{"$TRAIN --graph bipartite", cli.ExitUsage,
			[]string{"--graph must be one of", `"hypergraph"`, `"bipartite"`}},
		{"$TRAIN --phi -1", cli.ExitUsage, []string{"--phi: -1, want a number above 0"}},
		{"$TRAIN --a 1", cli.ExitUsage, []string{"--a: 1, want at least 2"}},
		{"$TRAIN --alpha 0", cli.ExitUsage, []string{"--alpha: 0, want a number above 0"}},
		{"$TRAIN --alpha 1.5", cli.ExitUsage, []string{"--alpha: 1.5, want 0 to 1"}},
		{"$TRAIN --degree-exponent NaN", cli.ExitUsage,
			[]string{"--degree-exponent: NaN, want 0 to 2"}},
		{"$TRAIN --tolerance 0", cli.ExitUsage, []string{"--tolerance: 0, want at least 1e-12"}},
		{"$TRAIN --tolerance 2", cli.ExitUsage, []string{"--tolerance: 2, want a number below 1"}},
		{"$TRAIN --rank 64 --solver nystrom --landmarks 32", cli.ExitFailure,
			[]string{"--landmarks: 32 does not fit rank 64", "want 64 to 120"}},
		{"$TRAIN --alpha 0.9 --phi 3", cli.ExitUsage,
			[]string{"--alpha: has no effect on learned dynamics", "--phi: has no effect",
				"choose a --filter"}},
		{"$TRAIN --filter power --ridge 2", cli.ExitUsage,
			[]string{"--ridge: has no effect without learned dynamics"}},
		{"$TRAIN --preset paper --bands 0", cli.ExitUsage,
			[]string{"--bands: has no effect without learned dynamics"}},
		{"$TRAIN --bands 0,2", cli.ExitUsage, []string{`--bands: "2" is not a number from 0 to 1`}},
		{"$TRAIN --half-life 5", cli.ExitUsage, []string{"--half-life", `"5"`}},
		{"$TRAIN --sigma-nu 0", cli.ExitUsage, []string{"--sigma-nu: 0, want 1e-12 to 1e+12"}},
		{"$TRAIN --sigma-nu 1e-30", cli.ExitUsage,
			[]string{"--sigma-nu: 1e-30, want 1e-12 to 1e+12"}},
		{"$TRAIN --sigma-eta 0", cli.ExitUsage, []string{"--sigma-eta: 0, want 1e-12 to 1e+12"}},
		{"$TRAIN --sigma-eta 1e13", cli.ExitUsage,
			[]string{"--sigma-eta: 1e+13, want 1e-12 to 1e+12"}},
		{"evaluate --data $DATA --sigma-nu 1e-30", cli.ExitUsage,
			[]string{"--sigma-nu: 1e-30, want 1e-12 to 1e+12"}},
		{"evaluate --data $DATA --sigma-eta 0", cli.ExitUsage,
			[]string{"--sigma-eta: 0, want 1e-12 to 1e+12"}},
		{"evaluate --data $DATA --sigma-eta 1e13", cli.ExitUsage,
			[]string{"--sigma-eta: 1e+13, want 1e-12 to 1e+12"}},
		{"$TRAIN --seed -1", cli.ExitUsage, []string{"--seed", `"-1"`}},
		{"train --data $DATA --out $DIR", cli.ExitUsage, []string{"--out:", "is a directory"}},
		{"train --data $DATA --out $DIR/none/model.gsimc", cli.ExitFailure,
			[]string{"--out: cannot write to the folder $DIR/none: no such file or directory",
				"make it"}},
		{"$SERVE --event-weight view=high", cli.ExitUsage, []string{"--event-weight", `"high"`}},
		{"$SERVE --event-types-file $DIR/none", cli.ExitFailure,
			[]string{"--event-types-file: $DIR/none: no such file"}},
		{"$SERVE --event-types-file $DATA --event-weight view=1", cli.ExitUsage,
			[]string{"--event-types-file: the weights are given twice", "leave out --event-weight"}},
		{"$TRAIN --event-types-file $DIR/none", cli.ExitUsage,
			[]string{"--event-types-file: $DIR/none: no such file"}},
		{"$SERVE --event-weight View=1", cli.ExitUsage,
			[]string{`--event-weight: event type "View" must match`}},
		{"$SERVE --event-weight view=2000", cli.ExitUsage,
			[]string{`--event-weight: weight of "view" is 2000`, "1000"}},
		{"$SERVE --listen 127.0.0.1", cli.ExitUsage,
			[]string{`--listen: "127.0.0.1" is not a HOST:PORT address`}},
		{"$SERVE --quality-sample 1.5", cli.ExitUsage,
			[]string{"--quality-sample: 1.5, want a share from 0 to 1"}},
		{"$SERVE --quality-sample 0 --shadow-model $MODEL", cli.ExitUsage,
			[]string{"--shadow-model: no event is measured: set --quality-sample above 0"}},
		{"$SERVE --arm next=$MODEL", cli.ExitUsage, []string{"--arm", "want NAME=FILE:PERCENT"}},
		{"$SERVE --arm Next=$MODEL:5", cli.ExitUsage, []string{"--arm", `the name "Next" must`}},
		{"$SERVE --arm next=$MODEL:101", cli.ExitUsage, []string{"--arm", "0 to 100 percent"}},
		{"$SERVE --arm next=$DIR/none.gsimc:5", cli.ExitFailure, []string{"--arm",
			"$DIR/none.gsimc: no such file"}},
		{"$SERVE --json-listen nowhere", cli.ExitUsage, []string{`--json-listen: "nowhere" is not`}},
		{"$SERVE --json-origin https://shop.example", cli.ExitUsage,
			[]string{"--json-origin: has no effect", "set --json-listen to an address"}},
		{"$SERVE --json-listen 127.0.0.1:0 --json-origin shop.example", cli.ExitUsage,
			[]string{`--json-origin: "shop.example" is not an origin such as https://`}},
		{"$SERVE --canary next", cli.ExitUsage, []string{"--canary", `no --arm of the name "next"`}},
		{"$SERVE --arm next=$MODEL:5 --canary next --quality-sample 0", cli.ExitUsage,
			[]string{"--arm: no event is measured", "set --quality-sample above 0"}},
		{"$SERVE --canary-events 1", cli.ExitUsage, []string{"--canary-events: 1, want at least 2"}},
		{"$SERVE --canary-z -1", cli.ExitUsage, []string{"--canary-z: -1, want a number from 0"}},
		{"$SERVE --shadow-model $DIR/none.gsimc", cli.ExitFailure,
			[]string{"--shadow-model: $DIR/none.gsimc: no such file"}},
		{"$SERVE --retrain-every 24h", cli.ExitUsage,
			[]string{"--retrain-every: histories that are kept in memory cannot be learned from"}},
		{"serve --model $MODEL --retrain-every 1ms", cli.ExitUsage,
			[]string{"--retrain-every: 1ms, want 0s or at least 1s"}},
		{"serve --model $MODEL --retrain-cpus -1", cli.ExitUsage,
			[]string{"--retrain-cpus: -1, want 0 or more"}},
		{"$SERVE --state-cache 5furlongs", cli.ExitUsage,
			[]string{"--state-cache", `"5furlongs" is not a size`, "such as 256MiB"}},
		{"generate --users 2 --items 3 --events 7 --out $OUT/events.csv.gz", cli.ExitUsage,
			[]string{"--events: 7", "6 (every item for every user"}},
		{"generate --users 2 --items 3 --events 4 --out $DIR/none/events.csv", cli.ExitFailure,
			[]string{"--out: cannot write to the folder $DIR/none: no such file or directory",
				"make it"}},
		{"evaluate --data $DATA --methods popularity,oracle", cli.ExitUsage,
			[]string{`--methods: unknown method "oracle"`}},
		{"recommend --server 127.0.0.1:1 --user u", cli.ExitFailure,
			[]string{"cannot connect to 127.0.0.1:1 (connection refused): is the server running " +
				"there? see --server"}},
		{"recommend --server 127.0.0.1:1 --user u --timeout 10ms", cli.ExitFailure,
			[]string{" 127.0.0.1:1 ", "is the server running there? see --server"}},
		{"recommend --user u --beta 2", cli.ExitUsage, []string{"--beta goes with --explore only"}},
		{"recommend --user u --explain 51", cli.ExitUsage, []string{"--explain: 51, want 0 to 50"}},
		{"recommend --user u --explain 1 --items 101", cli.ExitUsage,
			[]string{"--items: 101, want at most 100 with --explain"}},
		{"recommend --user u --explore boldly", cli.ExitUsage,
			[]string{"--explore must be one of", `"boldly"`}},
		{"recommend --user u --explore ucb --beta 101", cli.ExitUsage,
			[]string{"--beta: 101, want 0 to 100"}},
		{"recommend --user u --seed 5", cli.ExitUsage,
			[]string{"--seed goes with --explore thompson only"}},
		{"recommend --user u --history a,b", cli.ExitUsage,
			[]string{"want either --user, --history or --similar-to"}},
		{"observe --user u --item i --time yesterday", cli.ExitUsage,
			[]string{`--time: "yesterday" is not a time`, "RFC 3339"}},
	} {
		b.run(t, badCommand{input: c.args, args: withCommands(c.args), exit: c.exit, want: c.want})
	}
	testBadEnvironment(t, b)
	testBadYAML(t, b)
	b.print(t, 40)
}

func testBadEnvironment(t *testing.T, b *badCommands) {
	for _, c := range []struct {
		variable string
		want     []string
	}{
		{"GSIMC_RANK=many", []string{"--rank", `"many"`, "(from GSIMC_RANK)"}},
		{"GSIMC_HALF_LIFE=soon", []string{"--half-life", `"soon"`, "(from GSIMC_HALF_LIFE)"}},
		{"GSIMC_RANK=0", []string{"--rank: 0, want at least 1 (from GSIMC_RANK)"}},
		{"GSIMC_CONFIG=$DIR/none.yaml", []string{"--config: $DIR/none.yaml: no such file or " +
			"directory", "(from GSIMC_CONFIG)"}},
	} {
		b.run(t, badCommand{input: c.variable, args: withCommands("$TRAIN"),
			env: []string{c.variable}, exit: cli.ExitUsage, want: c.want})
	}
}

func testBadYAML(t *testing.T, b *badCommands) {
	for _, c := range []struct {
		yaml string
		want []string
	}{
		{"rnak: 16", []string{"--config: $DIR/settings.yaml: line 1", `unknown key "rnak"`,
			"no command has a flag --rnak"}},
		{"rank: 16\nrank: 17", []string{"settings.yaml: line 2", `the key "rank" stands twice`}},
		{"rank: [", []string{"settings.yaml: ", "yaml: line 1"}},
		{"just text", []string{"settings.yaml: ", "want a mapping of flag names to values"}},
		{"rank:", []string{"settings.yaml: line 1: rank: want a value"}},
		{"rank: many", []string{"--rank", `"many"`, "(from $DIR/settings.yaml)"}},
		{"alpha: 7", []string{"--alpha: 7, want 0 to 1 (from $DIR/settings.yaml)"}},
	} {
		b.write(t, "settings.yaml", []byte(c.yaml+"\n"))
		b.run(t, badCommand{input: "YAML " + strconv.Quote(c.yaml),
			args: withCommands("$TRAIN --config $DIR/settings.yaml"), exit: cli.ExitUsage,
			want: c.want})
	}
}
