package dynamics

import "github.com/gsimc/gsimc/internal/num/gemm"

// foldWidth is how many coordinates are folded together: few enough that what the events touch of
// all items stays in the caches, enough that finding it does not count.
const foldWidth = gemm.FoldWidth

// negligible is the factor at which the adjoint of a fold ends that meets no more targets: far
// below the rounding error of what it has added by then, and far above numbers so small that
// processors slow down.
const negligible = 1e-18

// batchEvents is how many events are folded in one call, unless one user has more.
const batchEvents = 1024

// vector holds the coordinates of one strip; those beyond the last one are zero.
type vector = gemm.FoldRow

// strip computes V_c and Z_bc for one band c and all bands b ≤ c (see the package comment), for
// foldWidth coordinates.
//
// Sums over the events of an item are float32. The rounding errors of its terms are independent, so
// for an item of d events the relative error is of the order of √d·2⁻²⁴: 2e-5 for the most popular
// ones of a hundred million events.
type strip struct {
	m       *Moments
	encoder []vector   // n rows of E
	targets []vector   // n rows of V_c
	adjoint [][]vector // c+1 times n rows of Z_bc
	states  []vector   // x_c after the events of a batch, as far as another event follows
	steps   []gemm.FoldStep
}

func newStrip(m *Moments, c int) *strip {
	batch := max(batchEvents, m.longest)
	s := &strip{
		m: m, encoder: make([]vector, m.n), targets: make([]vector, m.n),
		states: make([]vector, batch), steps: make([]gemm.FoldStep, 0, batch),
	}
	for range c + 1 {
		s.adjoint = append(s.adjoint, make([]vector, m.n))
	}
	return s
}

// run folds coordinates lo to hi of all histories.
func (s *strip) run(e []float32, k, lo, hi int) {
	for i := range s.encoder {
		clear(s.encoder[i][copy(s.encoder[i][:], e[i*k+lo:i*k+hi]):])
	}
	clear(s.targets)
	for _, z := range s.adjoint {
		clear(z)
	}
	c := len(s.adjoint) - 1
	for users := s.m.users; len(users) > 0; {
		batch := users[:s.m.batch(users)]
		users = users[len(batch):]
		s.forward(batch, c)
		for b, z := range s.adjoint {
			s.backward(batch, b, z)
		}
	}
}

// batch is how many of the users are folded together: one, or as many as have no more than
// batchEvents events.
func (m *Moments) batch(users []span) int {
	n := 1
	for n < len(users) && users[n].end-users[0].first <= batchEvents {
		n++
	}
	return n
}

// forward folds the events of a batch in band c. The last event of a user is a target only.
func (s *strip) forward(users []span, c int) {
	m := s.m
	s.steps = s.steps[:0]
	for _, user := range users {
		for p := user.first; p < user.end-1; p++ {
			step := gemm.FoldStep{From: m.item[p], To: m.item[p+1], B: m.weightOf(p)}
			if p > user.first {
				step.A = m.decay(p, c)
			}
			if p+1 >= user.target {
				step.C = 1
			}
			s.steps = append(s.steps, step)
		}
	}
	gemm.Fold(s.states, s.encoder, s.targets, s.steps)
}

// backward adds the adjoint of band b, applied to the states of forward, to z.
func (s *strip) backward(users []span, b int, z []vector) {
	m := s.m
	s.steps = s.steps[:0]
	state := int32(-1) // after event p
	for _, user := range users {
		length := int32(user.end - 1 - user.first)
		state += length
		last := state
		for p := user.end - 2; p >= user.target-1; p-- {
			step := gemm.FoldStep{From: state, To: m.item[p], B: 1, C: m.weightOf(p)}
			if p < user.end-2 {
				step.A = m.decay(p+1, b)
			}
			s.steps = append(s.steps, step)
			state--
		}
		faded := float32(1)
		for p := user.target - 2; p >= user.first && faded >= negligible; p-- {
			a := m.decay(p+1, b)
			s.steps = append(s.steps, gemm.FoldStep{
				From: last, To: m.item[p], A: a, C: m.weightOf(p),
			})
			faded *= a
		}
		state = last
	}
	gemm.Fold(nil, s.states, z, s.steps)
}

// storeTo writes rows to columns lo to hi of dst.
func storeTo(dst gemm.Matrix[float32], rows []vector, lo, hi int) {
	for i := range rows {
		copy(dst.Data[i*dst.Stride+lo:i*dst.Stride+hi], rows[i][:])
	}
}
