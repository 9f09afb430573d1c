package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/internal/test/check"
)

// withCommands writes out the commands that most cases start from.
var withCommands = strings.NewReplacer(
	"$TRAIN", "train --data $DATA --out $OUT/new.gsimc",
	"$SERVE", "serve --model $MODEL --store memory --admin-listen 127.0.0.1:0 "+
		"--ops-listen 127.0.0.1:0",
).Replace

// testBadSettings gives what must be refused, and leaves to TestBadFlags what is wrong with flags
// in themselves, and to the tests of package cli what is wrong with variables and YAML files.
func testBadSettings(t *testing.T) {
	events, model := smallModel(t)
	b := newBadCommands(t, "$DATA", events, "$MODEL", model)
	check.Must(t, syscall.Mkfifo(filepath.Join(b.dir, "pipe"), 0o600))
	testBadOutputs(t, b)
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
			[]string{"--alpha: has no effect with learned dynamics", "--phi: has no effect",
				"only with a --filter: leave it out"}},
		{"train --data $DATA --out $DIR", cli.ExitUsage, []string{"--out:", "is a directory"}},
		{"train --data $DATA --user-column types --out types", cli.ExitFailure, // types is a file
			[]string{`--user-column: no column "types"`}},
		{"train --data $DATA --out $DIR/pipe", cli.ExitUsage, []string{"--out: $DIR/pipe is a " +
			"device, pipe or socket, which a file would replace: give the name of a file"}},
		{"train --data $DATA --out $DIR/none/model.gsimc", cli.ExitFailure,
			[]string{"--out: cannot write to the folder $DIR/none: no such file or directory",
				"make it"}},
		{"$SERVE --event-types-file $DIR/none", cli.ExitFailure,
			[]string{"--event-types-file: $DIR/none: no such file"}},
		{"$SERVE --event-types-file $DATA --event-weight view=1", cli.ExitUsage,
			[]string{"--event-types-file: the weights are given twice", "leave out --event-weight"}},
		{"$TRAIN --event-types-file $DIR/none", cli.ExitUsage,
			[]string{"--event-types-file: $DIR/none: no such file"}},
		{"serve --model $DIR/none.gsimc --data-dir $OUT/state", cli.ExitFailure,
			[]string{"--model: $DIR/none.gsimc: no such file or directory"}},
		{"serve --model $DATA --data-dir $OUT/state", cli.ExitFailure, []string{"model file $DATA: "}},
		{"serve --data-dir $OUT/state --arm next=$DIR/none.gsimc:5", cli.ExitFailure,
			[]string{"--arm", "$DIR/none.gsimc: no such file"}}, // and makes no store
		{"serve --data-dir $OUT/state --model-dir $DIR/none", cli.ExitFailure,
			[]string{"--model-dir: $DIR/none: no such file"}},
		{"serve --data-dir $OUT/state --filters-file $DATA", cli.ExitFailure,
			[]string{"--filters-file: $DATA: "}},
		{"serve --data-dir $OUT/state --token-file $DIR/none", cli.ExitFailure,
			[]string{"--token-file: $DIR/none: no such file"}},
		{"$SERVE --shadow-model $DIR/none.gsimc", cli.ExitFailure,
			[]string{"--shadow-model: $DIR/none.gsimc: no such file"}},
		{"items import $DIR/none.csv", cli.ExitFailure,
			[]string{"$DIR/none.csv: no such file or directory"}},
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
	b.write(t, "settings.yaml", "alpha: 7\n")
	b.run(t, badCommand{input: "settings", args: withCommands("$TRAIN"), exit: cli.ExitUsage,
		env: []string{"GSIMC_CONFIG=$DIR/settings.yaml", "GSIMC_RANK=0"},
		want: []string{"--alpha: 7, want 0 to 1 (from line 1 of $DIR/settings.yaml)",
			"--rank: 0, want at least 1 (from GSIMC_RANK)"}})
	b.write(t, "both.yaml", "filter: tikhonov\ndynamics: learned\n")
	b.run(t, badCommand{args: withCommands("$TRAIN --config $DIR/both.yaml"), exit: cli.ExitUsage,
		want: []string{"--filter: has no effect with --dynamics learned: leave it out " +
			"(from line 1 of $DIR/both.yaml)"}})
	b.run(t, badCommand{args: "observe --server 127.0.0.1:1 --user u --item i --type view",
		env: []string{"GSIMC_TYPE_COLUMN=kind"}, exit: cli.ExitFailure, // it is for files only
		want: []string{"cannot connect to 127.0.0.1:1"}})
}

