package train

import "github.com/gsimc/gsimc/learn/dataset"

// Summary is the result of a training in numbers. A training that runs as a process of its own
// prints it as JSON, so that the process that started it can read it.
type Summary struct {
	Version    string      `json:"version"` // of the model
	Users      int         `json:"train_users"`
	Items      int         `json:"items"`
	Rank       int         `json:"rank"`
	Choice     string      `json:"choice,omitempty"`     // of rank, ridge and bands
	Comparison *Comparison `json:"comparison,omitempty"` // with another model, if one was asked for

	// TooFew is set if the training was given up because there are too few events to learn from, or
	// to compare models on.
	TooFew *TooFewError `json:"too_few,omitempty"`
	// Failure says in words why the training failed. No other field is set.
	Failure string `json:"failure,omitempty"`
}

// NewSummary returns the summary of a training on p; comparison may be nil.
func NewSummary(p *dataset.Partition, r *Result, comparison *Comparison) *Summary {
	s := &Summary{
		Version: r.Model.Version(), Users: int(r.Model.Spec().TrainUsers),
		Items: len(p.Items), Rank: r.Model.Rank(),
		Comparison: comparison,
	}
	if r.Choice != nil {
		s.Choice = r.Choice.String()
	}
	return s
}
