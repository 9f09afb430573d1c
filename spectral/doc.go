// Package spectral learns the low-frequency basis of an item-item graph from one-bit user feedback,
// and holds the graph filters of GS-IMC.
//
// Source: C. Chen et al., "Graph Signal Sampling for Inductive One-bit Matrix Completion: a
// Closed-form Solution", ICLR 2023 ("the paper").
//
// # Conventions
//
// There are n items (vertices) and m training users (hyperedges). R is the 0/1 user-item matrix;
// users are its rows, items its columns. d_v(i) is the number of users of item i, d_e(u) the number
// of items of user u. A graph may take windows of the histories as hyperedges instead
// (Graph.Window).
//
// K is the normalised affinity of the graph, κ_1 ≥ κ_2 ≥ … its eigenvalues, Ł = I − K its Laplacian
// and λ_j = 1 − κ_j. A basis of rank k holds the k eigenvectors of K with the largest κ, which are
// those of Ł with the smallest λ: the Paley-Wiener space PW_ω with ω = λ_k.
//
// Dense matrices are row-major and of float64 in exported fields; large ones of an iteration may be
// of float32. A block of b vectors over the items is n×b: one row holds the b values of one item.
// Functions write to their receiver or to their first argument, dst.
//
// Arguments of a wrong shape are a bug of the caller and panic. Values that depend on the data or
// on options are refused with a [fault.Fault] that names the field.
//
// All results are deterministic for a given seed and do not depend on the number of processors:
// parallel loops split the output, or a sum into strips of fixed length that are added in order.
package spectral
