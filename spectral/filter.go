package spectral

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gsimc/gsimc/internal/fault"
)

// Filter is a graph filter H(λ). The filters of the paper are 1/H(λ) = 1 + R(λ)/φ, where R is the
// penalty on the frequency λ (the paper's equation 5 and Table 1).
type Filter struct {
	Name  string  // one of FilterNames
	Phi   float64 // φ, the weight of the data against the penalty
	Gamma float64 // γ of tikhonov and diffusion
	A     float64 // a of random-walk
	Power float64 // p of the power filter
}

// The names of the filters.
const (
	Tikhonov      = "tikhonov"
	Diffusion     = "diffusion"
	RandomWalk    = "random-walk"
	InverseCosine = "inverse-cosine"
	Cutoff        = "cutoff"
	PowerFilter   = "power"
)

// A FilterKind is an entry of [Filters], the table of filters.
type FilterKind struct {
	Name       string
	Formula    string // in the words of the paper's Table 1, if it is there
	Doc        string // one sentence
	Parameters []Parameter

	response func(f *Filter, lambda float64) float64 // H(λ)
}

// A Parameter is a constant of a filter.
type Parameter struct {
	Field   string  // of Filter
	Symbol  string  // name in texts, for example "phi"
	Doc     string  // one sentence
	Default float64 // the paper's constant, if it has one
	Least   float64
	Open    bool // the value must be above Least

	at func(f *Filter) *float64
}

// The constants of the filters.
var (
	phi = Parameter{Field: "Phi", Symbol: "phi", Doc: "Weight of the data against the penalty.",
		Default: 10, Open: true,
		at: func(f *Filter) *float64 { return &f.Phi }}
	gamma = Parameter{Field: "Gamma", Symbol: "gamma", Doc: "Slope of the penalty.",
		Default: 1,
		at:      func(f *Filter) *float64 { return &f.Gamma }}
	pole = Parameter{Field: "A", Symbol: "a", Doc: "Pole of the penalty, above every frequency.",
		Default: 4, Least: 2,
		at: func(f *Filter) *float64 { return &f.A }}
	power = Parameter{Field: "Power", Symbol: "p", Doc: "Exponent.",
		Default: 0.5, Open: true,
		at: func(f *Filter) *float64 { return &f.Power }}

	parameters = []Parameter{phi, gamma, pole, power}
)

// Filters is the table of all filters: first the filters of the paper's Table 1 in its order, then
// others. A new filter is an entry here. Only a filter with a new constant needs edits elsewhere.
var Filters = []FilterKind{
	{
		Name: Tikhonov, Formula: "R(λ) = γλ", Parameters: []Parameter{phi, gamma},
		Doc: "The penalty rises in proportion to the frequency.",
		response: penalised(func(f *Filter, lambda float64) float64 {
			return f.Gamma * max(0, lambda) // rounding may leave λ_1 a little below 0
		}),
	},
	{
		Name: Diffusion, Formula: "R(λ) = exp(γλ/2)", Parameters: []Parameter{phi, gamma},
		Doc: "The penalty rises exponentially.",
		response: penalised(func(f *Filter, lambda float64) float64 {
			return math.Exp(f.Gamma * lambda / 2)
		}),
	},
	{
		Name: RandomWalk, Formula: "R(λ) = 1/(a−λ)", Parameters: []Parameter{phi, pole},
		Doc: "The penalty rises towards a pole at a, where the response ends.",
		response: penalised(func(f *Filter, lambda float64) float64 {
			if lambda >= f.A {
				return math.Inf(1)
			}
			return 1 / (f.A - lambda)
		}),
	},
	{
		Name: InverseCosine, Formula: "R(λ) = 1/cos(λπ/4)", Parameters: []Parameter{phi},
		Doc: "The penalty rises towards a pole at 2, the end of the spectrum.",
		response: penalised(func(_ *Filter, lambda float64) float64 {
			c := math.Cos(lambda * math.Pi / 4)
			if c <= 0 {
				return math.Inf(1)
			}
			return 1 / c
		}),
	},
	{
		Name: Cutoff, Formula: "R(λ) = 0 within the band, ∞ outside",
		Doc:      "All frequencies of the basis count alike (SGMC).",
		response: func(*Filter, float64) float64 { return 1 },
	},
	{
		Name: PowerFilter, Formula: "H(λ) = (1−λ)^p", Parameters: []Parameter{power},
		Doc: "A power of the affinity; p = 1/2 is its square root. Not in the paper.",
		response: func(f *Filter, lambda float64) float64 {
			return math.Pow(max(0, 1-lambda), f.Power)
		},
	},
}

// FilterNames lists the names of [Filters], in their order.
var FilterNames = filterNames()

func filterNames() []string {
	var names []string
	for _, kind := range Filters {
		names = append(names, kind.Name)
	}
	return names
}

// FilterByName returns the entry of [Filters] with that name, or nil.
func FilterByName(name string) *FilterKind {
	at := slices.IndexFunc(Filters, func(k FilterKind) bool { return k.Name == name })
	if at < 0 {
		return nil
	}
	return &Filters[at]
}

// penalised returns the response 1/(1 + R(λ)/φ), which is 0 where the penalty R is infinite.
func penalised(penalty func(f *Filter, lambda float64) float64) func(*Filter, float64) float64 {
	return func(f *Filter, lambda float64) float64 {
		r := penalty(f, lambda)
		if math.IsInf(r, 1) {
			return 0
		}
		return 1 / (1 + r/f.Phi)
	}
}

// DefaultFilter returns the named filter. All constants have their defaults, including the
// constants of other filters.
func DefaultFilter(name string) Filter {
	f := Filter{Name: name}
	for _, p := range parameters {
		*p.at(&f) = p.Default
	}
	return f
}

// Validate returns the fault of the first constant that is out of range, or of Filter for an
// unknown name. It looks only at the constants that the filter uses.
func (f Filter) Validate() error {
	kind := FilterByName(f.Name)
	if kind == nil {
		return fault.New("Filter", fmt.Sprintf("%q", f.Name),
			"one of "+strings.Join(FilterNames, ", "))
	}
	for _, p := range kind.Parameters {
		if v := *p.at(&f); !p.allows(v) {
			return fault.New(p.Field, v, p.want())
		}
	}
	return nil
}

func (p *Parameter) allows(v float64) bool {
	return !math.IsInf(v, 0) && (v > p.Least || v == p.Least && !p.Open)
}

func (p *Parameter) want() string {
	if p.Open {
		return fmt.Sprintf("a finite number above %v", p.Least)
	}
	return fmt.Sprintf("a finite number of at least %v", p.Least)
}

// String returns the name and the constants of the filter, for example
// "random-walk, phi = 10, a = 4".
func (f Filter) String() string {
	text := f.Name
	if kind := FilterByName(f.Name); kind != nil {
		for _, p := range kind.Parameters {
			text += fmt.Sprintf(", %s = %v", p.Symbol, *p.at(&f))
		}
	}
	return text
}

// ResponseTo stores H(λ_j) in dst[j] for every λ_j, a Laplacian eigenvalue in [0, 2]. It panics if
// the lengths differ or the filter has no known name.
func (f Filter) ResponseTo(dst, lambda []float64) {
	if len(dst) != len(lambda) {
		panic(fmt.Sprintf("spectral: response of length %d for %d eigenvalues",
			len(dst), len(lambda)))
	}
	kind := FilterByName(f.Name)
	if kind == nil {
		panic("spectral: response of the unknown filter " + f.Name)
	}
	for j, l := range lambda {
		dst[j] = kind.response(&f, l)
	}
}
