// Package catalogue knows which items may be shown: it keeps the categories, labels and times of
// the items of a store in memory, ready to be asked by every request. Beside them it keeps titles
// and embeddings, for searches and for items that nobody has.
//
// # Conventions
//
// The store is the truth, and this is an index of it, made at the start and kept up with each
// write. A write is visible here before it is acknowledged, and after it is durable.
//
// An item has a slot, a small number of its own, while the catalogue has it. A name of a category
// or of a label has a term, a small number too. A row is the index of an item in a model. A [View]
// is the catalogue in the rows of one model: a set of rows for each term, and the set of rows that
// must not be shown now. So a filter is a few operations on sets, whatever the catalogue's size.
//
// Numbers of items, such as prices, stand in columns by slot, in an order that integers have too. A
// view has the rows of a column sorted, in parts of as many rows. A range is an operation on two
// sets of parts, and leaves out rows of the two parts at its ends; of few rows that names leave it
// looks at all numbers. A circle is a range of latitudes and one of longitudes, of which each item
// is measured.
//
// Items that the catalogue does not have are shown and have no names. A name that no item has is
// the empty set.
//
// Times are microseconds since 1970 by the clock of the caller. Items that become or cease to be
// available move between the sets when the first request behind that moment asks. The clock may
// stand still or be set back: then all is computed anew.
package catalogue
