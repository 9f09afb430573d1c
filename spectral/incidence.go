package spectral

import (
	"fmt"
	"math"

	"github.com/gsimc/gsimc/internal/fault"
)

// Incidence is the 0/1 user-item matrix R of the training users, one sparse row per user: user u
// has the items Item[Ptr[u]:Ptr[u+1]], each at most once, in the order of time if [Graph].Window is
// set and in any order if not. Each user, or each window of a user, is a hyperedge.
type Incidence struct {
	NumItems int
	Ptr      []int64
	Item     []int32
}

// NumUsers returns m.
func (r *Incidence) NumUsers() int { return len(r.Ptr) - 1 }

// Validate returns the first fault of the shape of r: pointers must rise from 0 to len(Item), item
// indices be in [0, NumItems), no item come twice in a row, and there must be an interaction. The
// fields are NumItems, Ptr and Item.
func (r *Incidence) Validate() error {
	if r.NumItems < 1 || len(r.Ptr) < 2 || len(r.Item) == 0 {
		return &fault.Fault{Field: "Item", Problem: "no interactions to learn a graph from",
			Want: "at least one user with one item"}
	}
	if r.NumItems > math.MaxInt32 || len(r.Ptr) > math.MaxInt32 {
		return &fault.Fault{Field: "NumItems", Got: r.NumItems,
			Problem: fmt.Sprintf("with %d users is too many", r.NumUsers()),
			Want:    "at most 2^31-1 of each"}
	}
	if r.Ptr[0] != 0 || r.Ptr[len(r.Ptr)-1] != int64(len(r.Item)) {
		return &fault.Fault{Field: "Ptr", Problem: "the row pointers do not span the items"}
	}
	last := make([]int32, r.NumItems) // last[i] = 1 + the newest user that has item i
	for u := range r.NumUsers() {
		if r.Ptr[u] > r.Ptr[u+1] {
			return &fault.Fault{
				Field: "Ptr", Problem: fmt.Sprintf("row %d ends before it begins", u),
			}
		}
		for _, i := range r.Item[r.Ptr[u]:r.Ptr[u+1]] {
			if i < 0 || int(i) >= r.NumItems {
				return &fault.Fault{Field: "Item",
					Problem: fmt.Sprintf("user %d has item %d", u, i),
					Want:    fmt.Sprintf("0 to %d", r.NumItems-1)}
			}
			if last[i] == int32(u)+1 {
				return &fault.Fault{
					Field: "Item", Problem: fmt.Sprintf("user %d has item %d twice", u, i),
				}
			}
			last[i] = int32(u) + 1
		}
	}
	return nil
}

// Degrees returns d_v, the number of users of each item.
func (r *Incidence) Degrees() []int64 {
	d := make([]int64, r.NumItems)
	for _, i := range r.Item {
		d[i]++
	}
	return d
}

// transpose returns the users of each item, in rising order, as (ptr, user).
func (r *Incidence) transpose() (ptr []int64, user []int32) {
	ptr = make([]int64, r.NumItems+1)
	for _, i := range r.Item {
		ptr[i+1]++
	}
	for i := range r.NumItems {
		ptr[i+1] += ptr[i]
	}
	next := make([]int64, r.NumItems)
	copy(next, ptr)
	user = make([]int32, len(r.Item))
	for u := range r.NumUsers() {
		for _, i := range r.Item[r.Ptr[u]:r.Ptr[u+1]] {
			user[next[i]] = int32(u)
			next[i]++
		}
	}
	return ptr, user
}
