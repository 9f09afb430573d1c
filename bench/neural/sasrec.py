"""SASRec (Kang and McAuley, 2018) with a softmax over all items, and gSASRec (Petrov and Macdonald, 2023)."""
import math

import torch
from torch import nn
from torch.nn import functional

from sequences import LENGTH, WIDTH, NextItem, places

BLOCKS = 2
GSASREC_NEGATIVES, GSASREC_T = 256, 0.75


class SASRec(NextItem):
    """Two blocks of causal self-attention with one head, layers normalised before each part."""

    def __init__(self, split, dropout):
        super().__init__(split, dropout)
        self.place = nn.Embedding(LENGTH, WIDTH)
        nn.init.normal_(self.place.weight, std=0.02)
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(WIDTH, 1, WIDTH, dropout, batch_first=True, norm_first=True)
            for _ in range(BLOCKS))
        self.norm = nn.LayerNorm(WIDTH)
        self.register_buffer("later", torch.triu(torch.ones(LENGTH, LENGTH, dtype=torch.bool), 1))

    def states(self, ids):
        x = self.dropout(self.embedding(ids) * WIDTH ** 0.5 + self.place(places(ids)))
        for block in self.blocks:
            x = block(x, src_mask=self.later[:ids.shape[1], :ids.shape[1]])
        return self.norm(x)


class GSASRec(SASRec):
    """SASRec with drawn negatives and the generalised binary cross entropy, which undoes their overconfidence."""

    def loss(self, batch):
        states, targets = self.foretold(batch)
        drawn = torch.randint(1, self.items + 1, (len(targets), GSASREC_NEGATIVES))
        others = torch.einsum("nd,nkd->nk", states, self.embedding(drawn)) + self.bias[drawn - 1]
        others = others.masked_fill(drawn == targets[:, None], -math.inf)
        own = (states * self.embedding(targets)).sum(1) + self.bias[targets - 1]
        rate = GSASREC_NEGATIVES / (self.items - 1)
        beta = rate * (GSASREC_T * (1 - 1 / rate) + 1 / rate)
        return -(beta * functional.logsigmoid(own) + functional.logsigmoid(-others).sum(1)).mean()
