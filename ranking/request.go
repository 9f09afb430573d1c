package ranking

// Request asks for the N best items of a query, and takes the answer. With neither Skip nor
// Among, all items are candidates.
type Request struct {
	Query []float32 // k finite numbers, k the rank of the model
	N     int       // number of items wanted; 0 or less asks for none
	Skip  *Set      // items that must not be returned; nil stands for none

	// Among, unless nil, holds the only items that may be returned. They may come in any order and
	// several times, and items that the model does not have are ignored.
	Among []int32

	Top []Scored // the answer in the order of results, stored from Top[:0] on
}
