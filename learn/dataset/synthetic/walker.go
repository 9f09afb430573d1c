package synthetic

import (
	"math/bits"
	"math/rand/v2"
	"strconv"
)

// What the next event is, in percent; the rest is a popular item.
const (
	percentFollow    = 35 // a successor of the item before
	percentCommunity = 55 // an item of the user's taste
)

const (
	// firstTime is the beginning of the time of all events: 2022-01-01 UTC.
	firstTime = 1_640_995_200

	// span is the length of that time, two years in seconds. Users with more
	// events than that has seconds go on beyond it.
	span = 2 * 365 * 86_400

	// followGap is the longest time to a successor, in seconds.
	followGap = 600

	// patience is how many items the user already has are drawn before any
	// item that is left is taken.
	patience = 24
)

// walker makes the events of users, one user after the other.
type walker struct {
	cfg        Config
	cat        *catalogue
	seed       uint64
	pcg        rand.PCG
	userDigits int
	itemDigits int

	seen []uint64 // bit set of the user's items
	had  []int32  // the same as a list, in order

	// Communities of the user's taste at the start and at the end; the second
	// stays the same.
	from, to [2]int32
}

func newWalker(cfg Config, cat *catalogue) *walker {
	return &walker{
		cfg: cfg, cat: cat, seed: mix(cfg.Seed ^ 'w'),
		userDigits: len(strconv.Itoa(cfg.Users - 1)),
		itemDigits: len(strconv.Itoa(cfg.Items - 1)),
		seen:       make([]uint64, (cfg.Items+63)/64),
	}
}

// fill writes the rows of the users of b.
func (w *walker) fill(b *block) {
	for k, n := range b.counts {
		b.text = w.user(b.text, b.first+k, int(n))
	}
}

// user appends the n rows of one user to text.
func (w *walker) user(text []byte, user, n int) []byte {
	w.begin(user)
	// A gap is uniform up to twice the mean, so the last event is not beyond
	// start + 2·life, and that is within the span.
	start := below(w.pcg.Uint64(), span*3/4)
	life := below(w.pcg.Uint64(), (span-start)/2)
	gap := max(1, 2*life/n)
	time := int64(firstTime + start)

	prefix := appendPadded([]byte{'u'}, user, w.userDigits)
	for k := range n {
		item, followed := w.next(k, n)
		w.take(item)
		if followed {
			time += 1 + int64(below(w.pcg.Uint64(), min(gap, followGap)))
		} else {
			time += 1 + int64(below(w.pcg.Uint64(), gap))
		}
		text = append(text, prefix...)
		text = append(text, ",i"...)
		text = appendPadded(text, int(item), w.itemDigits)
		text = append(text, ',')
		text = strconv.AppendInt(text, time, 10)
		text = append(text, '\n')
	}
	return text
}

// begin forgets the user before and draws the taste of the next.
func (w *walker) begin(user int) {
	for _, i := range w.had {
		w.seen[i/64] = 0
	}
	w.had = w.had[:0]
	w.pcg.Seed(w.seed, mix(uint64(user)))
	draw := func() int32 { return w.cat.communities.pick(w.pcg.Uint64()) }
	lasting := draw()
	w.from = [2]int32{draw(), lasting}
	w.to = [2]int32{draw(), lasting}
}

// take gives the user an item.
func (w *walker) take(item int32) {
	w.seen[item/64] |= 1 << (item % 64)
	w.had = append(w.had, item)
}

func (w *walker) has(item int32) bool { return w.seen[item/64]>>(item%64)&1 != 0 }

// next chooses the k-th of the user's n items, one that the user does not have.
// followed reports whether it is a successor of the item before.
func (w *walker) next(k, n int) (item int32, followed bool) {
	what := below(w.pcg.Uint64(), 100)
	if what < percentFollow && k > 0 {
		if item = w.successor(w.had[k-1]); !w.has(item) {
			return item, true
		}
	}
	for try := range patience {
		if what < percentFollow+percentCommunity && try < patience/2 {
			item = w.ofTaste(k, n)
		} else {
			item = w.cat.popular.pick(w.pcg.Uint64())
		}
		if !w.has(item) {
			return item, false
		}
	}
	return w.anyLeft(), false
}

// successor draws one of the successors of item, the first half of the time,
// the second a quarter, and so on.
func (w *walker) successor(item int32) int32 {
	k := min(bits.TrailingZeros64(w.pcg.Uint64()), numSuccessors-1)
	return w.cat.successors[item][k]
}

// ofTaste draws an item of one of the user's communities. At the k-th of n
// events the chance that the taste is already that of the end is k/n; the
// first community of a taste has two thirds of it and drifts, the second stays.
func (w *walker) ofTaste(k, n int) int32 {
	taste := &w.from
	if below(w.pcg.Uint64(), n) < k {
		taste = &w.to
	}
	g := taste[0]
	if below(w.pcg.Uint64(), 3) == 0 {
		g = taste[1]
	}
	members := &w.cat.community[g]
	return members.items[members.draw.pick(w.pcg.Uint64())]
}

// anyLeft returns the first item that the user does not have, from a random
// one on. The user must not have all.
func (w *walker) anyLeft() int32 {
	items := w.cfg.Items
	for at := below(w.pcg.Uint64(), items); ; {
		word := at / 64
		if free := ^w.seen[word] >> (at % 64) << (at % 64); free != 0 {
			if item := word*64 + bits.TrailingZeros64(free); item < items {
				return int32(item)
			}
		}
		if at = (word + 1) * 64; at >= items {
			at = 0
		}
	}
}

// appendPadded appends x with leading zeros up to the given number of digits.
func appendPadded(text []byte, x, digits int) []byte {
	from := len(text)
	for range digits {
		text = append(text, '0')
	}
	for at := len(text) - 1; at >= from; at-- {
		text[at] += byte(x % 10)
		x /= 10
	}
	return text
}
