package dataset

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/gsimc/gsimc/internal/test/check"
)

func TestInspect(t *testing.T) {
	long := strings.Repeat("x", 257)
	text := "user_id,item_id,timestamp,kind\n" +
		"a,1,200,view\n" + "a,2,100,buy\n" + "a,1,300,view\n" + // older, repeated
		"b,1,400,View\n" + ",1,500,view\n" + "b,1,soon,view\n" + // 6 and 7 are bad
		"b," + long + ",500,view\n" + "b,1,350,no type!\n" + "c,3,0,\n" +
		"c,3,-1,like\nc,3,86400,like\nc,3,86401,like\n" // a second before 1970, a day after now, later
	path := writeFile(t, "events.csv", []byte(text))
	got, events, err := Inspect([]string{path},
		Options{TypeColumn: "kind", TimeUnit: "s", MinItemEvents: 2}, time.Unix(0, 0))
	check.Must(t, err)
	if events.NumItems() != 1 || got.FilteredItems != 2 {
		t.Errorf("%d items left, %d filtered", events.NumItems(), got.FilteredItems)
	}
	var lines []string
	for _, bad := range got.Bad {
		lines = append(lines, fmt.Sprintf("%d %s", bad.Line, bad.Column))
	}
	want := []string{"6 user_id", "7 timestamp", "8 item_id", "9 kind"}
	check.Same(t, want, lines, "bad rows")
	got.Report, got.Bad = nil, nil
	survey := &Survey{
		Users: 3, Items: 3, Interactions: 4, OneItemUsers: 2, OneUserItems: 2,
		Busiest: Count{"a", 2}, Popular: Count{"1", 2},
		Timed: true, Oldest: -1, Newest: 86401, Disorder: 3, Early: 1, Late: 1,
		Types: []Count{{"like", 4}, {"view", 3}, {"buy", 1}},
		BadColumns: []Count{
			{"item_id", 1}, {"kind", 1}, {"timestamp", 1}, {"user_id", 1},
		},
		LongIDs: 1,
	}
	check.Same(t, survey, got, "survey")
}

func TestOddIDs(t *testing.T) {
	for id, want := range map[string]bool{"NULL": true, "nan": true, "<NA>": true, "12.0": true,
		"null-island": false, "Nan": false, "12": false, "12.5": false, ".0": false, "v1.0": false} {
		path := writeFile(t, "events.csv", []byte("user_id,item_id\na,"+id+"\n"+id+",b\n"))
		got, _, err := Inspect([]string{path}, Options{}, time.Now())
		check.Must(t, err)
		if rows := got.OddIDs; rows != 0 && !want || rows != 2 && want {
			t.Errorf("%s: %d odd rows of 2, want all of them: %t", id, rows, want)
		}
	}
}

// Inspect returns the interactions of Read, and a survey of data in which nothing is good.
func TestInspectAndRead(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	for range 20 {
		var text strings.Builder
		text.WriteString("user_id,item_id,timestamp\n")
		bad := int64(0)
		for range 1 + r.IntN(200) {
			user := fmt.Sprint("u", r.IntN(9))
			if r.IntN(10) == 0 {
				user = ""
				bad++
			}
			fmt.Fprintf(&text, "%s,i%d,%d\n", user, r.IntN(9), 1e9+r.IntN(1000))
		}
		path := writeFile(t, "events.csv", []byte(text.String()))
		want, report, wantErr := Read([]string{path}, Options{MaxBadRows: 1000})
		got, events, err := Inspect([]string{path}, Options{}, time.Now())
		if (err == nil) != (wantErr == nil) || got == nil {
			t.Fatalf("Inspect: %v, Read: %v", err, wantErr)
		}
		if got.BadRows != bad || len(got.Bad) != int(min(bad, SurveyedRows)) {
			t.Errorf("%d bad rows, %d shown, want %d", got.BadRows, len(got.Bad), bad)
		}
		if err != nil {
			continue
		}
		if events.Hash() != want.Hash() || got.Duplicates != report.Duplicates {
			t.Error("Inspect and Read do not agree")
		}
	}
	path := writeFile(t, "bad.csv", []byte("user_id,item_id\n,x\n"))
	got, _, err := Inspect([]string{path}, Options{}, time.Now())
	if !errors.Is(err, ErrNoData) || got == nil || got.BadRows != 1 {
		t.Errorf("nothing good: %+v, %v", got, err)
	}
	if _, _, err := Inspect([]string{path + "x"}, Options{}, time.Now()); err == nil {
		t.Error("a file that is not there passes")
	}
}
