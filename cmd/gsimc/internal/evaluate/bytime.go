package evaluate

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/data"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/progress"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/learn/evaluate"
)

// protocolTime is the value of `evaluate --protocol` for a split by time.
const protocolTime = "time"

// checkTime checks the flags of the protocol.
func (c *Cmd) checkTime() error {
	if c.Protocol != protocolTime {
		return nil
	}
	var err error
	if c.Split != "" {
		err = cli.About("%s divides the users, and %s time divides their events: leave one out",
			"--split", "--protocol")
	}
	return errors.Join(err, cli.InRange("--time-cuts", float64(c.TimeCuts), 1, 100),
		cli.Above("--test-share", c.TestShare, 0),
		cli.Below("--test-share", c.TestShare, 1/float64(1+max(1, c.TimeCuts))),
		cli.InRange("--time-users", float64(c.TimeUsers), 0, 1e9))
}

// byTime runs the protocol at each cut, the oldest first, and prints tables or a JSON object.
func (c *Cmd) byTime(
	a *cli.App, p progress.Progress, events *dataset.Interactions, read *dataset.Report,
) error {
	if read.OrdinalTimes {
		return cli.Flagf("--data", "the times look like positions, and a split by time needs "+
			"times: --time-unit s takes them as seconds")
	}
	documents, hidden, err := c.readItems(events.Items)
	if err != nil {
		return err
	}
	var cuts []evaluate.Cut
	var reports []evaluationByTime
	var oldest *evaluate.Aged
	for later := range c.TimeCuts {
		x, err := evaluate.SplitByTime(events, evaluate.TimeSplit{
			Share: c.TestShare, Users: c.TimeUsers, Later: c.TimeCuts - 1 - later,
			Hidden: func(id string) bool { return hidden[id] },
		})
		if err != nil {
			return err
		}
		x.Old, x.Content = oldest, documents
		opt, results, elapsed, err := c.cut(p, x)
		if err != nil {
			return err
		}
		if oldest == nil {
			oldest = x.Fitted
		}
		if cuts = append(cuts, x.Cut(results)); c.JSON {
			reports = append(reports, c.reportByTime(x, &opt, results, elapsed))
		} else {
			c.printCut(a.Stdout, x, &opt, results, elapsed)
		}
	}
	return errors.Join(c.tellCuts(a, cuts, reports), c.drawAge(a, cuts))
}

// tellCuts ends the output of the protocol.
func (c *Cmd) tellCuts(a *cli.App, cuts []evaluate.Cut, reports []evaluationByTime) error {
	switch {
	case c.JSON && c.TimeCuts == 1:
		return a.PrintJSON(reports[0])
	case c.JSON:
		return a.PrintJSON(evaluationOfCuts{reports, reportCuts(cuts)})
	case c.TimeCuts > 1:
		printCuts(a.Stdout, cuts)
	}
	return nil
}

// cut runs the methods at one cut.
func (c *Cmd) cut(p progress.Progress, x *evaluate.ByTime) (
	opt evaluate.Options, results []evaluate.Result, elapsed []time.Duration, err error,
) {
	methods, err := c.methods(x.Final)
	if err != nil {
		return opt, nil, nil, err
	}
	opt = evaluate.Options{Methods: methods, MRFCFA: c.MrfcfA}
	if err := c.chooseByTime(p, x, &opt); err != nil {
		return opt, nil, nil, err
	}
	if err := c.prepare(p, x.Final, &opt); err != nil {
		return opt, nil, nil, err
	}
	results, elapsed, err = timed(p, opt, x.Run)
	return opt, results, elapsed, err
}

// printCut prints the results of one cut.
func (c *Cmd) printCut(
	w io.Writer, x *evaluate.ByTime, opt *evaluate.Options, results []evaluate.Result,
	elapsed []time.Duration,
) {
	fmt.Fprintf(w, "%s training events of %s users and %s items before %s\n"+
		"%s events from then on, %s of them on items that are new\n"+
		"%s targets of %s users, %s of them without an event before\n",
		cli.Grouped(len(x.Final.Train.Item)), cli.Grouped(x.Final.Train.Len()),
		cli.Grouped(len(x.Final.Items)),
		dateText(x.Begin), cli.Grouped(x.Events), cli.Grouped(x.Unknown), cli.Grouped(x.Targets),
		cli.Grouped(x.Users), cli.Grouped(x.Cold))
	if x.Old != nil {
		fmt.Fprintf(w, "%s targets on items that the frozen model does not know\n",
			cli.Grouped(x.Unseen))
	}
	c.printBases(w, opt)
	printResults(w, results, elapsed)
	if change, stderr, ok := trendChange(x, results); ok {
		fmt.Fprintf(w, "trends change the NDCG@10 of targets with a history by "+
			"%+.1f ± %.1f %%\n", 100*change, 100*stderr)
	}
	printArrivals(w, x.Arrivals)
	printAllNext(w, x.AllNext)
	if x.Choosing != nil {
		fmt.Fprintf(w, "the validation users are those with events from %s to then\n",
			dateText(x.Validation))
	}
	if c.TimeCuts > 1 {
		fmt.Fprintln(w)
	}
}

func trendChange(
	x *evaluate.ByTime, results []evaluate.Result,
) (change, stderr float64, ok bool) {
	return evaluate.Change([]evaluate.Cut{x.Cut(results)}, evaluate.Dynamics, evaluate.Trending)
}

