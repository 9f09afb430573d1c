package valid

import (
	"slices"
	"strings"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
)

// Traffic checks shares of arms, of which a server has these beside main.
func Traffic(req *pb.SetTrafficRequest, arms []string) error {
	var c checker
	c.check("shares", badCount(len(req.GetShares()), 1, maxArms))
	named := map[string]bool{}
	for i, s := range req.GetShares() {
		c.checkAt("shares", i, "arm", badArm(s.GetArm(), arms, named))
		c.checkAt("shares", i, "share_percent", badPercent(s.SharePercent))
		named[s.GetArm()] = true
	}
	return c.err()
}

// badArm checks the name of an arm; named are those of the request before it.
func badArm(arm string, arms []string, named map[string]bool) string {
	switch {
	case len(arms) == 0:
		return "must name an arm beside main, and this server has none"
	case !slices.Contains(arms, arm):
		return "must be one of " + strings.Join(arms, ", ") + "; main has what they leave"
	case named[arm]:
		return "is named before"
	}
	return ""
}

func badPercent(v *float64) string {
	switch {
	case v == nil:
		return "must be set"
	case !(*v >= 0 && *v <= 100): // true for NaN too
		return "must be a number from 0 to 100"
	}
	return ""
}
