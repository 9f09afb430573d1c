package loadtest

import "context"

// Axis is the quantity that grows in a sweep.
type Axis struct {
	Name string // for the group: "sweep n"
	X    string // unit of x
}

// Cost measures Recommend at one point x of a sweep: its latency with one request in flight, its
// rate with inFlight requests, and the memory of the server.
func (s *Suite) Cost(ctx context.Context, axis Axis, x float64, inFlight int) error {
	t := s.recommendOnly()
	return s.rounds(ctx, "sweep "+axis.Name, axis.X, x, 2,
		func(ctx context.Context, r *round) error {
			alone, err := r.closed(ctx, "Recommend, 1 in flight", s.Server, t, 1)
			if err != nil {
				return err
			}
			full, err := r.closed(ctx, "Recommend, full load", s.Server, t, inFlight)
			if err != nil {
				return err
			}
			r.latencies("Recommend", alone.Latency[Recommend], p50, p99)
			r.add("Recommend rate", "requests/s", full.Rate())
			r.memory()
			return nil
		})
}

// CostOfClients measures Recommend by this many clients at once, a point of a sweep.
func (s *Suite) CostOfClients(ctx context.Context, axis Axis, clients int) error {
	t := s.recommendOnly()
	return s.rounds(ctx, "sweep "+axis.Name, axis.X, float64(clients), 1,
		func(ctx context.Context, r *round) error {
			result, err := r.closed(ctx, "Recommend", s.Server, t, clients)
			if err != nil {
				return err
			}
			r.latencies("Recommend", result.Latency[Recommend], p50, p99)
			r.add("Recommend rate", "requests/s", result.Rate())
			r.memory()
			return nil
		})
}

// memory adds the resident memory of the server, if it is known.
func (r *round) memory() {
	if r.suite.RSS != nil {
		r.add("server RSS", "MiB", float64(r.suite.RSS())/(1<<20))
	}
}
