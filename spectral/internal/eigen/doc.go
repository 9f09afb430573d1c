// Package eigen finds the k leading eigenpairs of a large symmetric operator that is known by its
// products with blocks of vectors.
//
// [Krylov] is a block Lanczos iteration with thick restarts on a Chebyshev filter of the operator,
// in float32 where the tolerance allows it. [Dense] forms the matrix and finds all pairs. Both
// report a residual measured on the finished vectors. [Symmetric], [RayleighRitz] and
// [Orthonormalise] serve other solvers too.
//
// # Method
//
// The iteration is one long run where memory allows it, since a restart throws away directions that
// cost products. It goes on while the last of the wanted pairs, found alone, misses its bound; all
// pairs cost as much as many steps. It ends when a product with the worst pairs, by their bounds,
// shows residuals within the tolerance: bounds from the filter alone are too large. Rounding to
// float32 acts as if K were perturbed by 1e-7, which is no harm unless the filter lifts the first
// eigenvalue far above the wanted ones. So the leading eigenvectors are taken out first, and the
// degree of the filter is limited.
//
// # Conventions
//
// The operator is K, its order n, its eigenvalues κ_1 ≥ κ_2 ≥ …; the leading pairs are those of
// κ_1 … κ_k. Vectors are columns: a basis U is n×k, a block of b vectors n×b, both row-major.
// Tolerances and residuals are ‖K u − κ u‖₂ / κ_1 for a unit vector u.
//
// Arguments of a wrong shape are a bug of the caller and panic. An error means values that are not
// finite; a pair that has not converged is no error, its residual tells.
//
// Results are deterministic for a given seed and do not depend on the number of processors.
package eigen
