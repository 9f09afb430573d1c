package catalogue

import (
	"slices"
	"time"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/gsimc/gsimc/internal/ranking"
)

// A View is the catalogue in the rows of one model. It stays the view of the catalogue as it is,
// whatever is written, until it is closed. It is safe for concurrent use.
type View struct {
	catalogue *Catalogue
	rowOf     func(id string) (row int32, known bool)

	// The catalogue's mu guards the rest.
	rows      []int32           // by slot; noRow: the model does not know the item
	slots     []int32           // by row; noRow: the catalogue does not have the item
	sets      []*roaring.Bitmap // by term: the rows of the items that have it; nil: none
	bins      map[string]*bins  // of columns, by their names; not of all
	barred    *ranking.Set      // rows that must not be shown now
	numBarred int
	users     int // calls of Close that end the view

	cache cache // has a lock of its own
}

// noRow stands for the row of an item that the model does not know, and for the slot of one that
// the catalogue does not have.
const noRow = -1

// View returns the view of a model of n items, whose rows rowOf knows. It reads the whole
// catalogue. rowOf is called for items that are written, too, until the view is closed.
func (c *Catalogue) View(n int, rowOf func(id string) (row int32, known bool)) *View {
	v := &View{catalogue: c, rowOf: rowOf, barred: ranking.NewSet(n), users: 1,
		bins: map[string]*bins{}}
	c.build.Lock()
	defer c.build.Unlock()
	v.place(n, c.items.entries)
	v.sets = make([]*roaring.Bitmap, len(c.items.terms.names))
	for row, slot := range v.slots { // by rising rows, which sets take fastest
		if slot != noRow {
			v.include(c.items.entries[slot].terms, int32(row))
		}
	}
	for v.rebin() { // nobody waits: the bins of all columns
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, slot := range v.slots {
		if slot != noRow {
			v.show(slot, c.items.entries[slot].shownAt(c.now))
		}
	}
	c.views = append(c.views, v)
	c.note()
	return v
}

// place finds the rows of all items, and the slots of all n rows.
func (v *View) place(n int, entries []entry) {
	v.slots = slices.Repeat([]int32{noRow}, n)
	v.rows = make([]int32, len(entries))
	for slot := range entries {
		row := v.find(entries[slot].id)
		if v.rows[slot] = row; row != noRow {
			v.slots[row] = int32(slot)
		}
	}
}

// find returns the row of an item, or noRow.
func (v *View) find(id string) int32 {
	if id != "" { // the slot is not free
		if row, known := v.rowOf(id); known {
			return row
		}
	}
	return noRow
}

// Shared returns v for a model with the same rows. It is to be closed once more.
func (v *View) Shared() *View {
	v.catalogue.mu.Lock()
	defer v.catalogue.mu.Unlock()
	v.users++
	return v
}

// Close ends the view when all who have it have closed it: rowOf is not called any more.
func (v *View) Close() {
	c := v.catalogue
	c.mu.Lock()
	defer c.mu.Unlock()
	if v.users--; v.users > 0 {
		return
	}
	c.views = slices.DeleteFunc(c.views, func(other *View) bool { return other == v })
	c.note()
}

// add adds the item of a slot.
func (v *View) add(slot int32, e *entry) {
	for int(slot) >= len(v.rows) {
		v.rows = append(v.rows, noRow)
	}
	v.rows[slot] = v.find(e.id)
	if row := v.rows[slot]; row != noRow {
		v.slots[row] = slot
		v.include(e.terms, row)
		for name, b := range v.bins {
			if number := v.catalogue.items.columns[name].get(slot); number != none {
				b.set(numbered{number, row})
			}
		}
	}
}

// include adds a row to the sets of terms.
func (v *View) include(terms []uint32, row int32) {
	for _, t := range terms {
		for int(t) >= len(v.sets) {
			v.sets = append(v.sets, nil)
		}
		if v.sets[t] == nil {
			v.sets[t] = roaring.New()
		}
		v.sets[t].Add(uint32(row))
	}
}

// remove removes the item of a slot.
func (v *View) remove(slot int32, e *entry) {
	row := v.rows[slot]
	if row == noRow {
		return
	}
	for _, t := range e.terms {
		if v.sets[t].Remove(uint32(row)); v.sets[t].IsEmpty() {
			v.sets[t] = nil
		}
	}
	for name, b := range v.bins {
		if number := v.catalogue.items.columns[name].get(slot); number != none {
			b.clear(numbered{number, row})
		}
	}
	v.show(slot, true)
	v.rows[slot], v.slots[row] = noRow, noRow
}

// show sets whether the item of a slot is shown.
func (v *View) show(slot int32, shown bool) {
	row := v.rows[slot]
	if row == noRow || v.barred.Has(row) != shown {
		return
	}
	if shown {
		v.barred.Remove(row)
		v.numBarred--
	} else {
		v.barred.Add(row)
		v.numBarred++
	}
}

// A Filter says which items pass: each of its lists that is not empty must hold. The zero Filter
// lets all items pass. Nobody passes an Any or All list by a name that no item has.
type Filter struct {
	AnyCategories, AllCategories, NoCategories []string
	AnyLabels, AllLabels, NoLabels             []string
	Ranges                                     []Range
	Near                                       *Circle // nil: anywhere
	// And are further filters that must let an item pass. They have no And of their own.
	And []*Filter
}

// lists returns the lists of names of a filter; those of And have their own.
func (f *Filter) lists() [6][]string {
	return [...][]string{f.AnyCategories, f.AllCategories, f.NoCategories,
		f.AnyLabels, f.AllLabels, f.NoLabels}
}

// A Selection is the rows of a model that may be shown. Its memory is used again and again.
type Selection struct {
	// Skip, unless nil, holds all rows that may not be shown. The caller may add to it.
	Skip *ranking.Set
	// Among, unless nil, holds all rows that may be shown, rising and each once; Skip is then nil.
	Among []int32

	skip  *ranking.Set
	among []int32
	rows  []uint32
	key   []byte
}

// amongDivisor says when few rows pass: up to one in so many. A search then scores their rows
// alone, which is faster than the scan of all: BenchmarkFilters of package server.
const amongDivisor = 32

// Select stores in s the rows that pass the filter and may be shown at a time. listed asks for a
// Skip, even if few rows pass.
func (v *View) Select(s *Selection, f *Filter, now time.Time, listed bool) {
	s.Skip, s.Among = nil, nil
	c := v.catalogue
	if c.Size() == 0 && f.empty() {
		return
	}
	c.advance(now.UnixMicro())
	c.mu.RLock()
	defer c.mu.RUnlock()
	n := v.barred.Cap()
	if f.empty() {
		if v.numBarred > 0 {
			s.Skip = s.cleared(n)
			s.Skip.AddAll(v.barred)
		}
		return
	}
	s.key = f.key(s.key, listed)
	e, again := v.cache.find(s.key, c.changes)
	if e != nil && e.skip != nil {
		s.Skip = s.copied(e.skip)
	}
	var few *roaring.Bitmap
	if e != nil {
		few = e.few
	} else {
		few = v.selectBy(s, f, listed)
		v.remember(s, few, again)
	}
	if few != nil {
		s.Among = v.list(s, few)
		return
	}
	s.Skip.AddAll(v.barred)
}

// Shown returns those of some rows that may be shown at a time.
func (v *View) Shown(rows []int32, now time.Time) (shown []int32) {
	if len(rows) == 0 {
		return nil
	}
	c := v.catalogue
	c.advance(now.UnixMicro())
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, row := range rows {
		if !v.barred.Has(row) {
			shown = append(shown, row)
		}
	}
	return shown
}

// selectBy evaluates a filter, without regard to the rows that must not be shown now: few rows that
// pass, which may be the set of a term, or s.Skip.
func (v *View) selectBy(s *Selection, f *Filter, listed bool) (few *roaring.Bitmap) {
	some, passing, failing := v.evaluate(f, nil)
	if failing != nil && some {
		passing = roaring.AndNot(passing, failing)
	}
	n := v.barred.Cap()
	if some && !listed && passing.GetCardinality() <= uint64(n/amongDivisor) {
		return passing
	}
	if some {
		failing = passing
	}
	s.Skip = s.cleared(n)
	if failing != nil {
		failing.WriteDenseTo(s.Skip.Words())
	}
	if some {
		s.Skip.Invert()
	}
	return nil
}

// remember keeps what the filter of s.key evaluated to, if it came before.
func (v *View) remember(s *Selection, few *roaring.Bitmap, again bool) {
	if len(s.key) > maxKeyBytes {
		return
	}
	var e *evaluated
	if again {
		e = &evaluated{changes: v.catalogue.changes, few: few}
		if few == nil {
			e.skip = ranking.NewSet(s.Skip.Cap())
			e.skip.AddAll(s.Skip)
		}
	}
	v.cache.put(s.key, e, cachedFilters(v.barred.Cap()))
}

// Categories returns the categories of n items, whose ids the function knows, as numbers: two of
// them are equal if the names are, within one answer.
func (v *View) Categories(n int, id func(i int) string) [][]uint32 {
	c := v.catalogue
	c.mu.RLock()
	defer c.mu.RUnlock()
	all := make([][]uint32, n)
	for i := range all {
		slot, found := c.items.slots[id(i)]
		if !found {
			continue
		}
		for _, term := range c.items.entries[slot].terms {
			if !c.items.terms.names[term].label {
				all[i] = append(all[i], term)
			}
		}
	}
	return all
}

// SkipAll makes a copy of a set the Skip of s.
func (s *Selection) SkipAll(skip *ranking.Set) { s.Among, s.Skip = nil, s.copied(skip) }

// copied returns a copy of a set in the memory of s.
func (s *Selection) copied(set *ranking.Set) *ranking.Set {
	if s.skip == nil || s.skip.Cap() != set.Cap() {
		s.skip = ranking.NewSet(set.Cap())
	}
	copy(s.skip.Words(), set.Words())
	return s.skip
}

// list returns the rows of a set that may be shown.
func (v *View) list(s *Selection, passing *roaring.Bitmap) []int32 {
	s.among = slices.Grow(s.among[:0], int(passing.GetCardinality())+1)
	s.rows = slices.Grow(s.rows[:0], 1024)[:1024]
	it := passing.ManyIterator()
	for {
		n := it.NextMany(s.rows)
		if n == 0 {
			return s.among
		}
		for _, row := range s.rows[:n] {
			if !v.barred.Has(int32(row)) {
				s.among = append(s.among, int32(row))
			}
		}
	}
}

// cleared returns an empty set of rows below n.
func (s *Selection) cleared(n int) *ranking.Set {
	if s.skip == nil || s.skip.Cap() != n {
		s.skip = ranking.NewSet(n)
	}
	s.skip.Clear()
	return s.skip
}

// all are the filter and its further ones.
func (f *Filter) all() []*Filter { return append([]*Filter{f}, f.And...) }

func (f *Filter) empty() bool {
	for _, names := range f.lists() {
		if len(names) > 0 {
			return false
		}
	}
	return len(f.Ranges) == 0 && f.Near == nil && len(f.And) == 0
}

// evaluate returns the sets of a filter, for some rows, nil: for all: if some, only the rows of
// passing pass, and those of failing, unless it is nil, do not. The sets may be those of terms, and
// must not be changed.
func (v *View) evaluate(
	f *Filter, rows *roaring.Bitmap,
) (some bool, passing, failing *roaring.Bitmap) {
	var must []*roaring.Bitmap
	if rows != nil {
		must = append(must, rows)
	}
	must, not, possible := v.require(f, must, nil)
	for _, other := range f.And {
		if possible {
			must, not, possible = v.require(other, must, not)
		}
	}
	if !possible {
		return true, roaring.New(), nil
	}
	if len(not) > 0 {
		failing = union(not)
	}
	if len(must) > 0 {
		passing = intersection(must)
	}
	if conditions := v.catalogue.items.conditions(f); len(conditions) > 0 {
		passing = v.within(passing, conditions)
	}
	for _, f := range f.all() {
		if f.Near != nil {
			passing = v.around(passing, f.Near)
		}
	}
	return passing != nil, passing, failing
}

// require appends the sets that an item must be in to pass the lists of a filter, and those that it
// must not be in. possible is false if no item passes.
func (v *View) require(
	f *Filter, must, not []*roaring.Bitmap,
) (_, _ []*roaring.Bitmap, possible bool) {
	for _, part := range []struct {
		any, all []string
		label    bool
	}{{f.AnyCategories, f.AllCategories, false}, {f.AnyLabels, f.AllLabels, true}} {
		if len(part.any) > 0 {
			must = append(must, union(v.setsOf(part.any, part.label)))
		}
		if len(part.all) > 0 {
			sets := v.setsOf(part.all, part.label)
			if len(sets) < len(part.all) { // an unknown name
				return nil, nil, false
			}
			must = append(must, sets...)
		}
	}
	not = append(append(not, v.setsOf(f.NoCategories, false)...), v.setsOf(f.NoLabels, true)...)
	return must, not, true
}

// setsOf returns the sets of the names that items have.
func (v *View) setsOf(names []string, label bool) []*roaring.Bitmap {
	var sets []*roaring.Bitmap
	for _, text := range names {
		term, found := v.catalogue.items.terms.numbers[name{text, label}]
		if found && int(term) < len(v.sets) && v.sets[term] != nil {
			sets = append(sets, v.sets[term])
		}
	}
	return sets
}

// sparseRows is the size up to which the rows of a set are added one by one: of a thousand sets of
// thirty rows each that takes a tenth of the time.
const sparseRows = 256

func union(sets []*roaring.Bitmap) *roaring.Bitmap {
	if len(sets) == 1 {
		return sets[0]
	}
	var dense, sparse []*roaring.Bitmap
	for _, set := range sets {
		if set.GetCardinality() <= sparseRows {
			sparse = append(sparse, set)
		} else {
			dense = append(dense, set)
		}
	}
	all, rows := roaring.FastOr(dense...), make([]uint32, sparseRows)
	for _, set := range sparse {
		it := set.ManyIterator()
		all.AddMany(rows[:it.NextMany(rows)])
	}
	return all
}

// intersection starts with the smallest set: the work goes with its size.
func intersection(sets []*roaring.Bitmap) *roaring.Bitmap {
	if len(sets) == 1 {
		return sets[0]
	}
	slices.SortFunc(sets, func(a, b *roaring.Bitmap) int {
		return int(a.GetCardinality()) - int(b.GetCardinality())
	})
	all := roaring.And(sets[0], sets[1])
	for _, set := range sets[2:] {
		all.And(set)
	}
	return all
}
