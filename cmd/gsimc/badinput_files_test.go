package main

import (
	"bytes"
	"compress/gzip"
	endian "encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
)

const eventsHead = "user_id,item_id,timestamp,weight\n"

// testBadDataFiles trains on one bad file after the other: what TestBadInput of package dataset
// says of a file, with the flags that it is read by.
func testBadDataFiles(t *testing.T) {
	b := newBadCommands(t)
	packed := gzipped(t, eventsHead+strings.Repeat("user,item,1,1\n", 1000))
	if err := os.Mkdir(filepath.Join(b.dir, "folder.csv"), 0o700); err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		input, name, text string // empty name: no file is written
		args              string // besides --data FILE and --weight-column weight
		want              []string
	}{
		{"empty file", "e.csv", "", "", []string{"e.csv: the file is empty"}},
		{"missing column", "e.csv", "user_id,movie,weight\nu,i,1\n", "",
			[]string{`e.csv: --item-column: no column "item_id"`, `"movie"`, "--item-column"}},
		{"column in the wrong case", "e.csv", "User_ID,item_id,weight\nu,i,1\n", "",
			[]string{`e.csv: --user-column: no column "user_id"`, `"User_ID"`, "--user-column"}},
		{"missing weight column", "e.csv", "user_id,item_id\nu,i\n", "",
			[]string{`e.csv: --weight-column: no column "weight"`, "--weight-column"}},
		{"too few fields", "e.csv", eventsHead + "u,i,1,1\nu,j\n", "",
			[]string{"e.csv:3: the row has 2 fields, the header has 4", "--max-bad-rows"}},
		{"invalid UTF-8", "e.csv", eventsHead + "u,\xff\xfe,1,1\n", "",
			[]string{"e.csv:2: column item_id", `\xff\xfe`, "not valid UTF-8", "--max-bad-rows"}},
		{"weight over 1000", "e.csv", eventsHead + "u,i,1,5000\n", "",
			[]string{`--weight-column: the weight of user "u" and item "i" is 5000`, "at most 1000",
				"scale the weights down"}},
		{"timestamp in milliseconds", "e.csv", eventsHead + "u,i,1700000000000,1\n",
			"--time-unit s", []string{"e.csv:2: column timestamp",
				"in the unit s is outside the years",
				"--time-unit: s, want the unit of the times"}},
		{"binary data", "e.csv", "\x00\x01\x02\x03", "",
			[]string{"e.csv: the header is not text", "want CSV, TSV, JSON Lines or Parquet"}},
		{"truncated gzip", "e.csv.gz", string(packed[:len(packed)-10]), "",
			[]string{"e.csv.gz: the gzip data ends early", "fetch or write it again"}},
		{"directory", "", "", "--data $DIR/folder.csv",
			[]string{"folder.csv: is a directory, want a file"}},
		{"absent file", "", "", "--data $DIR/absent.csv",
			[]string{"--data: $DIR/absent.csv: no such file or directory"}},
		{"Parquet that is text", "e.parquet", eventsHead + "u,i,1,1\n", "",
			[]string{"e.parquet: is not a Parquet file", "PAR1"}},
		{"more bad rows than allowed", "e.csv", eventsHead + "u,i,1,1\n,i,1,1\nu,,1,1\nu,k,x,1\n",
			"--max-bad-rows 2", []string{"--max-bad-rows: 2 is below the number of bad rows",
				"e.csv:5: column timestamp"}},
		{"k-core that leaves nothing", "e.csv", eventsHead + "u,i,1,1\nv,j,1,1\n",
			"--min-item-events 2", []string{"--min-item-events: 2 leaves none of the 2 users",
				"lower --min-item-events"}},
	} {
		if c.name != "" {
			b.write(t, c.name, []byte(c.text))
			c.args += " --data $DIR/" + c.name
		}
		b.run(t, badCommand{input: c.input, exit: cli.ExitFailure, want: c.want,
			args: fmt.Sprintf("train --out $OUT/model%s.gsimc --weight-column weight %s",
				strings.Repeat("-new", i%2), c.args)})
	}
	testBadSplits(t, b)
}

