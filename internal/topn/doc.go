// Package topn selects the N rows of a matrix that have the largest dot products with a query, exactly: items, order and
// bits are those of a scan in float32. It reads a copy of the rows in int8, a quarter of the bytes, or beyond the caches one in
// five bits, and looks at the float32 rows of those only that may be among the N.
//
// # Conventions
//
// The score of item i is ŷ_i = g_i (u_i · x), u_i row i of a row-major n×k float32 matrix, g_i ≥ 0 a gain, x the query; it is
// computed as vec.Dot(u_i, x)·g_i + 0, in float32 (the 0 keeps −0 out). Results come by falling score, ties by rising item.
//
// # The bound
//
// With v_i = g_i u_i, c_i its small integers and s_i its step, h the integers of the query and t its step:
//
//	v_i = s_i c_i + r_i,   e_i = ‖r_i‖        x = t h + y,   f = ‖y‖
//	|score_i − s_i t (c_i·h)| ≤ ‖x‖ E_i + R_b ((1 + e_max) f + ρ‖x‖),   E_i = e_i + η
//
// where c_i·h is an exact integer, e_max ≥ e_i/‖v_i‖ for all i, and R_b ≥ ‖v_i‖ for the rows of the block that i stands in. ρ is for
// all rounding and η for underflow; docs/mathematics.md derives them from the order of additions of vec.Dot. All of it is
// rounded up. It holds for queries and rows within the limits shortest and longest; the others are left to the float32 scan.
//
// A request on its own has a query of 16 bits, whose error f does not count. Among several requests that share a pass it may be
// of 8 bits, and R_b f about as large as e_i‖x‖: see digits.
//
// # The search
//
// Rows stand in blocks, by falling ‖v_i‖. For each block the bounds are compared with a floor, a lower bound of the N-th
// largest score. Whoever may reach it is kept; from time to time the floor is raised to the N-th largest lower bound of the
// kept, and they are looked through. When no row that follows is long enough to reach the floor, the scan ends. The float32
// scores of those who are left settle it. The bounds of five bits are wide, so whoever reaches the floor there is scored soon, and
// the score is both its bounds from then on; where too many do, the rest of the scan reads int8.
//
// The scan begins with a sample of the blocks, and goes on with a floor that is taken from the sample, at a place where it is
// hardly ever above the N-th score. If at the end fewer than N lower bounds reach it, it was, and the search begins anew
// without. Where very many scores are closer to the N-th than the bounds can tell, the search is left to the float32 scan.
//
// Rows that are cut in two, with a first bound from the leading columns and the length of the rest (R. Teflioudi, R. Gemulla,
// "Exact and Approximate Maximum Inner Product Search with LEMP", ACM TODS 42, 2016; H. Li et al., "FEXIPRO", SIGMOD 2017),
// were tried and left out: docs/architecture.md says why.
package topn
