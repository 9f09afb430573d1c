package vec

import "fmt"

// Bitset is a set of item indices 0 … Len()-1, one bit each. A nil *Bitset is a set without members, to be read only.
// Reading from many goroutines is safe while none writes.
type Bitset struct {
	words []uint64
	n     int
}

// NewBitset returns an empty set of indices below n.
func NewBitset(n int) *Bitset {
	if n < 0 {
		panic(fmt.Sprintf("vec: Bitset of %d indices", n))
	}
	return &Bitset{words: make([]uint64, (n+63)/64), n: n}
}

// Set adds i. It panics if i is not below Len.
func (b *Bitset) Set(i int32) {
	b.check(i)
	b.words[i>>6] |= 1 << (i & 63)
}

// Clear removes i. It panics if i is not below Len.
func (b *Bitset) Clear(i int32) {
	b.check(i)
	b.words[i>>6] &^= 1 << (i & 63)
}

// Reset removes all members and keeps the memory.
func (b *Bitset) Reset() { clear(b.words) }

// Fill adds all indices below Len.
func (b *Bitset) Fill() {
	for i := range b.words {
		b.words[i] = ^uint64(0)
	}
	if rest := b.n % 64; rest != 0 {
		b.words[len(b.words)-1] = 1<<rest - 1
	}
}

// Has reports whether i is a member; an index out of range is not.
func (b *Bitset) Has(i int32) bool {
	if b == nil || uint(i)>>6 >= uint(len(b.words)) {
		return false
	}
	return b.words[i>>6]>>(i&63)&1 != 0
}

// Len is the number of indices that the set can hold: the n of NewBitset.
func (b *Bitset) Len() int {
	if b == nil {
		return 0
	}
	return b.n
}

func (b *Bitset) check(i int32) {
	if i < 0 || int(i) >= b.n {
		panic(fmt.Sprintf("vec: index %d out of a Bitset of %d", i, b.n))
	}
}
