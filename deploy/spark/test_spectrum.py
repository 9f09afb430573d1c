"""Tests of spectrum.py against slow definitions, without Spark: python3 -m unittest."""

import unittest

import numpy as np

import spectrum
from spectrum import Band, Successions


def random_block(rng, users, n, longest, weighted=False):
    """Histories of 1 to longest different items, in which no item of 0 … n−1 is missing."""
    histories = []
    for u in range(users):
        size = int(rng.integers(1, longest + 1))
        item = rng.choice(n, size, replace=False)
        if u < -(-n // longest):  # these users have all items
            item = np.arange(u * longest, min((u + 1) * longest, n))
        time = np.sort(rng.integers(0, 10_000, len(item)))
        weight = rng.uniform(0.5, 2, len(item)).astype(np.float32) if weighted else None
        histories.append((item.tolist(), time.tolist(), weight))
    return spectrum.block_of(histories)


def histories_of(block):
    for lo, hi in zip(block.ptr[:-1], block.ptr[1:]):
        weight = np.ones(hi - lo) if block.weight is None else block.weight[lo:hi]
        yield block.item[lo:hi], block.time[lo:hi], weight


def windows(items, window):
    """The windows by their definition."""
    if window == 0 or len(items) <= window:
        return [items]
    cut, start = [], 0
    while start + window < len(items):
        cut.append(items[start:start + window])
        start += window // 2
    return cut + [items[-window:]]


def dense_operator(block, n, window, s):
    """K and the numbers of hyperedges of the items."""
    edges = [w for items, _, _ in histories_of(block) for w in windows(items, window)]
    r = np.zeros((len(edges), n))
    for row, items in zip(r, edges):
        row[items] = 1
    scale = spectrum.vertex_scale(r.sum(0).astype(np.int64), s)
    a = r * scale * (r.sum(1) ** (-s / 2))[:, None]
    return a.T @ a, r.sum(0)


class Operator(unittest.TestCase):
    def test_windows(self):
        for length in range(1, 60):
            for window in (0, 2, 3, 7, 40):
                items = np.arange(length)
                starts = spectrum.window_starts(length, window)
                size = length if window == 0 else min(length, window)
                got = [items[a:a + size].tolist() for a in starts]
                self.assertEqual(got, [w.tolist() for w in windows(items, window)])

    def test_product(self):
        rng = np.random.default_rng(1)
        for window, s, longest in ((0, 1.0, 30), (4, 0.8, 30), (40, 0.8, 30), (5, 0.0, 9)):
            n = 50
            block = random_block(rng, 40, n, longest)
            k, degrees = dense_operator(block, n, window, s)
            edges = spectrum.edges_of(block, window, s)
            self.assertEqual(np.bincount(edges.item, minlength=n).tolist(), degrees.tolist())
            scale = spectrum.vertex_scale(degrees.astype(np.int64), s)
            z = rng.standard_normal((n, 7))
            got = scale[:, None] * spectrum.multiply(
                edges, (scale[:, None] * z).astype(np.float32))
            want = k @ z
            np.testing.assert_allclose(got, want, rtol=0, atol=5e-7 * np.abs(want).max())

    def test_sum_rows_of_long_ranges(self):
        rng = np.random.default_rng(2)
        z = rng.standard_normal((300, 3)).astype(np.float32)
        sizes = np.array([1, 5000, 2, 2048, 2049, 7, 10_000])
        ptr = np.concatenate([[0], np.cumsum(sizes)])
        index = rng.integers(0, 300, ptr[-1])
        want = [z[index[a:b]].astype(float).sum(0) for a, b in zip(ptr[:-1], ptr[1:])]
        np.testing.assert_allclose(spectrum.sum_rows(z, index, ptr), want, rtol=1e-4, atol=1e-3)

    def test_of_nothing(self):
        block = spectrum.block_of([])
        z = np.ones((4, 2), np.float32)
        self.assertFalse(spectrum.multiply(spectrum.edges_of(block, 40, 0.8), z).any())


class Solver(unittest.TestCase):
    def solve(self, matrix, k, width, blocks, tolerance=1e-9, max_passes=300):
        n = len(matrix)
        told = []
        found = spectrum.solve(
            lambda x: matrix @ x, n, k, spectrum.solver_shape(n, k, width, blocks), tolerance, 1,
            max_passes, lambda *line: told.append(line))
        self.assertEqual((found.passes, found.vectors), told[-1][:2])
        estimate, measured = told[-2][2], told[-1][2]
        self.assertLess(abs(estimate - measured), 0.01 * measured + 1e-13)
        return found

    def check(self, matrix, k, width, blocks):
        found = self.solve(matrix, k, width, blocks)
        want = np.linalg.eigvalsh(matrix)[::-1][:len(found.kappa)]
        np.testing.assert_allclose(found.kappa, want, rtol=0, atol=1e-9 * want[0])
        gram = found.u.T @ found.u
        np.testing.assert_allclose(gram, np.eye(len(gram)), rtol=0, atol=1e-12)
        residual = np.linalg.norm(matrix @ found.u - found.u * found.kappa, axis=0).max()
        self.assertLess(residual, 1.01e-9 * want[0])
        return found

    def test_random_graphs(self):
        rng = np.random.default_rng(3)
        for n, k, width, blocks in ((300, 10, 4, 8), (300, 10, 20, 3), (200, 30, 8, 6)):
            block = random_block(rng, 500, n, 12)
            self.check(dense_operator(block, n, 0, 0.8)[0], k, width, blocks)

    def test_small_and_whole_spaces(self):
        rng = np.random.default_rng(4)
        for n, k, width in ((1, 1, 1), (5, 5, 0), (30, 30, 0), (31, 7, 5), (60, 50, 16)):
            a = rng.standard_normal((2 * n, n))
            self.check(a.T @ a, k, width, 5)

    def test_repeated_eigenvalues(self):
        """A graph in 12 pieces has the eigenvalue 1 as often, for s = 1."""
        matrix = np.kron(np.eye(12), np.full((10, 10), 0.1)) + np.diag(np.linspace(0, 1e-3, 120))
        self.check(matrix, 15, 4, 8)

    def test_null_space_is_cut_off(self):
        a = np.random.default_rng(5).standard_normal((6, 40))
        self.assertEqual(len(self.check(a.T @ a, 10, 4, 5).kappa), 6)

    def test_not_converged(self):
        a = np.random.default_rng(6).standard_normal((400, 200))
        with self.assertRaisesRegex(spectrum.NotConverged, "after 3 passes"):
            self.solve(a.T @ a, 20, 4, 4, max_passes=3)


class Dynamics(unittest.TestCase):
    BANDS = [Band(0.0), Band(0.5), Band(0.87, 3600.0)]

    def by_definition(self, block, e, bands, positions):
        x, y = [], []
        for item, time, weight in histories_of(block):
            state = np.zeros((len(bands), e.shape[1]))
            newest = time[0] if len(time) else 0
            first = max(len(item) - positions, 1) if positions else 1
            for p in range(len(item) - 1):
                elapsed = max(time[p] - newest, 0)
                newest = max(newest, time[p])
                for b, band in enumerate(bands):
                    fade = 2 ** (-elapsed / band.half_life) if band.half_life else 1
                    state[b] = band.rho * fade * state[b] + weight[p] * e[item[p]]
                if p + 1 >= first:
                    x.append(np.append(state.ravel(), 1))
                    y.append(e[item[p + 1]])
        x, y = np.array(x), np.array(y, float)
        return x.T @ x, x.T @ y, len(x)

    def test_sums(self):
        rng = np.random.default_rng(7)
        for weighted in (False, True):
            for positions in (0, 1, 5, 200):
                block = random_block(rng, 300, 80, 40, weighted)
                block.time[5:9] = block.time[8:4:-1]  # some times run backwards
                e = rng.standard_normal((80, 6)).astype(np.float32)
                got = spectrum.sums_of(block, e, self.BANDS, positions)
                states, targets, count = self.by_definition(block, e, self.BANDS, positions)
                self.assertEqual(got.count, count)
                self.assertEqual(got.states[-1, -1], count)
                size = np.abs(states).max()
                np.testing.assert_allclose(got.states, states, rtol=0, atol=2e-6 * size)
                np.testing.assert_allclose(got.targets, targets, rtol=0, atol=2e-6 * size)
                self.assertTrue((got.states == got.states.T).all())

    def test_users_of_one_event_count_nothing(self):
        block = spectrum.block_of([([3], [0], None), ([1], [0], None)])
        got = spectrum.sums_of(block, np.ones((5, 2), np.float32), self.BANDS, 200)
        self.assertEqual((got.count, got.states.any(), got.targets.any()), (0, False, False))

    def test_bands(self):
        self.assertEqual(spectrum.parse_bands("0,0.5,0.87@720h"),
                         [Band(0), Band(0.5), Band(0.87, 720 * 3600.0)])
        for bad in ("", "x", "0.5@7", "1.5", "0.5@7d"):
            with self.assertRaises(ValueError):
                spectrum.parse_bands(bad)

    def test_encoder_rows(self):
        got = spectrum.encoder_rows(np.ones((3, 2), np.float32), np.array([0, 1, 16]), 0.5)
        np.testing.assert_allclose(got, [[1, 1], [1, 1], [0.5, 0.5]])


class Local(unittest.TestCase):
    def by_definition(self, block, n):
        f = np.zeros((n, n))
        for item, _, _ in histories_of(block):
            for at, i in enumerate(item):
                for gap, j in enumerate(item[at + 1:at + 11], 1):
                    f[i, j] += 0.75 ** (gap - 1)
        return f

    def test_rows(self):
        rng = np.random.default_rng(8)
        n, neighbours = 40, 4
        blocks = [random_block(rng, 200, n, 25) for _ in range(3)]
        f = sum(self.by_definition(b, n) for b in blocks)
        degrees = sum(np.bincount(b.item, minlength=n) for b in blocks)
        counts = Successions(n)
        for block in blocks:
            contexts = spectrum.contexts_of(block)
            for part in np.array_split(contexts[rng.permutation(len(contexts))], 7):
                counts.add(part)
        arrays = spectrum.rows_of(iter([counts.rows(degrees, neighbours)]), n)
        ptr = arrays["succession_offsets"]
        for i in range(n):
            strength = (f[i] + 0.5 * f[:, i]) * (degrees + 3.0) ** -0.3
            want = sorted(np.lexsort((np.arange(n), -strength))[:2 * neighbours].tolist())
            row = slice(ptr[i], ptr[i + 1])
            self.assertEqual(arrays["succession_items"][row].tolist(), want)
            self.assertEqual(arrays["succession_after"][row].tolist(), f[i, want].tolist())
            self.assertEqual(arrays["succession_before"][row].tolist(), f[want, i].tolist())

    def test_parts_in_any_order_are_the_same(self):
        rng = np.random.default_rng(9)
        block = random_block(rng, 300, 30, 20)
        contexts = spectrum.contexts_of(block)
        degrees = np.bincount(block.item, minlength=30)
        results = []
        for _ in range(2):
            counts = Successions(30)
            counts._PENDING = 1000
            for part in np.array_split(contexts[rng.permutation(len(contexts))], 11):
                counts.add(part)
            results.append(counts.rows(degrees, 50))
        for name in ("row", "size", "item", "after", "before"):
            self.assertTrue((getattr(results[0], name) == getattr(results[1], name)).all(), name)

    def test_rows_of_ranges(self):
        """Ranges of items that come apart make the arrays of all of them, in order."""
        rng = np.random.default_rng(10)
        block = random_block(rng, 100, 30, 10)
        contexts = spectrum.contexts_of(block)
        degrees = np.bincount(block.item, minlength=30)
        whole, parts = Successions(30), [Successions(30) for _ in range(4)]
        whole.add(contexts)
        for at, part in enumerate(parts):
            part.add(contexts[contexts[:, 0] // 8 == at])
        want = spectrum.rows_of(iter([whole.rows(degrees, 3)]), 30)
        got = spectrum.rows_of(reversed([p.rows(degrees, 3) for p in parts]), 30)
        for name, values in want.items():
            self.assertEqual(values.tolist(), got[name].tolist(), name)

    def test_of_nothing(self):
        counts = Successions(3)
        counts.add(spectrum.contexts_of(spectrum.block_of([([1], [0], None)])))
        arrays = spectrum.rows_of(iter([counts.rows(np.ones(3, np.int64), 5)]), 3)
        self.assertEqual(arrays["succession_offsets"].tolist(), [0, 0, 0, 0])


class Limits(unittest.TestCase):
    def test_fan_in(self):
        """As pyspark makes levels: until a further one would not help."""
        for partitions, want in ((1, 1), (2, 2), (4, 4), (5, 1), (9, 3), (100, 10), (1000, 31)):
            self.assertEqual(spectrum.fan_in(partitions), want, partitions)

    def test_strips(self):
        gigabyte = 1 << 30
        self.assertEqual(spectrum.strip_width(16_859, 116, 4, gigabyte), 116)
        self.assertEqual(spectrum.strip_width(1_000_000, 272, 1000, gigabyte), 6)
        self.assertEqual(spectrum.strip_width(1_000_000, 272, 1000, 0), 268)
        with self.assertRaisesRegex(ValueError, "raise spark.driver.maxResultSize to 1479m"):
            spectrum.strip_width(10_000_000, 272, 1000, gigabyte)


class File(unittest.TestCase):
    def test_ids(self):
        arrays = spectrum.packed(["a", "ö", "xyz"])
        self.assertEqual(arrays["item_offsets"].tolist(), [0, 1, 3, 6])
        self.assertEqual(arrays["item_ids"].tobytes().decode(), "aöxyz")

    def test_checksum_covers_everything(self):
        arrays = {"b": np.arange(3), "a": np.zeros((0, 2))}
        meta = {"x": "1", "checksum": "of something else"}
        first = spectrum.checksum(arrays, meta)
        self.assertEqual(first, spectrum.checksum(dict(reversed(arrays.items())), {"x": "1"}))
        self.assertNotEqual(first, spectrum.checksum({**arrays, "b": np.arange(1, 4)}, meta))
        self.assertNotEqual(first, spectrum.checksum(arrays, {"x": "2"}))


if __name__ == "__main__":
    unittest.main()