// testBadSplits trains and evaluates with bad split files on good data.
func testBadSplits(t *testing.T, b *badCommands) {
	var events strings.Builder
	for u := range 10 {
		fmt.Fprintf(&events, "u%d,a,1700000001,1\nu%d,b,1700000002,1\nu%d,c,1700000003,1\n", u, u,
			u)
	}
	b.write(t, "good.csv", []byte(eventsHead+events.String()))
	for _, c := range []struct {
		input, split string
		want         []string
	}{
		{"split with an unknown role", "user_id,role\nu1,train\nu2,holdout\n",
			[]string{"s.csv:3: column role", `"holdout"`, "want train, validation or test"}},
		{"split that names a user twice", "user_id,role\nu1,train\nu1,test\n",
			[]string{"s.csv:3: column user_id", `"u1" was there before`}},
		{"split without the role column", "user_id,set\nu1,train\n",
			[]string{`s.csv: no column "role"`, `"set"`}},
		{"split of other data", "user_id,role\nx1,train\n",
			[]string{"s.csv: none of its 1 users is in the data",
				"is it the split of other data?"}},
		{"split without training users", "user_id,role\nu1,test\n",
			[]string{"--split: $DIR/s.csv: the split has no training users", "role train"}},
	} {
		b.write(t, "s.csv", []byte(c.split))
		for _, command := range []string{"train --out $OUT/new.gsimc", "evaluate"} {
			b.run(t, badCommand{input: c.input, args: command +
				" --data $DIR/good.csv --rank 2 --split $DIR/s.csv", exit: cli.ExitFailure,
				want: c.want})
		}
	}
}

func gzipped(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

const serveFile = "serve --store memory --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0 " +
	"--ops-listen 127.0.0.1:0 --model "

// testBadModelFiles shows and serves damaged and foreign model files.
func testBadModelFiles(t *testing.T) {
	_, model := smallModel(t)
	whole := mustRead(t, model)
	b := newBadCommands(t)
	header := 8 + int(endian.LittleEndian.Uint64(whole))
	refuse := func(input string, data []byte, alsoServe bool, want ...string) {
		t.Helper()
		b.write(t, "bad.gsimc", data)
		want = append(want, "model file "+b.dir+"/bad.gsimc: ", "train")
		b.run(t, badCommand{input: "show: " + input, args: "model show $DIR/bad.gsimc",
			exit: cli.ExitFailure, want: want})
		if alsoServe {
			b.run(t, badCommand{input: "serve: " + input, args: serveFile + "$DIR/bad.gsimc",
				exit: cli.ExitFailure, want: want})
		}
	}
	for i := range 20 {
		size, part, found := 1+i*(header-1)/8, "cut within the header", ""
		if i >= 8 {
			// the last: one byte is missing
			size, part = header+(i-8)*(len(whole)-1-header)/11, "cut within the tensors"
			found = fmt.Sprintf("the file has %d bytes, but its header describes %d", size,
				len(whole))
		}
		refuse(part, whole[:size], i%10 == 5, found,
			"the file is cut off or damaged: copy it again or train a new model")
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range 50 {
		at, part := i*header/20, "a bit flipped in the header"
		if i >= 20 {
			at, part = header+(i-20)*(len(whole)-header)/30, "a bit flipped in the tensors"
		}
		damaged := bytes.Clone(whole)
		damaged[at] ^= 1 << rng.IntN(8)
		refuse(part, damaged, i%15 == 7, "copy it again")
	}
	foreign := `{"__metadata__":{"format":"pt"},` +
		`"weight":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`
	refuse("empty file", nil, true, "0 bytes long", "cut off or damaged")
	refuse("text", []byte(eventsHead+"u,i,1,1\n"), true, "not a gsimc model file",
		"`gsimc train` wrote")
	refuse("safetensors of another program",
		append(append(endian.LittleEndian.AppendUint64(nil, uint64(len(foreign))), foreign...),
			make([]byte, 8)...), true,
		`no "gsimc.format"`, "not a gsimc model file")
	refuse("one byte too many", append(bytes.Clone(whole), 0), false,
		fmt.Sprintf("the file has %d bytes, but its header describes %d", len(whole)+1, len(whole)),
		"cut off or damaged")
	for name, command := range map[string]string{"<file>": "model show ", "--model": serveFile} {
		b.run(t, badCommand{input: name + ": directory", args: command + "$DIR",
			exit: cli.ExitFailure,
			want: []string{"model file $DIR: not a regular file", "`gsimc train` wrote"}})
		b.run(t, badCommand{input: name + ": absent file", args: command + "$DIR/none.gsimc",
			exit: cli.ExitFailure,
			want: []string{name + ": $DIR/none.gsimc: no such file or directory: give a file " +
				"that `gsimc train` wrote"}})
	}
}
