package topn

import (
	"fmt"
	"math"

	"github.com/gsimc/gsimc/internal/num/vec"
)

// Additions are one number for each item, which is added to its score in every search. They do not
// change.
type Additions struct {
	of []float32 // by row of the matrix

	// For the copies; nil if only the scan in float32 takes the numbers.
	wide   []float32 // by place, whole blocks: above the addition by more than roundings can take
	most   []float32 // the largest of wide in each block
	behind []float32 // the largest of a block and of all behind it
}

// margin makes an addition wide enough for all roundings on the way: of its quotient by ‖x‖ and of
// the error that it is part of, of the bound by the kernel, and of the score.
const margin = 0x1p-19

// NewAdditions makes additions for searches in x, of one number for each row. It keeps the slice,
// which must not change. Numbers must be finite. O(n).
func NewAdditions(x *Index, of []float32) *Additions {
	if len(of) != x.n {
		panic(fmt.Sprintf("topn: %d additions, want %d", len(of), x.n))
	}
	a := &Additions{of: of}
	if !x.quantised {
		return a
	}
	a.wide = make([]float32, x.blocks()*vec.BlockRows)
	for place, row := range x.row {
		v := float64(of[row])
		if !(math.Abs(v) <= longest) {
			a.wide = nil
			return a
		}
		a.wide[place] = up(v + math.Abs(v)*margin)
	}
	a.most, a.behind = make([]float32, x.blocks()), make([]float32, x.blocks())
	behind := float32(math.Inf(-1))
	for b := x.blocks() - 1; b >= 0; b-- {
		rows := a.wide[b*vec.BlockRows : min((b+1)*vec.BlockRows, x.n)]
		a.most[b], behind = rows[0], max(behind, rows[0])
		for _, v := range rows {
			a.most[b], behind = max(a.most[b], v), max(behind, v)
		}
		a.behind[b] = behind
	}
	return a
}

// quantised reports whether searches with a may read copies. a may be nil.
func (a *Additions) quantised() bool { return a == nil || a.wide != nil }

// Of is the addition of a row of the matrix. a may be nil.
func (a *Additions) Of(row int) float32 {
	if a == nil {
		return 0
	}
	return a.of[row]
}

// addTo adds the additions of the rows first, first+1, … to their scores. a may be nil.
func (a *Additions) addTo(scores []float32, first int) {
	if a == nil {
		return
	}
	for i, v := range a.of[first : first+len(scores)] {
		scores[i] += v
	}
}

// mostIn is the largest addition in block b, and 0 without additions. mostBehind is that of b and
// of all blocks behind it.
func (a *Additions) mostIn(b int) float64 {
	if a == nil {
		return 0
	}
	return float64(a.most[b])
}

func (a *Additions) mostBehind(b int) float64 {
	if a == nil {
		return 0
	}
	return float64(a.behind[b])
}

// around bounds the score of a row, with its addition, by a bound of its length. a may be nil.
func (a *Additions) around(place int32, x *Index, reach float32) (low, high float32) {
	if a == nil {
		return -reach, reach
	}
	v, wide := float64(a.of[x.row[place]]), float64(a.wide[place])
	return -up(float64(reach) - v), up(float64(reach) + wide)
}

// widenAll prepares the bounds of block b for the additions of all its rows: the error of a row
// grows by a_i/‖x‖, or shrinks. So the upper bounds are those of scores with additions, and the
// lower ones are 2a_i too low, see shiftAll.
func (s *search) widenAll(b int) {
	wide := (*[vec.BlockRows]float32)(s.added.wide[b*vec.BlockRows:])
	errors := (*[vec.BlockRows]float32)(s.bounds.Error)
	slack, inverse := &s.boosts.slack, 1/s.bounds.Norm
	for r := range slack {
		slack[r] = errors[r] + float32(wide[r]*inverse)
	}
	s.bounds.Error = slack[:]
}

// shiftAll corrects the lower bounds of the candidates at from and behind after widenAll. They are
// rounded down.
func (s *search) shiftAll(from int) {
	for j := from; j < s.kept.Len(); j++ {
		more := 2 * float64(s.added.of[s.ix.row[s.kept.Place[j]]])
		low := float64(s.kept.Low[j])
		s.kept.Low[j] = float32(low + more - (math.Abs(low)+math.Abs(more))*0x1p-23)
	}
}
