package evaluate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gsimc/gsimc/spectral"
)

// Kinds of methods.
const (
	Popularity = "popularity" // items by the number of their training users
	GS         = "gs-imc"     // ŷ = U H Uᵀs of the whole history
	BGS        = "bgs-imc"    // x̂ = H Uᵀs of all but the last history item, which comes as one Kalman update
	BGSOnline  = "bgs-online" // the state as a server keeps it: every event of the history folded, from nothing
	MRFCF      = "mrfcf"      // the full-rank Markov random field baseline
	Dynamics   = "dynamics"   // learned dynamics, every event of the history folded as a server does

	EASE           = "ease"            // EASE^R, λ chosen on the validation users
	EASEForgetting = "ease-forgetting" // EASE^R of a history that fades by α an event, λ and α chosen likewise
)

// Method is one way to rank items: a kind and, for the spectral kinds, the
// name of a filter.
type Method struct{ Kind, Filter string }

// String is the name of the method, such as "gs-imc random-walk".
func (m Method) String() string { return strings.TrimSpace(m.Kind + " " + m.Filter) }

// literal tells whether the method is of the paper's family and needs a basis.
func (m Method) literal() bool { return m.Filter != "" }

// learned tells whether the method is one of learned dynamics.
func (m Method) learned() bool { return m.Kind == Dynamics }

// AllMethods lists the methods for any catalogue, in the order of the tables:
// all but those of [DenseMethods].
func AllMethods() []Method {
	all := []Method{{Kind: Popularity}}
	for _, kind := range []string{GS, BGS, BGSOnline} {
		for _, filter := range spectral.FilterNames {
			all = append(all, Method{kind, filter})
		}
	}
	return append(all, Method{Kind: Dynamics}, Method{Kind: MRFCF})
}

// DenseMethods lists the methods that need an n×n matrix for n items, and time
// in proportion to n³.
func DenseMethods() []Method { return []Method{{Kind: EASE}, {Kind: EASEForgetting}} }

// ParseMethods reads a comma-separated list of method names, or "all" for
// [AllMethods]. A kind alone, such as "gs-imc", stands for all its filters.
func ParseMethods(list string) ([]Method, error) {
	all := AllMethods()
	if strings.TrimSpace(list) == "all" {
		return all, nil
	}
	all = append(all, DenseMethods()...)
	var chosen []Method
	for name := range strings.SplitSeq(list, ",") {
		name = strings.Join(strings.Fields(name), " ")
		before := len(chosen)
		for _, m := range all {
			if (m.String() == name || m.Kind == name) && !slices.Contains(chosen, m) {
				chosen = append(chosen, m)
			}
		}
		if len(chosen) == before && !slices.ContainsFunc(chosen, func(m Method) bool { return m.String() == name || m.Kind == name }) {
			return nil, fmt.Errorf("unknown method %q, want all or some of: %s", name, names(all))
		}
	}
	return chosen, nil
}

// NeedsBasis tells whether any of the methods needs [Options].Basis.
func NeedsBasis(methods []Method) bool { return slices.ContainsFunc(methods, Method.literal) }

// NeedsDynamics tells whether any of the methods needs [Options].Learned.
func NeedsDynamics(methods []Method) bool { return slices.ContainsFunc(methods, Method.learned) }

func names(methods []Method) string {
	s := make([]string, len(methods))
	for i, m := range methods {
		s[i] = m.String()
	}
	return strings.Join(s, ", ")
}
