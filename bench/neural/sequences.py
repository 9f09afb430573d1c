"""What the systems that read a history from left to right have in common.

Histories are cut into windows of LENGTH + 1 items, the last one first; lists are made from the last LENGTH items. Rows
are padded on the right. Places are counted from the end of the window, so that the newest item always has the same one.
"""
import torch
from torch import nn
from torch.nn import functional

LENGTH, WIDTH = 50, 64
ALL_ITEMS = 10_000  # catalogues up to this size have a full softmax
NEGATIVES = 512  # drawn for each batch beyond it, uniformly
FEW_USERS = 2000  # training users up to which batches are smaller


def windows(histories, longest):
    """Cuts histories into windows of 2 to longest items. Each begins with the last item of the one before it."""
    cut = []
    for items in histories:
        end = len(items)
        while end >= 2:
            cut.append(items[max(0, end - longest):end])
            end -= longest - 1
    return cut


def padded(rows):
    out = torch.zeros(len(rows), max(len(row) for row in rows), dtype=torch.long)
    for at, row in enumerate(rows):
        out[at, :len(row)] = torch.tensor(row)
    return out


def places(ids):
    """Returns the place of each item counted from the end of its row, from LENGTH - 1 for the last one downwards."""
    lengths = (ids > 0).sum(1, keepdim=True)
    return (LENGTH - lengths + torch.arange(ids.shape[1])).clamp(0, LENGTH - 1)


class Sequences(nn.Module):
    """A system whose scores are products of a state with the embeddings of the items, with a bias."""

    longest = LENGTH + 1  # items of a window

    def __init__(self, split, dropout):
        super().__init__()
        self.split, self.items = split, split.items
        self.embedding = nn.Embedding(self.items + 2, WIDTH, padding_idx=0)  # the last one is the mask
        with torch.no_grad():
            self.embedding.weight.normal_(std=0.02)[0] = 0
        self.bias = nn.Parameter(torch.zeros(self.items))
        self.dropout = nn.Dropout(dropout)
        self.batch = 128 if len(split.train) > FEW_USERS else 32

    def batches(self, rng):
        rows = windows(self.split.train, self.longest)
        rng.shuffle(rows)
        for at in range(0, len(rows), self.batch):
            yield padded([self.taken(row, rng) for row in rows[at:at + self.batch]])

    def taken(self, row, rng):
        """Returns what a batch takes of a window: all of it."""
        return row

    def all_scores(self, states):
        return states @ self.embedding.weight[1:self.items + 1].T + self.bias

    def cross_entropy(self, states, targets):
        """The softmax over all items, or over a large catalogue's drawn ones beside the target."""
        if self.items <= ALL_ITEMS:
            return functional.cross_entropy(self.all_scores(states), targets - 1)
        drawn = torch.randint(1, self.items + 1, (NEGATIVES,))
        others = states @ self.embedding(drawn).T + self.bias[drawn - 1]
        others = others.masked_fill(drawn[None] == targets[:, None], -1e9)
        own = (states * self.embedding(targets)).sum(1, keepdim=True) + self.bias[targets - 1][:, None]
        return functional.cross_entropy(torch.cat([own, others], 1), torch.zeros(len(targets), dtype=torch.long))

    def newest(self, states, ids):
        """Returns the state at the last item of each row."""
        return states[torch.arange(len(ids)), (ids > 0).sum(1) - 1]


class MaskedItems(Sequences):
    """A system that foretells the items of masked places, and makes a list by a mask after the last item."""

    longest = LENGTH

    @property
    def mask(self):
        return self.items + 1

    def asked(self, histories):
        return padded([history[-LENGTH + 1:] + [self.mask] for history in histories])


class NextItem(Sequences):
    """A system that foretells each item of a window from those before it, by states(ids)."""

    def foretold(self, batch):
        """Returns the states before the items of a batch, and these items."""
        after = batch[:, 1:]
        before = batch[:, :-1].masked_fill(after == 0, 0)  # ends before the last item, as a history does
        return self.states(before)[after > 0], after[after > 0]

    def loss(self, batch):
        return self.cross_entropy(*self.foretold(batch))

    def scores(self, histories):
        ids = padded([history[-LENGTH:] for history in histories])
        return self.all_scores(self.newest(self.states(ids), ids))
