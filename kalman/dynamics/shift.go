package dynamics

import (
	"slices"

	"github.com/gsimc/gsimc/internal/num/cost"
	"github.com/gsimc/gsimc/internal/num/gemm"
	"github.com/gsimc/gsimc/internal/num/parallel"
)

const (
	// shiftEvents and shiftUsers bound a block of histories, whose steps are made once for all
	// strips: many, since each strip leaves the caches in between.
	shiftEvents, shiftUsers = 1 << 18, projectItems
	// shiftNumbers bounds the numbers in the tables of all strips.
	shiftNumbers = 1 << 28
	// largestShiftRho bounds the factor 1/(1−ρ²) by which rounding errors grow.
	largestShiftRho = 0.98
)

// canShift reports whether all states fade alike from event to event, so that G follows from T.
func (m *Moments) canShift() bool {
	return m.weight == nil && slices.Max(m.rho) <= largestShiftRho &&
		!slices.ContainsFunc(m.faded, func(f []float32) bool { return f != nil })
}

// shiftPays reports whether sums by shift take less time than those by adjoints, in bounded
// memory: the adjoints take time for each event, the shift for each user.
func shiftPays(n, k, r, users, events int) bool {
	adjoints := foldOverhead * float64(events) / foldWidth / cost.Gather
	return (r+1)*k*(n+2*shiftUsers) <= shiftNumbers &&
		2*float64(users)*float64(k)/cost.Single < adjoints
}

// shift computes the sums of a [projection] by the shift of states, see the package comment.
type shift struct {
	*projection
	strips []shiftStrip
	steps  [][]gemm.FoldStep // of a block, for each band
	// ends has a row (x_1 … x_r) for each user of a block, the state after the last event, and one
	// for each that has events before its first state that counts: that state.
	ends gemm.Matrix[float32]
	gram gemm.Matrix[float32] // of ends
}

// shiftStrip has the tables of foldWidth coordinates.
type shiftStrip struct {
	encoder []vector   // n rows of E
	sums    [][]vector // of each band: n rows of V_b, then the ends of a block
}

func newShift(p *projection) *shift {
	r := p.m.r
	s := &shift{projection: p, steps: make([][]gemm.FoldStep, r),
		strips: make([]shiftStrip, (p.k+foldWidth-1)/foldWidth),
		ends:   newMatrix(2*shiftUsers, r*p.k), gram: newMatrix(r*p.k, r*p.k)}
	parallel.Strips(p.k, foldWidth, func(lo, hi int) {
		strip := &s.strips[lo/foldWidth]
		strip.encoder = make([]vector, p.m.n)
		for i := range strip.encoder {
			copy(strip.encoder[i][:], p.e[i*p.k+lo:i*p.k+hi])
		}
		for range r {
			strip.sums = append(strip.sums, make([]vector, p.m.n+2*shiftUsers))
		}
	})
	return s
}

// run fills in G, but for the intercept, and T.
func (s *shift) run(progress func(done, total int)) {
	m := s.m
	total := len(m.item) + len(m.item)/shiftShare
	for users := m.users; len(users) > 0; {
		n := 1
		for n < min(len(users), shiftUsers) && users[n].end-users[0].first <= shiftEvents {
			n++
		}
		s.fold(users[:n])
		users = users[n:]
		if progress != nil {
			progress(len(m.item)-m.events(users), total)
		}
	}
	s.finish()
	if progress != nil {
		progress(total, total)
	}
}

// shiftShare is how much longer the blocks take than the products after them, about.
const shiftShare = 8

// events is the number of events of the last users.
func (m *Moments) events(users []span) int {
	if len(users) == 0 {
		return 0
	}
	return len(m.item) - users[0].first
}

