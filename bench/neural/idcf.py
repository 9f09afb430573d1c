"""IDCF (Wu and others, ICML 2021) with the graph layers that the paper of BGS-IMC compares.

A part of the training users, drawn at random, are key users: matrix factorisation gives them embeddings. Every other
user, and so one who was never seen, gets an embedding from theirs by a graph layer over users and items. In the paper
the factorisation comes first and stays as it is; here both are learned at once, with a softmax over items. A history h
is the sum of its items i with the weights â_i = 1/sqrt(|h| d_i), where d_i is one more than the training users of i.
"""
import random

import torch
from torch import nn
from torch.nn import functional

from sequences import FEW_USERS, WIDTH

KEY_USERS = 0.4  # share of the training users
HEADS = 4
POSITIONS = 8  # positions of a user in an epoch, at most


class Attention(nn.Module):
    """GAT: each head weighs all key users by how well they fit the items of the history."""

    def __init__(self):
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4))

    def forward(self, graph, history):
        users = graph.users.weight
        query, key, value = (part(x).view(len(x), HEADS, -1).transpose(0, 1) for part, x in
                             ((self.query, graph.items_of(history)), (self.key, users), (self.value, users)))
        weight = torch.softmax(query @ key.transpose(1, 2) / key.shape[2] ** 0.5, 2)
        return self.out((weight @ value).transpose(0, 1).reshape(-1, WIDTH))


class SAGE(nn.Module):
    """GraphSAGE: the items of the history beside the key users who have them."""

    def __init__(self):
        super().__init__()
        self.own, self.others, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(3))

    def forward(self, graph, history):
        return self.out(torch.relu(self.own(graph.items_of(history)) + self.others(graph.users_of(history))))


class SGC(nn.Module):
    """Simple graph convolution: two hops without anything between them, and one linear map."""

    def __init__(self):
        super().__init__()
        self.out = nn.Linear(WIDTH, WIDTH)

    def forward(self, graph, history):
        return self.out(graph.users_of(history))


class Chebyshev(nn.Module):
    """ChebyNet of order 2: T_1 = -Â and T_2 = 2Â² - 1 of the Laplacian. A new user has no T_0 of its own."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, graph, history):
        return self.first(-graph.items_of(history)) + self.second(2 * graph.users_of(history))


class ARMA(nn.Module):
    """An ARMA filter of two steps, each of which brings in again what an item began with."""

    def __init__(self):
        super().__init__()
        self.step, self.begin, self.last = (nn.Linear(WIDTH, WIDTH) for _ in range(3))

    def forward(self, graph, history):
        items = torch.relu(self.step(graph.spread()) + self.begin(graph.inputs.weight))
        return self.last(graph.gather(items, history))


LAYERS = {"GAT": Attention, "GraphSAGE": SAGE, "SGC": SGC, "ChebyNet": Chebyshev, "ARMA": ARMA}


class IDCF(nn.Module):
    def __init__(self, split, layer, targets):
        super().__init__()
        users = list(split.train)
        random.Random(1).shuffle(users)
        count = max(1, int(KEY_USERS * len(users)))
        self.key, self.query, self.targets = users[:count], users[count:], targets
        self.batch = 256 if len(users) > FEW_USERS else 32
        self.users, self.inputs = nn.Embedding(count, WIDTH), nn.Embedding(split.items, WIDTH)
        self.outputs, self.bias = nn.Embedding(split.items, WIDTH), nn.Parameter(torch.zeros(split.items))
        for table in (self.users, self.inputs, self.outputs):
            nn.init.normal_(table.weight, std=0.1)
        self.layer = LAYERS[layer]()
        self.register_buffer("degree", torch.ones(split.items))
        for items in users:
            self.degree[torch.tensor(items) - 1] += 1
        edges = torch.tensor([(item - 1, u) for u, items in enumerate(self.key) for item in items]).T
        length = torch.tensor([len(items) for items in self.key])[edges[1]]
        weight = (length * self.degree[edges[0]]) ** -0.5
        self.edges = torch.sparse_coo_tensor(edges, weight, (split.items, count)).coalesce()

    def gather(self, table, history):
        flat = torch.tensor([item - 1 for items in history for item in items])
        length = torch.tensor([len(items) for items in history])
        weight = (torch.repeat_interleave(length, length) * self.degree[flat]) ** -0.5
        return functional.embedding_bag(flat, table, length.cumsum(0) - length, mode="sum", per_sample_weights=weight)

    def spread(self):
        return torch.sparse.mm(self.edges, self.users.weight)

    def items_of(self, history):
        return self.gather(self.inputs.weight, history)

    def users_of(self, history):
        return self.gather(self.spread(), history)

    # Training: key users foretell their own items, the others what follows a part of their history.

    def batches(self, rng):
        known = [(u, item) for u, items in enumerate(self.key) for item in items]
        first = 0 if self.targets == "any" else 1
        pairs = [self.pair(items, at) for items in self.query
                 for at in rng.sample(range(first, len(items)), min(POSITIONS, len(items) - first))]
        rng.shuffle(known)
        rng.shuffle(pairs)
        share = -(-len(known) * self.batch // len(pairs))
        for place, at in enumerate(range(0, len(pairs), self.batch)):
            yield pairs[at:at + self.batch], known[place * share:(place + 1) * share]

    def pair(self, items, at):
        """Returns a history and its target: a prefix and the next item, or all others and any item."""
        return items[:at] + (items[at + 1:] if self.targets == "any" else []), items[at]

    def foretold(self, users, targets):
        return functional.cross_entropy(users @ self.outputs.weight.T + self.bias, torch.tensor(targets) - 1)

    def loss(self, batch):
        pairs, known = batch
        loss = self.foretold(self.layer(self, [history for history, _ in pairs]), [target for _, target in pairs])
        if not known:
            return loss
        return loss + self.foretold(self.users(torch.tensor([u for u, _ in known])), [item for _, item in known])

    def scores(self, histories):
        return self.layer(self, histories) @ self.outputs.weight.T + self.bias
