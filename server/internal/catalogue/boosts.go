package catalogue

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/gsimc/gsimc/internal/ranking"
)

// A Boost is what a rule adds to the scores of the items that its filter lets pass: a weight, times
// what a curve makes of a number of theirs.
type Boost struct {
	Name   string // for people
	Filter Filter
	Weight float64
	By     Curve // the zero Curve: 1
}

// A Curve makes a factor of the number x of an item. Without that number it is 0.
type Curve struct {
	Number        string
	Shape         Shape
	Origin, Scale float64 // Scale > 0
}

// Shape is the form of a curve.
type Shape int

// The shapes, with z = (x − Origin)/Scale.
const (
	// Linear rises from 0 at the origin to 1 at one scale above it, and stays there.
	Linear Shape = iota + 1
	// Log is ln(1 + z), 0 below the origin.
	Log
	// Gauss is exp(−z²/2), 1 at the origin.
	Gauss
	// Age halves with each scale, in seconds, that the time x lies in the past; 1 in the future.
	// The origin does not count.
	Age
)

// factor is the value of the curve at x.
func (c *Curve) factor(x float64, now time.Time) float64 {
	z := (x - c.Origin) / c.Scale
	switch c.Shape {
	case Log:
		return math.Log1p(min(max(z, 0), math.MaxFloat64)) // below 710
	case Gauss:
		return math.Exp(-z * z / 2)
	case Age:
		age := float64(now.Unix()) - x
		return math.Exp2(-max(age, 0) / c.Scale)
	}
	return min(max(z, 0), 1)
}

// AddTo adds to the element of each row what a boost adds to its item.
func (v *View) AddTo(sums []float64, b *Boost, now time.Time) {
	rows, chunk := v.passingNow(&b.Filter).ManyIterator(), make([]uint32, lockedRows)
	for n := rows.NextMany(chunk); n > 0; n = rows.NextMany(chunk) {
		v.addTo(sums, chunk[:n], b, now)
	}
}

// lockedRows is the number of rows whose numbers are read under one lock, for which writes wait: a
// fraction of a millisecond.
const lockedRows = 4096

// addTo is AddTo for some rows that pass.
func (v *View) addTo(sums []float64, rows []uint32, b *Boost, now time.Time) {
	v.catalogue.mu.RLock()
	defer v.catalogue.mu.RUnlock()
	by := v.catalogue.items.columns[b.By.Number]
	for _, row := range rows {
		sums[row] += v.gain(b, by, int32(row), now)
	}
}

// GainsOf returns what a boost adds to the items of some rows.
func (v *View) GainsOf(rows []int32, b *Boost, now time.Time) []float64 {
	v.catalogue.mu.RLock()
	defer v.catalogue.mu.RUnlock()
	asked, gains := roaring.New(), make([]float64, len(rows))
	for _, row := range rows {
		asked.Add(uint32(row))
	}
	passing := v.passing(&b.Filter, asked)
	by := v.catalogue.items.columns[b.By.Number]
	for at, row := range rows {
		if passing.Contains(uint32(row)) {
			gains[at] = v.gain(b, by, row, now)
		}
	}
	return gains
}

// gain is what a boost adds to the item of a row that passes, by a column that may be nil. Requires
// mu.
func (v *View) gain(b *Boost, by *column, row int32, now time.Time) float64 {
	if b.By.Number == "" {
		return b.Weight
	}
	x := by.get(v.slots[row])
	if x == none {
		return 0
	}
	return float64(b.Weight * b.By.factor(number(x), now))
}

// Changes moves when what a filter or a boost says of items may be another.
func (v *View) Changes() uint64 { return v.catalogue.Changes() }

// AppendKey appends a text that only equal boosts have.
func (b *Boost) AppendKey(dst []byte) []byte {
	for _, part := range [...]string{b.Name, string(b.Filter.key(nil, false)), b.By.Number} {
		dst = append(binary.AppendUvarint(dst, uint64(len(part))), part...)
	}
	dst = append(dst, byte(b.By.Shape))
	for _, x := range []float64{b.Weight, b.By.Origin, b.By.Scale} {
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(x))
	}
	return dst
}

// Passing are the rows that pass a filter, shown or not.
func (v *View) Passing(f *Filter) *ranking.Set {
	set := ranking.NewSet(v.barred.Cap())
	v.passingNow(f).WriteDenseTo(set.Words())
	return set
}

// passingNow is passing for those who do not hold mu.
func (v *View) passingNow(f *Filter) *roaring.Bitmap {
	v.catalogue.mu.RLock()
	defer v.catalogue.mu.RUnlock()
	return v.passing(f, nil).Clone()
}

// passing are those of some rows, nil: of all, that pass a filter, shown or not. Not to be changed.
// Requires mu.
func (v *View) passing(f *Filter, rows *roaring.Bitmap) *roaring.Bitmap {
	some, passing, failing := v.evaluate(f, rows)
	if !some {
		passing = roaring.New()
		passing.AddRange(0, uint64(len(v.slots)))
	}
	if failing != nil {
		passing = roaring.AndNot(passing, failing)
	}
	return passing
}

// number is the number that became an integer by ordered.
func number(ordered uint64) float64 {
	if ordered>>63 == 0 {
		return math.Float64frombits(^ordered)
	}
	return math.Float64frombits(ordered &^ (1 << 63))
}