// fold adds the states of a block to the V_b, and subtracts the difference of its ends from G.
func (s *shift) fold(users []span) {
	n, rows := s.m.n, 0
	parallel.Tasks(s.m.r, func(b int) {
		steps, ends := s.m.shiftSteps(s.steps[b][:0], users, b)
		s.steps[b] = steps
		if b == 0 {
			rows = ends
		}
	})
	folders := make([]gemm.Folder, s.m.r)
	parallel.Tasks(s.m.r, func(b int) { folders[b] = gemm.NewFolder(n, n+rows, s.steps[b]) })
	parallel.Strips(s.k, foldWidth, func(lo, hi int) {
		strip := &s.strips[lo/foldWidth]
		for b, sums := range strip.sums {
			ends := sums[n : n+rows]
			clear(ends)
			folders[b].Fold(nil, strip.encoder, sums)
			storeTo(s.ends, ends, b*s.k+lo, b*s.k+hi)
		}
	})
	last, first := s.ends, s.ends
	last.Rows, first.Rows = len(users), rows-len(users)
	first.Data = first.Data[len(users)*first.Stride:]
	s.addGram(-1, last)
	if first.Rows > 0 {
		s.addGram(1, first)
	}
}

// shiftSteps appends the steps of a block in band b to steps. The ends are rows n and on of the
// sums: they are counted.
func (m *Moments) shiftSteps(
	steps []gemm.FoldStep, users []span, b int,
) (_ []gemm.FoldStep, ends int) {
	ends = len(users)
	for i, user := range users {
		for p := user.first; p < user.end; p++ {
			step := gemm.FoldStep{From: m.item[p], A: m.rho[b], B: 1}
			if p == user.first {
				step.A = 0
			}
			if p+1 == user.end {
				step.To, step.C = int32(m.n+i), 1
			} else {
				step.To = m.item[p+1]
			}
			if p+1 >= user.target {
				step.C = 1
			}
			steps = append(steps, step)
			if p+1 == user.target && p > user.first {
				steps = append(steps, gemm.FoldStep{To: int32(m.n + ends), A: 1, C: 1})
				ends++
			}
		}
	}
	return steps, ends
}

// addGram adds a multiple of xᵀx to the upper triangle of G. The upper triangle of s.gram is zero
// before and after.
func (s *shift) addGram(factor float32, x gemm.Matrix[float32]) {
	gemm.MulAddUpper(s.gram, factor, gemm.Transposed, x, gemm.Plain, x)
	rows, k := s.normal.rows(), s.gram.Cols
	parallel.Rows(k, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			from, to := s.gram.Data[i*k+i:(i+1)*k], s.normal.G[i*rows+i:i*rows+k]
			for j, v := range from {
				to[j] += float64(v)
			}
			clear(from)
		}
	})
}

// finish computes T from the V_b, and G from T and from the ends in it.
func (s *shift) finish() {
	m, k := s.m, s.k
	counts := slices.Clone(m.count)
	for _, user := range m.users {
		if user.target == user.first+1 {
			counts[m.item[user.first]]++ // its first state is e of this item, in each band
		}
	}
	squares := make([]float64, k*k) // Σ counts_i e_i e_iᵀ
	wide := newMatrix(m.n, min(k, projectWidth))
	for lo := 0; lo < k; lo += projectWidth {
		hi := min(lo+projectWidth, k)
		wide.Cols = hi - lo
		for b := range m.r {
			parallel.Strips(hi-lo, foldWidth, func(from, to int) {
				storeTo(wide, s.strips[(lo+from)/foldWidth].sums[b][:m.n], from, to)
			})
			s.addProduct(s.normal.T[(b*k+lo)*k:], k, wide, s.encoder(k))
		}
		parallel.Rows(m.n, func(from, to int) {
			for i := from; i < to; i++ {
				for j, x := range s.e[i*k+lo : i*k+hi] {
					wide.Data[i*wide.Stride+j] = float32(counts[i]) * x
				}
			}
		})
		s.addProduct(squares[lo*k:], k, wide, s.encoder(k))
	}
	s.solve(squares)
}

// solve computes the G of each pair of bands from T, from the ends in it, and from squares.
func (s *shift) solve(squares []float64) {
	k, rows, t := s.k, s.normal.rows(), s.normal.T
	for c := range s.m.r {
		for b := range c + 1 {
			rb, rc := float64(s.m.rho[b]), float64(s.m.rho[c])
			for i := range k {
				g := s.normal.G[(b*k+i)*rows+c*k:]
				for j := range k {
					g[j] = (g[j] + rb*t[(b*k+i)*k+j] + rc*t[(c*k+j)*k+i] + squares[i*k+j]) /
						(1 - rb*rc)
				}
			}
		}
	}
}
