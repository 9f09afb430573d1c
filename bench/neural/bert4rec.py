"""BERT4Rec (Sun and others, 2019), trained on random prefixes too, and with layers normalised before each part."""
import torch
from torch import nn
from torch.nn import functional

from sequences import LENGTH, WIDTH, MaskedItems, places

BLOCKS, HEADS = 2, 2
MASKED = 0.2  # share of the items that are masked in the other windows
LAST = 0.5  # share of the windows in which only the last item is masked
PREFIX = 0.5  # share of the windows that are cut at a random place


class BERT4Rec(MaskedItems):
    def __init__(self, split, dropout):
        super().__init__(split, dropout)
        self.place = nn.Embedding(LENGTH, WIDTH)
        nn.init.normal_(self.place.weight, std=0.02)
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, dropout, functional.gelu, batch_first=True,
                                       norm_first=True) for _ in range(BLOCKS))
        self.norm = nn.LayerNorm(WIDTH)
        self.out = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.GELU(), nn.LayerNorm(WIDTH))

    def taken(self, row, rng):
        return row[:rng.randint(2, len(row))] if rng.random() < PREFIX else row

    def states(self, ids):
        x = self.dropout(self.embedding(ids) + self.place(places(ids)))
        for block in self.blocks:
            x = block(x, src_key_padding_mask=ids == 0)
        return self.out(self.norm(x))

    def loss(self, ids):
        last = (ids > 0).sum(1) - 1
        hidden = (torch.rand(ids.shape) < MASKED) & (ids > 0)
        only_last = torch.rand(len(ids)) < LAST
        hidden[only_last] = False
        hidden[torch.arange(len(ids)), last] |= ~hidden.any(1)  # these, and those of which nothing was drawn
        shown = ids.masked_fill(hidden, self.mask)
        return self.cross_entropy(self.states(shown)[hidden], ids[hidden])

    def scores(self, histories):
        ids = self.asked(histories)
        return self.all_scores(self.newest(self.states(ids), ids))
