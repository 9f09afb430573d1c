package dynamics

import "github.com/gsimc/gsimc/internal/gemm"

// foldWidth is how many coordinates are folded together: few enough that what the events touch of all items stays in the
// caches, enough that finding it does not count.
const foldWidth = gemm.FoldWidth

// negligible is the factor at which the adjoint of a fold ends that meets no more targets: far below the rounding error of
// what it has added by then, and far above numbers so small that processors slow down.
const negligible = 1e-30

// vector holds the coordinates of one strip; those beyond the last one are zero.
type vector = [foldWidth]float64

// strip computes V_c and Z_bc for one band c and all bands b ≤ c (see the package comment), for foldWidth coordinates.
type strip struct {
	m       *Moments
	encoder []vector   // n rows of E
	targets []vector   // n rows of V_c
	adjoint [][]vector // c+1 times n rows of Z_bc
	states  []vector   // of one user: 0, and then x_c after each event
	y       vector     // Y_bc
	none    vector     // where nothing is added
}

func newStrip(m *Moments, c int) *strip {
	s := &strip{m: m, encoder: make([]vector, m.n), targets: make([]vector, m.n), states: make([]vector, m.longest)}
	for range c + 1 {
		s.adjoint = append(s.adjoint, make([]vector, m.n))
	}
	return s
}

// run folds coordinates lo to hi of all histories.
func (s *strip) run(e []float32, k, lo, hi int) {
	for i := range s.encoder {
		s.encoder[i] = vector{}
		for j, x := range e[i*k+lo : i*k+hi] {
			s.encoder[i][j] = float64(x)
		}
	}
	clear(s.targets)
	for _, z := range s.adjoint {
		clear(z)
	}
	c := len(s.adjoint) - 1
	for _, user := range s.m.users {
		s.forward(user, c)
		for b, z := range s.adjoint {
			s.backward(user, b, z)
		}
	}
}

// forward folds one user's events in band c. The last event is a target only.
func (s *strip) forward(user span, c int) {
	m := s.m
	for p := user.first; p < user.end-1; p++ {
		a, w := float64(m.decay[p*m.r+c]), float64(m.weight[p])
		sum, share := &s.none, 0.0
		if p+1 >= user.target {
			sum, share = &s.targets[m.item[p+1]], 1
		}
		at := p - user.first
		gemm.FoldRow(&s.states[at+1], &s.states[at], &s.encoder[m.item[p]], sum, a, w, share)
	}
}

// backward adds the adjoint of band b, applied to the states of forward, to z.
func (s *strip) backward(user span, b int, z []vector) {
	m := s.m
	s.y = vector{}
	for p := user.end - 2; p >= user.target-1; p-- {
		a, w := float64(m.decay[(p+1)*m.r+b]), float64(m.weight[p])
		gemm.FoldRow(&s.y, &s.y, &s.states[p-user.first+1], &z[m.item[p]], a, 1, w)
	}
	faded := 1.0
	for p := user.target - 2; p >= user.first && faded >= negligible; p-- {
		a, w := float64(m.decay[(p+1)*m.r+b]), float64(m.weight[p])
		gemm.FoldRow(&s.y, &s.y, &s.none, &z[m.item[p]], a, 0, w)
		faded *= a
	}
}

// storeTo writes rows to columns lo to hi of dst.
func storeTo(dst gemm.Matrix[float32], rows []vector, lo, hi int) {
	for i := range rows {
		for j, x := range rows[i][:hi-lo] {
			dst.Data[i*dst.Stride+lo+j] = float32(x)
		}
	}
}
