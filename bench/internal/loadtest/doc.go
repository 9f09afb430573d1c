// Package loadtest measures a server of recommendations from outside, over gRPC, as its clients see
// it, and a bare gRPC echo of the same messages beside it.
//
// Conventions. Latencies are nanoseconds in histograms and microseconds in reports. In an open loop
// requests have intended times, drawn in advance, and a latency counts from the intended time: it
// includes every delay of the request, by the server, its queue or this process. So a server that
// stalls is charged with all requests that were due meanwhile, and not with one request only
// ("coordinated omission"). In a closed loop each of a fixed number of clients sends its next
// request when it has the answer to the last; that measures throughput, and its latencies are those
// at full load.
//
// Requests are encoded beforehand and responses stay bytes: client and server share a machine, and
// the work of the client slows the server down. Everything that is drawn comes from a seed. Figures
// are minimum, median and maximum over repetitions, and compared measurements take turns within one
// run.
package loadtest
