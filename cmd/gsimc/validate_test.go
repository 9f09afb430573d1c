package main

import (
	"strings"
	"testing"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/internal/test/check"
)

// The report names what is wrong with its place, and the exit code says whether that is allowed.
func TestValidate(t *testing.T) {
	good, _ := smallModel(t)
	text := "user_id,item_id,timestamp,event_type\n" +
		"a,x,2024-01-02,view\nb,x,2024-01-01,buy\n,x,2024-01-03,view\n" +
		"a,y,yesterday,view\n" + strings.Repeat("z", 300) + ",x,2024-01-03,view\n"
	bad, more := writeFile(t, "bad.csv", text), writeFile(t, "more.csv", text+"a,w,2024-01-04,view\n")
	odd := writeFile(t, "odd.csv", "user_id,item_id,timestamp\na,x,1950-01-02\na,1.0,2024-01-01\n"+
		"b,x,9998-01-01\nb,y,9999-01-01\n")
	one := writeFile(t, "one.csv", "user_id,item_id\na,x\n")
	none := writeFile(t, "none.csv", "user_id,item_id,timestamp\na,x,then\nb,x,now\n")
	spaced := writeFile(t, "spaced.csv", "user_id,item_id\na,x\na,y\n b,x\nb,y\nb,x \n\"a\nb\",x\n")
	sheet := writeFile(t, "sheet.csv", "user_id,item_id,timestamp\na,x,46356.58\na,y,46357\n")
	open := writeFile(t, "open.csv", "user_id,item_id,timestamp\na,x,1\na,y,2x\nb,\"x,3\n")
	for _, c := range []struct {
		args     string
		code     int
		out, err []string
	}{
		{good, cli.ExitOK, []string{"rows ", "6000, 0 bad", "users ", "300, ", "density",
			"training", "270 users, ", "30 users to measure on", "takes about", "(with --quick "}, nil},
		{bad, cli.ExitFailure, []string{"3 bad (user_id 2, timestamp 1)", "ids too long  1, ",
			"bad.csv:4: column user_id: empty id", "bad.csv:5: column timestamp: ",
			"2024-01-01 00:00:00 to 2024-01-02", "1 row is older"},
			[]string{"--max-bad-rows: 0 is below the number of bad rows, 3", "event_type"}},
		{odd, cli.ExitOK, []string{"odd ids", "1 row with an id such as NULL, NaN or 1.0",
			"too early", "1 before 1970: a server refuses them",
			"too late", "2 more than 24 hours in the future: a server refuses them"}, nil},
		{odd + " --time-unit us", cli.ExitOK, []string{"odd.csv: csv, 4 rows\n"},
			[]string{"note: --time-unit has no effect: no time is a number"}},
		{one + " --time-unit s", cli.ExitFailure, nil, []string{"note: --time-unit has no effect"}},
		{bad + " --max-bad-rows 3", cli.ExitFailure, []string{"2, 2 of them with one item"},
			[]string{"there is nothing to learn from: no user of the 2 of a training has two items"}},
		{more + " --max-bad-rows 3 --type-column event_type", cli.ExitOK,
			[]string{"types ", "view 2, buy 1"}, nil},
		{bad + " --max-bad-rows 3 --type-column event_type --event-weight view=0,buy=0",
			cli.ExitFailure, []string{"2 of a weight that is not above 0"},
			[]string{"no interactions"}},
		{one, cli.ExitFailure, []string{"one.csv: csv, 1 row\n", "1, and 0 rows of an item"}, nil},
		{none, cli.ExitFailure, []string{"times  none: no row is good"}, nil},
		{sheet, cli.ExitOK, []string{"positions"},
			[]string{"times look like the days of a spreadsheet", "the format yyyy-mm-dd"}},
		{open, cli.ExitFailure, []string{"rows   2, 1 bad (timestamp 1)", "open.csv:3: column"},
			[]string{"open.csv:4: a quote opens in this line"}},
		{spaced, cli.ExitOK, []string{`3 rows with an id such as " 12" or "1\n2"`,
			"none: rows count in the order of the file"}, nil},
		{"/does/not/exist", cli.ExitFailure, nil, []string{"/does/not/exist: no such file"}},
	} {
		code, out, stderr := runCLI(t, nil, append([]string{"validate"},
			strings.Fields(c.args)...)...)
		check.Same(t, c.code, code, "%s: exit code", c.args)
		says(t, c.args, out, c.out...)
		says(t, c.args, stderr, c.err...)
	}
	var report struct {
		Rows     int64
		BadRows  *int64 `json:"bad_rows"`
		Training struct {
			Bytes        int64
			Seconds      float64
			QuickSeconds float64 `json:"quick_seconds"`
		}
	}
	decode(t, mustRun(t, "validate", "--json", good), &report)
	if took := report.Training; report.Rows != 6000 || report.BadRows == nil ||
		*report.BadRows != 0 || took.Bytes == 0 || !(0 < took.QuickSeconds) ||
		took.QuickSeconds >= took.Seconds {
		t.Errorf("JSON: %+v", report)
	}
}
