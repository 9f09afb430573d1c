package evaluate

import (
	"fmt"
	"io"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/learn/evaluate"
)

// printReliability prints, for each tenth of the scores by predicted standard deviation, the mean
// predicted variance beside the mean squared error.
func printReliability(w io.Writer, r *evaluate.Reliability) {
	rows := [][]string{{"tenth", "variance", "error", "±", "taken: variance", "error", "±"}}
	for t := range r.Random {
		row := []string{fmt.Sprint(t + 1)}
		for _, side := range [][]evaluate.Tenth{r.Random, r.Target} {
			if t < len(side) {
				s := side[t]
				row = append(row, fmt.Sprintf("%.2g", s.Variance), fmt.Sprintf("%.2g", s.Error),
					fmt.Sprintf("%.1g", s.ErrorErr))
			} else {
				row = append(row, "", "", "")
			}
		}
		rows = append(rows, row)
	}
	fmt.Fprintln(w)
	cli.PrintTable(w, rows, 1, 2, 3, 4, 5, 6)
	fmt.Fprint(w, `
Scores by their reported standard deviation: the square of that, and the squared
error of the score, for random items and for items that users took two events
later. A negative error is noise; ± is the standard error.
`)
}
