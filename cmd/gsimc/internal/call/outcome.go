package call

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
)

// armOutcome is what the users of an arm did, as `gsimc models --json` prints it.
type armOutcome struct {
	Users   int64              `json:"user_count"`
	Lists   int64              `json:"list_count"`
	Popular int64              `json:"popular_list_count"`
	Hits    int64              `json:"hit_count"`
	ByType  map[string]int64   `json:"hits_by_type"`
	Value   map[string]float64 `json:"value_by_type"`
	Rate    float64            `json:"rate"`
	Low     float64            `json:"rate_low"`
	High    float64            `json:"rate_high"`
	Calls   int64              `json:"call_count"`
	Failed  int64              `json:"failed_call_count"`
	Seconds float64            `json:"call_seconds"`
	Verdict *armVerdict        `json:"verdict,omitempty"`
}

type armVerdict struct {
	Difference float64 `json:"difference"`
	Low        float64 `json:"difference_low"`
	High       float64 `json:"difference_high"`
	P          float64 `json:"p_value"`
	Needed     int64   `json:"users_needed"`
	NeededMin  int64   `json:"users_needed_for_min_effect"`
}

// outcomeOf returns nil if there is one arm.
func outcomeOf(o *pb.ArmOutcome) *armOutcome {
	if o == nil {
		return nil
	}
	of := &armOutcome{Users: o.GetUserCount(), Lists: o.GetListCount(),
		Popular: o.GetPopularListCount(), Hits: o.GetHitCount(),
		ByType: orEmpty(o.GetHitsByType()), Value: orEmpty(o.GetValueByType()),
		Rate: o.GetRate(), Low: o.GetRateLow(), High: o.GetRateHigh(),
		Calls: o.GetCallCount(), Failed: o.GetFailedCallCount(), Seconds: o.GetCallSeconds()}
	if v := o.GetVerdict(); v != nil {
		of.Verdict = &armVerdict{v.GetDifference(), v.GetDifferenceLow(), v.GetDifferenceHigh(),
			v.GetPValue(), v.GetUsersNeeded(), v.GetUsersNeededForMinEffect()}
	}
	return of
}

// orEmpty lets JSON have {} in place of null.
func orEmpty[T any](m map[string]T) map[string]T {
	if m == nil {
		return map[string]T{}
	}
	return m
}

// printOutcomes prints what the users of the arms did with their lists, if there are several.
func printOutcomes(a *cli.App, list []armModel) {
	rows := [][]string{{"arm", "users", "lists", "popular", "failed", "time", "hits", "by type",
		"hits per user", "against main", "p", "users needed", "for 5 %"}}
	for _, m := range list {
		o := m.Outcome
		if o == nil {
			return
		}
		row := []string{m.Arm, strconv.FormatInt(o.Users, 10), strconv.FormatInt(o.Lists, 10),
			percent(o.Popular, o.Lists), percent(o.Failed, o.Calls), o.time(),
			strconv.FormatInt(o.Hits, 10), o.byType(), o.rate()}
		v := o.Verdict
		switch {
		case v == nil && m.Arm != list[0].Arm:
			row = append(row, "too few users or hits")
		case v != nil:
			row = append(row, fmt.Sprintf("%+.4f [%+.4f, %+.4f]", v.Difference, v.Low, v.High),
				strconv.FormatFloat(v.P, 'g', 2, 64), needed(v.Needed), needed(v.NeededMin))
		}
		rows = append(rows, row)
	}
	fmt.Fprintln(a.Stdout)
	cli.PrintTable(a.Stdout, rows, 1, 2, 3, 4, 5, 6, 10, 11, 12)
}

// rate is the number of hits for each user, with its interval if there are users enough for one.
func (o *armOutcome) rate() string {
	switch {
	case o.Users == 0:
		return "-"
	case o.Low < o.High:
		return fmt.Sprintf("%.4f [%.4f, %.4f]", o.Rate, o.Low, o.High)
	}
	return fmt.Sprintf("%.4f", o.Rate)
}

// time is the mean time of a call.
func (o *armOutcome) time() string {
	if o.Calls == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f ms", 1e3*o.Seconds/float64(o.Calls))
}

// percent returns a part of a whole, "-" of nothing.
func percent(part, whole int64) string {
	if whole == 0 {
		return "-"
	}
	return strconv.FormatFloat(100*float64(part)/float64(whole), 'f', 1, 64) + " %"
}

// byType lists the hits of each type, by the names of the types, and the sum of their values unless
// that is their number: events without a value have 1.
func (o *armOutcome) byType() string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(o.ByType)) {
		text := fmt.Sprintf("%s %d", name, o.ByType[name])
		n := strconv.FormatInt(o.ByType[name], 10)
		if value, known := o.Value[name]; known && places(value) != n {
			text += " (value " + places(value) + ")"
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

// places is a sum of values, with at most six places behind the point: more are of rounding.
func places(value float64) string {
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(value, 'f', 6, 64), "0"), ".")
}

// needed is a number of users, of which -1 says that no number is enough.
func needed(n int64) string {
	switch n {
	case -1:
		return "-"
	case 0:
		return "enough"
	}
	return strconv.FormatInt(n, 10)
}
