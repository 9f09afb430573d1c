package catalogue

import (
	"encoding/binary"
	"math"

	"github.com/RoaringBitmap/roaring/v2"
)

// earthKm is the mean radius of the Earth, taken as a sphere.
const earthKm = 6371.0088

// A Circle lets the items pass that lie within a distance of a point of the Earth. The numbers of
// an item are a latitude from -90 to 90 and a longitude from -180 to 180 degrees, or it does not
// pass.
type Circle struct {
	LatitudeName, LongitudeName string // of the numbers of items
	Latitude, Longitude         float64
	RadiusKm                    float64
}

// ranges are those of the latitudes and longitudes between which the circle lies.
func (c *Circle) ranges() [2]Range {
	const slack = 1e-9 // degrees, for rounding
	angle := c.RadiusKm / earthKm
	south, north := c.Latitude-degrees(angle)-slack, c.Latitude+degrees(angle)+slack
	west, east := -180.0, 180.0
	if south > -90 && north < 90 { // no pole is inside
		far := degrees(math.Asin(math.Sin(angle)/math.Cos(radians(c.Latitude)))) + slack
		if c.Longitude-far >= west && c.Longitude+far <= east {
			west, east = c.Longitude-far, c.Longitude+far
		}
	}
	return [2]Range{{Name: c.LatitudeName, Least: max(south, -90), Most: min(north, 90)},
		{Name: c.LongitudeName, Least: west, Most: east}}
}

// has tells whether a point is in the circle, by the haversine of the angle between it and the
// center. From 0 to π the haversine rises, to 1.
func (c *Circle) has(latitude, longitude float64) bool {
	if c.RadiusKm >= math.Pi*earthKm {
		return true
	}
	h := haversine(latitude-c.Latitude) + math.Cos(radians(latitude))*
		math.Cos(radians(c.Latitude))*haversine(longitude-c.Longitude)
	return min(h, 1) <= haversine(degrees(c.RadiusKm/earthKm))
}

// haversine is that of an angle in degrees.
func haversine(angle float64) float64 {
	s := math.Sin(radians(angle) / 2)
	return s * s
}

func radians(degrees float64) float64 { return degrees * math.Pi / 180 }
func degrees(radians float64) float64 { return radians * 180 / math.Pi }

// around returns those of some rows, which are within the ranges of the circle, that are in it.
func (v *View) around(rows *roaring.Bitmap, c *Circle) *roaring.Bitmap {
	columns, in := v.catalogue.items.columns, roaring.New()
	latitude, longitude := columns[c.LatitudeName], columns[c.LongitudeName]
	for it := rows.Iterator(); it.HasNext(); {
		row := it.Next()
		slot := v.slots[row]
		if c.has(number(latitude.get(slot)), number(longitude.get(slot))) {
			in.Add(row)
		}
	}
	return in
}

// appendTo appends the parts of a circle, which may be nil.
func (c *Circle) appendTo(dst []byte) []byte {
	if c == nil {
		return append(dst, 0)
	}
	dst = append(dst, 1)
	for _, name := range [...]string{c.LatitudeName, c.LongitudeName} {
		dst = append(binary.AppendUvarint(dst, uint64(len(name))), name...)
	}
	for _, x := range [...]float64{c.Latitude, c.Longitude, c.RadiusKm} {
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(x))
	}
	return dst
}
