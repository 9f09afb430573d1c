package server

import "hash/maphash"

// eventKind stands for the name of an event type in the memory of this process: a keyed 64-bit hash of it. Clients choose
// the names, so a table of all names seen could grow without bound, and two names meet in one hash only by a chance of
// 2^-64 that nobody can work towards without the key.
type eventKind uint64

var kindSeed = maphash.MakeSeed()

func kindOf(eventType string) eventKind { return eventKind(maphash.String(kindSeed, eventType)) }
