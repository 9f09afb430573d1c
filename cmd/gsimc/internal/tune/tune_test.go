package tune

import (
	"testing"

	"github.com/gsimc/gsimc/learn/evaluate"
)

func TestUnconfirmed(t *testing.T) {
	defaults := evaluate.Metric{NDCG: .27, NDCGErr: .07}
	worse, better := evaluate.Metric{NDCG: .22, NDCGErr: .06}, evaluate.Metric{NDCG: .28}
	const want = "note: these users do not confirm what was found: NDCG@10 is 0.0500 lower than " +
		"that of the defaults (± 0.0600)"
	if got := unconfirmed(defaults, worse); got != want {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if got := unconfirmed(defaults, better); got != "" {
		t.Errorf("a better result: %q", got)
	}
}
