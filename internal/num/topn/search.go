package topn

import (
	"fmt"
	"math"
	"slices"

	"github.com/gsimc/gsimc/internal/num/vec"
	"github.com/gsimc/gsimc/internal/ranking"
)

// search is one request on its way through the blocks.
type search struct {
	ix    *Index
	added *Additions      // to all scores; may be nil
	req   ranking.Request // a copy: the request of the caller need not live on the heap
	at    int             // its place in the batch
	query
	boosts boosts
	from   *copied // the copy that is read
	order  *order  // of its blocks

	// Candidates: rows that may be among the N. Their places are row numbers in the copy. Of the
	// first exact ones the score is known, and both bounds are the score.
	kept  vec.Candidates
	exact int

	floor     float32 // a row whose upper bound is below it is left out
	rank      int     // raise moves the floor to the rank-th largest lower bound
	sampling  bool    // the rank is one of the sample
	seeds     int     // candidates that are seeds: the first ones
	found     int     // other candidates with additions that the sample had
	raiseLen  int     // number of candidates at which the floor is raised
	scanned   int     // rows read
	rescored  int     // candidates scored in float32 while five bits were read
	abandoned bool    // left to the scan in float32

	scratch
}

// scratch is memory that a search leaves to the next one.
type scratch struct {
	rows      []int32      // rows of the matrix to be scored
	places    []int32      // theirs in the copies, as boosts want them
	scores    []float32    // of rows, or of a part of the matrix
	keys      []uint64     // of the items that were scored
	spareKeys []uint64     // of sortKeys
	notAmong  *ranking.Set // of scanAmong
	best      ranking.TopN // of scan
}

// Search answers the requests. The scores of all items are higher by their additions, which must be
// for x, unless added is nil. The requests share the pass over the memory, so a batch costs less
// than its requests one after the other. In the long run nothing is allocated, if each Top has
// room.
func (x *Index) Search(batch []ranking.Request, added *Additions) {
	var room, moreRoom [32]*search
	scanning, whole := room[:0], moreRoom[:0] // whole: those of which all rows are scored
	order := x.orderFor(most(batch))
	for i, r := range batch {
		if len(r.Query) != x.k {
			panic(fmt.Sprintf("topn: a query of length %d, want %d", len(r.Query), x.k))
		}
		r.N = min(r.N, x.n)
		s := x.searches.Get().(*search)
		s.ix, s.added, s.req, s.at, s.order = x, added, r, i, order
		switch answered := s.begin(len(batch)); {
		case answered:
			s.end(batch)
		case s.abandoned:
			whole = append(whole, s)
		default:
			scanning = append(scanning, s)
		}
	}
	x.pass(order, scanning, true)
	for _, s := range scanning {
		if !s.settle() {
			s.start(&x.bytes, false)
			again := [1]*search{s}
			x.pass(order, again[:], false)
			s.settle()
		}
		if s.abandoned {
			whole = append(whole, s)
			continue
		}
		s.end(batch)
	}
	x.scan(whole)
	for _, s := range whole {
		s.end(batch)
	}
}

// most is the largest N of the requests, which decides the order for all of them.
func most(batch []ranking.Request) (n int) {
	for _, r := range batch {
		n = max(n, r.N)
	}
	return n
}

// digits returns the largest number of a query that looks for n rows in a batch. Where several
// queries are multiplied with each row that is read, queries of one digit halve the work. Their
// bounds are twice as wide, so that more rows are scored in float32: more with a larger n, and with
// bounds that are wider beside the spread of the scores, whose ratio goes with √k.
func (x *Index) digits(batch, n int) int {
	scored := 8 * float64(n) * math.Sqrt(float64(x.k))
	if batch >= 4 && vec.SmallDigitsFaster() && scored < float64(x.n) {
		return min(vec.SmallDigit, x.maxDigit)
	}
	return x.maxDigit
}

// end hands the answer out and forgets the request, so that its memory can be freed.
func (s *search) end(batch []ranking.Request) {
	x := s.ix
	batch[s.at].Top = s.req.Top
	s.ix, s.added, s.req = nil, nil, ranking.Request{}
	s.bounds.Scale, s.bounds.Error, s.plain = nil, nil, nil
	x.searches.Put(s)
}

// begin prepares a request of a batch of the given size for the pass over the copies, or abandons
// it to the scan in float32 if they cannot serve it, or answers it and returns true.
func (s *search) begin(batch int) (answered bool) {
	x, r := s.ix, &s.req
	s.abandoned = false
	switch {
	case r.N <= 0:
		r.Top = r.Top[:0]
		return true
	case r.Among != nil:
		s.scoreAmong()
		return true
	case !x.quantised || !s.added.quantised() || !s.query.set(x, r.Query, x.digits(batch, r.N)):
		s.abandoned = true
	default:
		s.boosts.sort(s, x.place)
		from := &x.bytes
		if batch == 1 && x.five.numbers != nil {
			from = &x.five
		}
		s.start(from, s.order.sample > 0)
	}
	return false
}

