"""How far two model files of the same items are apart: python3 compare_models.py A B, as JSON.

Eigenvectors of close eigenvalues may mix, so the read-outs are compared in one basis: with the
rotation Q next to UᵀV, W' becomes Q W' Qᵀ.
"""

import json
import sys

import numpy as np
from safetensors.numpy import load_file


def distances(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> dict[str, float]:
    """Relative differences of b from a; subspace is 1 minus the smallest cosine."""
    kappa = a["eigenvalues"]
    gap = np.abs(b["eigenvalues"] - kappa)
    left, cosines, right = np.linalg.svd(a["basis"].astype(float).T @ b["basis"].astype(float))
    q = left @ right
    readout = a["readout"].astype(float)
    turned = np.stack([q @ w @ q.T for w in b["readout"].astype(float)])
    mean = a["mean"].astype(float)
    return {
        "kappa": float(gap.max() / kappa[0]),
        "kappa_each": float((gap / kappa).max()),
        "subspace": float(1 - cosines.min()),
        "readout": float(np.linalg.norm(turned - readout) / np.linalg.norm(readout)),
        "mean": float(np.linalg.norm(q @ b["mean"] - mean) / np.linalg.norm(mean)),
        "degrees": float(np.abs(a["degrees"] - b["degrees"]).max()),
        "scale": float(np.abs(a["graph_scale"] - b["graph_scale"]).max()),
        "noise": float(np.abs(np.sort(b["sigma_nu"]) / np.sort(a["sigma_nu"]) - 1).max()),
        "local_pairs": float(local_pairs_in_common(a, b)),
    }


def local_pairs_in_common(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> float:
    """The share of the entries of the local graph that both have; 1 if neither has one."""
    def keys(m: dict[str, np.ndarray]) -> np.ndarray:
        n = len(m["degrees"])
        row = np.repeat(np.arange(n), np.diff(m["local_offsets"]))
        return row * n + m["local_items"]

    if "local_items" not in a or "local_items" not in b:
        return float("local_items" not in a and "local_items" not in b)
    one, other = keys(a), keys(b)
    return len(np.intersect1d(one, other)) / max(len(one), len(other))


if __name__ == "__main__":
    print(json.dumps(distances(load_file(sys.argv[1]), load_file(sys.argv[2]))))
