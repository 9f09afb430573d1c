package main

import (
	"bytes"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/internal/test/check"
)

// generatedRows are the fields of generated events, without the header.
func generatedRows(t *testing.T) (rows [][]string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "events.csv")
	mustRun(t, "generate", "--users", "60", "--items", "30", "--events", "900", "--out", path)
	text := mustRead(t, path)
	for _, line := range strings.Split(strings.TrimSpace(text), "\n")[1:] {
		rows = append(rows, strings.Split(line, ","))
	}
	return rows
}

// table writes rows with a delimiter below a header, whose times are written by format.
func table(header, delimiter string, rows [][]string, format func(seconds int64) string) string {
	var b strings.Builder
	b.WriteString(header)
	for _, row := range rows {
		seconds, err := strconv.ParseInt(row[2], 10, 64)
		if err != nil {
			panic(err)
		}
		b.WriteString(strings.Join(append([]string{row[0], row[1], format(seconds)}, row[3:]...),
			delimiter) + "\n")
	}
	return b.String()
}

// TestFormsOfFiles trains on the same events in the forms that files have: the models learn from
// the same data.
func TestFormsOfFiles(t *testing.T) {
	rows := generatedRows(t)
	seconds := func(s int64) string { return strconv.FormatInt(s, 10) }
	millis := func(s int64) string { return strconv.FormatInt(s, 10) + "123" }
	sql := func(s int64) string { return time.Unix(s, 0).UTC().Format("2006-01-02 15:04:05.000") }
	dir := t.TempDir()
	hash := ""
	for _, tt := range []struct {
		name, text string
		args       []string
	}{
		{"comma", table("user_id,item_id,timestamp\n", ",", rows, seconds), nil},
		{"caret", table("user_id^item_id^timestamp\n", "^", rows, seconds),
			[]string{"--delimiter", "^"}},
		{"given milliseconds", table("user_id,item_id,timestamp\n", ",", rows, millis),
			[]string{"--time-unit", "ms"}},
		{"headerless", table("", ";", rows, millis),
			[]string{"--columns", "user_id,item_id,timestamp"}},
		{"two colons", table("", "::", rows, seconds),
			[]string{"--delimiter", ":", "--columns", "user_id,,item_id,,timestamp"}},
		{"unused at the end", table("", "|", rows, func(s int64) string { return seconds(s) + "|x|" }),
			[]string{"--columns", "user_id,item_id,timestamp,,"}},
		{"other names", table("User ID,item,when\n", ",", rows, seconds) + ",,\n",
			[]string{"--user-column", "User ID", "--item-column", "item", "--time-column", "when",
				"--max-bad-rows", "1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path, out := filepath.Join(dir, tt.name), filepath.Join(dir, tt.name+".gsimc")
			write(t, path, tt.text)
			_, stderr := mustRunIn(t, nil, append([]string{"train", "--rank", "8", "--data", path,
				"--out", out}, tt.args...)...)
			got := provenance(t, out, "data_hash")
			if hash == "" {
				hash = got
			}
			if got != hash || hash == "" {
				t.Errorf("trained on the data %q, want %q", got, hash)
			}
			check.Lacks(t, stderr, "note:", "standard error")
			for flag := range slices.Chunk(tt.args, 2) {
				says(t, "the command in the model", provenance(t, out, "command"),
					flag[0]+" "+cli.ShellWord(flag[1]))
			}
		})
	}
	t.Run("standard input and a file", func(t *testing.T) {
		head, out := "user_id,item_id,timestamp\n", filepath.Join(dir, "stdin.gsimc")
		rest := writeFile(t, "rest.csv", table(head, ",", rows[400:], sql))
		var stdout, stderr bytes.Buffer
		code := run([]string{"train", "--rank", "8", "--data", "-", "--data", rest, "--out", out},
			strings.NewReader(table(head, ",", rows[:400], seconds)), &stdout, &stderr, nil)
		check.MustSame(t, cli.ExitOK, code, "%s: exit code", stderr.String())
		check.Same(t, hash, provenance(t, out, "data_hash"), "trained on the data")
	})
}

