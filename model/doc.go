// Package model holds learned models: the basis of the item graph, the graph filter, the constants
// of the Kalman filter and the item ids. A model folds events into user states, reads states out as
// queries, and selects the top N items exactly.
//
// Source: Chen et al., "Graph Signal Sampling for Inductive One-bit Matrix Completion: a
// Closed-form Solution", ICLR 2023 ("the paper").
//
// # Conventions
//
// n items, rank k. Matrices are row-major float32: row i of the basis U is item i. Item indices are
// int32 in the bytewise order of the ids. For a user with signal s ∈ Rⁿ (the weights of the
// events):
//
//	z = Uᵀ D_v^{−t/2} s               spectrum, a sum of encoder rows e_i = d_i^{−t/2} u_i
//	ŷ = D_v^{t/2} U q                 scores of the query q, dot products with
//	                                  decoder rows d_j^{t/2} u_j
//
// A local term adds b_j to the score of item j, see package local.
//
// The query q is H(Λ) z in GS-IMC, x̂ in BGS-IMC, and μ + Σ_b y_b + b + ω h with learned dynamics;
// see package kalman. The exponent t is Spec.DegreeRescale (paper: 0). d_i is the number of
// training users of item i; in these powers it is at least 1.
//
// Lengths that do not fit are a bug of the caller and panic. Data out of range give an error.
//
// # The prior
//
// P_0 is the mean, over the validation users, of the square of Uᵀs_full − H Uᵀs_allbutlast: per
// coordinate, or with Spec.Covariance "full" as the k×k mean of outer products QΛQᵀ. [New] rotates
// the basis once, by Q, so that the full covariance becomes diagonal.
//
// # The file
//
// A model file is a safetensors file, so that any language can read it. All numbers are
// little-endian.
//
//	| header length N (8 B, unsigned) | header (N B, JSON padded with spaces) | tensors |
//
// Each tensor begins at a multiple of 4096 in the file; the spaces of the header take the first one
// there. The gaps between tensors are tensors themselves, "pad.0", "pad.1", … of type U8, because
// the format allows no holes. The tensors stand in this order:
//
//	basis          F32 [n, k]   U; UQ with a full covariance
//	predictor      F32 [n, k]   rows QᵀH u_i        (full covariance only)
//	rotation       F32 [k, k]   Q                   (full covariance only)
//	responses      F32 [n,r,k]  rows W_b e_i        (learned dynamics only)
//	readout        F32 [r,k,k]  W_b                 (learned dynamics only)
//	mean           F32 [k]      μ                   (learned dynamics only)
//	popularity     F32 [k]      ω h                 (learned dynamics with ω > 0 only)
//	p0             F32 [k]      prior variances     (not if learned dynamics have no deviation)
//	sigma_eta      F32 [k]      Σ_η                 (learned dynamics with deviation only)
//	sigma_nu       F32 [k]      Σ_ν                 (learned dynamics with deviation only)
//	drift          F64 [1]      of Σ_η per second   (learned dynamics with deviation only)
//	calibration    F64 [≤ 8]    see Deviation       (learned dynamics with deviation only)
//	sigma_theta    F32 [k]      Σ_θ                 (the same, unless variances are withheld)
//	theta_floor    F64 [1]      share of Σ_θ        (the same, unless variances are withheld)
//	local_offsets  I64 [n+1]    where the rows of T begin, and their end   (local term only)
//	local_items    I32 [·]      items j of the rows, ascending in each     (local term only)
//	local_values   F32 [·]      T_ij                                       (local term only)
//	eigenvalues    F64 [k]      κ of K, descending, before any division
//	lambda         F64 [k]      λ of Ł, ascending
//	response       F32 [k]      H(λ)
//	degrees        I64 [n]      d_v
//	encoder_scale  F32 [n]      d^{−t/2}
//	decoder_scale  F32 [n]      d^{t/2}
//	graph_scale    F64 [n]      the diagonal by which K is normalised, D_v^{−s/2}
//	inside_at_training  F64 [1] share of held-out users' energy within the basis, see Energy
//	item_offsets   I64 [n+1]    id of item i: item_ids[item_offsets[i]:item_offsets[i+1]]
//	item_ids       U8  [bytes]  UTF-8, ascending bytewise
//
// The metadata are strings: "gsimc.format" (version, "4"; "3" is the same without a local term),
// the fields of Spec, "provenance.*", and "checksum". The checksum is the SHA-256 of the whole file
// in hexadecimal, computed with '0' in place of each of its own 64 digits. The bytes depend on the
// model only. Readers must refuse a format version that they do not know.
//
// # The document of an extension
//
// An extension ([Model.EncodeExtension]) has the same form, with tensors at multiples of 64. Its
// metadata are "gsimc.format" ("extension 1"), "base" (the version of the model that it extends),
// "rank", and the checksum. n is the number of new items, b that of the base.
//
//	basis          F32 [n, k]   as above, in the coordinates of the base's basis
//	predictions    F32 [n, w]   predictor or responses as above; w is 0 without either
//	graph_scale    F64 [n]      as above
//	users          I64 [n]      at the scale of the training
//	encoder_scale  F32 [n]      as above
//	decoder_scale  F32 [n]      as above
//	item_offsets   I64 [n+1]    as above
//	item_ids       U8  [bytes]  as above
//
// If any of the items has borrowed its row, there follow the lists of the items that they are like,
// most similar first:
//
//	near_offsets, near_items  I64 [n+1], I32 [·]   items of the base
//
// If the base has a local term, there follow the powers of the degrees, the lists of the items'
// rows, of their columns and of the other new items next to them, and the names of those:
//
//	local_source, local_target                F64 [n]
//	row_offsets, row_items, row_values        I64 [n+1], I32 [·], F32 [·]   items of the base
//	column_…, other_… likewise; the items of other_… are numbers of names
//	other_columns                             F32 [·]   beside other_values
//	name_offsets, name_ids                    I64 [·], U8 [bytes]
package model
