"""python3 -m unittest discover bench/neural; the systems need torch."""
import math
import random
import tempfile
import unittest
from pathlib import Path

import data
import report

try:
    import torch
except ImportError:
    torch = None
else:
    import sequences
    import training
    from compare import CANDIDATES


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
        # z goes, since only c has it. Then c goes, who has only w left, and then w, which only b has left.
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


@unittest.skipIf(torch is None, "torch is missing: apt-get install python3-torch, or pip install torch")
class Systems(unittest.TestCase):
    def setUp(self):
        torch.set_num_threads(1)
        torch.manual_seed(1)

    def test_ranks(self):
        class Fixed(torch.nn.Module):
            def scores(self, histories):
                return torch.tensor([[9.0, 1.0, 3.0, 3.0]]).repeat(len(histories), 1)

        # Item 1 is in the first history and counts in the second; item 4 has the score of the target.
        held_out = data.HeldOut(["a", "b"], [[1], [2]], [3, 3])
        self.assertEqual(training.ranks(Fixed(), held_out), [2, 3])

    def test_the_rank_without_a_number_is_the_last(self):
        class Broken(torch.nn.Module):
            def scores(self, histories):
                return torch.full((len(histories), 4), math.nan)

        self.assertEqual(training.ranks(Broken(), data.HeldOut(["a"], [[1]], [3])), [4])

    def test_windows(self):
        for length, want in ((1, []), (2, [[1, 2]]), (3, [[1, 2, 3]]), (4, [[2, 3, 4], [1, 2]]),
                             (5, [[3, 4, 5], [1, 2, 3]])):
            self.assertEqual(sequences.windows([list(range(1, length + 1))], 3), want)

    def test_lists_are_made_as_targets_are_foretold(self):
        histories = [[1, 2, 3], [4, 5, 6, 7, 8]]
        held_out = data.HeldOut(["a"], [[1]], [2])
        for name in ("SASRec", "gSASRec", "GRU4Rec"):
            system, constants = CANDIDATES[name]
            model = system(data.Split(8, histories, held_out, held_out), **constants[0]).eval()
            states, targets = model.foretold(sequences.padded(histories))
            last = [places[-1] for places in ((targets == 3).nonzero(), (targets == 8).nonzero())]
            of_training = model.all_scores(states[torch.cat(last)])
            of_lists = model.scores([history[:-1] for history in histories])
            self.assertTrue(torch.allclose(of_training, of_lists, atol=1e-6), name)

    def test_each_learns_what_follows(self):
        items = 40
        histories = walks(400, items, 2)
        held_out = data.HeldOut([str(u) for u in range(60)], [h[:-1] for h in histories[:60]],
                                [h[-1] for h in histories[:60]])
        split = data.Split(items, histories[60:], held_out, held_out)
        guessing = sum(1 / math.log2(rank + 1) for rank in range(1, 11)) / (items - 7)
        for name, (system, constants) in CANDIDATES.items():
            with self.subTest(name):
                fitted = training.fit(system(split, **constants[0]), split, epochs=12, patience=12)
                self.assertGreater(fitted.validation, 1.5 * guessing)
                self.assertEqual(len(fitted.ranks), 60)


if __name__ == "__main__":
    unittest.main()
