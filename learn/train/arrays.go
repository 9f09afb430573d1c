package train

import (
	"iter"

	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/fit"
	"github.com/gsimc/gsimc/spectral"
)

// Incidence returns the matrix R of the training users of p, rows in the order of time. It shares
// memory with p.
func Incidence(p *dataset.Partition) *spectral.Incidence {
	return &spectral.Incidence{NumItems: len(p.Items), Ptr: p.Train.Ptr, Item: p.Train.Item}
}

// LearnFrom returns the histories from which a model of the training users of p learns.
func LearnFrom(p *dataset.Partition) fit.Histories {
	return fit.Histories{Train: Each(&p.Train), Validation: Histories(&p.Validation)}
}

// Each yields the histories one at a time, in the form of [History]. Each lasts until the next,
// and each pass has memory of its own.
func Each(h *dataset.Histories) iter.Seq[model.History] {
	return func(yield func(model.History) bool) {
		var events model.History
		for u := range h.Len() {
			events = appendHistory(events[:0], h, u)
			if !yield(events) {
				return
			}
		}
	}
}

// Histories returns all histories of h in the form of [History].
func Histories(h *dataset.Histories) []model.History {
	all := make([]model.History, h.Len())
	for u := range all {
		all[u] = History(h, u)
	}
	return all
}

// History returns the history of the u-th user of h as package model takes it. An event without a
// weight counts as 1.
func History(h *dataset.Histories, u int) model.History {
	return appendHistory(make(model.History, 0, len(h.Of(u))), h, u)
}

// appendHistory appends the events of the u-th user of h.
func appendHistory(events model.History, h *dataset.Histories, u int) model.History {
	times, weights := h.Times(u), h.Weights(u)
	for j, i := range h.Of(u) {
		e := model.Event{Item: i, Weight: 1}
		if times != nil {
			e.Time = times[j]
		}
		if weights != nil {
			e.Weight = weights[j]
		}
		events = append(events, e)
	}
	return events
}
