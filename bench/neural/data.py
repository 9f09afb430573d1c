"""Events as sequences of items, and the split that all systems share.

An item is its number from 1; 0 is padding. A user has an item once, at its first place. Users are dealt 8:1:1 to
training, validation and test; of a validation or test user the last item is the target and those before it are the
history. Items that no training user has are left out everywhere, as gsimc does.
"""
import csv
import gzip
import random
from collections import Counter
from dataclasses import dataclass
from pathlib import Path


@dataclass
class HeldOut:
    users: list[str]
    histories: list[list[int]]
    targets: list[int]


@dataclass
class Split:
    items: int  # how many: their numbers are 1 to items
    train: list[list[int]]
    validation: HeldOut
    test: HeldOut


def read(path):
    """Returns the items of each user in the order of time, each with the time of its first place."""
    opened = (gzip.open if str(path).endswith(".gz") else open)(path, "rt", newline="", encoding="utf-8")
    with opened as file:
        rows = [(int(row["timestamp"]), row["user_id"], row["item_id"]) for row in csv.DictReader(file)]
    histories = {}
    for moment, user, item in sorted(rows, key=lambda row: row[0]):
        histories.setdefault(user, {}).setdefault(item, moment)
    return histories


def core(histories, fewest):
    """Leaves out users and items with fewer events, again and again, until all have as many."""
    while True:
        count = Counter(item for items in histories.values() for item in items)
        kept = {user: {item: moment for item, moment in items.items() if count[item] >= fewest}
                for user, items in histories.items()}
        kept = {user: items for user, items in kept.items() if len(items) >= fewest}
        if kept == histories:
            return kept
        histories = kept


def deal(histories, seed):
    """Returns the role of each user."""
    users = sorted(histories)
    random.Random(seed).shuffle(users)
    train, validation = 8 * len(users) // 10, len(users) // 10
    roles = ["train"] * train + ["validation"] * validation
    return dict(zip(users, roles + ["test"] * (len(users) - len(roles))))


def write(folder, histories, roles):
    """Writes events.csv and split.csv for gsimc."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "events.csv", "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["user_id", "item_id", "timestamp"])
        out.writerows((user, item, moment) for user in sorted(histories) for item, moment in histories[user].items())
    with open(folder / "split.csv", "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["user_id", "role"])
        out.writerows(sorted(roles.items()))


def numbered(histories, roles):
    """Returns the Split of these roles."""
    known = sorted({item for user, items in histories.items() if roles[user] == "train" for item in items})
    number = {item: place for place, item in enumerate(known, 1)}
    of_role = {"train": [], "validation": [], "test": []}
    for user in sorted(histories):
        items = [number[item] for item in histories[user] if item in number]
        if len(items) >= 2:
            of_role[roles[user]].append((user, items))
    held_out = {role: HeldOut([user for user, _ in of_role[role]], [items[:-1] for _, items in of_role[role]],
                              [items[-1] for _, items in of_role[role]]) for role in ("validation", "test")}
    return Split(len(known), [items for _, items in of_role["train"]], **held_out)
