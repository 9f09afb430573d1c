package ranking

import "fmt"

// Set is a set of item indices 0 … Cap()-1, one bit each. A nil *Set is a set without members, to
// be read only. Reading from many goroutines is safe while none writes.
type Set struct {
	words []uint64
	n     int
}

// NewSet returns an empty set of indices below n.
func NewSet(n int) *Set {
	if n < 0 {
		panic(fmt.Sprintf("ranking: Set of %d indices", n))
	}
	return &Set{words: make([]uint64, (n+63)/64), n: n}
}

// SetOf returns a set of indices below n with the given members. It panics if one is not below n.
func SetOf(n int, members ...int32) *Set {
	s := NewSet(n)
	for _, i := range members {
		s.Add(i)
	}
	return s
}

// Add adds i. It panics if i is not below Cap.
func (s *Set) Add(i int32) {
	s.check(i)
	s.words[i>>6] |= 1 << (i & 63)
}

// Remove removes i. It panics if i is not below Cap.
func (s *Set) Remove(i int32) {
	s.check(i)
	s.words[i>>6] &^= 1 << (i & 63)
}

// Clear removes all members and keeps the memory.
func (s *Set) Clear() { clear(s.words) }

// Fill adds all indices below Cap.
func (s *Set) Fill() {
	for i := range s.words {
		s.words[i] = ^uint64(0)
	}
	if rest := s.n % 64; rest != 0 {
		s.words[len(s.words)-1] = 1<<rest - 1
	}
}

// Has reports whether i is a member; an index out of range is not.
func (s *Set) Has(i int32) bool {
	if s == nil || uint(i)>>6 >= uint(len(s.words)) {
		return false
	}
	return s.words[i>>6]>>(i&63)&1 != 0
}

// Cap returns the number of indices that the set can hold: the n of NewSet.
func (s *Set) Cap() int {
	if s == nil {
		return 0
	}
	return s.n
}

func (s *Set) check(i int32) {
	if i < 0 || int(i) >= s.n {
		panic(fmt.Sprintf("ranking: index %d out of a Set of %d", i, s.n))
	}
}

// Words returns the memory of the set: i is a member if bit i%64 of word i/64 is set. Bits from Cap
// on must stay unset.
func (s *Set) Words() []uint64 { return s.words }

// AddAll adds the members of a set with the same Cap.
func (s *Set) AddAll(other *Set) {
	if s.n != other.Cap() {
		panic(fmt.Sprintf("ranking: members of a Set of %d for one of %d", other.Cap(), s.n))
	}
	for w, bits := range other.words {
		s.words[w] |= bits
	}
}

// Invert removes all members and adds all other indices below Cap.
func (s *Set) Invert() {
	for w := range s.words {
		s.words[w] = ^s.words[w]
	}
	if rest := s.n % 64; rest != 0 {
		s.words[len(s.words)-1] &= 1<<rest - 1
	}
}
