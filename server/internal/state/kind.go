package state

import "hash/maphash"

// A Kind stands for the name of an event type in the memory of this process: a keyed 64-bit hash of
// it. Clients choose the names, so a table of all names seen could grow without bound. Two names
// have the same hash with a probability of 2^-64, which clients cannot raise without the key.
type Kind uint64

var kindSeed = maphash.MakeSeed()

// KindOf returns the kind of an event type.
func KindOf(eventType string) Kind { return Kind(maphash.String(kindSeed, eventType)) }
