"""The numerics of train_spectrum.py, by numpy alone: what an executor does with the histories of
its partition, and the eigensolver of the driver.

Conventions. There are n items, numbered in the bytewise order of their ids, k eigenvectors and r
bands of memory. Matrices are row-major; a block of b vectors over the items is n×b. Products are
float32, what is added up over partitions or solved is float64. docs/mathematics.md has the
equations, and `go doc ./learn/train ReadSpectrum` the file.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]

FORMAT = "1"
MAX_GAP = 10  # events between two items that still follow each other

_GATHER_ROWS = 2048  # rows that are gathered at a time: 1 MB at 128 columns, which caches hold
_ROTATE_ROWS = 1 << 14  # rows of the basis that are rotated at a time
_NUMERICAL_ZERO = 1e-6  # ratio to κ_1 below which an eigenvalue of float32 products counts as 0


# --- Histories of a partition -------------------------------------------------------------------


@dataclass(frozen=True)
class Block:
    """The histories of the training users of one partition, one after the other.

    ptr: (users+1,) history u is [ptr[u], ptr[u+1]) of the other arrays
    item: (events,) in the order of time
    time: (events,) seconds since 1970
    weight: (events,) or None if every event weighs 1
    """

    ptr: Longs
    item: Ints
    time: Longs
    weight: Floats | None

    @property
    def users(self) -> int:
        return len(self.ptr) - 1

    @property
    def events(self) -> int:
        return len(self.item)


def block_of(histories: Iterable[tuple[list[int], list[int], list[float] | None]]) -> Block:
    """Makes a block of histories: lists of items, times and, unless None, weights."""
    items, times, weights = [], [], []
    for item, time, weight in histories:
        items.append(np.asarray(item, np.int32))
        times.append(np.asarray(time, np.int64))
        if weight is not None:
            weights.append(np.asarray(weight, np.float32))
    lengths = [len(h) for h in items]
    return Block(
        ptr=_offsets(np.asarray(lengths, np.int64)),
        item=np.concatenate(items) if items else np.zeros(0, np.int32),
        time=np.concatenate(times) if times else np.zeros(0, np.int64),
        weight=np.concatenate(weights) if weights else None,
    )


def _offsets(lengths: Longs) -> Longs:
    """Offsets of rows of the given lengths: (rows+1,)."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def _ranges(starts: Longs, lengths: Longs) -> Longs:
    """The numbers starts[i] … starts[i]+lengths[i]−1 of all i, one range after the other."""
    ptr = _offsets(lengths)
    return np.arange(ptr[-1]) + np.repeat(starts - ptr[:-1], lengths)


