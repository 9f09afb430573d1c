package recent

import (
	"encoding/binary"
	"math/bits"

	"github.com/gsimc/gsimc/internal/num/prefetch"
)

// idSet finds the revisions at which an event id may stand in one history, by a hash of the id. It
// holds every event of the history. A revision that it finds is to be compared with the event
// itself.
//
// A short history is a list of 16 bits of each hash in the order of the revisions: two bytes an
// event, searched from end to end, four at a time. A long one is a table with open addressing. The
// step from one to the other needs all hashes anew; see outgrown.
type idSet struct {
	tags  []byte   // 2 bytes for each revision from 1
	slots []uint64 // 24 bits of the hash above the revision, 0: free; a power of two, 3/4 in use
	count uint64   // revisions
}

const (
	maxTags      = 512 // revisions of a list
	revisionBits = 40
)

// newIDSet returns an empty set for a history that will have about the number of revisions.
func newIDSet(revisions uint64) idSet {
	if revisions < maxTags {
		return idSet{}
	}
	return idSet{slots: make([]uint64, 1<<bits.Len64(2*revisions))}
}

// outgrown reports whether the history is too long for the list, which then holds only a part of
// it.
func (s *idSet) outgrown() bool { return s.slots == nil && s.count > maxTags }

// add notes the hash of the id of the next revision.
func (s *idSet) add(hash uint64) {
	s.count++
	switch {
	case s.slots == nil && s.count <= maxTags:
		s.tags = binary.LittleEndian.AppendUint16(s.tags, uint16(hash))
	case s.slots != nil:
		if 4*s.count > 3*uint64(len(s.slots)) {
			s.grow()
		}
		s.insert(hash>>revisionBits<<revisionBits | s.count)
	}
}

// remove removes the last revision. hash is that of its id.
func (s *idSet) remove(hash uint64) {
	if s.slots != nil {
		s.clear(hash>>revisionBits<<revisionBits | s.count)
	}
	s.count--
	if s.slots == nil && s.count < maxTags {
		s.tags = s.tags[:2*s.count]
	}
}

// clear frees a slot. It moves the slots up that stand behind it only because it was taken, so that
// none is cut off from its home (D. Knuth, The Art of Computer Programming, volume 3, section 6.4,
// algorithm R).
func (s *idSet) clear(slot uint64) {
	mask := uint64(len(s.slots) - 1)
	free := home(slot) & mask
	for s.slots[free] != slot {
		free = (free + 1) & mask
	}
	for at := (free + 1) & mask; s.slots[at] != 0; at = (at + 1) & mask {
		if want := home(s.slots[at]) & mask; (at-want)&mask >= (at-free)&mask {
			s.slots[free], free = s.slots[at], at
		}
	}
	s.slots[free] = 0
}

func (s *idSet) insert(slot uint64) {
	mask := uint64(len(s.slots) - 1)
	at := home(slot) & mask
	for s.slots[at] != 0 {
		at = (at + 1) & mask
	}
	s.slots[at] = slot
}

// home spreads the 24 bits of the hash over the table.
func home(slot uint64) uint64 { return (slot >> revisionBits) * 0x9e3779b97f4a7c15 >> 20 }

func (s *idSet) grow() {
	old := s.slots
	s.slots = make([]uint64, 2*len(old))
	for _, slot := range old {
		if slot != 0 {
			s.insert(slot)
		}
	}
}

// fetch begins to load the memory in which find looks for the hash.
func (s *idSet) fetch(hash uint64) {
	if s.slots == nil {
		prefetch.Slice(s.tags)
		return
	}
	at := home(hash) & uint64(len(s.slots)-1)
	prefetch.Slice(s.slots[at : at+1])
}

// find calls fn with each revision whose id may have the hash, until fn returns false.
func (s *idSet) find(hash uint64, fn func(revision uint64) bool) {
	if s.slots == nil {
		s.findTag(uint16(hash), fn)
		return
	}
	mask := uint64(len(s.slots) - 1)
	for at := home(hash) & mask; s.slots[at] != 0; at = (at + 1) & mask {
		if slot := s.slots[at]; slot>>revisionBits == hash>>revisionBits &&
			!fn(slot&(1<<revisionBits-1)) {
			return
		}
	}
}

// findTag searches the list, four tags at a time. The classical test finds a zero in a word if
// there is one, so a word without the tag costs a few instructions (H. Warren, Hacker's Delight,
// section 6-1).
func (s *idSet) findTag(tag uint16, fn func(revision uint64) bool) {
	const low, high = 0x0001000100010001, 0x8000800080008000
	pattern := uint64(tag) * low
	i := 0
	for ; i+8 <= len(s.tags); i += 8 {
		x := binary.LittleEndian.Uint64(s.tags[i:]) ^ pattern
		if (x-low)&^x&high == 0 {
			continue
		}
		for j := i; j < i+8; j += 2 {
			if binary.LittleEndian.Uint16(s.tags[j:]) == tag && !fn(uint64(j/2+1)) {
				return
			}
		}
	}
	for ; i < len(s.tags); i += 2 {
		if binary.LittleEndian.Uint16(s.tags[i:]) == tag && !fn(uint64(i/2+1)) {
			return
		}
	}
}

// tableBytes is the memory of the table.
func (s *idSet) tableBytes() int { return 8 * cap(s.slots) }