// testBadOutputs names as outputs what a command reads, and paths in the folder of a store.
func testBadOutputs(t *testing.T, b *badCommands) {
	b.write(t, "read.csv", "quiet: true\n")
	store := filepath.Join(b.dir, "store")
	check.Must(t, os.MkdirAll(filepath.Join(store, "histories"), 0o700))
	b.write(t, "store/MARK", "")
	check.Must(t, os.MkdirAll(filepath.Join(b.dir, "kept", "histories"), 0o700))
	b.write(t, "kept/BACKUP.json", "{}")
	check.Must(t, os.Symlink(filepath.Join(store, "MARK"), filepath.Join(b.dir, "link")))
	check.Must(t, os.Symlink(b.dir, filepath.Join(b.dir, "x:")))
	check.Must(t, os.Symlink(binary(t), filepath.Join(b.dir, "program")))
	for _, c := range []struct{ args, want string }{
		{"train --data $DATA --out $DATA", "file of --data"},
		{"train --data $DATA --split $READ --out $READ", "file of --split"},
		{"train --config $READ --data $DATA --out $READ", "file of --config"},
		{"train --data $DATA --type-column t --event-types-file $DIR/types --out $DIR/types",
			"file of --event-types-file"},
		{"train --data - --out $READ", "file of standard input"},
		{"train --data $DATA --out x://read.csv --split $READ", "file of --split"},
		{"generate --config $READ --out $READ", "file of --config"},
		{"recommend --users $READ --out $READ", "file of --users"},
		{"recommend --users $DATA --items-file $READ --out $READ", "file of --items-file"},
		{"verify --config $READ --list $READ", "file of --config"},
		{"salvage --config $READ --to $OUT/new --list $READ", "file of --config"},
		{"train --data $DATA --out -", "--out: - is not standard output: give a name"},
		{"export --from $DIR --to -", "--to: - is not standard output: give a name"},

		{"train --data $DATA --out $DIR/program", "--out: $DIR/program is this program: choose"},
		{"generate --out $DIR/program", "--out: $DIR/program is this program"},
		{"verify --list $DIR/program", "--list: $DIR/program is this program"},
		{"token web --roles observe --add-to $DIR/program", "--add-to: $DIR/program is this"},

		{"train --data $DATA --out $STORE/new.csv", "--out: $STORE/new.csv is in the folder of"},
		{"train --data $DATA --out $STORE/histories/a.gsimc", "is in the folder of"},
		{"generate --out $STORE/MARK", "is in the folder of the store or backup $STORE: give"},
		{"recommend --users $DATA --out $STORE/a/b.csv", "is in the folder of"},
		{"verify --list $DIR/link", "--list: $DIR/link is in the folder of"},
		{"salvage --to $OUT/new --list $STORE/MARK", "--list: "},
		{"salvage --to $STORE/new", "--to: "},
		{"backup --to $STORE/new", "--to: "},
		{"restore --from $DIR --data-dir $STORE/new", "--data-dir: "},
		{"restore --from $DIR --data-dir $DIR/kept/new",
			"--data-dir: $DIR/kept/new is in the folder of the store or backup $DIR/kept: give"},
		{"migrate --from valkey://h:1/n --to $STORE/new", "--to: "},
		{"export --from valkey://h:1/n --to $STORE", "--to: "},
		{"evaluate --data $DATA --svg $STORE", "--svg: "},
		{"model show $MODEL --svg $STORE/new", "--svg: "},
		{"standalone $DATA --dir $STORE", "--dir: "},
		{"demo --dir $STORE/new", "--dir: "},
		{"token web --roles user --add-to $STORE/MARK", "--add-to: "},
	} {
		b.write(t, "types", "view 1\n")
		paths := strings.NewReplacer("$READ", "$DIR/read.csv", "$STORE", "$DIR/store").Replace
		want := []string{c.want}
		if strings.HasPrefix(c.want, "file of") {
			want = []string{"would replace the " + c.want + ": choose another name"}
		} else if strings.HasSuffix(c.want, ": ") {
			want = append(want, "is in the folder of the store or backup $STORE: give a path")
		}
		for i := range want {
			want[i] = paths(want[i])
		}
		b.run(t, badCommand{input: c.args, args: paths(c.args), exit: cli.ExitUsage, want: want,
			stdin: filepath.Join(b.dir, "read.csv")})
	}
}
