package tune

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gsimc/gsimc/learn/dataset"
)

func TestTrialLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trials")
	key := NewKey("abc", dataset.Split{dataset.Train, dataset.Validation}, 5, 1, "v1")
	trials := []Trial{
		{Candidate: Candidate{Graph: "g", Rank: 3}, NDCG: 0.5},
		{Candidate: Candidate{Rank: 4}, HR: 0.25},
	}
	write := func(fresh bool, add ...Trial) []Trial {
		t.Helper()
		l, known, err := OpenLog(path, key, fresh)
		if err != nil {
			t.Fatal(err)
		}
		for _, trial := range add {
			l.Add(trial)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		return known
	}
	write(false, trials[0])
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"Candidate":{"Gra`); err != nil { // a crash
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(trials[:1], write(false, trials[1])); diff != "" {
		t.Errorf("after a crash (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(trials, write(false)); diff != "" {
		t.Errorf("in the end (-want +got):\n%s", diff)
	}
	// The same numbers of users in each role, but other users.
	other := NewKey("abc", dataset.Split{dataset.Validation, dataset.Train}, 5, 1, "v1")
	if _, _, err := OpenLog(path, other, false); !errors.Is(err, ErrOtherTrials) {
		t.Errorf("the trials of another split: %v", err)
	}
	if known := write(true); len(known) != 0 {
		t.Errorf("fresh found %d trials", len(known))
	}
}

// A search whose context ends in the middle returns the best so far.
func TestSearchInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	trials := 0
	result, err := Search(ctx, walks(t), Options{Start: start(), MaxRank: 32, Seed: 1,
		Tried: func(Trial, Trial) {
			if trials++; trials == 2 {
				cancel()
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	if !result.Interrupted || result.Complete || len(result.Trials) != 2 || result.Best.NDCG <= 0 ||
		result.With != (Trial{}) {
		t.Errorf("the result is %+v, want the best of two trials", *result)
	}
	if !result.KeepDeviation() {
		t.Error("without a comparison the deviation goes")
	}
	_, err = Search(ctx, walks(t), Options{Start: start(), MaxRank: 32})
	if !errors.Is(err, ErrNoTrial) {
		t.Errorf("an ended context: %v, want %v", err, ErrNoTrial)
	}
}
