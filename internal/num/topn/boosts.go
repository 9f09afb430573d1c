package topn

import (
	"math"
	"slices"

	"github.com/gsimc/gsimc/internal/num/vec"
)

// boosted is a row with an addition to its score.
type boosted struct {
	place    int32 // of the row in the copies, or its number if boosts.sort got no places
	addition float32
	seed     bool // it is a candidate already
}

// boosts are the additions of a request, by the blocks of their rows.
type boosts struct {
	rows []boosted // by rising block
	ends []int32   // the end of each block in rows

	// Scratch memory.
	unsorted  []boosted
	additions []float32

	// Of the block that is read.
	slack    [vec.BlockRows]float32 // E_i, larger where the addition is positive
	addition [vec.BlockRows]float32 // of each row; all 0 when no block is read
	seed     [vec.BlockRows]bool    // the row is one; all false when no block is read
}

// sort takes the additions of the request of s, except those of 0, of skipped items and of items
// that the index does not have. It sorts them by places, those of the rows in the copies, or by the
// numbers of the rows if places is nil. O(boosts + blocks).
func (b *boosts) sort(s *search, places []int32) {
	x, r := s.ix, &s.req
	b.rows = b.rows[:0]
	if len(r.Boosts) == 0 {
		return
	}
	b.unsorted = slices.Grow(b.unsorted[:0], len(r.Boosts))[:len(r.Boosts)]
	found := 0
	for _, boost := range r.Boosts {
		if boost.Score == 0 || !x.has(boost.Item) || r.Skip.Has(boost.Item) {
			continue
		}
		place := boost.Item - x.first
		if places != nil {
			place = places[place]
		}
		b.unsorted[found] = boosted{place, boost.Score, false}
		found++
	}
	b.unsorted = b.unsorted[:found]
	b.ends = slices.Grow(b.ends[:0], x.blocks())[:x.blocks()]
	clear(b.ends)
	for _, row := range b.unsorted {
		b.ends[row.place/vec.BlockRows]++
	}
	at := int32(0)
	for block, n := range b.ends {
		b.ends[block], at = at, at+n
	}
	b.rows = slices.Grow(b.rows, found)[:found]
	for _, row := range b.unsorted {
		end := &b.ends[row.place/vec.BlockRows]
		b.rows[*end] = row
		*end++
	}
}

// of returns the boosted rows of the blocks first, first+1, … end-1.
func (b *boosts) of(first, end int) []boosted {
	if len(b.rows) == 0 {
		return nil
	}
	from := int32(0)
	if first > 0 {
		from = b.ends[first-1]
	}
	return b.rows[from:b.ends[end-1]]
}

// at returns the addition of the row at a place.
func (b *boosts) at(place int32) float32 {
	block := int(place) / vec.BlockRows
	for _, row := range b.of(block, block+1) {
		if row.place == place {
			return row.addition
		}
	}
	return 0
}

// addTo adds the additions of the rows first, first+1, … to their scores. first is a multiple of
// vec.BlockRows, and the rows were sorted by their numbers.
func (b *boosts) addTo(scores []float32, first int) {
	block := first / vec.BlockRows
	for _, row := range b.of(block, block+(len(scores)+vec.BlockRows-1)/vec.BlockRows) {
		scores[int(row.place)-first] += row.addition
	}
}

// roundings makes a bound with an addition wide enough for all roundings on the way: of the error
// in float32 (three, of 2^-24 each), of the bound by the kernel, and of the sums of shift.
const roundings = 0x1p-20

// widen prepares the bounds of a block for its boosted rows. The kernel knows no additions, so it
// gets larger errors: those of rows with a positive addition grow by it. So the upper bounds remain
// above the scores.
func (s *search) widen(own []boosted) {
	b := &s.boosts
	if s.added == nil {
		copy(b.slack[:], s.bounds.Error)
	}
	for _, row := range own {
		r := row.place % vec.BlockRows
		if b.seed[r] = row.seed; row.seed {
			continue
		}
		b.addition[r] = row.addition
		if row.addition > 0 {
			slack, more := float64(b.slack[r]), float64(row.addition)/float64(s.bounds.Norm)
			b.slack[r] = float32(slack + more + (math.Abs(slack)+more)*roundings)
		}
	}
	s.bounds.Error = b.slack[:]
}

