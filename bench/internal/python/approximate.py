"""Approximate indexes: each is made of the rows, tuned to an effort, and called with queries and the length of lists.

An effort is how many candidates a search keeps on its way. They are built by all cores and searched by one thread.
"""
import os

import numpy as np

LINKS, CONSTRUCTION = 32, 200  # of the graphs: neighbours of a row, and candidates while it is put in


class Graph:
    """HNSW of faiss, with the candidates while building that faiss has by default."""

    def __init__(self, rows):
        import faiss

        self.index = faiss.IndexHNSWFlat(rows.shape[1], LINKS, faiss.METRIC_INNER_PRODUCT)
        threads = faiss.omp_get_max_threads()
        faiss.omp_set_num_threads(os.cpu_count())
        self.index.add(rows)
        faiss.omp_set_num_threads(threads)

    def tune(self, effort, top, part):
        self.index.hnsw.efSearch = effort

    def __call__(self, q, top):
        return self.index.search(q, top)[1]


class HNSWLib:
    """The library of those who wrote HNSW."""

    def __init__(self, rows):
        import hnswlib

        self.index = hnswlib.Index(space="ip", dim=rows.shape[1])
        self.index.init_index(max_elements=len(rows), M=LINKS, ef_construction=CONSTRUCTION, random_seed=1)
        self.index.add_items(rows, num_threads=os.cpu_count())
        self.index.set_num_threads(1)

    def tune(self, effort, top, part):
        self.index.set_ef(effort)

    def __call__(self, q, top):
        try:
            return self.index.knn_query(q, top, num_threads=1)[0]
        except RuntimeError:  # it found fewer than top, and then gives none
            return np.full((len(q), top), -1)


class USearch:
    """The graph of usearch."""

    def __init__(self, rows):
        from usearch.index import Index

        self.index = Index(
            ndim=rows.shape[1], metric="ip", dtype="f32", connectivity=LINKS, expansion_add=CONSTRUCTION
        )
        self.index.add(np.arange(len(rows)), rows, threads=os.cpu_count())

    def tune(self, effort, top, part):
        self.index.expansion_search = effort

    def __call__(self, q, top):
        return self.index.search(q, top, threads=1).keys.astype(np.int64).reshape(len(q), -1)


class FastScan:
    """Product quantiser of faiss: four bits for two columns, summed in registers, and the best again by their rows."""

    def __init__(self, rows):
        import faiss

        columns = rows.shape[1]
        self.codes = faiss.IndexPQFastScan(columns, columns // 2, 4, faiss.METRIC_INNER_PRODUCT)
        self.index = faiss.IndexRefineFlat(self.codes)
        self.index.train(rows)
        self.index.add(rows)

    def tune(self, effort, top, part):
        self.index.k_factor = effort / top

    def __call__(self, q, top):
        return self.index.search(q, top)[1]


class ScaNN:
    """Anisotropic codes of two columns under the leaves of a tree, of which a search goes through a part."""

    def __init__(self, rows):
        import scann

        self.leaves = max(1, round(len(rows) ** 0.5))
        builder = scann.scann_ops_pybind.builder(rows, 10, "dot_product").set_n_training_threads(os.cpu_count())
        builder = builder.tree(self.leaves, self.leaves, training_sample_size=min(len(rows), 250_000))
        self.index = builder.score_ah(2, anisotropic_quantization_threshold=0.2).reorder(100).build()
        self.effort, self.searched = 100, self.leaves

    def tune(self, effort, top, part):
        self.effort, self.searched = effort, max(1, self.leaves // part)

    def __call__(self, q, top):
        if len(q) == 1:
            return self.index.search(q[0], top, self.effort, self.searched)[0][None, :]
        return self.index.search_batched(q, top, self.effort, self.searched)[0]


APPROXIMATE = {"hnsw": Graph, "hnswlib": HNSWLib, "usearch": USearch, "pq4": FastScan, "scann": ScaNN}