// printArrivals prints how all events are foreseen if new items join the model.
func printArrivals(w io.Writer, x *evaluate.Arrivals) {
	if x == nil {
		return
	}
	fmt.Fprintf(w, "with %s new items: %s targets of users with a history, "+
		"%s of them on new items\n",
		cli.Grouped(x.Items), cli.Grouped(x.Targets), cli.Grouped(x.New))
	rows := [][]string{{"new items", "new: HR@50", "±", "known: NDCG@10", "all: NDCG@10"}}
	for _, row := range []struct {
		name string
		of   evaluate.ArrivalMetric
	}{
		{"left out", x.LeftOut}, {"without trends of their own", x.Still}, {"as served", x.Served},
	} {
		rows = append(rows, []string{row.name, figure(row.of.New), figure(row.of.NewErr),
			figure(row.of.Known), figure(row.of.All)})
	}
	cli.PrintTable(w, rows, 1, 2, 3, 4)
	if x.LeftOut.All == 0 || x.Still.All == 0 {
		return // nothing that could change by a part of itself
	}
	fmt.Fprintf(w, "new items change the NDCG@10 of all by %+.1f ± %.1f %%, their trends by "+
		"%+.2f ± %.2f %%\n", 100*x.Change, 100*x.ChangeErr, 100*x.TrendChange,
		100*x.TrendChangeErr)
}

// printAllNext prints how all next visits are foreseen, repeats among them.
func printAllNext(w io.Writer, x *evaluate.AllNext) {
	if x == nil {
		return
	}
	fmt.Fprintf(w, "all next events: %s of %s users, %.1f %% of them on an item that the user had "+
		"before\n", cli.Grouped(x.Targets), cli.Grouped(x.Users),
		100*float64(x.Repeats)/float64(max(1, x.Targets)))
	fmt.Fprintf(w, "%-28s %8s %8s %8s\n", "NDCG@10, seen items", "all", "repeats", "new")
	for _, row := range []struct {
		name string
		of   evaluate.NextMetric
	}{
		{"excluded", x.Excluded}, {"allowed, the model alone", x.Alone},
		{"the same but the newest", x.NotNewest}, {"allowed, as trained", x.Again},
	} {
		m := row.of
		fmt.Fprintf(w, "%-28s %8.4f %8.4f %8.4f\n", row.name, m.All, m.Repeats, m.New)
	}
	if x.Spec.None() {
		fmt.Fprintln(w, "no term for seen items makes these lists better: none is used")
		return
	}
	fmt.Fprintf(w, "the term for seen items changes the NDCG@10 of the lists but the newest by "+
		"%+.1f ± %.1f %%\n(%s)\n", 100*x.Change, 100*x.ChangeErr, x.Spec)
}

// chooseByTime replaces the methods of opt that choose constants by methods with the constants that
// they choose on the events before the point of time.
func (c *Cmd) chooseByTime(
	p progress.Progress, x *evaluate.ByTime, opt *evaluate.Options,
) error {
	choosing := *opt
	choosing.Methods = evaluate.Choosers(opt.Methods)
	if x.Choosing == nil || len(choosing.Methods) == 0 {
		return nil
	}
	if err := c.prepare(p, x.Choosing, &choosing); err != nil {
		return err
	}
	choosing.Methods, choosing.Progress = opt.Methods, data.Stages(p)
	defer p.End()
	var err error
	opt.Methods, err = x.Choose(choosing)
	return err
}

// dateText writes a time of events.
func dateText(seconds int64) string {
	return time.Unix(seconds, 0).UTC().Format(time.DateTime)
}

// evaluationByTime is the object that --json prints for the protocol. Its test users are those with
// targets, and its validation users those with events in the period before.
type evaluationByTime struct {
	evaluation

	Time struct {
		Begin      int64 `json:"begin"`      // of the test period, in seconds since 1970
		Validation int64 `json:"validation"` // begin of the validation period
		Events     int   `json:"events"`     // in the test period
		Unknown    int   `json:"events_of_unknown_items"`
		Targets    int   `json:"targets"`
		Cold       int   `json:"targets_without_history"`
		Unseen     int   `json:"targets_unknown_to_frozen,omitempty"`

		// The part of itself by which trends change the NDCG@10 of targets with a history.
		TrendChange    float64 `json:"trend_change,omitempty"`
		TrendChangeErr float64 `json:"trend_change_stderr,omitempty"`

		Arrivals *evaluate.Arrivals `json:"new_items,omitempty"`
		AllNext  *evaluate.AllNext  `json:"all_next,omitempty"`
	} `json:"time"`
}

func (c *Cmd) reportByTime(
	x *evaluate.ByTime, opt *evaluate.Options, results []evaluate.Result,
	elapsed []time.Duration,
) evaluationByTime {
	e := evaluationByTime{evaluation: c.report(x.Final, opt, results, elapsed)}
	e.Users.Test = x.Users
	e.Time.Begin, e.Time.Validation = x.Begin, x.Validation
	e.Time.Events, e.Time.Unknown = x.Events, x.Unknown
	e.Time.Targets, e.Time.Cold, e.Time.Unseen = x.Targets, x.Cold, x.Unseen
	e.Time.Arrivals, e.Time.AllNext = x.Arrivals, x.AllNext
	e.Time.TrendChange, e.Time.TrendChangeErr, _ = trendChange(x, results)
	return e
}
