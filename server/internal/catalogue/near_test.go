package catalogue

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/memory"
)

// onSphere is a point as a vector of length 1.
func onSphere(latitude, longitude float64) [3]float64 {
	sinLat, cosLat := math.Sincos(radians(latitude))
	sinLon, cosLon := math.Sincos(radians(longitude))
	return [3]float64{cosLat * cosLon, cosLat * sinLon, sinLat}
}

// distanceKm is the distance of two points by the angle between their vectors.
func distanceKm(a, b [3]float64) float64 {
	cross := [3]float64{a[1]*b[2] - a[2]*b[1], a[2]*b[0] - a[0]*b[2], a[0]*b[1] - a[1]*b[0]}
	return earthKm * math.Atan2(math.Hypot(cross[0], math.Hypot(cross[1], cross[2])),
		a[0]*b[0]+a[1]*b[1]+a[2]*b[2])
}

// A circle has the items that lie in it: at the poles, across the line of dates and everywhere.
func TestCircles(t *testing.T) {
	rng := rand.New(rand.NewPCG(29, 5))
	corners := []float64{-180, -90, 0, 90, 180}
	latitude := func() float64 {
		if rng.IntN(4) == 0 {
			return corners[1+rng.IntN(3)]
		}
		return degrees(math.Asin(2*rng.Float64() - 1))
	}
	longitude := func() float64 {
		if rng.IntN(4) == 0 {
			return corners[rng.IntN(5)]
		}
		return 360*rng.Float64() - 180
	}
	c, v := open(t, memory.New(), time.Unix(0, 0), Bounds{})
	points := make([][2]float64, rows)
	for i := range points {
		points[i] = [2]float64{latitude(), longitude()}
		item := store.Item{ID: strconv.Itoa(i), Numbers: map[string]float64{
			"lat": points[i][0], "lon": points[i][1], "stock": float64(i % 2)}}
		if i%10 == 0 { // somewhere, or nowhere
			delete(item.Numbers, "lat")
			item.Numbers["lon"] *= 2
		}
		must(t, put(t, c, item))
	}
	met := 0
	for range 3000 {
		circle := &Circle{LatitudeName: "lat", LongitudeName: "lon", Latitude: latitude(),
			Longitude: longitude(), RadiusKm: 20_040 * math.Pow(rng.Float64(), 3)}
		if i := rng.IntN(rows); rng.IntN(4) == 0 { // very near
			circle.Latitude, circle.Longitude, circle.RadiusKm = points[i][0], points[i][1], 1e-3
		}
		f := &Filter{Near: circle}
		if rng.IntN(2) == 0 {
			f = &Filter{Ranges: []Range{{Name: "stock", Least: 1, Most: 1}}, And: []*Filter{f}}
		}
		in := map[int32]bool{}
		for _, row := range passing(v, f, time.Unix(0, 0), true) {
			in[row] = true
		}
		met += len(in)
		for i, p := range points {
			far := distanceKm(onSphere(p[0], p[1]), onSphere(circle.Latitude, circle.Longitude))
			want := far <= circle.RadiusKm && i%10 != 0 && (len(f.And) == 0 || i%2 == 1)
			if math.Abs(far-circle.RadiusKm) > 1e-3 && in[int32(i)] != want {
				t.Fatalf("%v is %v km from %+v, and in it: %t", p, far, circle, in[int32(i)])
			}
		}
	}
	if met < 3000 {
		t.Errorf("%d items in 3000 circles", met)
	}
	berlin, paris := Circle{Latitude: 52.52, Longitude: 13.405, RadiusKm: 877}, [2]float64{48.8566, 2.3522}
	check.Same(t, false, berlin.has(paris[0], paris[1]), "Paris is within 877 km of Berlin")
	all := Circle{Latitude: 52.52, Longitude: 13.405, RadiusKm: 20_100}
	check.Same(t, true, all.has(-52.52, 13.405-180), "the antipode is within the whole Earth")
	berlin.RadiusKm = 879
	check.Same(t, true, berlin.has(paris[0], paris[1]), "Paris is within 879 km of Berlin")
}
