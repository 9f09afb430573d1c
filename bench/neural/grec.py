"""GREC (Yuan and others, 2020): an encoder that sees both sides of gaps, and a causal decoder that fills them.

Both are dilated convolutions with residuals. A list is made by a gap after the last item of the history.
"""
import torch
from torch import nn

from sequences import WIDTH, MaskedItems

DILATIONS = (1, 4, 1, 4)
KERNEL = 3
GAPS = 0.4  # share of the items of a window that are gaps


class Convolution(nn.Module):
    """Two dilated convolutions, the second twice as wide, with normalised layers and a residual."""

    def __init__(self, dilation, causal):
        super().__init__()
        self.causal = causal
        self.parts = nn.ModuleList(nn.Conv1d(WIDTH, WIDTH, KERNEL, dilation=d) for d in (dilation, 2 * dilation))
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in self.parts)

    def forward(self, x):
        y = x
        for part, norm in zip(self.parts, self.norms):
            around = part.dilation[0] * (KERNEL - 1)
            sides = (around, 0) if self.causal else (around // 2, around - around // 2)
            y = nn.functional.pad(y.transpose(1, 2), sides)
            y = torch.relu(norm(part(y).transpose(1, 2)))
        return x + y


class GREC(MaskedItems):
    def __init__(self, split, dropout):
        super().__init__(split, dropout)
        self.encoder = nn.ModuleList(Convolution(d, causal=False) for d in DILATIONS)
        self.projector = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.ReLU(), nn.Linear(2 * WIDTH, WIDTH))
        self.decoder = nn.ModuleList(Convolution(d, causal=True) for d in DILATIONS)

    def states(self, shown, before):
        """Foretells the item of each place from shown, which has gaps, and from the items before the place."""
        x = self.dropout(self.embedding(shown))
        for block in self.encoder:
            x = block(x)
        x = x + self.projector(x) + self.dropout(self.embedding(before))
        for block in self.decoder:
            x = block(x)
        return self.dropout(x)

    def loss(self, ids):
        gaps = (torch.rand(ids.shape) < GAPS) & (ids > 0)
        last = (ids > 0).sum(1) - 1
        gaps[torch.arange(len(ids)), last] = True  # the only place that lists are made at
        states = self.states(ids.masked_fill(gaps, self.mask), shifted(ids))
        return self.cross_entropy(states[gaps], ids[gaps])

    def scores(self, histories):
        ids = self.asked(histories)
        return self.all_scores(self.newest(self.states(ids, shifted(ids)), ids))


def shifted(ids):
    return torch.cat([torch.zeros(len(ids), 1, dtype=torch.long), ids[:, :-1]], 1)
