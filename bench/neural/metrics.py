"""Figures of lists, from the ranks of their targets, which count from 1."""
import math


def hits(found, n):
    return [float(rank <= n) for rank in found]


def gains(found, n):
    return [1 / math.log2(rank + 1) if rank <= n else 0.0 for rank in found]


def mean(values):
    return sum(values) / max(1, len(values))


def error(values):
    """Returns the standard error of the mean."""
    middle = mean(values)
    return math.sqrt(sum((value - middle) ** 2 for value in values) / max(1, len(values) - 1) / max(1, len(values)))
