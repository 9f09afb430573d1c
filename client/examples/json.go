package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

// fromJSON turns the answers of the JSON side, one after the other, into the lines that the other
// examples print.
func fromJSON(printed string) (string, error) {
	body, status, _ := strings.Cut(printed, " HTTP ")
	var (
		kept   struct{ UserRevision string }
		scored [2]struct {
			Items []struct {
				ItemID string
				Score  float64
			}
		}
		refused struct {
			Code    int
			Details []struct {
				FieldViolations []struct{ Field, Description, Reason string }
			}
		}
	)
	answers := json.NewDecoder(strings.NewReader(body))
	for _, into := range []any{&kept, &scored[0], &scored[1], &refused} {
		if err := answers.Decode(into); err != nil {
			return "", fmt.Errorf("%w in %s", err, printed)
		}
	}
	if status = strings.TrimSpace(status); status != "400" || refused.Code != 3 ||
		len(scored[1].Items) != 1 {
		return "", fmt.Errorf("the status of HTTP is %s: %s", status, printed)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "revision %s\nlist", kept.UserRevision)
	for _, item := range scored[0].Items {
		b.WriteString(" " + item.ItemID)
	}
	fmt.Fprintf(&b, "\nscore %.4f\n", scored[1].Items[0].Score)
	for _, detail := range refused.Details {
		for _, v := range detail.FieldViolations {
			fmt.Fprintf(&b, "refused INVALID_ARGUMENT %s %s %s\n", v.Reason, v.Field,
				v.Description)
		}
	}
	return b.String(), nil
}
