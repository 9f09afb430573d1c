package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/internal/test/check"
)

const eventsHead = "user_id,item_id,timestamp,weight\n"

// testBadDataFiles trains on files that TestBadInput of package dataset refuses, one of each kind:
// with a message that names a flag that the file is read by, and with one that names none.
func testBadDataFiles(t *testing.T) {
	b := newBadCommands(t)
	check.Must(t, os.Mkdir(filepath.Join(b.dir, "folder.csv"), 0o700))
	for i, c := range []struct {
		input, name, text string // empty name: no file is written
		args              string // besides --data FILE and --weight-column weight
		want              []string
	}{
		{"empty file", "e.csv", "", "", []string{"e.csv: the file is empty"}},
		{"missing column", "e.csv", "user_id,movie,weight\nu,i,1\n", "",
			[]string{`e.csv: --item-column: no column "item_id"`, `"movie"`, "--item-column"}},
		{"missing columns", "e.csv", "user,movie,weight\nu,i,1\n", "",
			[]string{`--user-column: no column "user_id"`, `--item-column: no column "item_id"`}},
		{"an id that cannot be printed", "e.csv", eventsHead + "u,i,1,1\nu,\xff\xfe,1,1\n", "",
			[]string{"e.csv:3: column item_id", `\xff\xfe`, "not valid UTF-8", "--max-bad-rows"}},
		{"weight over 1000", "e.csv", eventsHead + "u,i,1,5000\n", "",
			[]string{`--weight-column: the weight of user "u" and item "i" is 5000`, "at most 1000",
				"scale the weights down"}},
		{"timestamp in milliseconds", "e.csv", eventsHead + "u,i,1700000000000,1\n",
			"--time-unit s", []string{"e.csv: --time-unit: s puts the first times after the year 9999",
				"want ms, which puts them between 2023-11-14 and 2023-11-14"}},
		{"timestamp in seconds", "e.csv", eventsHead + "u,i,1700000000,1\n",
			"--time-unit ms", []string{"e.csv: --time-unit: ms puts the first times between " +
				"1970-01-20 and 1970-01-20, want s"}},
		{"directory", "", "", "--data $DIR/folder.csv",
			[]string{"folder.csv: is a directory, want a file"}},
		{"absent file", "", "", "--data $DIR/absent.csv",
			[]string{"--data: $DIR/absent.csv: no such file or directory"}},
		{"more bad rows than allowed", "e.csv", eventsHead + "u,i,1,1\n,i,1,1\nu,,1,1\nu,k,x,1\n",
			"--max-bad-rows 2", []string{"--max-bad-rows: 2 is below the number of bad rows",
				"e.csv:5: column timestamp"}},
		{"k-core that leaves nothing", "e.csv", eventsHead + "u,i,1,1\nv,j,1,1\n",
			"--min-item-events 2", []string{"--min-item-events: 2 leaves no user of 2",
				"lower --min-item-events"}},
	} {
		if c.name != "" {
			b.write(t, c.name, c.text)
			c.args += " --data $DIR/" + c.name
		}
		b.run(t, badCommand{input: c.input, exit: cli.ExitFailure, want: c.want,
			args: fmt.Sprintf("train --out $OUT/model%s.gsimc --weight-column weight %s",
				strings.Repeat("-new", i%2), c.args)})
	}
	testBadSplits(t, b)
}

// testBadSplits trains and evaluates on good data with a split file that TestReadSplit of package
// dataset refuses, and with one without training users.
func testBadSplits(t *testing.T, b *badCommands) {
	var events strings.Builder
	for u := range 10 {
		fmt.Fprintf(&events, "u%d,a,1700000001,1\nu%d,b,1700000002,1\nu%d,c,1700000003,1\n", u, u,
			u)
	}
	b.write(t, "good.csv", eventsHead+events.String())
	for _, c := range []struct {
		input, split string
		want         []string
	}{
		{"split with an unknown role", "user_id,role\nu1,train\nu2,holdout\n",
			[]string{"s.csv:3: column role", `"holdout"`, "want train, validation or test"}},
		{"split without training users", "user_id,role\nu1,test\n",
			[]string{"--split: $DIR/s.csv: the split has no training users", "role train"}},
	} {
		b.write(t, "s.csv", c.split)
		for _, command := range []string{"train --out $OUT/new.gsimc", "evaluate"} {
			b.run(t, badCommand{input: c.input, args: command +
				" --data $DIR/good.csv --rank 2 --split $DIR/s.csv", exit: cli.ExitFailure,
				want: c.want})
		}
	}
}

const serveFile = "serve --store memory --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0 " +
	"--ops-listen 127.0.0.1:0 --model "

// testBadModelFiles shows and serves files that the tests of package model refuse, one of a kind.
func testBadModelFiles(t *testing.T) {
	_, model := smallModel(t)
	whole := mustRead(t, model)
	b := newBadCommands(t)
	flipped := []byte(whole)
	flipped[len(flipped)/2] ^= 4
	const damaged = "the file is cut off or damaged: copy it again or train a new model"
	for _, c := range []struct {
		input, text string
		want        string
	}{
		{"cut within the header", whole[:100], damaged},
		{"cut within the tensors", whole[:len(whole)-1], fmt.Sprintf(
			"the file has %d bytes, but its header describes %d", len(whole)-1, len(whole))},
		{"a bit flipped", string(flipped), "copy it again"},
		{"text", eventsHead + "u,i,1,1\n", "not a gsimc model file"},
	} {
		b.write(t, "bad.gsimc", c.text)
		for _, command := range []string{"model show ", serveFile} {
			b.run(t, badCommand{input: command + c.input, args: command + "$DIR/bad.gsimc",
				exit: cli.ExitFailure,
				want: []string{c.want, "model file $DIR/bad.gsimc: ", "train"}})
		}
	}
	b.write(t, "cut.gsimc", whole[:len(whole)-1])
	b.run(t, badCommand{args: "serve --model $DIR/cut.gsimc --data-dir $OUT/state",
		exit: cli.ExitFailure, want: []string{damaged}}) // and makes no store
	for name, command := range map[string]string{"": "model show ", "--model: ": serveFile} {
		b.run(t, badCommand{input: name + "directory", args: command + "$DIR",
			exit: cli.ExitFailure,
			want: []string{"model file $DIR: not a regular file", "`gsimc train` wrote"}})
		b.run(t, badCommand{input: name + "absent file", args: command + "$DIR/none.gsimc",
			exit: cli.ExitFailure,
			want: []string{name + "$DIR/none.gsimc: no such file or directory: give a file " +
				"that `gsimc train` wrote"}})
	}
}
