package topn

import (
	"fmt"
	"math"
	"slices"

	"github.com/gsimc/gsimc/internal/vec"
	"github.com/gsimc/gsimc/ranking"
)

// search is one request on its way through the blocks.
type search struct {
	ix  *Index
	req ranking.Request // a copy: what the caller passes need not live on the heap
	at  int             // its place in the batch
	query
	from *copied // that it reads

	floor  float32        // no item whose bound is below it is looked at any more
	rank   int            // the floor is the rank-th largest lower bound
	lost   bool           // too much is or was kept: the float32 scan is faster
	kept   vec.Candidates // that may be among the N; places are numbers of rows in the copy
	exact  int            // so many of the kept have been scored: both their bounds are the score
	full   int            // number of kept at which the floor is raised
	tried  int            // candidates scored while five bits were read
	seen   int            // rows read
	rows   []int32        // whose scores are wanted, numbers in the matrix
	scores []float32      // of rows, or of a part of the matrix
	keys   []uint64       // of the items that were scored
	dealt  []uint64       // scratch of sortKeys
	others *ranking.Set   // scratch of allBut
	best   ranking.TopN   // of scan
}

// Search answers the requests. They share the pass over the memory, so many cost less than one after the other. No
// allocation in the long run, if the requests' Top have room.
func (x *Index) Search(batch []ranking.Request) {
	var room [32]*search
	scanning := room[:0]
	for i, r := range batch {
		if len(r.Query) != x.k {
			panic(fmt.Sprintf("topn: a query of length %d, want %d", len(r.Query), x.k))
		}
		r.N = min(r.N, x.n)
		s := x.searches.Get().(*search)
		s.ix, s.req, s.at = x, r, i
		if s.begin(len(batch)) {
			scanning = append(scanning, s)
			continue
		}
		s.end(batch)
	}
	x.pass(scanning, true)
	for _, s := range scanning {
		if !s.settle() {
			s.start(&x.bytes, s.req.N)
			again := [1]*search{s}
			x.pass(again[:], false)
			s.settle()
		}
		s.end(batch)
	}
}

// digits is the largest number of a query that looks for n rows in a batch. Where several queries are multiplied for each read
// of a row, one digit halves the work. But bounds are twice as wide then, and more rows are scored in float32: the more, the
// larger n is, and the wider the bounds are beside the spread of the scores, which goes with √k.
func (x *Index) digits(batch, n int) int {
	if batch >= 4 && vec.SmallDigitsFaster() && 8*float64(n)*math.Sqrt(float64(x.k)) < float64(x.n) {
		return min(vec.SmallDigit, x.maxDigit)
	}
	return x.maxDigit
}

// end hands the answer out and forgets the request, so that what it points to can be freed.
func (s *search) end(batch []ranking.Request) {
	x := s.ix
	batch[s.at].Top = s.req.Top
	s.ix, s.req = nil, ranking.Request{}
	s.bounds.Scale, s.bounds.Error = nil, nil
	x.searches.Put(s)
}

// begin prepares a request of a batch of the given size for the scan, or answers it otherwise and returns false.
func (s *search) begin(batch int) bool {
	x, r := s.ix, &s.req
	switch {
	case r.N <= 0:
		r.Top = r.Top[:0]
	case r.Among != nil:
		s.among()
	case !x.quantised || !s.query.set(x, r.Query, x.digits(batch, r.N)):
		s.scan()
	default:
		s.lost = false
		from := &x.bytes
		if batch == 1 && x.five.numbers != nil {
			from = &x.five
		}
		s.start(from, s.sampleRank())
		return true
	}
	return false
}

// start begins to read a copy. It forgets all candidates, and goes back to the only floor that needs no proof: none.
func (s *search) start(from *copied, rank int) {
	s.from, s.floor = from, float32(math.Inf(-1))
	s.kept.Truncate(0)
	s.exact, s.tried, s.seen = 0, 0, 0
	s.setRank(rank)
}

// setRank makes the floor the rank-th largest lower bound from now on.
func (s *search) setRank(rank int) {
	s.rank = rank
	s.plan()
}

