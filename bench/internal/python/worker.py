"""Peers that are Python packages: reads one JSON request a line, writes one JSON reply a line.

approximate.py stands before this file when it runs. Everything is timed here, around the call itself, so that the pipe costs nothing. One thread unless the environment says
otherwise.
"""
import importlib
import importlib.metadata
import json
import os
import sys
import time

import numpy as np

THREADS = int(os.environ.get("OMP_NUM_THREADS", "1"))


def versions(_):
    found = {"python": sys.version.split()[0], "numpy": np.__version__}
    try:
        import faiss

        faiss.omp_set_num_threads(THREADS)
        found["faiss"] = faiss.__version__ + " (" + faiss.get_compile_options().strip() + ")"
    except ImportError:
        pass
    try:
        import scipy

        found["scipy"] = scipy.__version__
    except ImportError:
        pass
    for name in ("hnswlib", "usearch", "scann"):
        try:
            importlib.import_module(name)
            found[name] = importlib.metadata.version(name)
        except ImportError:
            pass
    return found


class Search:
    """Top-N of one base: rows @ query, the largest first."""

    engines = {}
    queries = None
    own = None  # the bound of faiss between its own loop and BLAS

    @classmethod
    def load(cls, request):
        rows = np.load(request["rows"])
        cls.queries = np.load(request["queries"])
        cls.engines = {}
        for name in request["engines"]:
            make = APPROXIMATE.get(name) or getattr(cls, "make_" + name)
            cls.engines[name] = make(rows)
        return {}

    @classmethod
    def free(cls, _):
        cls.engines, cls.queries = {}, None
        return {}

    @classmethod
    def make_flat(cls, rows):
        """The exact index of faiss: products by BLAS or by its own loop, whichever is faster here."""
        import faiss

        index = faiss.IndexFlatIP(rows.shape[1])
        index.add(rows)
        if cls.own is None:  # before the first search changes it
            cls.own = faiss.cvar.distance_compute_blas_threshold
        own, blas = cls.own, 1  # from this much work on

        def search(q, top, threshold):
            faiss.cvar.distance_compute_blas_threshold = threshold
            return index.search(q, top)[1]

        def seconds(threshold, batch):
            taken = []
            for _ in range(4):
                begin = time.process_time()
                search(cls.queries[:batch], 100, threshold)
                taken.append(time.process_time() - begin)
            return min(taken)

        one, many = (min((own, blas), key=lambda t: seconds(t, batch)) for batch in (1, 16))
        return lambda q, top: search(q, top, one if len(q) == 1 else many)

    @staticmethod
    def make_sq8(rows):
        import faiss

        index = faiss.IndexScalarQuantizer(rows.shape[1], faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT)
        index.train(rows[: min(len(rows), 100_000)])
        index.add(rows)
        return lambda q, top: index.search(q, top)[1]

    @staticmethod
    def make_blas(rows):
        def one(q, top):
            scores = rows @ q[0]
            ids = np.argpartition(scores, len(scores) - top)[-top:]
            return ids[np.argsort(-scores[ids])][None, :]

        def many(q, top):
            scores = q @ rows.T
            ids = np.argpartition(scores, scores.shape[1] - top, axis=1)[:, -top:]
            return np.take_along_axis(ids, np.argsort(-np.take_along_axis(scores, ids, 1), 1), 1)

        return lambda q, top: one(q, top) if len(q) == 1 else many(q, top)

    @classmethod
    def engine(cls, request):
        """The engine of a request, which keeps as many candidates as the request says, if it says so."""
        engine = cls.engines[request["engine"]]
        if request.get("effort"):
            engine.tune(request["effort"], request["top"], request.get("part", 1))
        return engine

    @classmethod
    def time(cls, request):
        """Median processor seconds of a call with batch queries, repeated for a while."""
        search, top, batch = cls.engine(request), request["top"], request["batch"]
        end = time.perf_counter() + request["use"]
        taken, at = [], request["first"]
        while len(taken) < 4 or time.perf_counter() < end:
            at = (at + batch) % (len(cls.queries) - batch + 1)
            q = cls.queries[at : at + batch]
            begin = time.process_time()
            search(q, top)
            taken.append(time.process_time() - begin)
        return {"seconds": float(np.median(taken[1:]))}

    @classmethod
    def ids(cls, request):
        search = cls.engine(request)
        return {"ids": [search(cls.queries[i : i + 1], request["top"])[0].tolist() for i in range(request["count"])]}


class Product:
    """Square matrix products."""

    operands = {}

    @classmethod
    def gemm(cls, request):
        n, dtype = request["n"], request["dtype"]
        if (n, dtype) not in cls.operands:
            rng = np.random.default_rng(1)
            cls.operands = {(n, dtype): [rng.random((n, n)).astype(dtype) for _ in range(2)]}
        a, b = cls.operands[n, dtype]
        end = time.perf_counter() + request["use"]
        taken = []
        while len(taken) < 4 or time.perf_counter() < end:
            begin = time.perf_counter()
            np.matmul(a, b)
            taken.append(time.perf_counter() - begin)
        if THREADS > 1:
            time.sleep(0.2)  # its threads spin for a while after a call, and would disturb the next contestant
        return {"seconds": float(np.median(taken[1:]))}


class Eigen:
    """Leading eigenvectors of K = S^T S, S = D_e^-1/2 R D_v^-1/2, by ARPACK."""

    s = None

    @classmethod
    def load(cls, request):
        import scipy.sparse as sp

        ptr, item = np.load(request["ptr"]), np.load(request["item"])
        users, items = len(ptr) - 1, request["items"]
        r = sp.csr_matrix((np.ones(len(item), np.float32), item, ptr), shape=(users, items))
        d_e = np.maximum(np.diff(ptr), 1).astype(np.float32)
        d_v = np.maximum(np.bincount(item, minlength=items), 1).astype(np.float32)
        cls.s = sp.diags(1 / np.sqrt(d_e)) @ r @ sp.diags(1 / np.sqrt(d_v))
        cls.s = cls.s.tocsr().astype(np.float32)
        return {}

    @classmethod
    def solve(cls, request):
        import scipy.sparse.linalg as la

        s, k = cls.s, request["k"]
        begin = time.perf_counter()
        if request["form"] == "dense":
            operator = np.asarray((s.T @ s).todense())
        else:
            t = s.T.tocsr()
            shape = (s.shape[1], s.shape[1])
            operator = la.LinearOperator(shape, matvec=lambda x: t @ (s @ x), dtype=np.float32)
        values, vectors = la.eigsh(operator, k, which="LA", tol=request["tol"], v0=np.ones(s.shape[1], np.float32))
        seconds = time.perf_counter() - begin
        residual = s.T @ (s @ vectors) - vectors * values
        norms = np.linalg.norm(residual, axis=0) / np.linalg.norm(vectors, axis=0)
        return {"seconds": seconds, "residual": float(norms.max() / values.max()), "sum": float(values.astype(float).sum())}


OPERATIONS = {
    "versions": versions,
    "search.load": Search.load,
    "search.free": Search.free,
    "search.time": Search.time,
    "search.ids": Search.ids,
    "product.gemm": Product.gemm,
    "eigen.load": Eigen.load,
    "eigen.solve": Eigen.solve,
}

for line in sys.stdin:
    request = json.loads(line)
    try:
        reply = OPERATIONS[request["op"]](request)
    except Exception as error:  # told to the one who asked, who knows what it means
        reply = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(reply), flush=True)