// shift corrects the intervals of the candidates at from and behind after widen: low and high had
// the distance E_i‖x‖ + widened from the middle, and want E_i‖x‖ around the middle +
// addition. It removes seeds.
func (s *search) shift(own []boosted, from int) {
	b, left := &s.boosts, from
	for j := from; j < s.kept.Len(); j++ {
		r := s.kept.Place[j] % vec.BlockRows
		if b.seed[r] {
			continue
		}
		s.kept.Move(left, j)
		if addition := float64(b.addition[r]); addition != 0 {
			s.found++
			low, high, widened := float64(s.kept.Low[j]), float64(s.kept.High[j]), max(addition, 0)
			s.kept.Low[left] = float32(low + widened + addition)
			s.kept.High[left] = float32(high - widened + addition)
		}
		left++
	}
	s.kept.Truncate(left)
	for _, row := range own {
		r := row.place % vec.BlockRows
		b.addition[r], b.seed[r] = 0, false
	}
	s.setRank()
}

// Up to seedsPerPlace·N rows become seeds. Without an addition, the score of a row is about
// ‖v_i‖‖x‖/√k. The additions of seeds are at least as large as this number for one of the
// longest rows, which stand in the first part longRows of the blocks: smaller ones change few
// places.
const (
	seedsPerPlace = 2
	longRows      = 1.0 / 16
)

// seed makes the rows with the largest additions candidates, with their scores. They are likely to
// be among the N, and a floor that they prove saves reading other rows. They are the first
// candidates, and remain so. A search that begins anew takes the same ones.
func (s *search) seed() {
	b, x, most := &s.boosts, s.ix, seedsPerPlace*s.req.N
	if len(b.rows) == 0 || most > x.n/keptDivisor {
		return
	}
	reach := float64(x.reach[int(longRows*float64(x.blocks()))])
	least := b.least(most, up(reach*s.norm/math.Sqrt(float64(x.k))))
	s.clearRows()
	for i, row := range b.rows {
		if row.addition >= least {
			b.rows[i].seed = true
			s.addRow(row.place)
		}
	}
	if len(s.places) == 0 {
		return
	}
	s.score()
	for i, place := range s.places {
		s.kept.Append(place, s.scores[i], s.scores[i])
	}
	s.seeds, s.exact = s.kept.Len(), s.kept.Len()
	s.setRank()
	s.raise()
}

// least returns a number that at most n additions reach, and hardly fewer without need, but no
// smaller one than from > 0. It bisects the bits of positive numbers, which rise with the numbers.
func (b *boosts) least(n int, from float32) float32 {
	b.additions = slices.Grow(b.additions[:0], len(b.rows))[:len(b.rows)]
	for i, row := range b.rows {
		b.additions[i] = row.addition
	}
	if vec.CountAtLeast(b.additions, from) <= n {
		return from
	}
	many, few := math.Float32bits(from), math.Float32bits(float32(math.Inf(1)))
	for count := 0; few-many > 1 && count < n-n/8; {
		middle := many + (few-many)/2
		if reach := vec.CountAtLeast(b.additions, math.Float32frombits(middle)); reach > n {
			many = middle
		} else {
			few, count = middle, reach
		}
	}
	return math.Float32frombits(few)
}

// fewBoosted is the number of rows here and there in memory that take as long to be read in float32
// as a block in bytes.
const fewBoosted = 4

// visitBoosted stands for visit if no row of block b reaches the floor without an addition. If at
// most fewBoosted do with it, they become candidates without a look at the block, with the bounds
// that follow from its longest row.
func (s *search) visitBoosted(b int) {
	own := s.boosts.of(b, b+1)
	if len(own) == 0 {
		return
	}
	reach, before := up(float64(s.ix.reach[b])*s.norm), s.kept.Len()
	for _, row := range own {
		low, high := s.added.around(row.place, s.ix, reach)
		if high += row.addition; high >= s.floor && !row.seed {
			s.kept.Append(row.place, low+row.addition, high)
		}
	}
	found := s.kept.Len() - before
	if found > fewBoosted {
		s.kept.Truncate(before)
		s.visit(b, nil)
		return
	}
	s.found += found
	s.setRank()
}

// visitRest stands for visit of block b and all behind it, outside of the sample, if no row of them
// reaches the floor without an addition. It looks at no block without boosted rows.
func (s *search) visitRest(b int) {
	rows, sampled := s.boosts.of(b, s.ix.blocks()), s.order.blocks[:s.order.sample]
	most := up(float64(s.ix.reach[b]) * s.norm)
	for len(rows) > 0 && !s.abandoned {
		if _, high := s.added.around(rows[0].place, s.ix, most); high+rows[0].addition < s.floor {
			rows = rows[1:]
			continue
		}
		block := rows[0].place / vec.BlockRows
		for len(sampled) > 0 && sampled[0] < block {
			sampled = sampled[1:]
		}
		if len(sampled) == 0 || sampled[0] != block {
			s.visitBoosted(int(block))
		}
		rows = s.boosts.of(int(block)+1, s.ix.blocks())
	}
}
