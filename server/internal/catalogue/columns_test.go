package catalogue

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/gsimc/gsimc/internal/event"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/memory"
)

// Numbers at the edges of ranges pass or do not, as comparisons of floats say.
func TestEdgesOfRanges(t *testing.T) {
	numbers := []float64{-math.MaxFloat64, -1, -math.SmallestNonzeroFloat64, math.Copysign(0, -1), 0,
		math.SmallestNonzeroFloat64, 1, math.Nextafter(1, 2), math.MaxFloat64}
	c, v := open(t, memory.New(), time.Unix(0, 0), Bounds{})
	for at, x := range numbers {
		must(t, put(t, c, store.Item{ID: strconv.Itoa(at), Numbers: map[string]float64{"x": x}}))
	}
	bounds := append([]float64{math.Inf(-1), math.Inf(1)}, numbers...)
	for _, a := range bounds {
		for _, b := range bounds {
			for kind, r := range map[string]struct {
				r    Range
				pass func(x float64) bool
			}{
				"gt lt": {NewRange("x", &a, nil, &b, nil, nil),
					func(x float64) bool { return x > a && x < b }},
				"gte lte": {NewRange("x", nil, &a, nil, &b, nil),
					func(x float64) bool { return x >= a && x <= b }},
				"gt lte": {NewRange("x", &a, nil, nil, &b, []float64{0, 1}),
					func(x float64) bool { return x > a && x <= b && (x == 0 || x == 1) }},
				"any of": {NewRange("x", nil, nil, nil, nil, []float64{b, a, a}),
					func(x float64) bool { return x == a || x == b }},
			} {
				var want []int32
				for at, x := range numbers {
					if r.pass(x) {
						want = append(want, int32(at))
					}
				}
				got := passing(v, &Filter{Ranges: []Range{r.r}}, time.Unix(0, 0), true)
				check.Same(t, want, got, "%s of %v and %v", kind, a, b)
			}
		}
	}
}

// The numbers of a catalogue have at most MaxNumberNames names. A write that would bring one more
// is refused as a whole, and a write that takes the last number of a name away for a new name
// passes.
func TestNamesOfNumbersAreBounded(t *testing.T) {
	c, _ := open(t, memory.New(), time.Unix(0, 0), Bounds{})
	of := func(name int) store.Item {
		return store.Item{ID: strconv.Itoa(name % event.MaxNumberNames),
			Numbers: map[string]float64{fmt.Sprint("n", name): 1}}
	}
	for name := range event.MaxNumberNames {
		must(t, put(t, c, of(name)))
	}
	more := of(event.MaxNumberNames)
	more.ID = "one more"
	bytes := c.Bytes()
	if err := put(t, c, store.Item{ID: "other"}, more); !errors.Is(err, ErrColumns) ||
		c.Size() != event.MaxNumberNames || c.Bytes() != bytes {
		t.Errorf("a name too many: %v, %d items of %d bytes, want ErrColumns and those of before", err,
			c.Size(), c.Bytes())
	}
	must(t, put(t, c, of(event.MaxNumberNames))) // in place of the first name
	if err := put(t, c, of(2*event.MaxNumberNames), more); !errors.Is(err, ErrColumns) {
		t.Errorf("one name in place of another, and one more: %v", err)
	}
}

// A number that became an integer comes back from it.
func TestOrderedNumbers(t *testing.T) {
	for _, x := range []float64{-math.MaxFloat64, -1.5, 0, math.SmallestNonzeroFloat64, 7e77} {
		if got := number(ordered(x)); got != x {
			t.Errorf("%v comes back as %v", x, got)
		}
	}
}
