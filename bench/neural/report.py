"""The tables: all systems, and where the best neural one finds what gsimc misses."""
import math
from collections import Counter

from metrics import error, gains, hits, mean

LISTS = (10, 50, 100)
SLICED = 100  # length of the lists in the table of groups


def table(rows):
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *lines[1:]])


def figure(value):
    return f"{value:.4f}".replace("0.", ".", 1)


def systems(results):
    """One row a system: accuracy on test users, and processor seconds of the best run and of all that were tried."""
    rows = [["system", "constants", "epoch", "cpu s", "of all", *(f"HR@{n}" for n in LISTS),
             *(f"NDCG@{n}" for n in LISTS), "± of NDCG@10"]]
    for name, result in results.items():
        found = result["ranks"]
        rows.append([name, ", ".join(f"{key} {value}" for key, value in result["constants"].items()) or "-",
                     str(result["epoch"] or "-"), f"{result['seconds']:.0f}", f"{result['tried_seconds']:.0f}",
                     *(figure(mean(hits(found, n))) for n in LISTS), *(figure(mean(gains(found, n))) for n in LISTS),
                     figure(error(gains(found, 10)))])
    return table(rows)


def groups(split, ours, theirs, name):
    """HR@100 of both by groups of targets, and how many targets only one of them lists."""
    rows = [["targets", "users", "gsimc", name, "difference", "±", "only gsimc", f"only {name}"]]
    for label, members in grouped(split):
        a, b = ([hits(found, SLICED)[u] for u in members] for found in (ours, theirs))
        differences = [x - y for x, y in zip(a, b)]
        rows.append([label, str(len(members)), figure(mean(a)), figure(mean(b)), f"{mean(differences):+.4f}",
                     figure(error(differences)), str(sum(d > 0 for d in differences)),
                     str(sum(d < 0 for d in differences))])
    return table(rows)


def grouped(split):
    """Yields groups of test users: by popularity of the target, by what it follows, by length of the history."""
    test = split.test
    everybody = list(range(len(test.targets)))
    yield "all", everybody
    users = Counter(item for items in split.train for item in items)
    ordered = sorted(everybody, key=lambda u: users[test.targets[u]])
    for quarter, label in enumerate(("rarest quarter", "second quarter", "third quarter", "most popular quarter")):
        yield label, ordered[quarter * len(ordered) // 4:(quarter + 1) * len(ordered) // 4]
    before = {}
    for items in split.train:
        for item, following in zip(items, items[1:]):
            before.setdefault(following, set()).add(item)
    back = [nearest(history, before.get(target, ())) for history, target in zip(test.histories, test.targets)]
    for label, first, last in (("followed the last item in training", 1, 1), ("the item 2 or 3 back", 2, 3),
                               ("the item 4 to 10 back", 4, 10), ("an older one, or none", 11, math.inf)):
        yield label, [u for u in everybody if first <= back[u] <= last]
    for label, first, last in (("history of 1 to 4", 1, 4), ("history of 5 to 9", 5, 9),
                               ("history of 10 to 19", 10, 19), ("history of 20 and more", 20, math.inf)):
        yield label, [u for u in everybody if first <= len(test.histories[u]) <= last]


def nearest(history, items):
    """Returns how far back the newest of the items is in the history: 1 for the last one, infinity for none."""
    return next((back for back, item in enumerate(reversed(history), 1) if item in items), math.inf)
