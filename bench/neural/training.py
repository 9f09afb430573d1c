"""How every system is trained and measured.

A system is a torch module with three methods:

    batches(rng)       the batches of one epoch
    loss(batch)        a scalar
    scores(histories)  a tensor of a row for each history and a column for each item, column i for item i + 1

Adam at a rate of 1e-3. After each epoch the validation users are ranked; the weights of the epoch with the best
NDCG@10 are kept, and training ends when it has not risen for some epochs. Times are processor seconds of one thread.
"""
import copy
import math
import random
import time
from dataclasses import dataclass, field

import torch

from metrics import gains, mean

RATE, CLIP = 1e-3, 5.0
RANKED_AT_ONCE = 256


@dataclass
class Fitted:
    ranks: list[int]  # of the targets of the test users, from 1
    validation: float  # NDCG@10
    epoch: int
    seconds: float  # up to the end of this epoch
    all_seconds: float
    constants: dict = field(default_factory=dict)


def fit(system, split, epochs, patience, log=lambda text: None):
    rng = random.Random(1)
    optimizer = torch.optim.Adam(system.parameters(), lr=RATE, betas=(0.9, 0.98))
    begin, best, kept = time.process_time(), Fitted([], -1.0, 0, 0.0, 0.0), None
    for epoch in range(1, epochs + 1):
        system.train()
        for batch in system.batches(rng):
            optimizer.zero_grad()
            system.loss(batch).backward()
            torch.nn.utils.clip_grad_norm_(system.parameters(), CLIP)
            optimizer.step()
        reached = mean(gains(ranks(system, split.validation), 10))
        spent = time.process_time() - begin
        log(f"epoch {epoch}: NDCG@10 {reached:.4f} on validation users, {spent:.0f} processor seconds")
        if reached > best.validation:
            best.validation, best.epoch, best.seconds = reached, epoch, spent
            kept = copy.deepcopy(system.state_dict())
        elif epoch - best.epoch >= patience:
            break
    best.all_seconds = time.process_time() - begin
    system.load_state_dict(kept)
    best.ranks = ranks(system, split.test)
    return best


@torch.no_grad()
def ranks(system, held_out):
    """Returns the rank of each target among all items that are not in the history. Equal scores count as better."""
    system.eval()
    found = []
    for at in range(0, len(held_out.targets), RANKED_AT_ONCE):
        histories = held_out.histories[at:at + RANKED_AT_ONCE]
        scores = system.scores(histories)
        targets = torch.tensor(held_out.targets[at:at + RANKED_AT_ONCE]) - 1
        rows = torch.repeat_interleave(torch.arange(len(histories)), torch.tensor([len(h) for h in histories]))
        own = scores.gather(1, targets[:, None])
        scores[rows, torch.tensor([item for history in histories for item in history]) - 1] = -math.inf
        scores.scatter_(1, targets[:, None], own)
        found += (~(scores < own)).sum(1).tolist()  # without a number the rank is the last one
    return found