// start begins to read a copy. It forgets all candidates and sets the floor to −∞, the only
// floor that needs no proof, or to one that seeds prove. With sampling, floors come from the
// sample.
func (s *search) start(from *copied, sampling bool) {
	s.from, s.floor = from, float32(math.Inf(-1))
	s.kept.Truncate(0)
	s.exact, s.rescored, s.scanned, s.seeds, s.found = 0, 0, 0, 0, 0
	s.sampling = sampling
	s.setRank()
	s.plan()
	s.seed()
}

// endSample ends the sample: from now on, the floor is the N-th largest lower bound.
func (s *search) endSample() {
	s.raise()
	s.sampling = false
	s.setRank()
	s.plan()
}

// plan sets the number of candidates at which the floor is raised next: when there are one and a
// half times as many, or as the rank if that is larger, and at least leastMore more. Candidates
// from five bits are scored when the floor is raised, and a higher floor saves later rows from
// that, so scoreAfter more are enough.
func (s *search) plan() {
	there := max(s.rank, s.kept.Len())
	s.raiseLen = there + max(there/2, leastMore)
	if s.coarse() {
		s.raiseLen = s.kept.Len() + scoreAfter
	}
}

const (
	leastMore  = 8
	scoreAfter = 64
)

// coarse reports whether the copy in five bits is read.
func (s *search) coarse() bool { return s.from != &s.ix.bytes }

// setRank sets the rank. In a sample, boosted rows say nothing about the blocks outside: all of
// them may be among the candidates already. So the floor must be one that enough other rows reach:
// as many as stand for N, less the seeds that reach it. At rank N it is proven, whichever rows
// reach it.
func (s *search) setRank() {
	s.rank = s.req.N
	if s.sampling {
		s.rank = min(s.rank, s.seeds+s.found+s.sampleRank(s.req.N-s.seeds))
	}
}

// sampleRank returns the rank in the sample of the floor for n rows. The n-th of all rows is
// expected at rank expected of the sample; 3.5 standard deviations behind it, the floor is hardly
// ever above the n-th score. If it is, Search begins anew.
func (s *search) sampleRank(n int) int {
	expected := float64(max(n, 0)) * float64(s.order.sample) / float64(s.ix.blocks())
	return int(math.Ceil(expected + 3.5*math.Sqrt(expected) + 1))
}

// pass takes the searches through the blocks. Each block is read once for all of them. With
// bySample, the floors come from the sample and are not proven: settle checks them.
func (x *Index) pass(order *order, searches []*search, bySample bool) {
	var room [32]*search
	active := append(room[:0], searches...)
	for at, block := range order.blocks {
		if at == order.sample && bySample {
			for _, s := range active {
				s.endSample()
			}
		}
		fetched := false
		for i := 0; i < len(active); i++ {
			s := active[i]
			over, b := false, int(block)
			switch reach := float64(x.reach[b]) * s.norm; {
			case reach+s.added.mostIn(b) >= float64(s.floor):
				var next []byte
				if !fetched {
					next, fetched = order.after(s.from, at), true
				}
				s.visit(b, next)
			case at < order.sample || reach+s.added.mostBehind(b) >= float64(s.floor):
				s.visitBoosted(b)
			default: // all that follow are shorter still
				s.visitRest(b)
				over = true
			}
			if over || s.abandoned {
				active[i] = active[len(active)-1]
				active = active[:len(active)-1]
				i--
			}
		}
	}
}

// visit collects the candidates of block b. next, unless it is nil, is the block to fetch ahead.
func (s *search) visit(b int, next []byte) {
	x, first := s.ix, b*vec.BlockRows
	s.prepare(x)
	s.bounds.Scale = s.from.scale[first : first+vec.BlockRows]
	s.bounds.Error = s.from.slack[first : first+vec.BlockRows]
	s.bounds.Margin = x.reach[b] * s.error
	s.scanned += vec.BlockRows
	own := s.boosts.of(b, b+1)
	if s.added != nil {
		s.widenAll(b)
	}
	if len(own) > 0 {
		s.widen(own)
	}
	before := s.kept.Len()
	if s.coarse() {
		s.bounds.CollectFiveBitsTo(&s.kept, s.from.block(b), &s.digits, s.floor, int32(first), next)
	} else {
		s.bounds.CollectTo(&s.kept, s.from.block(b), &s.digits, s.floor, int32(first), next)
	}
	if len(own) > 0 {
		s.shift(own, before)
	}
	if s.kept.Len() == before {
		return
	}
	if s.req.Skip != nil || first+vec.BlockRows > x.n {
		s.filter(before)
	}
	if s.added != nil {
		s.shiftAll(before)
	}
	if s.kept.Len() >= s.raiseLen {
		s.raise()
	}
}

// filter removes, from the candidates at from and behind, the rows that pad the last block and the
// items of Skip.
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

// keptDivisor limits the candidates: a search with more than rank + n/keptDivisor of them is
// abandoned to the float32 scan. Then scores are closer to each other than the error of their
// bounds, or nearly all of them are zero.
const keptDivisor = 8

