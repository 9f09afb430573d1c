package capacity

// The machine of the figures below, unless another one is named: 2 cores of an Intel Xeon VM with
// AVX-512, of which the clients took a part. Times are processor time in µs. "Prototype" says that
// a figure comes from a trial of the engine, with the layout of the store but without it, with all
// its processes and the client on these two cores; BenchmarkConstants of cmd/gsimc measures the
// others again and prints their ratios to the constants.
const (
	// A Recommend of 100 items at the server, without the bytes of the scan. `gsimc bench
	// --scenario throughput --rank 256 --items N`, "server processor time, Recommend", N = 20,000
	// and 200,000: 168 and 656, the straight line through both (2026-11-23). It meets N = 50,000
	// and 200,000 × 64 within 4 %, and is above the figures of smaller bases: 102 of 5,000.
	recommendMicros = 114
	// A byte of int8 rows in a pass, ps. The slope of the same line.
	scanPicos = 10.6
	// The same above rank 512, where rows are kept without their five-bit copies:
	// docs/benchmarks.md, "The first 100, 16 queries at once", 17,770 × 1,000.
	scanPicosHighRank = 17.9
	// The same of one query with a pass of its own: docs/benchmarks.md, "The first 100, one query
	// at a time", 1,000,000 × 128.
	scanAlonePicos = 28.1
	// The time of a scan of trained rows as a share of that of random rows, and the µs that it
	// takes at least: docs/benchmarks.md, the same tables, generated (n = 193,431) and
	// amazon-games. What larger trained bases take has not been measured.
	trainedShare = 0.23
	trainedLeast = 37

	// A call with events, and an event in it, at a server with a store on its disk. `gsimc bench
	// --scenario observe` and `--scenario stream`: 42.4 for one event in a call, 3.0 for each of
	// those that are streamed (2026-11-23).
	observeMicros = 39
	eventMicros   = 3
)

// What a store adds to the processor time of a server, and what its own processes take.
type storeCost struct {
	client     float64 // of the server, for an event
	clientRead float64 // of the server, for a Recommend
	event      float64 // of all its processes, copies included, for an event in a large call
	call       float64 // the same, for a call of its own
	read       float64 // of the process that answers, for the validation of a cached state
	primary    float64 // of one process that takes the events, for an event
	copies     int     // of the data
}

var costs = map[Store]storeCost{
	// In the figures of the server.
	Pebble: {copies: 1},
	// `go test ./store/valkey -run '^$' -bench .`, three primaries with two replicas each: 26.6 in
	// calls of 500 events, 60 in calls of one; a validation 12 on a busy machine, 27 on one whose
	// nodes go to sleep in between (2026-11-23). The primary's share
	// and what the server adds: prototype on Redis 7.0.15.
	Valkey: {client: 5, clientRead: 12, event: 26.6, call: 33, read: 12, primary: 16, copies: 3},
	// Prototype on PostgreSQL 15 with a synchronous standby: 42 and 84; a validation 32
	// (2026-11-22). The primary's half is assumed.
	Postgres: {client: 5, clientRead: 12, event: 42, call: 42, read: 32, primary: 21, copies: 2},
}

const (
	// Bytes of an event on the disk of a server: docs/benchmarks.md, "bytes on disk of one event".
	pebbleEventBytes = 67
	// The same in PostgreSQL with its two indexes. Prototype.
	postgresEventBytes = 230
	// Room on a volume for what is written anew before the old goes, and for vacuum and logs.
	pebbleRoom, postgresRoom = 2.0, 1.5
	// Room in the memory of Valkey for the copy of pages while its file is written anew, and for
	// fragments. Assumed.
	valkeyRoom = 1.5
	// The largest process of Valkey: the file of a larger one takes too long to write anew and to
	// copy to a new replica. Assumed.
	valkeyProcessBytes = 32e9
	// The least primaries of a cluster that elects new ones.
	valkeyPrimaries = 3
	// The durable events a second of one server at most: docs/benchmarks.md, "stream: streamed
	// events", rounded down.
	pebbleEvents = 500_000
)

// valkeyEventBytes are the bytes of an event in the memory of Valkey, by events a user: lists of
// many small parts and of few large ones take more. Prototype, with 26, 137 and 1,094 events a
// user.
func valkeyEventBytes(perUser float64) float64 {
	switch {
	case perUser < 60:
		return 94
	case perUser < 500:
		return 85
	}
	return 137
}

const (
	// Bytes of an item in the model besides 16 of each rank, of one in the catalogue, and of the
	// state of a user for each rank: docs/sizing.md.
	itemBytes, catalogueBytes, stateBytes = 700, 350, 20
	// int8 copies from this size on come with copies of five bits: docs/sizing.md.
	fiveBitsFrom = 24 << 20
	// The process without what grows, and the heap beyond what is held: docs/operations.md,
	// "Memory".
	serverBytes = 300e6
	heapShare   = 1.3
	// The caches and the writes of the store on the disk of a server: docs/sizing.md.
	pebbleCaches = 3*64<<20 + 192<<20

	// Products of a vector with the graph for each rank, and their time for an interaction on one
	// core, ns: docs/benchmarks.md, training at the size of the Netflix prize, on 2 cores.
	vectorsOfRank = 9.03
	productNanos  = 0.117
	// Bytes of an interaction while a training runs, and its share of memory for garbage.
	interactionBytes = 4
	garbage          = 1.2
)

// What is asked of a service that people wait for, and of a training.
const (
	scanBudgetMillis    = 50
	trainingBudgetHours = 24
)

// Prices in dollars, assumed: of a core and of a GB of memory for an hour, of a GB on disk for a
// month.
const (
	coreDollars, memoryDollars, diskDollars = 0.04, 0.004, 0.1
	hoursOfMonth                            = 730
)
