// Package topn selects the N rows of a matrix that have the largest dot products with a query,
// exactly: items, order and bits are those of a scan in float32. It reads a copy of the rows in
// int8, a quarter of the bytes, or a copy in five bits if int8 does not fit the caches. It reads
// float32 rows only if they may be among the N.
//
// # Conventions
//
// The score of item i is ŷ_i = g_i (u_i · x), u_i row i of a row-major n×k float32 matrix, g_i
// ≥ 0 a gain, x the query; it is computed as vec.Dot(u_i, x)·g_i + 0, in float32 (the 0 keeps
// −0 out). An item of Boosts has the score float32(ŷ_i + a_i), a_i its addition. Results come
// in the order of [ranking.Before].
//
// # The bound
//
// With v_i = g_i u_i, c_i its small integers and s_i its step, h the integers of the query and t
// its step:
//
//	v_i = s_i c_i + r_i,   e_i = ‖r_i‖        x = t h + y,   f = ‖y‖
//	|score_i − s_i t (c_i·h)| ≤ ‖x‖ E_i + R_b ((1 + e_max) f + ρ‖x‖),   E_i = e_i + η
//
// where c_i·h is an exact integer, e_max ≥ e_i/‖v_i‖ for all i, and R_b ≥ ‖v_i‖ for
// the rows of the block of i. ρ bounds all rounding and η underflow; docs/mathematics.md
// derives them from the order of additions of vec.Dot. Every part is rounded up. The bound holds
// for queries and rows within the limits shortest and longest; other queries and matrices are
// left to the float32 scan.
//
// The step of a row is as large as its largest number, and so is e_i. Where rows have a few large
// numbers each, c_i and h are therefore those of Q v_i and Q x. Q is orthogonal, so that products
// and lengths stay: see rotation.
//
// A request on its own has a query of 16 bits, whose error f is negligible. If several requests
// share a pass, their queries may have 8 bits, and R_b f is about as large as e_i‖x‖: see
// digits.
//
// # The search
//
// Rows stand in blocks, by falling ‖v_i‖. In each block the bounds are compared with a floor, a
// lower bound of the N-th largest score. A row whose upper bound reaches the floor becomes a
// candidate. From time to time the floor is raised to the N-th largest lower bound of the
// candidates, and candidates below it are dropped. The scan ends when no later row is long enough
// to reach the floor. The float32 scores of the remaining candidates decide.
//
// Bounds from five bits are wide. So candidates found with them are scored when the floor is
// raised, and from then on the score is both their bounds. If too many rows become candidates, the
// rest of the scan reads int8.
//
// The scan begins with a sample of the blocks. It goes on with a floor taken from the sample, at a
// rank where the floor is hardly ever above the N-th score. For many items the sample is larger,
// since a closer floor saves more there. If at the end fewer than N lower bounds reach the floor,
// it was above, and the search begins anew without a sample. If too many scores are closer to the
// N-th than the bounds can tell, the search is abandoned to the float32 scan.
//
// Rows that are cut in two, with a first bound from the leading columns and the length of the rest
// (R. Teflioudi, R. Gemulla, "Exact and Approximate Maximum Inner Product Search with LEMP", ACM
// TODS 42, 2016; H. Li et al., "FEXIPRO", SIGMOD 2017), were tried and left out, and so were rows
// sorted by direction: decision 35 says why. Two processors for one request were tried too: beyond
// the caches one of them takes all that the memory gives, within them waking the other takes as
// long as the search.
//
// # Additions
//
// The rows with the largest additions are likely to be among the N. They are scored in float32
// first, as seeds of the candidates. The floor that they prove ends the scan earlier than without
// additions, where these are as large as scores.
//
// The upper bound of a row with an addition is higher by a_i, and the scan compares it with the
// floor as the others: but for the seeds, additions cost no float32 rows beyond those of
// candidates. Where the other rows are too short, ‖v_i‖‖x‖ + a_i bounds a row with an
// addition. A loop over the additions finds the rows that reach the floor by it, and a block is
// read only if it has more than a few of them.
//
// Rows with additions are not spread evenly over the blocks, so a sample does not stand for them.
// With c seeds at the floor or above, and m other rows with additions among the candidates of the
// sample, it is taken c + m ranks below that of the N − c best rows of all.
//
// [Additions] to all rows are the same for every request, so that what bounds them is made once:
// the bound of a row is that of its interval, shifted by a_i, and that of a block its reach and its
// largest addition. A scan ends when no block behind reaches the floor with the largest addition of
// them all.
package topn
