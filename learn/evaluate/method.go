package evaluate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/spectral"
)

// Names of families of methods. A name stands for all methods of its family.
const (
	Popularity = "popularity" // items by the number of their training users
	GS         = "gs-imc"     // ŷ = U H Uᵀs of the whole history
	// x̂ = H Uᵀs of all but the last history item, which comes as one Kalman update
	BGS = "bgs-imc"
	// the state as a server keeps it: every event of the history folded, from nothing
	BGSOnline = "bgs-online"
	MRFCF     = "mrfcf" // the full-rank Markov random field baseline
	// learned dynamics, every event of the history folded as a server does
	Dynamics = "dynamics"

	VSKNN = "vsknn" // V-SKNN, all constants chosen on the validation users

	Markov = "markov" // the local term alone, of package local, its constants chosen likewise

	EASE = "ease" // EASE^R, λ chosen on the validation users
	// EASE^R of a history that fades by α an event, λ and α chosen likewise
	EASEForgetting = "ease-forgetting"
	BestGS         = "gs-imc-best" // GS-IMC with the filter chosen on the validation users
)

// Method is one way to rank items for users. A new method is a type in a file of its own and an
// entry in the table of families.
type Method interface {
	// Name returns the name in lists of methods, tables and JSON, such as "gs-imc random-walk".
	Name() string

	// Needs returns the bases that the method is built on.
	Needs() Needs

	// Rank fits the method to the training users of t.Part, chooses constants by its validation
	// users, and stores the rank of each test user's target in t.Ranks. Fitting and ranking are one
	// step, so that a method that tries several constants need not keep the best of several large
	// matrices: it ranks the test users whenever the validation users say that a constant is
	// better. The test users must have no influence on what is chosen.
	Rank(t *Task) error
}

// Needs tells which ingredients of [Options] a method is built from.
type Needs struct{ Paper, Learned bool }

// NeedsOf returns the ingredients that any of the methods needs.
func NeedsOf(methods []Method) (n Needs) {
	for _, m := range methods {
		n.Paper, n.Learned = n.Paper || m.Needs().Paper, n.Learned || m.Needs().Learned
	}
	return n
}

// family is a group of methods under one name.
type family struct {
	name    string
	methods []Method
	byName  bool // not part of [AllMethods]
}

// families lists all methods in the order of the tables. The help of `evaluate --methods` names
// them too.
func families() []family {
	return []family{
		{name: Popularity, methods: []Method{popularity{}}},
		{name: GS, methods: filtered(GS)},
		{name: BGS, methods: filtered(BGS)},
		{name: BGSOnline, methods: filtered(BGSOnline)},
		{name: Dynamics, methods: []Method{LearnedDynamics()}},
		{name: MRFCF, methods: []Method{mrfcf{}}},
		{name: VSKNN, methods: []Method{vsknn{}}, byName: true},
		{name: Markov, methods: []Method{markov{}}, byName: true},
		{name: EASE, methods: []Method{ease{}}, byName: true},
		{name: EASEForgetting, methods: []Method{ease{forgets: true}}, byName: true},
		{name: BestGS, methods: []Method{bestGS{}}, byName: true},
	}
}

// filtered returns the methods of a family, one for each filter.
func filtered(family string) (methods []Method) {
	for _, filter := range spectral.FilterNames {
		methods = append(methods, Filtered(family, filter))
	}
	return methods
}

// AllMethods returns the methods for any data: all but [EASE] and [EASEForgetting], which need n²/2
// numbers for n items and time in proportion to n³, [VSKNN] and [Markov], which need validation
// users, and [BestGS], which repeats one of them.
func AllMethods() (all []Method) {
	for _, f := range families() {
		if !f.byName {
			all = append(all, f.methods...)
		}
	}
	return all
}

// DefaultMethods returns the methods that tell a reader of figures on p most: the popularity that
// any recommender must beat, the paper's method with its best filter, learned dynamics, and V-SKNN
// and EASE^R, strong baselines. EASE^R is left out beyond [EASEQuickItems] items, and V-SKNN on
// data that it takes more than about [VSKNNQuickSeconds] for on one processor. Without validation
// users nothing can be chosen: the filter is then spectral.RandomWalk, and both are left out.
func DefaultMethods(p *dataset.Partition) []Method {
	if p.Validation.Len() == 0 {
		return []Method{popularity{}, Filtered(GS, spectral.RandomWalk), LearnedDynamics()}
	}
	methods := []Method{popularity{}, bestGS{}, LearnedDynamics()}
	if quickVSKNN(p) {
		methods = append(methods, vsknn{})
	}
	if len(p.Items) <= EASEQuickItems {
		methods = append(methods, ease{})
	}
	return methods
}

// ParseMethods reads a comma-separated list of methods and families, or "all" for [AllMethods].
func ParseMethods(list string) ([]Method, error) {
	if strings.TrimSpace(list) == "all" {
		return AllMethods(), nil
	}
	var chosen []Method
	for name := range strings.SplitSeq(list, ",") {
		name = strings.Join(strings.Fields(name), " ")
		found := named(name)
		if len(found) == 0 {
			return nil, fmt.Errorf("unknown method %q, want all or some of: %s", name, known())
		}
		for _, m := range found {
			if !slices.Contains(chosen, m) {
				chosen = append(chosen, m)
			}
		}
	}
	return chosen, nil
}

// named returns the methods of a family or a method's name.
func named(name string) (found []Method) {
	for _, f := range families() {
		for _, m := range f.methods {
			if f.name == name || m.Name() == name {
				found = append(found, m)
			}
		}
	}
	return found
}

// known returns the names of all methods.
func known() string {
	var all []string
	for _, f := range families() {
		for _, m := range f.methods {
			all = append(all, m.Name())
		}
	}
	return strings.Join(all, ", ")
}
