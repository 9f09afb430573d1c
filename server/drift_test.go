package server

import (
	"fmt"
	"testing"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/model"
)

// The gauge falls when most events are on items that the model does not know, and when another
// model is loaded that does not know them.
func TestDriftGauge(t *testing.T) {
	prefix := ""
	ts := start(t, setup{config: extending, open: func() (*model.Model, error) {
		return newModelOf(t, 1, func(i int) string { return prefix + item(i) }), nil
	}})
	await := func(low, high float64) {
		t.Helper()
		eventually(t, fmt.Sprintf("the ratio is %v to %v", low, high), func() bool {
			ratio := value1(t, ts, "gsimc_drift_energy_ratio")
			return ratio >= low && ratio <= high
		})
	}
	batch := func(name func(u, i int) string) {
		t.Helper()
		for u := range 40 {
			req := &pb.BatchObserveRequest{}
			for i := range 10 {
				req.Events = append(req.Events,
					&pb.Event{UserId: fmt.Sprint(u), ItemId: name(u, i)})
			}
			reply(t, ts.events.BatchObserve, req)
		}
	}
	batch(func(u, i int) string { return item((u + i) % testItems) })
	await(0.5, 2)
	for _, c := range []struct {
		prefix    string
		low, high float64
	}{{"other-", 0, 0.1}, {"", 0.5, 2}} {
		prefix = c.prefix
		must(t, ts.Reload(ctx(t)))
		await(c.low, c.high)
	}
	batch(func(u, i int) string { return fmt.Sprintf("strange %d %d", u, i) })
	await(0, 0.75)
}
