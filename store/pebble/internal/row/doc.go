// Package row is the format of a store on disk: keys and values, and nothing about when they are
// written.
//
// # Keys
//
// All rows of a user lie next to each other. They sort as the head row, then the rows of events by
// revision:
//
//	| length of the user id (2 B, big endian) | user id | 0 |                          head
//	| length of the user id (2 B, big endian) | user id | 1 | revision (8 B, b. e.) |  events
//
// The length at the beginning keeps the rows of "a" and "aa" apart whatever bytes the ids contain.
// User ids are not empty, so the length 0 is free for the rows of the store itself: its format
// number, its id, the items of the catalogue, the journal, and the number up to which the journal
// has been emptied.
//
// # Values
//
// Every value ends in a CRC-32C (Castagnoli, 4 B, little endian) over its key and the value before
// it, so that a value under the wrong key is noticed as well as a damaged one.
//
//	head:     | revision of the last event in rows (8 B, big endian)
//	          | mark of this life (8 B, b. e.; not in format 3) | CRC |
//	format:   | number (8 B, big endian) | CRC |
//	erased:   | 1 (8 B, big endian) | CRC |          while files may hold erased users
//	emptied:  | number of the last row removed from the journal (8 B, big endian) | CRC |
//	users:    | the same number (8 B, big endian) | users as of it (8 B, big endian) | CRC |
//	identity: | id (16 B) | CRC |
//	branch:   | number (8 B, big endian) | CRC |
//	events:   | version 2 (1 B) | event | event | … | CRC |      from the revision of the key on
//	journal:  | version 1 (1 B) | entry | entry | … | CRC |
//	item:     | version 1 to 3 (1 B) | flags (1: hidden) | from | until | categories | labels
//	          | title (version 2 and 3) | store.Item.AppendMore (version 3) | CRC |
//
//	event:    | length of the rest (uvarint) | flags (1 B) | seconds since 1970 (zigzag varint)
//	          | nanoseconds (uvarint, flag 1) | value (IEEE 754, 8 B, little endian, flag 2)
//	          | id, item, type: each length (uvarint) and bytes |
//
//	entry:    | 1 | user id with its length (uvarint) in front | revision (uvarint) | event |
//	          | 2 | user id with its length in front |                      the user was erased
//	          | 3 | user id with its length in front | mark (8 B, big endian) | event |
//	                                           the event of revision 1, with the mark of this life
//
// The id of an item is in its key. Its times are microseconds since 1970 (zigzag varint), the least
// number for none; its names are their number (uvarint), and of each the length (uvarint) and
// bytes.
//
// Without flag 1 the nanoseconds are 0, without flag 2 the value is 1.
//
// # Conventions
//
// A function with an argument dst appends to it, or writes over it where its comment says so, and
// returns the result. An encoded event is without its length unless a comment says otherwise.
// Errors of damage wrap [store.ErrCorrupt] and contain no ids.
package row