// TestTypesOfFiles trains on typed events and on the same ones with weights.
func TestTypesOfFiles(t *testing.T) {
	rows := generatedRows(t)
	weights := map[string]string{"view": "0.5", "buy": "4", "hide": "-1"}
	var typed, weighted [][]string
	for i, row := range rows {
		kind := []string{"view", "buy", "hide"}[i%3]
		typed = append(typed, append(row[:3:3], kind))
		if kind != "hide" {
			weighted = append(weighted, append(row[:3:3], weights[kind]))
		}
	}
	seconds := func(s int64) string { return strconv.FormatInt(s, 10) }
	a := writeFile(t, "typed.csv", table("user_id,item_id,timestamp,action\n", ",", typed, seconds))
	b := writeFile(t, "weighted.csv", table("user_id,item_id,timestamp,w\n", ",", weighted,
		seconds))
	byType, byWeight := filepath.Join(t.TempDir(), "a.gsimc"), filepath.Join(t.TempDir(), "b.gsimc")
	train := func(data, out string, args ...string) (stdout, stderr string) {
		t.Helper()
		return mustRunIn(t, nil, append([]string{"train", "--rank", "8", "--data", data, "--out",
			out}, args...)...)
	}
	stdout, _ := train(a, byType, "--type-column", "action", "--event-weight",
		"view=0.5,buy=4,hide=-1")
	says(t, "the summary", stdout, "300 of a weight that is not above 0")
	train(b, byWeight, "--weight-column", "w")
	if got, want := provenance(t, byType, "data_hash"),
		provenance(t, byWeight, "data_hash"); got != want {
		t.Errorf("by type the data is %q, by weight %q", got, want)
	}
	command := provenance(t, byType, "command")
	says(t, "the command in the model", command, "--type-column action --event-weight buy=4 "+
		"--event-weight hide=-1 --event-weight view=0.5")
	types := writeFile(t, "types", "view 0.5\nbuy 4\nhide -1\n")
	train(a, byType, "--type-column", "action", "--event-types-file", types)
	check.Same(t, command, provenance(t, byType, "command"), "with a file of types the command")
	_, stderr := train(a, byType, "--type-column", "action")
	says(t, "without weights", stderr,
		"note: events of all types count alike; --event-weight TYPE=W,... tells them apart")
	_, stderr = train(a, byType)
	says(t, "without a column", stderr, `note: column "action" looks like one of event types and `+
		`is not used; --type-column action uses it`)
	refused(t, cli.ExitUsage, "--event-weight: the events have no types: set --type-column",
		"train", "--data", a, "--out", byType, "--event-weight", "view=0.5")
}

// TestOrdinalsOfFiles trains on positions in place of times: no drift is learned, and the model has
// no time of a last event.
func TestOrdinalsOfFiles(t *testing.T) {
	rows := generatedRows(t)
	position := int64(0)
	text := table("user_id,item_id,timestamp\n", ",", rows, func(int64) string {
		position++
		return strconv.FormatInt(position, 10)
	})
	path, out := writeFile(t, "events.csv", text), filepath.Join(t.TempDir(), "m.gsimc")
	train := []string{"train", "--rank", "8", "--data", path, "--out", out}
	_, stderr := mustRunIn(t, nil, train...)
	says(t, "positions", stderr, "note: times look like positions: no fading by time is learned; "+
		"--time-unit s takes them as seconds")
	check.Same(t, "", provenance(t, out, "last_event"), "the last event is of")
	if _, stderr = mustRunIn(t, nil, append(train, "--time-unit", "s")...); strings.Contains(stderr,
		"note:") {
		t.Errorf("with a unit of time: %s", stderr)
	}
}

// TestObserveTypes streams typed events to a server: training from its store is training from the
// file.
func TestObserveTypes(t *testing.T) {
	rows := generatedRows(t)
	for i, row := range rows {
		rows[i] = append(row[:3:3], []string{"view", "buy", "hide"}[i%3])
	}
	text := table("user_id;item_id;timestamp;action\n", ";", rows,
		func(s int64) string { return strconv.FormatInt(s, 10) + "000" })
	data, dir := writeFile(t, "typed.csv", text), t.TempDir()
	byFile, byStore := filepath.Join(dir, "file.gsimc"), filepath.Join(dir, "store.gsimc")
	weights := []string{"--rank", "8", "--event-weight", "view=0.5,buy=4,hide=-1"}
	mustRun(t, append([]string{"train", "--data", data, "--type-column", "action", "--out", byFile},
		weights...)...)

	state := filepath.Join(dir, "state")
	p := startServe(t, byFile, state)
	bad := writeFile(t, "bad.csv", text+"u;;1700000000000;view\n")
	_, got, stderr := runCLI(t, nil, "observe", "--data", bad, "--type-column", "action", "--server",
		p.GRPC, "--max-bad-rows", "1")
	says(t, "observe", got, "900 of 900 events acknowledged")
	says(t, "observe", stderr, "note: 1 of 901 rows left out as bad, ",
		"bad.csv:902: column item_id: empty id")
	p.mustStop(t)
	mustRun(t, append([]string{"train", "--from-store", state, "--out", byStore}, weights...)...)
	if got, want := provenance(t, byStore, "data_hash"),
		provenance(t, byFile, "data_hash"); got != want || want == "" {
		t.Errorf("the events of the store have the hash %q, those of the file %q", got, want)
	}
	refused(t, cli.ExitUsage, "--type: has no effect with --type-column", "observe", "--data", data,
		"--type-column", "action", "--type", "buy")
}
