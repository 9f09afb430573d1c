package evaluate

import (
	"github.com/gsimc/gsimc/learn/train"
	"github.com/gsimc/gsimc/spectral"
)

// mrfcfBlock is the number of users that share a pass over R. A larger block does not fit the
// caches.
const mrfcfBlock = 32

// mrfcf is the Markov random field of spectral.NewMRFCF with Options.MRFCFA.
type mrfcf struct{}

func (mrfcf) Name() string { return MRFCF }
func (mrfcf) Needs() Needs { return Needs{} }

func (mrfcf) Rank(t *Task) error {
	n := len(t.Part.Items)
	filter, err := spectral.NewMRFCF(train.Incidence(t.Part), t.Options.MRFCFA)
	if err != nil {
		return err
	}
	scores := make([]float64, n)
	for lo := 0; lo < len(t.Ranks); lo += mrfcfBlock {
		b := min(mrfcfBlock, len(t.Ranks)-lo)
		s, y := make([]float64, n*b), make([]float64, n*b)
		for c := range b {
			h := train.History(&t.Part.Test, lo+c)
			for _, e := range h[:len(h)-1] {
				s[int(e.Item)*b+c] += float64(e.Weight)
			}
		}
		if err := filter.FilterTo(y, s, b); err != nil {
			return err
		}
		for c := range b {
			for i := range scores {
				scores[i] = y[i*b+c]
			}
			t.Ranks[lo+c] = rankLast(scores, &t.Part.Test, lo+c)
		}
		t.progress(lo + b)
	}
	return nil
}
