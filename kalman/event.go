package kalman

// Event is one interaction of a user with an item, by its index.
type Event struct {
	Item   int32   // index, 0 ≤ Item < number of items
	Weight float32 // finite, |Weight| ≤ 1000; 1 for a plain interaction
	Time   int64   // seconds; only differences count, and only with a half-life or a drift
}

// History holds the events of one user in the order in which they are to be folded: by time.
type History []Event