// plan sets when the floor is raised the next time. Bounds of bytes are close to the scores, so that it may wait until several times
// the rank is kept. Those of five bits are scored then, and a higher floor saves others from it.
func (s *search) plan() {
	s.full = max(raiseAt*s.rank, 2*s.kept.Len())
	if s.coarse() {
		s.full = s.kept.Len() + scoreAt
	}
}

const (
	raiseAt = 4
	scoreAt = 64
)

// coarse tells whether five bits are read.
func (s *search) coarse() bool { return s.from != &s.ix.bytes }

// sampleRank is the place in the sample that the floor is taken from: so far behind the place where the N-th of all is to be
// expected that the floor is hardly ever above the N-th. Should it be, Search begins anew.
func (s *search) sampleRank() int {
	if s.ix.sample == 0 {
		return s.req.N
	}
	expected := float64(s.req.N) * float64(s.ix.sample) / float64(s.ix.blocks())
	return min(s.req.N, int(math.Ceil(expected+3.5*math.Sqrt(expected)+1)))
}

// pass takes the searches through the blocks. Each block is read once for all of them. With bySample, the floors of the
// sample are too high to be proven, and settle must look whether they were.
func (x *Index) pass(searches []*search, bySample bool) {
	var room [32]*search
	active := append(room[:0], searches...)
	for at, block := range x.order {
		if at == x.sample && bySample {
			for _, s := range active {
				s.raise()
				s.setRank(s.req.N)
			}
		}
		fetched := false
		for i := 0; i < len(active); i++ {
			s, reach := active[i], float64(x.reach[block])
			if reach*s.norm >= float64(s.floor) {
				var next []byte
				if !fetched {
					next, fetched = x.blockAfter(s.from, at), true
				}
				s.visit(int(block), next)
			}
			// Behind the sample, all that follow are shorter still.
			if at >= x.sample && reach*s.norm < float64(s.floor) || s.lost {
				active[i] = active[len(active)-1]
				active = active[:len(active)-1]
				i--
			}
		}
	}
}

// visit looks at a block. next will be wanted soon, unless it is nil.
func (s *search) visit(b int, next []byte) {
	x, first := s.ix, b*vec.BlockRows
	s.bounds.Scale, s.bounds.Error = s.from.scale[first:first+vec.BlockRows], s.from.slack[first:first+vec.BlockRows]
	s.bounds.Margin = x.reach[b] * s.error
	s.seen += vec.BlockRows
	before := s.kept.Len()
	if s.coarse() {
		s.bounds.CollectFiveBitsTo(&s.kept, s.from.block(b), &s.digits, s.floor, int32(first), next)
	} else {
		s.bounds.CollectTo(&s.kept, s.from.block(b), &s.digits, s.floor, int32(first), next)
	}
	if s.kept.Len() == before {
		return
	}
	if s.req.Skip != nil || first+vec.BlockRows > x.n {
		s.filter(before)
	}
	if s.kept.Len() >= s.full {
		s.raise()
	}
}

// filter takes out of the candidates from the given one on the rows that fill up the last block, and those that must not be
// returned.
func (s *search) filter(from int) {
	left := from
	for j := from; j < s.kept.Len(); j++ {
		place := int(s.kept.Place[j])
		s.kept.Move(left, j)
		if place < s.ix.n && !s.req.Skip.Has(s.ix.first+s.ix.row[place]) {
			left++
		}
	}
	s.kept.Truncate(left)
}

// hopeless is the share of the items, as one part in so many, that may be kept besides the N before a search is left to the
// float32 scan: scores that are closer to each other than the error of their bounds, or nearly all zero.
const hopeless = 8

// raise raises the floor to about the rank-th largest lower bound of the kept, and no higher, and drops who does not reach it.
// It returns false, and leaves the floor, if fewer than rank reach the floor as it is. A search that is lost stays lost: it
// has not seen the blocks that came after.
func (s *search) raise() bool {
	if s.coarse() {
		s.scoreKept()
	}
	floor, ok := s.newFloor()
	if ok {
		s.floor = floor
		s.exact = vec.CountAtLeast(s.kept.High[:s.exact], floor)
		s.kept.Drop(floor)
	}
	s.plan()
	s.lost = s.lost || s.kept.Len() > s.rank+s.ix.n/hopeless
	return ok
}

