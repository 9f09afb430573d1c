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

// testBadSettings gives flags, variables and YAML files that must be refused, and leaves to
// TestBadFlags what is wrong with flags in themselves.
func testBadSettings(t *testing.T) {
	events, model := smallModel(t)
	b := newBadCommands(t, "$DATA", events, "$MODEL", model)
	for _, c := range []struct {
		args string
		exit int
		want []string
	}{
		{"serve --model", cli.ExitUsage, []string{"--model: want a value after it"}},
		{"verify --data-dir d --list", cli.ExitUsage, []string{"--list: want a value"}},
		{"advise --user u", cli.ExitUsage, []string{"unexpected argument advise",
			"see gsimc help"}},
		{"$TRAIN --colour red", cli.ExitUsage, []string{"unknown flag --colour",
			"see gsimc help train"}},
		{"$TRAIN --rank 121", cli.ExitFailure, []string{"--rank: 121 is above the number of " +
			"items 120", "want at most 120"}},
		{"$TRAIN --rank 64 --solver nystrom --landmarks 32", cli.ExitFailure,
			[]string{"--landmarks: 32 does not fit rank 64", "want 64 to 120"}},
		{"$TRAIN --alpha 0.9 --phi 3", cli.ExitUsage,
			[]string{"--alpha: has no effect on learned dynamics", "--phi: has no effect",
				"choose a --filter"}},
		{"train --data $DATA --out $DIR", cli.ExitUsage, []string{"--out:", "is a directory"}},
		{"train --data $DATA --out $DIR/none/model.gsimc", cli.ExitFailure,
			[]string{"--out: cannot write to the folder $DIR/none: no such file or directory",
				"make it"}},
		{"$SERVE --event-types-file $DIR/none", cli.ExitFailure,
			[]string{"--event-types-file: $DIR/none: no such file"}},
		{"$SERVE --event-types-file $DATA --event-weight view=1", cli.ExitUsage,
			[]string{"--event-types-file: the weights are given twice", "leave out --event-weight"}},
		{"$TRAIN --event-types-file $DIR/none", cli.ExitUsage,
			[]string{"--event-types-file: $DIR/none: no such file"}},
		{"$SERVE --arm next=$DIR/none.gsimc:5", cli.ExitFailure, []string{"--arm",
			"$DIR/none.gsimc: no such file"}},
		{"$SERVE --shadow-model $DIR/none.gsimc", cli.ExitFailure,
			[]string{"--shadow-model: $DIR/none.gsimc: no such file"}},
		{"generate --users 2 --items 3 --events 7 --out $OUT/events.csv.gz", cli.ExitUsage,
			[]string{"--events: 7", "6 (every item for every user"}},
		{"generate --users 2 --items 3 --events 4 --out $DIR/none/events.csv", cli.ExitFailure,
			[]string{"--out: cannot write to the folder $DIR/none: no such file or directory",
				"make it"}},
		{"recommend --server 127.0.0.1:1 --user u", cli.ExitFailure,
			[]string{"cannot connect to 127.0.0.1:1 (connection refused): is the server running " +
				"there? see --server"}},
		{"recommend --server 127.0.0.1:1 --user u --timeout 10ms", cli.ExitFailure,
			[]string{" 127.0.0.1:1 ", "is the server running there? see --server"}},
	} {
		b.run(t, badCommand{input: c.args, args: withCommands(c.args), exit: c.exit, want: c.want})
	}
	testBadEnvironment(t, b)
	testBadYAML(t, b)
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
