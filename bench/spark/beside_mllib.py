"""Measures the solver of train_spectrum.py beside MLlib's RowMatrix.computeSVD, and beside SciPy's
eigsh on the driver if SciPy is there, on the same histories in the same run.

    cd deploy/spark
    PYTHONPATH=. spark-submit --master 'local[2]' ../../bench/spark/beside_mllib.py \
        --data events.csv.gz --rank 10 --out unused

Options are those of train_spectrum.py; nothing is written. All three find the k leading eigenpairs
of K = AᵀA, A = D_e^{−s/2} R D_v^{−s/2}; computeSVD finds the singular values and right singular
vectors of A. Residuals are measured by the same product with K, which is float32.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
from pyspark.mllib.linalg import Vectors
from pyspark.mllib.linalg.distributed import RowMatrix

import spectrum
import train_spectrum as job

Pairs = tuple[np.ndarray, np.ndarray]  # vectors n×k, values (k,)


def measure(name: str, operator: job.Operator, find: Callable[[], Pairs]) -> None:
    """Prints the time of find and the residual of what it found."""
    begin = time.perf_counter()
    u, kappa = find()
    took = time.perf_counter() - begin
    residual = np.linalg.norm(operator.apply(u) - u * kappa, axis=0).max() / kappa[0]
    print(f"{name:34s} {took:8.1f} s  residual {residual:.1e}  "
          f"eigenvalues {kappa[0]:.8f} to {kappa[-1]:.8f}", flush=True)


def by_lanczos(operator: job.Operator, n: int, o) -> Pairs:
    shape = spectrum.solver_shape(n, o.rank, o.block, o.blocks)
    found = spectrum.solve(operator.apply, n, o.rank, shape, o.tolerance, o.seed, o.max_passes,
                           lambda *line: None)
    print(f"  {found.passes} passes, {found.vectors} vectors")
    return found.u, found.kappa


def by_mllib(data: job.Prepared, scale: np.ndarray, o) -> Pairs:
    n, exponent = len(scale), o.degree_exponent

    def rows(part):
        edges = part[1]
        for lo, hi in zip(edges.ptr[:-1], edges.ptr[1:]):
            item = np.sort(edges.item[lo:hi])
            yield Vectors.sparse(n, item, scale[item] * float(hi - lo) ** (-exponent / 2))

    matrix = RowMatrix(data.parts.flatMap(rows).cache(), numCols=n)
    found = matrix.computeSVD(o.rank, computeU=False, rCond=1e-9)
    return found.V.toArray(), found.s.toArray() ** 2


def by_scipy(data: job.Prepared, scale: np.ndarray, o) -> Pairs:
    from scipy.sparse import csr_matrix, diags, vstack
    from scipy.sparse.linalg import LinearOperator, eigsh

    n, exponent = len(scale), o.degree_exponent
    parts = []
    for _, edges in data.parts.toLocalIterator():
        size = np.diff(edges.ptr).astype(float)
        r = csr_matrix((np.ones(len(edges.item)), edges.item, edges.ptr), (edges.count, n))
        parts.append(diags(size ** (-exponent / 2)) @ r @ diags(scale))
    a = vstack(parts).tocsr()
    gram = LinearOperator((n, n), matvec=lambda x: a.T @ (a @ x), dtype=float)
    kappa, u = eigsh(gram, k=o.rank, tol=o.tolerance)
    return u[:, ::-1], kappa[::-1]


def main() -> int:
    o = job.parse_options(sys.argv[1:])
    spark = job.start("gsimc-beside-mllib")
    data = job.prepare(spark, o)
    n = len(data.catalogue.ids)
    scale = spectrum.vertex_scale(data.counts.edge_degrees, o.degree_exponent)
    shape = spectrum.solver_shape(n, o.rank, o.block, o.blocks)
    strip = spectrum.strip_width(n, max(shape.width, o.rank), data.parts.getNumPartitions(),
                                 job.result_limit(spark))
    operator = job.Operator(data.parts, scale, strip)
    print(f"k = {o.rank}, {n} items, {data.counts.hyperedges} hyperedges")
    measure("block Lanczos (train_spectrum.py)", operator, lambda: by_lanczos(operator, n, o))
    measure("RowMatrix.computeSVD (MLlib)", operator, lambda: by_mllib(data, scale, o))
    try:
        import scipy.sparse.linalg  # noqa: F401
    except ImportError:
        print("eigsh on the driver: not measured, SciPy is not installed")
    else:
        measure("eigsh on the driver (SciPy)", operator, lambda: by_scipy(data, scale, o))
    spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