// pays is the share of the rows that may be scored while five bits are read, as one part in so many, besides the first patience ones:
// a row in float32 is six times as long, and stands anywhere.
const (
	pays     = 32
	patience = 1024
)

// scoreKept scores the candidates that have not been. If there are so many that five bits do not pay, the rest of the scan reads bytes.
func (s *search) scoreKept() {
	s.rows = s.rows[:0]
	for _, place := range s.kept.Place[s.exact:] {
		s.rows = append(s.rows, s.ix.row[place])
	}
	s.score()
	copy(s.kept.Low[s.exact:], s.scores)
	copy(s.kept.High[s.exact:], s.scores)
	s.exact = s.kept.Len()
	s.tried += len(s.rows)
	if s.tried > patience+s.seen/pays {
		s.from = &s.ix.bytes
	}
}

// halvings is how often newFloor halves the interval that it looks in, at most.
const halvings = 16

// newFloor returns a number that at least rank, and not many more, of the lower bounds of the kept reach, and that is not
// below the floor. It halves the interval that there is, and counts: a few registers full of numbers each time, which is faster
// than any exact selection. ok is false if fewer than rank of them reach the floor.
func (s *search) newFloor() (floor float32, ok bool) {
	low := s.kept.Low
	if vec.CountAtLeast(low, s.floor) < s.rank {
		return 0, false
	}
	least, most := ends(low)
	floor = max(least, s.floor)
	enough := s.rank + s.rank/16
	for range halvings {
		middle := floor + (most-floor)/2
		count := vec.CountAtLeast(low, middle)
		if count < s.rank {
			most = middle
			continue
		}
		floor = middle
		if count <= enough {
			break
		}
	}
	return floor, true
}

// ends returns the smallest and the largest of at least one number.
func ends(v []float32) (least, most float32) {
	least, most = v[0], v[0]
	for _, x := range v { // by comparisons: min and max take care of NaNs, which there are none of
		if x < least {
			least = x
		}
		if x > most {
			most = x
		}
	}
	return least, most
}

// settle scores those who are left and selects. Whoever has a lower bound that reaches the floor is scored first: there are
// N of them, so the smallest of their scores is a better floor for the others. It returns false if there are not N of them,
// although items were left out: then the floor may have been above the N-th item.
func (s *search) settle() bool {
	if proven := s.raise(); s.lost {
		s.scan()
		return true
	} else if !proven && s.floor > float32(math.Inf(-1)) {
		return false
	}
	s.keys, s.rows = s.keys[:0], s.rows[:0]
	floor := float32(math.Inf(1))
	for j, low := range s.kept.Low {
		row := s.ix.row[s.kept.Place[j]]
		switch {
		case low < s.floor:
		case j < s.exact:
			s.keys = append(s.keys, key(row+s.ix.first, low))
			floor = min(floor, low)
		default:
			s.rows = append(s.rows, row)
		}
	}
	floor = min(floor, s.scoreKeys())
	s.rows = s.rows[:0]
	for j, low := range s.kept.Low {
		if low < s.floor && s.kept.High[j] >= floor {
			s.rows = append(s.rows, s.ix.row[s.kept.Place[j]])
		}
	}
	s.scoreKeys()
	s.answer()
	return true
}

// score computes s.scores, those of s.rows. A NaN, from infinite terms of both signs, counts as −∞.
func (s *search) score() {
	x := s.ix
	s.scores = slices.Grow(s.scores[:0], len(s.rows))[:len(s.rows)]
	vec.ScanRowsTo(s.scores, x.rows, s.rows, s.req.Query)
	for j, row := range s.rows {
		score := s.scores[j]*x.gain[row] + 0
		if score != score {
			score = float32(math.Inf(-1))
		}
		s.scores[j] = score
	}
}

// scoreKeys scores s.rows, adds their keys, and returns the smallest score.
func (s *search) scoreKeys() (smallest float32) {
	s.score()
	smallest = float32(math.Inf(1))
	for j, row := range s.rows {
		smallest = min(smallest, s.scores[j])
		s.keys = append(s.keys, key(row+s.ix.first, s.scores[j]))
	}
	return smallest
}
