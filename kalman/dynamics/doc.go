// Package dynamics identifies the constants of learned dynamics (see [kalman.Dynamics]) from
// histories, in closed form.
//
// A user's state after event t is, in each of the r bands,
//
//	x_b[t] = a_b[t] x_b[t−1] + w_t e_{i_t}
//	a_b[t] = Band.Decay(time_t − newest time before t)
//
// with the encoder rows e_i. The expected encoder row of the next event is μ + Σ_b W_b x_b[t]. The
// maps W_b (k×k) and μ are the ridge regression of the next event's encoder row on the states, over
// the last positions of all users:
//
//	min Σ ‖ μ + Σ_b W_b x_b[t] − e_{i_{t+1}} ‖² + λ m Σ_b ‖W_b‖²
//
// where m is the mean of the diagonal of XᵀX; μ is not penalised. Of many users some are taken, see
// [Options]. This regression on the states is the second half of subspace system identification
// (P. Van Overschee, B. De Moor, "Subspace Identification for Linear Systems", Kluwer 1996). Here
// the states are known. GS-IMC (Chen et al., ICLR 2023) has W = H(Λ).
//
// # Method
//
// The states are never stored, since there are many more positions than items. With the adjoint of
// the fold,
//
//	Y_bc[p] = [p+1 is a target] x_c[p] + a_b[p+1] Y_bc[p+1]
//	Σ_t x_b[t] x_c[t]ᵀ = Σ_p w_p e_{i_p} Y_bc[p]ᵀ = Eᵀ Z_bc   Z_bc[i] = Σ_{p: i_p = i} w_p Y_bc[p]
//	Σ_t x_b[t] e_{i_{t+1}}ᵀ = V_bᵀ E                          V_b[i] = Σ_{t: i_{t+1} = i} x_b[t]
//
// all second moments come from one pass over the events for each pair of bands, O(events·k), and
// products of n×k matrices.
//
// If the factors a_b are constants ρ_b and the weights are 1, one pass for each band is enough. The
// states before the targets and those after them are the same but for the ends of each history,
// and x_b[t+1] = ρ_b x_b[t] + e⁺, with e⁺ the row of the target. Summed over all states before a
// target, with T_b = Σ x_b e⁺ᵀ,
//
//	(1 − ρ_b ρ_c) Σ x_b x_cᵀ = ρ_b T_b + ρ_c T_cᵀ + Σ e⁺ e⁺ᵀ
//	                         + Σ_users (x_b x_cᵀ[first] − x_b x_cᵀ[last])
//
// where first is the first of these states and last is the state after the last event. The sum over
// users is a matrix product of O(users·k²), which is less where histories are long.
//
// # Conventions
//
// n items, k coordinates, r bands. Matrices are row-major without gaps; the encoder rows E are n×k.
// The unknowns of the normal equations are ordered by band, then coordinate (band b, coordinate j:
// row b·k+j), the intercept last. Arguments of a wrong shape are a bug of the caller and panic;
// faults of the data are errors. Results do not depend on the number of processors:
// loops split the coordinates, and every sum is added in a fixed order.
package dynamics
