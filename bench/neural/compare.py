"""Trains neural systems on a split of the users, measures gsimc on the same one, and prints tables.

    python3 bench/neural/compare.py --gsimc bin/gsimc --data interactions.csv.gz

Each system is tried with the constants that CANDIDATES names; the best NDCG@10 on the validation users decides.
A run of a neural system takes one thread; --jobs of them are under way at once. One of gsimc takes all processors.
"""
import argparse
import dataclasses
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

try:
    import torch
except ImportError:
    sys.exit("torch is missing: apt-get install python3-torch libopenblas0-pthread, or pip install torch")

import data
import report
import training
from bert4rec import BERT4Rec
from grec import GREC
from gru4rec import GRU4Rec
from idcf import IDCF, LAYERS
from sasrec import GSASRec, SASRec

DROPOUTS = [{"dropout": 0.2}, {"dropout": 0.5}]
CANDIDATES = {
    "SASRec": (SASRec, DROPOUTS),
    "gSASRec": (GSASRec, DROPOUTS),
    "BERT4Rec": (BERT4Rec, DROPOUTS),
    "GRU4Rec": (GRU4Rec, DROPOUTS),
    "GREC": (GREC, DROPOUTS),
    **{f"IDCF-{layer}": (IDCF, [{"layer": layer, "targets": targets} for targets in ("next", "any")])
       for layer in LAYERS},
}
METHODS = "popularity,gs-imc-best,markov,vsknn,dynamics"


def train(name, constants, split, options):
    torch.set_num_threads(1)
    torch.manual_seed(1)
    system = CANDIDATES[name][0](split, **constants)
    label = f"{name} {constants}"
    fitted = training.fit(system, split, options.epochs, options.patience,
                          lambda text: print(f"{label}: {text}", file=sys.stderr, flush=True))
    fitted.constants = constants
    return name, fitted


def neural(names, split, options):
    """Returns the best run of each system by its name, with the seconds of all."""
    tried = {name: [] for name in names}
    with ProcessPoolExecutor(options.jobs, get_context("spawn")) as pool:
        runs = [pool.submit(train, name, constants, split, options)
                for name in names for constants in CANDIDATES[name][1]]
        for run in as_completed(runs):
            name, fitted = run.result()
            tried[name].append(fitted)
    results = {}
    for name, runs in tried.items():
        best = dataclasses.asdict(max(runs, key=lambda run: run.validation))
        best["constants"].pop("layer", None)
        results[name] = {**best, "tried_seconds": sum(run.all_seconds for run in runs)}
    return results


def own(options, histories, roles, split):
    """Returns the results of gsimc. Each method has a run of its own, and the processor time of all of it."""
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        data.write(folder, histories, roles)
        for method in options.methods.split(","):
            before = os.times()
            printed = subprocess.run(
                [options.gsimc, "evaluate", "--quiet", "--json", "--verbose", "--methods", method,
                 "--data", f"{folder}/events.csv", "--split", f"{folder}/split.csv"],
                check=True, stdout=subprocess.PIPE).stdout
            after = os.times()
            seconds = after.children_user + after.children_system - before.children_user - before.children_system
            answer = json.loads(printed)
            of_user = dict(zip(answer["test_users"], answer["ranks"][method]))
            results[f"gsimc {method}"] = {
                "ranks": [of_user[user] for user in split.test.users], "constants": {}, "epoch": 0,
                "seconds": seconds, "tried_seconds": seconds}
    return results


def options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", required=True, help="CSV of user_id, item_id and timestamp, whole; plain or gzip")
    parser.add_argument("--gsimc", default="bin/gsimc", help="the gsimc program")
    parser.add_argument("--methods", default=METHODS, help="methods of gsimc evaluate, separated by commas")
    parser.add_argument("--systems", default=",".join(CANDIDATES), help="neural systems, separated by commas")
    parser.add_argument("--core", type=int, default=5, help="leave out users and items with fewer events")
    parser.add_argument("--seed", type=int, default=1, help="of the split")
    parser.add_argument("--epochs", type=int, default=200, help="at most so many epochs")
    parser.add_argument("--patience", type=int, default=10, help="epochs without a better NDCG@10 that end a run")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="runs at once")
    parser.add_argument("--out", help="file for all ranks, JSON")
    chosen = parser.parse_args()
    unknown = set(chosen.systems.split(",")) - set(CANDIDATES)
    if unknown:
        parser.error(f"--systems: {', '.join(sorted(unknown))} unknown, want some of {', '.join(CANDIDATES)}")
    if "dynamics" not in chosen.methods.split(","):
        parser.error("--methods: dynamics is missing, which the second table compares")
    for flag, path in (("--gsimc", chosen.gsimc), ("--data", chosen.data)):
        if not Path(path).is_file():
            parser.error(f"{flag}: {path} is no file")
    if min(chosen.core - 1, chosen.epochs, chosen.patience, chosen.jobs) < 1:
        parser.error("--core must be 2 or more, and --epochs, --patience and --jobs 1 or more")
    return chosen


def main():
    chosen = options()
    histories = data.core(data.read(chosen.data), chosen.core)
    roles = data.deal(histories, chosen.seed)
    split = data.numbered(histories, roles)
    if not (split.train and split.validation.users and split.test.users):
        sys.exit(f"--data: {len(histories)} users have {chosen.core} items or more, too few to deal 8:1:1")
    print(f"{len(split.train)} training, {len(split.validation.users)} validation and {len(split.test.users)} test "
          f"users; {split.items} items; torch {torch.__version__}\n")
    results = own(chosen, histories, roles, split) | neural(chosen.systems.split(","), split, chosen)
    if chosen.out:
        Path(chosen.out).write_text(json.dumps({"users": split.test.users, "results": results}))
    print(report.systems(results))
    best = max(chosen.systems.split(","), key=lambda name: results[name]["validation"])
    print("\n" + report.groups(split, results["gsimc dynamics"]["ranks"], results[best]["ranks"], best))


if __name__ == "__main__":
    main()
