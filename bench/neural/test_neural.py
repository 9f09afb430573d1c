"""python3 -m unittest discover bench/neural"""
import math
import random
import tempfile
import unittest
from pathlib import Path

import data
import report


def walks(users, items, seed):
    """Histories in which item i is followed by i + 1 nine times of ten, and by any item else."""
    rng = random.Random(seed)
    histories = []
    for _ in range(users):
        at, history = rng.randrange(items), {}
        while len(history) < 8:
            history.setdefault(at + 1)
            at = (at + 1) % items if rng.random() < 0.9 else rng.randrange(items)
        histories.append(list(history))
    return histories


class Data(unittest.TestCase):
    def test_read(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "e.csv"
            path.write_text("user_id,item_id,timestamp\na,x,3\na,y,1\nb,x,2\na,y,9\na,z,3\n")
            self.assertEqual(data.read(path), {"a": {"y": 1, "x": 3, "z": 3}, "b": {"x": 2}})

    def test_core(self):
        # Without z, which only c has, c has one item less than two and goes; then nobody else has w.
        histories = {"a": {"x": 1, "y": 2}, "b": {"x": 1, "y": 2, "w": 3}, "c": {"w": 1, "z": 2}}
        self.assertEqual(data.core(histories, 2), {"a": {"x": 1, "y": 2}, "b": {"x": 1, "y": 2}})

    def test_numbered(self):
        histories = {"a": {"x": 1, "y": 2}, "b": {"y": 1, "new": 2, "x": 3}, "c": {"new": 1, "x": 2}}
        split = data.numbered(histories, {"a": "train", "b": "test", "c": "test"})
        self.assertEqual((split.items, split.train), (2, [[1, 2]]))
        self.assertEqual((split.test.users, split.test.histories, split.test.targets), (["b"], [[2]], [1]))

    def test_deal(self):
        roles = data.deal({str(user): {} for user in range(100)}, 1)
        self.assertEqual([list(roles.values()).count(role) for role in ("train", "validation", "test")], [80, 10, 10])


class Report(unittest.TestCase):
    def test_nearest(self):
        for items, back in (((3,), 1), ((1, 2), 2), ((1,), 3), ((), math.inf)):
            self.assertEqual(report.nearest([1, 2, 3], items), back)

    def test_groups_have_everybody_once(self):
        histories = walks(50, 20, 1)
        held_out = data.HeldOut([str(u) for u in range(50)], [h[:-1] for h in histories], [h[-1] for h in histories])
        sizes = [len(members) for _, members in report.grouped(data.Split(20, histories, held_out, held_out))]
        self.assertEqual([sizes[0], sum(sizes[1:5]), sum(sizes[5:9]), sum(sizes[9:])], [50] * 4)


if __name__ == "__main__":
    unittest.main()
