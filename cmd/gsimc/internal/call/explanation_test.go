package call

import (
	"bytes"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/internal/test/check"
)

// An explanation is read as shares: bars in percent, titles where they are known, and what lowers a
// score is named so.
func TestExplanationBars(t *testing.T) {
	var out bytes.Buffer
	r := Answer{ModelVersion: "v", Items: []Item{{ID: "i", Score: 0.04, Source: "personalized",
		Title: "Heat", Explanation: &Explanation{
			Base: 0.05, Remainder: 0.01, Again: &Again{Events: 3, Time: "T", Contribution: -0.05},
			Contributions: []Contribution{{ID: "a", Title: "Ronin", Contribution: 0.03},
				{ID: "b", Contribution: -0.01}},
			Like: []string{"a", "c", "d", "e"},
		}}}}
	check.Must(t, r.print(&cli.App{Stdout: &out}, map[string]string{"a": "Ronin"}, false))
	want := `  #  item     score  source        title
  1  i     0.040000  personalized  Heat

1. i Heat, new, like a Ronin; c; d
  ███████  33 %  what everybody likes
  ███████  33 %  again: 3 times, last at T, lowers it
  ████     20 %  a Ronin
  █         7 %  b, lowers it
  █         7 %  the other events

` + explanationKey + `
revision 0, model v
`
	check.Same(t, want, out.String(), "explanation")
	out.Reset()
	r = Answer{ModelVersion: "v", Items: []Item{{ID: "i", Source: "popular"}}, Explain: true}
	check.Must(t, r.print(&cli.App{Stdout: &out}, nil, false))
	const why = "\nnote: no explanations: only personal scores have one, and none is here\n"
	if !strings.HasSuffix(out.String(), why) {
		t.Errorf("without explanations:\n%s", out.String())
	}
	check.Same(t, "0 %", (&Explanation{}).rows()[0][1], "the share of nothing")
}
