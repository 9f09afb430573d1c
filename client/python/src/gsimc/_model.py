"""Lists of a model file, without a server.

docs/storage.md has the tensors, docs/mathematics.md (learned dynamics) the steps.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from gsimc._calls import Item, Items

Doubles = npt.NDArray[np.float64]

FORMATS = ("3", "4")
TYPES = {"U8": np.uint8, "I32": np.int32, "I64": np.int64, "F32": np.float32, "F64": np.float64}
UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}


def tensors(path: str | PathLike[str]) -> tuple[dict[str, npt.NDArray[Any]], dict[str, str]]:
    """The arrays of a safetensors file, mapped into memory, and its metadata."""
    try:
        return _tensors(path)
    except (ValueError, TypeError, KeyError, AttributeError) as problem:
        raise ValueError(f"{path}: no gsimc model, or cut off") from problem


def _tensors(path: str | PathLike[str]) -> tuple[dict[str, npt.NDArray[Any]], dict[str, str]]:
    data = np.memmap(path, np.uint8, "r")
    begin = 8 + int.from_bytes(data[:8].tobytes(), "little")
    header = json.loads(data[8:begin].tobytes())
    meta = header.pop("__metadata__", {})
    return {
        name: np.ndarray(t["shape"], np.dtype(TYPES[t["dtype"]]).newbyteorder("<"), data,
                         begin + t["data_offsets"][0])
        for name, t in header.items() if t["dtype"] in TYPES
    }, meta


def seconds(text: str) -> float:
    """A duration as Go writes it, such as 720h0m0s; 0 for none."""
    return sum(float(n) * UNITS[u] for n, u in re.findall(r"([\d.]+)(h|ms|µs|ns|m|s)", text))


def _or(given: Sequence[float] | None, default: float, history: Sequence[str]) -> Sequence[float]:
    """What is given for each event of a history, or the default."""
    return [default] * len(history) if given is None else given


class Model:
    """A model file of `gsimc train`. It stays mapped into memory: replace the file, not its bytes.

    Its scores are those of a server that has this model, without trends and new items. It is
    safe for several threads.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self.tensors, self.metadata = tensors(path)
        if self.metadata.get("gsimc.format") not in FORMATS:
            raise ValueError(f"{path}: no gsimc model of a format among {', '.join(FORMATS)}")
        if self.metadata["dynamics"] != "learned":
            raise ValueError(f"{path}: a model without learned dynamics")
        text, ends = bytes(self.tensors["item_ids"]), self.tensors["item_offsets"].tolist()
        self.item_ids = [text[a:b].decode() for a, b in zip(ends, ends[1:])]
        self._index = {item: i for i, item in enumerate(self.item_ids)}
        bands = [band.partition("@") for band in self.metadata["bands"].split(",")]
        self._rho = np.array([float(rho) for rho, _, _ in bands])
        self._half_life = np.array([seconds(life) or np.inf for _, _, life in bands])

    def recommend(
        self, history: Sequence[str], n: int = 10, *, weights: Sequence[float] | None = None,
        times: Sequence[float] | None = None, deny: Collection[str] = (),
    ) -> Items:
        """The n items with the largest scores that are neither in the history nor denied.

        As from a server, they are popular items if the model knows nothing of the history.
        """
        scores, source = self.scores(history, weights=weights, times=times), "PERSONALIZED"
        known = (item in self._index for item in history)
        if not any(k and w for k, w in zip(known, _or(weights, 1.0, history))):
            users = float(self.metadata["train_users"])
            scores, source = self.tensors["degrees"] / users, "POPULAR"
        left = [i for item in {*history, *deny} if (i := self._index.get(item)) is not None]
        scores[left] = -np.inf
        best = np.argsort(-scores.astype(np.float32), kind="stable")[:n]  # ties: the smaller id
        return Items(Item(self.item_ids[i], float(scores[i]), None, source)
                     for i in best.tolist() if scores[i] > -np.inf)

    def scores(self, history: Sequence[str], *, weights: Sequence[float] | None = None,
               times: Sequence[float] | None = None) -> Doubles:
        """The scores of all items, in the order of item_ids. The oldest event comes first.

        weights are those of the events (1), times are in seconds (all at the same time).
        """
        t = self.tensors
        if isinstance(history, str):
            raise TypeError("a history is a list of ids")
        events = zip(history, _or(weights, 1.0, history), _or(times, 0.0, history), strict=True)
        folded = [(i, w, at) for item, w, at in events
                  if (i := self._index.get(item)) is not None and w]  # without weight: seen
        total = self._decode(self._query(folded) + t.get("popularity", 0))
        if "local_values" in t:
            fade, most = float(self.metadata["local_fade"]), int(self.metadata["local_events"])
            for p, (i, w, _) in enumerate(reversed(folded[-most:])):
                row = slice(*t["local_offsets"][i:i + 2])
                total[t["local_items"][row]] += fade ** p * w * t["local_values"][row]
        return total

    def _decode(self, query: Doubles) -> Doubles:
        """The scores v_j·q."""
        dots = self.tensors["basis"] @ query.astype(np.float32)
        scores: Doubles = dots.astype(np.float64) * self.tensors["decoder_scale"]
        return scores

    def _query(self, folded: list[tuple[int, float, float]]) -> Doubles:
        """q = μ + Σ_b y_b + b after the events."""
        t = self.tensors
        mean = t["mean"].astype(np.float64)
        y = np.zeros((len(self._rho), len(mean)))
        b = np.zeros_like(mean)
        variance, newest = t.get("p0"), None
        for i, w, at in folded:
            elapsed = 0.0 if newest is None else max(0.0, at - newest)
            if variance is not None and w > 0:
                if newest is not None:
                    variance = variance + t["sigma_eta"] * (1 + float(t["drift"][0]) * elapsed)
                gain = variance / (variance + t["sigma_nu"] / w)
                seen = t["encoder_scale"][i] * t["basis"][i].astype(np.float64)
                b += gain * (seen - mean - y.sum(0) - b)
                variance = (1 - gain) ** 2 * variance + gain ** 2 * t["sigma_nu"] / w
            decay = self._rho * np.exp2(-elapsed / self._half_life)
            y = decay[:, None] * y + w * t["responses"][i].reshape(y.shape)
            newest = at if newest is None else max(newest, at)
        query: Doubles = mean + y.sum(0) + b
        return query
