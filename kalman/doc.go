// Package kalman keeps the state of one user of BGS-IMC and takes one event at a time into it.
//
// It follows Section 4 of Chen et al., "Graph Signal Sampling for Inductive One-bit Matrix
// Completion: a Closed-form Solution", ICLR 2023. There a user's true spectrum x ∈ R^k is a hidden
// state that an event moves, and the spectrum z = Uᵀs of the signal s seen so far measures it with
// noise. For the event Δs = w·1_i (item i, weight w):
//
//	predict   x̄ = x̂ + F Δs               F = H(Λ) Uᵀ
//	          P̄ = P + Σ_η
//	measure   z = Uᵀ(s + Δs)
//	correct   K = P̄ (P̄ + Σ_ν)⁻¹
//	          x̂ = x̄ + K (z − x̄)
//	          P = (I−K) P̄ (I−K)ᵀ + K Σ_ν Kᵀ    (Joseph's form)
//
// # Differences
//
// P is diagonal, Σ_η = σ_η I and Σ_ν = σ_ν I, so all of this is done coordinate by coordinate in
// O(k) and no matrix is ever formed. A full P_0 = QΛQᵀ is no loss: in the basis UQ it is Λ,
// isotropic noise stays isotropic, and so P stays diagonal for ever. The caller then passes
// e = QᵀUᵀ1_i and fe = QᵀF·1_i.
//
// There is forgetting: before an event the past fades by a = Alpha·2^(−Δt/HalfLife), which gives
//
//	x̄ = a x̂ + F Δs      P̄ = a² P + Σ_η      z ← a z + w e
//
// The paper has a = 1. The age Δt is the time since the newest event of the state; a late event
// counts as Δt = 0 and does not move the time back, and the first event of a state has Δt = 0.
//
// # Consequences
//
// With a diagonal P the gains K do not depend on items and weights, only on P_0, the noise, the
// number of events and, with a half-life, their times. A state is a pure fold over the filter and
// the events: nothing else, no clock, goes in.
//
// # Bits
//
// States are replayed on other machines and must come out equal, bit by bit. So the order of
// operations is fixed, and each product is rounded by an explicit conversion before it is added to
// anything, which by the language's definition keeps the compiler from fusing the two; 2^x is our
// own (math.Exp2 is assembly on some processors). A test reads the compiler's output for amd64 and
// arm64 and looks for fused instructions.
//
// # Conventions
//
// All vectors are k long; other lengths are a bug of the caller and panic. A [Filter] is shared and
// only read; a [State] is owned by one goroutine at a time.
package kalman