def window_starts(length: int, window: int) -> list[int]:
    """Where the windows of a history begin: one every window/2 events, the last one at its end.

    A history of at most window events is one window; so is every history if window is 0.
    """
    if window == 0 or length <= window:
        return [0]
    return [*range(0, length - window, window // 2), length - window]


# --- The operator of the item graph -------------------------------------------------------------


@dataclass(frozen=True)
class Edges:
    """The hyperedges of a block, by edge and by item.

    ptr, item: edge e has the items item[ptr[e]:ptr[e+1]]
    scale: (edges,) d_e^{−s}
    items: the items that some edge has, ascending
    item_ptr, edge: items[i] is in the edges edge[item_ptr[i]:item_ptr[i+1]]
    """

    ptr: Longs
    item: Ints
    scale: Floats
    items: Ints
    item_ptr: Longs
    edge: Ints

    @property
    def count(self) -> int:
        return len(self.ptr) - 1


def edges_of(block: Block, window: int, exponent: float) -> Edges:
    """Cuts the histories into hyperedges. exponent is s."""
    lengths = np.diff(block.ptr)
    if window == 0 or block.users == 0 or lengths.max() <= window:
        ptr, item = block.ptr, block.item
    else:
        cut = [window_starts(int(x), window) for x in lengths]
        starts = np.concatenate(
            [first + np.asarray(c, np.int64) for first, c in zip(block.ptr[:-1], cut)]
        )
        sizes = np.repeat(np.minimum(lengths, window), [len(c) for c in cut])
        ptr, item = _offsets(sizes), block.item[_ranges(starts, sizes)]
    size = np.diff(ptr)
    order = np.argsort(item, kind="stable")
    items, first = np.unique(item[order], return_index=True)
    return Edges(
        ptr=ptr,
        item=item,
        scale=(size.astype(np.float64) ** -exponent).astype(np.float32),
        items=items,
        item_ptr=np.append(first, len(item)).astype(np.int64),
        edge=np.repeat(np.arange(len(size), dtype=np.int32), size)[order],
    )


def sum_rows(z: Floats, index: Ints, ptr: Longs) -> Floats:
    """out[i] = Σ z[index[p]] over ptr[i] ≤ p < ptr[i+1]; no range is empty. O(len(index)·columns).

    A long range is added up in pieces, so that the rows at hand stay in the caches.
    """
    sizes = np.diff(ptr)
    if len(sizes) == 0:
        return np.zeros((0, z.shape[1]), np.float32)
    pieces = -(-sizes // _GATHER_ROWS)
    if pieces.max() > 1:
        first = _offsets(pieces)
        cuts = np.repeat(ptr[:-1], pieces) + _GATHER_ROWS * _ranges(0 * pieces, pieces)
        part = sum_rows(z, index, np.append(cuts, ptr[-1]))
        return np.add.reduceat(part, first[:-1], axis=0)
    out = np.empty((len(sizes), z.shape[1]), np.float32)
    rows = np.empty((2 * _GATHER_ROWS, z.shape[1]), np.float32)
    lo = 0
    while lo < len(sizes):
        hi = max(lo + 1, int(np.searchsorted(ptr, ptr[lo] + len(rows), side="right")) - 1)
        at, end = ptr[lo], ptr[hi]
        gathered = np.take(z, index[at:end], axis=0, out=rows[: end - at], mode="clip")
        np.add.reduceat(gathered, ptr[lo:hi] - at, axis=0, out=out[lo:hi])
        lo = hi
    return out


def multiply(edges: Edges, z: Floats) -> Floats:
    """Rᵀ D_e^{−s} R z of the hyperedges of one partition, n×b."""
    out = np.zeros_like(z)
    if edges.count:
        y = sum_rows(z, edges.item, edges.ptr)
        y *= edges.scale[:, None]
        out[edges.items] = sum_rows(y, edges.edge, edges.item_ptr)
    return out


def vertex_scale(degrees: Longs, exponent: float) -> Doubles:
    """The diagonal of D_v^{−s/2}, by the number of hyperedges of each item; 0 without any."""
    scale = np.zeros(len(degrees))
    some = degrees > 0
    scale[some] = degrees[some].astype(np.float64) ** (-exponent / 2)
    return scale


# --- The eigensolver ----------------------------------------------------------------------------


class NotConverged(Exception):
    """The residual is still above the tolerance after the passes that are allowed."""


@dataclass(frozen=True)
class Spectrum:
    """The leading eigenpairs of K: u (n×k) orthonormal, kappa (k,) descending.

    residual: max_j ‖K u_j − κ_j u_j‖ / κ_1, measured by a pass of its own
    """

    u: Doubles
    kappa: Doubles
    residual: float
    passes: int
    vectors: int


@dataclass(frozen=True)
class Shape:
    """The memory of the solver: blocks of width vectors, capacity vectors in all."""

    width: int
    capacity: int


def solver_shape(n: int, k: int, width: int, blocks: int) -> Shape:
    """width 0 stands for min(k+16, 64). capacity holds k vectors and blocks − 1 more blocks.

    Wider blocks take fewer passes and more vectors: 20 instead of 30 passes cost 1.4 times as many.
    """
    width = min(width or min(k + 16, 64), n)
    return Shape(width, min(n, k + max(blocks - 1, 2) * width))


class Lanczos:
    """Block Lanczos with full reorthogonalisation and thick restarts.

    The basis Q of a Krylov space grows by a block for each pass over the data:

        W = K Q_last,   H[:, last] = QᵀW,   W − Q QᵀW = Q_next S

    With the eigenpairs (θ, y) of H, Qy are the Ritz vectors, and since K Q = Q H + Q_next S E_lastᵀ
    the residual of one is ‖S y_last‖, known without another pass. When Q is full, it begins anew
    with the best Ritz vectors and Q_next (K. Wu and H. Simon, "Thick-Restart Lanczos Method for
    Large Symmetric Eigenvalue Problems", SIAM J. Matrix Anal. Appl. 22, 2000).
    """

    def __init__(self, apply: Callable[[Doubles], Doubles], n: int, k: int, shape: Shape,
                 seed: int) -> None:
        """apply multiplies an n×b block with K."""
        self.apply, self.n, self.k, self.shape = apply, n, k, shape
        self.passes = self.vectors = 0
        self.q = np.zeros((n, shape.capacity), order="F")
        self.h = np.zeros((shape.capacity, shape.capacity))
        start = np.random.default_rng(seed).standard_normal((n, shape.width))
        self.q[:, : shape.width] = np.linalg.qr(start)[0]
        self.filled = self.last = shape.width  # columns of Q; of its newest block

    def step(self) -> float:
        """One pass. Returns the largest residual of the k leading Ritz pairs, over κ_1."""
        at, end = self.filled - self.last, self.filled
        q = self.q[:, :end]
        w = self._product(np.ascontiguousarray(q[:, at:]))
        h = q.T @ w
        w -= q @ h
        again = q.T @ w  # what rounding has left inside
        w -= q @ again
        h += again
        h[at:] = (h[at:] + h[at:].T) / 2
        self.h[:end, at:end], self.h[at:end, :end] = h, h.T
        theta, y = np.linalg.eigh(self.h[:end, :end])
        self.theta, self.y = theta[::-1], y[:, ::-1]
        self._orthonormalise(q, w)
        if end < self.k:
            return float("inf")
        residual = np.linalg.norm(self.s @ self.y[at:, : self.k], axis=0)
        return float(residual.max(initial=0.0) / self.theta[0])

    def ritz_vectors(self) -> Doubles:
        """The k leading ones, n×k, after a step."""
        return self.q[:, : self.filled] @ self.y[:, : self.k]

    def grow(self) -> None:
        """Adds Q_next to Q, after a step. A full Q begins anew first.

        The next step finds what H has of Q_next, its products with all of Q.
        """
        end, width = self.filled, self.next.shape[1]
        if end + width > self.shape.capacity:
            keep = min(self.k + width, self.shape.capacity - width)
            for lo in range(0, self.n, _ROTATE_ROWS):  # in place: there may be no room for both
                rows = self.q[lo:lo + _ROTATE_ROWS]
                rows[:, :keep] = rows[:, :end] @ self.y[:, :keep]
            self.h[:] = 0
            np.fill_diagonal(self.h[:keep, :keep], self.theta[:keep])
            end = keep
        self.q[:, end:end + width] = self.next
        self.filled, self.last = end + width, width

    def measured(self, vectors: Doubles) -> Spectrum:
        """Rayleigh-Ritz on n×k orthonormal vectors by a pass of its own, which measures them."""
        u = np.linalg.qr(vectors)[0]
        image = self._product(u)
        h = u.T @ image
        kappa, y = np.linalg.eigh((h + h.T) / 2)
        kappa, y = kappa[::-1], y[:, ::-1]
        u, image = u @ y, image @ y
        residual = np.linalg.norm(image - u * kappa, axis=0).max() / kappa[0]
        some = max(1, int(np.count_nonzero(kappa > _NUMERICAL_ZERO * kappa[0])))
        return Spectrum(u[:, :some], kappa[:some], float(residual), self.passes, self.vectors)

    def _product(self, x: Doubles) -> Doubles:
        self.passes += 1
        self.vectors += x.shape[1]
        return self.apply(x)

    def _orthonormalise(self, q: Doubles, w: Doubles) -> None:
        """Sets next and s to Q_next and S with W = Q_next S, of as many columns as ℝⁿ has left."""
        width = min(self.shape.width, self.n - q.shape[1])
        if width < w.shape[1]:
            left, values, right = np.linalg.svd(w, full_matrices=False)
            self.next, self.s = left[:, :width], values[:width, None] * right[:width]
        else:
            self.next, self.s = np.linalg.qr(w)
        for _ in range(2):  # a direction that W hardly has is noise, which has a part inside Q
            self.next = np.linalg.qr(self.next - q @ (q.T @ self.next))[0]


def solve(apply: Callable[[Doubles], Doubles], n: int, k: int, shape: Shape, tolerance: float,
          seed: int, max_passes: int, report: Callable[[int, int, float], None]) -> Spectrum:
    """The k leading eigenpairs of the symmetric, not negative K that apply multiplies with.

    report gets passes, vectors and the residual after each pass. Stops when a measured residual is
    at most tolerance; raises NotConverged after max_passes.
    """
    lanczos = Lanczos(apply, n, k, shape, seed)
    target = 0.7 * tolerance  # of the estimate, so that the measurement confirms it
    while lanczos.passes < max_passes:
        residual = lanczos.step()
        report(lanczos.passes, lanczos.vectors, residual)
        if residual <= target:
            found = lanczos.measured(lanczos.ritz_vectors())
            report(found.passes, found.vectors, found.residual)
            if found.residual <= tolerance:
                return found
            target /= 2
        if lanczos.next.shape[1] == 0:
            break
        lanczos.grow()
    raise NotConverged(
        f"the residual is above {tolerance:g} after {lanczos.passes} passes: raise --tolerance or "
        "--max-passes, or lower --rank"
    )


# --- The sums of the dynamics -------------------------------------------------------------------


@dataclass(frozen=True)
class Band:
    """A memory of the past: what an event leaves of it, and its half-life in seconds (0: none)."""

    rho: float
    half_life: float = 0.0

    def decay(self, elapsed: Longs) -> Floats:
        """rho·2^(−elapsed/half_life)."""
        if self.half_life == 0:
            return np.full(elapsed.shape, self.rho, np.float32)
        return (self.rho * np.exp2(-(elapsed / self.half_life))).astype(np.float32)


def parse_bands(text: str) -> list[Band]:
    """Reads bands such as "0,0.5,0.87@720h", half-lives in hours, minutes or seconds."""
    bands = []
    for part in text.split(","):
        rho, _, life = part.partition("@")
        seconds = 0.0
        if life:
            unit = {"h": 3600.0, "m": 60.0, "s": 1.0}.get(life[-1])
            if unit is None:
                raise ValueError(f"the half-life {life!r} has none of the units h, m and s")
            seconds = float(life[:-1]) * unit
        bands.append(Band(float(rho), seconds))
        if not 0 <= bands[-1].rho <= 1 or not 0 <= seconds < float("inf"):
            raise ValueError(f"{part!r} is not a share from 0 to 1 and a half-life")
    return bands


def encoder_rows(u: Floats, degrees: Longs, rescale: float) -> Floats:
    """The rows d_i^{−t/2} u_i of float32 vectors u, n×k. rescale is t."""
    scale = np.maximum(degrees, 1).astype(np.float64) ** (-rescale / 2)
    return scale.astype(np.float32)[:, None] * u


@dataclass
class Sums:
    """The normal equations of the regression: states XᵀX (m×m), targets XᵀY (m×k), m = r·k+1.

    A row of X is a user's state (x_1 … x_r, 1) before an event, a row of Y the encoder row of that
    event. count is the number of rows.
    """

    states: Doubles
    targets: Doubles
    count: int

    def add(self, other: "Sums") -> "Sums":
        """Adds other to self, and returns self."""
        self.states += other.states
        self.targets += other.targets
        self.count += other.count
        return self


_STATE_ROWS = 2048  # rows of X in one product
_BATCH_EVENTS = 1 << 19  # places of the table of users who are folded side by side
_BATCH_STATES = 1 << 24  # numbers of their states


def sums_of(block: Block, e: Floats, bands: list[Band], positions: int) -> Sums:
    """The sums of the users of a block with two events or more, for encoder rows e, n×k.

    A user has the last `positions` events as targets, or all but the first if positions is 0. The
    recursion x_b ← a_b x_b + w e runs over places, for users of like length side by side.
    """
    k, r = e.shape[1], len(bands)
    m = r * k + 1
    sums = Sums(np.zeros((m, m)), np.zeros((m, k)), 0)
    x, y = np.ones((_STATE_ROWS, m), np.float32), np.empty((_STATE_ROWS, k), np.float32)
    held = 0

    def flush() -> None:
        nonlocal held
        part = x[:held]
        sums.states += part.T @ part
        sums.targets += part.T @ y[:held]
        sums.count += held
        held = 0

    lengths = np.diff(block.ptr)
    users = np.flatnonzero(lengths >= 2)
    users = users[np.argsort(-lengths[users], kind="stable")]
    while len(users):
        longest = int(lengths[users[0]])
        some = max(1, min(_BATCH_EVENTS // longest, _BATCH_STATES // (m - 1)))
        batch, users = users[:some], users[some:]
        length = lengths[batch]
        first = block.ptr[batch]
        first_target = np.maximum(length - positions, 1) if positions else np.ones_like(length)
        decays = _decays(block, first, length, bands)
        state = np.zeros((len(batch), r, k), np.float32)
        for p in range(longest - 1):
            active = int(np.searchsorted(-length, -(p + 1)))  # of more than p+1 events
            at = first[:active] + p
            row = e[block.item[at]]
            if block.weight is not None:
                row = block.weight[at, None] * row
            state = state[:active]
            for b in range(r):
                state[:, b] *= decays[b][:active, p, None]
                state[:, b] += row
            targets = np.flatnonzero(first_target[:active] <= p + 1)
            while len(targets):
                now, targets = np.split(targets, [_STATE_ROWS - held])
                x[held:held + len(now), :-1] = state[now].reshape(len(now), -1)
                y[held:held + len(now)] = e[block.item[first[now] + p + 1]]
                held += len(now)
                if held == _STATE_ROWS:
                    flush()
    flush()
    sums.states = (sums.states + sums.states.T) / 2
    return sums


def _decays(block: Block, first: Longs, length: Longs, bands: list[Band]) -> list[Floats]:
    """What each band fades by before place p of each user: (users, longest) for each band."""
    shape = (len(first), int(length[0]))
    if all(b.half_life == 0 for b in bands):
        return [np.broadcast_to(np.float32(b.rho), shape) for b in bands]
    time = np.zeros(shape, np.int64)
    rows = np.repeat(np.arange(len(first)), length)
    time[rows, _ranges(0 * length, length)] = block.time[_ranges(first, length)]
    newest = np.maximum.accumulate(time, axis=1)
    elapsed = np.zeros(shape, np.int64)
    elapsed[:, 1:] = np.maximum(time[:, 1:] - newest[:, :-1], 0)
    return [b.decay(elapsed) for b in bands]


# --- The counts of the local term ---------------------------------------------------------------

# ρ^{g−1} = (3/4)^{g−1} in units of 4^{−9}: sums of integers do not depend on their order.
_UNIT = 4 ** (MAX_GAP - 1)
_GAP_WEIGHTS = np.array([3 ** (g - 1) * 4 ** (MAX_GAP - g) for g in range(1, MAX_GAP + 1)])


def contexts_of(block: Block) -> Ints:
    """A row for each event of a user with two events or more: the item, the 10 items after it, and
    the 10 before it, nearest first, with −1 where there is none: (events, 21).
    """
    lengths = np.diff(block.ptr)
    users = np.flatnonzero(lengths >= 2)
    lengths = lengths[users]
    padded = _offsets(lengths + MAX_GAP)[:-1] + MAX_GAP  # places in a row of gaps and histories
    line = np.full(int((lengths + MAX_GAP).sum()) + MAX_GAP, -1, np.int32)
    places = _ranges(padded, lengths)
    line[places] = block.item[_ranges(block.ptr[users], lengths)]
    gaps = np.arange(1, MAX_GAP + 1)
    return line[places[:, None] + np.concatenate([[0], gaps, -gaps])]


@dataclass(frozen=True)
class Pairs:
    """Sums over pairs of items, by key i·n + j ascending: after is F_ij, before F_ji, in units."""

    key: Longs
    after: Longs
    before: Longs


def pairs_of(contexts: Ints, n: int) -> Pairs:
    """The pairs of items in contexts."""
    neighbours = contexts[:, 1:]
    keys = contexts[:, :1].astype(np.int64) * n + neighbours
    there = neighbours >= 0
    weights = np.broadcast_to(np.tile(_GAP_WEIGHTS, 2), neighbours.shape)[there]
    after = np.broadcast_to(np.repeat([True, False], MAX_GAP), neighbours.shape)[there]
    return merged([Pairs(keys[there], weights * after, weights * ~after)])


def merged(parts: list[Pairs]) -> Pairs:
    """The sum of pairs whose keys may be in any order."""
    key = np.concatenate([p.key for p in parts])
    order = np.argsort(key)
    key = key[order]
    if len(key) == 0:
        return Pairs(key, key, key)
    first = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
    total = [
        np.add.reduceat(np.concatenate(column)[order], first)
        for column in ([p.after for p in parts], [p.before for p in parts])
    ]
    return Pairs(key[first], *total)


@dataclass(frozen=True)
class Rows:
    """Rows of the counts: row[i] has size[i] of the items, ascending, with F_ij and F_ji."""

    row: Longs
    size: Longs
    item: Ints
    after: Floats
    before: Floats


def strongest(pairs: Pairs, degrees: Longs, neighbours: int) -> Rows:
    """The 2·neighbours strongest pairs of each row: of the largest (F_ij + F_ji/2)(d_j+3)^−0.3, and
    of equal ones those of the first items.
    """
    n = len(degrees)
    row, item = pairs.key // n, pairs.key % n
    after, before = pairs.after / _UNIT, pairs.before / _UNIT
    strength = (after + 0.5 * before) * (degrees[item] + 3.0) ** -0.3
    order = np.lexsort((item, -strength, row))
    rows, first, size = np.unique(row, return_index=True, return_counts=True)
    kept = order[_ranges(first, np.minimum(size, 2 * neighbours))]
    kept.sort()  # by row and item, as the keys are
    return Rows(
        row=rows,
        size=np.minimum(size, 2 * neighbours),
        item=item[kept].astype(np.int32),
        after=after[kept].astype(np.float32),
        before=before[kept].astype(np.float32),
    )


class Successions:
    """Adds up contexts as they come, and holds no more than the pairs that there are."""

    _PENDING = 1 << 22  # pairs that wait to be merged

    def __init__(self, n: int) -> None:
        self.n = n
        self.parts: list[Pairs] = []
        self.pending = 0

    def add(self, contexts: Ints) -> None:
        self.parts.append(pairs_of(contexts, self.n))
        self.pending += len(self.parts[-1].key)
        if self.pending > self._PENDING:
            self.parts, self.pending = [merged(self.parts)], 0

    def rows(self, degrees: Longs, neighbours: int) -> Rows:
        return strongest(merged(self.parts or [pairs_of(np.zeros((0, 21), np.int32), self.n)]),
                         degrees, neighbours)


# --- Limits of Spark ----------------------------------------------------------------------------


def fan_in(partitions: int) -> int:
    """The results of a treeReduce of depth 2 that reach the driver, as pyspark's RDD has it."""
    scale = max(math.ceil(partitions ** 0.5), 2)
    left = float(partitions)
    while left > scale + left / scale:
        left /= scale
    return max(1, int(left))


def strip_width(n: int, width: int, partitions: int, result_bytes: int,
                broadcast_bytes: int = 1 << 30) -> int:
    """The columns of a strip, at most width, so that a strip of n float32 rows stays below the
    limit of a broadcast, and what reaches the driver below spark.driver.maxResultSize (0: none).
    """
    most = broadcast_bytes
    if result_bytes:
        most = min(most, int(0.8 * result_bytes) // fan_in(partitions))
    if most < 4 * n:
        raise ValueError(
            f"one column of {n} items does not fit: raise spark.driver.maxResultSize to "
            f"{5 * n * fan_in(partitions) // (1 << 20) + 1}m, or lower --partitions"
        )
    return min(width, most // (4 * n))


# --- The file -----------------------------------------------------------------------------------


def rows_of(parts: Iterator[Rows], n: int) -> dict[str, np.ndarray]:
    """The arrays of the counts of all n items from parts in any order, each with its rows."""
    found = sorted(parts, key=lambda p: int(p.row[0]) if len(p.row) else 0)
    size = np.zeros(n, np.int64)
    for p in found:
        size[p.row] = p.size
    ptr = _offsets(size)
    out = {
        "succession_offsets": ptr,
        "succession_items": np.empty(ptr[-1], np.int32),
        "succession_after": np.empty(ptr[-1], np.float32),
        "succession_before": np.empty(ptr[-1], np.float32),
    }
    for p in found:
        places = _ranges(ptr[p.row], p.size)
        for name, values in (("items", p.item), ("after", p.after), ("before", p.before)):
            out["succession_" + name][places] = values
    return out


def packed(ids: list[str]) -> dict[str, np.ndarray]:
    """The arrays of the ids."""
    raw = [i.encode() for i in ids]
    return {
        "item_offsets": _offsets(np.array([len(x) for x in raw], np.int64)),
        "item_ids": np.frombuffer(b"".join(raw), np.uint8),
    }


def checksum(arrays: dict[str, np.ndarray], meta: dict[str, str]) -> str:
    """SHA-256 of the metadata by key, and then of the arrays by name."""
    digest = hashlib.sha256()
    for key in sorted(meta):
        if key != "checksum":
            digest.update(key.encode() + b"\0" + meta[key].encode() + b"\0")
    for name in sorted(arrays):
        digest.update(name.encode() + b"\0")
        digest.update(memoryview(np.ascontiguousarray(arrays[name])))
    return digest.hexdigest()


def write_file(path: str, arrays: dict[str, np.ndarray], meta: dict[str, str]) -> None:
    """Writes the safetensors file, with the version of the format and the checksum."""
    from safetensors.numpy import save_file  # the driver alone has it

    arrays = {name: np.ascontiguousarray(a) for name, a in arrays.items()}
    meta = {"gsimc.spectrum": FORMAT, **meta}
    meta["checksum"] = checksum(arrays, meta)
    save_file(arrays, path, metadata=meta)
