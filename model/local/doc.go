// Package local holds the local term of a score: a sparse graph of items that follow each other
// closely in the histories of the training users, and its constants.
//
// A truncated basis of k eigenvectors keeps the low frequencies of the item graph. Two items that a
// few users took one after the other are a high frequency, which the basis cannot hold. The local
// graph keeps it: one row of few neighbours for each item.
//
// # The graph
//
// F_ij adds ρ^(g−1) for each time that a training user took item j g events after item i, for the
// gaps g = 1 … [MaxGap]. The row of item i holds
//
//	T_ij = μ (d_i+3)^{−e} (d_j+3)^{−f} max(F_ij + β F_ji − δ, 0)         j ≠ i
//
// for the Neighbours items j of the largest T_ij, with d the number of training users of an item.
// The powers damp popular items: e as sources, f as targets. The discount δ takes most from what
// was seen once, where the basis knows more, and next to nothing from what was seen often. It is
// the absolute discounting of language models (H. Ney, U. Essen and R. Kneser, On Structuring
// Probabilistic Dependences in Stochastic Language Modelling, Computer Speech and Language 8,
// 1994).
//
// The local term of a user adds to the score of item j
//
//	b_j = Σ_p a^p w_p T_{i_p j}        p = 0 … Events−1
//
// where i_p is the item p events before the newest one and w_p its weight. So an event costs O(1),
// and a query O(Events·Neighbours).
//
// # New items
//
// [Arrivals] counts the successions of items that the graph does not know in histories with them,
// and [Graph.Extend] adds their rows, and their entries in the rows of other items.
//
// # Constants
//
// [Choose] finds the constants on users that the graph was not counted from. The gap weight ρ and
// the shift of the degrees barely matter and are fixed.
//
// # Conventions
//
// Items are int32 indices from 0 to n−1. Sums and products are rounded to float32 in a fixed order,
// so that states and scores are equal in all bits on every machine. Results do not depend on the
// number of processors. Arguments of a wrong shape panic.
package local
