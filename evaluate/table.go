package evaluate

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// WriteTable prints the results, a row for each method: HR and NDCG with their
// standard errors, and how long the method took (elapsed, by result; may be
// nil). Below are the calibration of learned dynamics and the constants that methods chose on the validation users.
func WriteTable(w io.Writer, results []Result, elapsed []time.Duration) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "method\t")
	for _, n := range Cutoffs {
		fmt.Fprintf(t, "HR@%d\t±\tNDCG@%d\t±\t", n, n)
	}
	fmt.Fprintln(t, "time\t")
	for i, r := range results {
		fmt.Fprintf(t, "%v\t", r.Method)
		for _, m := range r.Metrics {
			fmt.Fprintf(t, "%.4f\t%.4f\t%.4f\t%.4f\t", m.HR, m.HRErr, m.NDCG, m.NDCGErr)
		}
		if elapsed != nil {
			fmt.Fprintf(t, "%v\t", elapsed[i].Round(time.Millisecond))
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, r := range results {
		if r.Calibration == nil {
			continue
		}
		if err := r.Calibration.write(w, r.Method); err != nil {
			return err
		}
	}
	for _, r := range results {
		if len(r.Chosen) == 0 {
			continue
		}
		var list []string
		for _, name := range slices.Sorted(maps.Keys(r.Chosen)) {
			list = append(list, fmt.Sprintf("%s %v", name, r.Chosen[name]))
		}
		if _, err := fmt.Fprintf(w, "%v: %s, chosen on the validation users\n", r.Method, strings.Join(list, ", ")); err != nil {
			return err
		}
	}
	return nil
}

// Figures returns the metrics under the names of the JSON output: "hr@10",
// "ndcg@10" and, for their standard errors, "hr@10 stderr", "ndcg@10 stderr";
// and the constants of Chosen.
func (r *Result) Figures() map[string]float64 {
	f := make(map[string]float64)
	maps.Copy(f, r.Chosen)
	for _, m := range r.Metrics {
		for name, v := range map[string]float64{"hr": m.HR, "ndcg": m.NDCG} {
			f[fmt.Sprintf("%s@%d", name, m.N)] = v
		}
		f[fmt.Sprintf("hr@%d stderr", m.N)] = m.HRErr
		f[fmt.Sprintf("ndcg@%d stderr", m.N)] = m.NDCGErr
	}
	return f
}
