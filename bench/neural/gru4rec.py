"""GRU4Rec (Hidasi and others, 2016) on whole histories, with a softmax over all items, not over those of the batch."""
from torch import nn

from sequences import WIDTH, NextItem

HIDDEN = 128


class GRU4Rec(NextItem):
    def __init__(self, split, dropout):
        super().__init__(split, dropout)
        self.gru = nn.GRU(WIDTH, HIDDEN, batch_first=True)
        self.out = nn.Linear(HIDDEN, WIDTH)

    def states(self, ids):
        hidden, _ = self.gru(self.dropout(self.embedding(ids)))
        return self.out(self.dropout(hidden))