// raise raises the floor to about the rank-th largest lower bound of the candidates, and no higher,
// and drops the candidates that do not reach it. It returns false, and leaves the floor, if fewer
// than rank reach the present floor. An abandoned search stays abandoned: it has not read all
// blocks.
func (s *search) raise() bool {
	if s.coarse() {
		s.scoreKept()
	}
	floor, ok := s.newFloor()
	for better := ok; better; floor, better = s.newFloor() {
		rank := s.rank
		s.floor = floor
		s.exact = vec.CountAtLeast(s.kept.High[:s.exact], floor)
		s.seeds = vec.CountAtLeast(s.kept.High[:s.seeds], floor)
		s.kept.Drop(floor)
		if s.setRank(); s.rank == rank {
			break
		}
	}
	s.plan()
	s.abandoned = s.abandoned || s.kept.Len() > s.rank+s.ix.n/keptDivisor
	return ok
}

// At most 1/rescoreDivisor of the rows read in five bits may be scored in float32 on the way,
// besides the first rescoreGrace ones. A row in float32 is six times as long, and lies anywhere in
// memory.
const (
	rescoreDivisor = 32
	rescoreGrace   = 1024
)

// scoreKept scores the candidates that have only bounds. If there are too many for five bits to
// save time, the rest of the scan reads bytes.
func (s *search) scoreKept() {
	s.clearRows()
	for _, place := range s.kept.Place[s.exact:] {
		s.addRow(place)
	}
	s.score()
	copy(s.kept.Low[s.exact:], s.scores)
	copy(s.kept.High[s.exact:], s.scores)
	s.exact = s.kept.Len()
	s.rescored += len(s.rows)
	if s.rescored > rescoreGrace+s.scanned/rescoreDivisor {
		s.from = &s.ix.bytes
	}
}

// halvings is the largest number of bisection steps of newFloor. With additions the range may be
// many orders of magnitude wider than most of the bounds in it, and takes more.
const (
	halvings        = 16
	boostedHalvings = 160
)

// newFloor returns a number that at least rank lower bounds of candidates reach, not many more, and
// that is not below the floor. It bisects the range of the bounds and counts, which is faster than
// exact selection: the numbers pass through registers once for each step. ok is false if fewer than
// rank bounds reach the floor.
func (s *search) newFloor() (floor float32, ok bool) {
	low := s.kept.Low
	if vec.CountAtLeast(low, s.floor) < s.rank {
		return 0, false
	}
	least, most := ends(low)
	floor = max(least, s.floor)
	enough := s.rank + s.rank/16
	steps := halvings
	if len(s.boosts.rows) > 0 || s.added != nil {
		steps = boostedHalvings
	}
	for range steps {
		middle := floor + (most-floor)/2
		if middle == floor {
			break
		}
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
	for _, x := range v { // by comparisons: min and max also handle NaN, which does not occur
		if x < least {
			least = x
		}
		if x > most {
			most = x
		}
	}
	return least, most
}

// settle scores the candidates that are left and stores the answer. Candidates whose lower bound
// reaches the floor are scored first: there are N of them, so the smallest of their scores is a
// better floor for the others. settle returns false if there are fewer than N although rows were
// left out: then the floor may have been above the N-th score. It returns true for a search that is
// abandoned, and leaves it to the scan.
func (s *search) settle() bool {
	if proven := s.raise(); s.abandoned {
		return true
	} else if !proven && s.floor > float32(math.Inf(-1)) {
		return false
	}
	s.keys = s.keys[:0]
	s.clearRows()
	floor := float32(math.Inf(1))
	for j, low := range s.kept.Low {
		place := s.kept.Place[j]
		switch {
		case low < s.floor:
		case j < s.exact:
			s.keys = append(s.keys, key(s.ix.row[place]+s.ix.first, low))
			floor = min(floor, low)
		default:
			s.addRow(place)
		}
	}
	floor = min(floor, s.scoreKeys())
	s.clearRows()
	for j, low := range s.kept.Low {
		if low < s.floor && s.kept.High[j] >= floor {
			s.addRow(s.kept.Place[j])
		}
	}
	s.scoreKeys()
	s.answer()
	return true
}

// clearRows and addRow say which rows are to be scored.
func (s *search) clearRows() { s.rows, s.places = s.rows[:0], s.places[:0] }

func (s *search) addRow(place int32) {
	s.rows, s.places = append(s.rows, s.ix.row[place]), append(s.places, place)
}

// score computes s.scores, the scores of s.rows. A NaN, from infinite terms of both signs, counts
// as −∞.
func (s *search) score() {
	x := s.ix
	s.scores = slices.Grow(s.scores[:0], len(s.rows))[:len(s.rows)]
	vec.ScanRowsTo(s.scores, x.rows, s.rows, s.req.Query)
	for j, row := range s.rows {
		score := s.scores[j]*x.gain[row] + 0
		if score != score {
			score = float32(math.Inf(-1))
		}
		if s.added != nil {
			score += s.added.of[row]
		}
		if len(s.boosts.rows) > 0 {
			score += s.boosts.at(s.places[j])
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
