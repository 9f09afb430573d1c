"""Learns the spectrum of an item graph, and what else gsimc takes of the training users, where
their events lie: a Spark job that writes OUT/spectrum.safetensors and OUT/sample.parquet.

    spark-submit --py-files spectrum.py train_spectrum.py --data s3a://lake/events --out OUT
    gsimc train --from-spectrum spectrum.safetensors --data sample.parquet --out model.gsimc

A pass over the data broadcasts a strip of vectors over the items and adds up as much. No process
ever holds a matrix of items by items. README.md has inputs, memory and limits.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from pyspark import RDD, StorageLevel
from pyspark.sql import Column, DataFrame, Row, SparkSession, functions as F

import spectrum
from spectrum import Block, Edges, Rows, Successions

MAX_ID_BYTES = 256
MAX_WEIGHT = 1000
TICKS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}  # of a second

# The rule of gsimc train for rare users and items, where nothing else is said: see README.md.
RARE_EVENTS, RARE_ITEMS, RARE_USERS, RARE_SHARE = 5, 2000, 200, 0.4

SAMPLE_USERS = 20_000
FEWEST_SAMPLED = 20
PARTITION_EVENTS = 5_000_000
CONTEXT_ROWS = 1 << 16  # events whose neighbours travel in one record
RANGE_EVENTS = 250_000  # events whose pairs one task adds up


# --- Options ------------------------------------------------------------------------------------


def parse_options(args: list[str]) -> argparse.Namespace:
    """Reads the command line. Defaults of the model are those of gsimc train."""
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0],
                                formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    p.add_argument("--data", nargs="+", required=True, help="files or folders of events")
    p.add_argument("--out", required=True, help="folder to write to, any that Spark can")
    p.add_argument("--format", choices=["csv", "parquet"],
                   help="of the events; by default what their names end with, else parquet")
    p.add_argument("--user-column", default="user_id")
    p.add_argument("--item-column", default="item_id")
    p.add_argument("--time-column", default="timestamp")
    p.add_argument("--weight-column", help="weights above 0; by default every event weighs 1")
    p.add_argument("--time-unit", choices=list(TICKS), default="s", help="of times in numbers")
    p.add_argument("--max-bad-rows", type=int, default=0)
    p.add_argument("--min-user-events", type=int, help="leave out users with fewer items; by "
                   "default as gsimc train: 5 for a large catalogue, else 0")
    p.add_argument("--min-item-events", type=int, help="leave out items with fewer users, likewise")
    p.add_argument("--split", help="CSV of user_id and role; by default a tenth of the users, "
                   "drawn by a hash, are for validation and the others for training")
    p.add_argument("--rank", type=int, default=256, help="eigenvectors, k")
    p.add_argument("--degree-exponent", type=float, default=0.8, help="s of the hypergraph")
    p.add_argument("--window", type=int, default=40, help="events of a hyperedge; 0: all of a user")
    p.add_argument("--degree-rescale", type=float, default=0.6, help="t of the encoder rows")
    p.add_argument("--bands", default="0,0.5,0.87,0.98", help="memories of the past")
    p.add_argument("--positions", type=int, default=200, help="last events of a user to learn from")
    p.add_argument("--local-neighbours", type=int, default=50, help="0: no local term")
    p.add_argument("--tolerance", type=float, default=1e-5, help="largest residual over κ_1")
    p.add_argument("--max-passes", type=int, default=200)
    p.add_argument("--block", type=int, default=0, help="vectors of a pass; 0: min(k+16, 64)")
    p.add_argument("--blocks", type=int, default=12, help="blocks that the driver holds beside k")
    p.add_argument("--strip", type=int, default=0,
                   help="columns that travel at a time; 0: by spark.driver.maxResultSize")
    p.add_argument("--partitions", type=int, default=0,
                   help="0: the default parallelism, or 5 million events in each")
    p.add_argument("--seed", type=int, default=1, help="of the start vectors and the hash")
    o = p.parse_args(args)
    check_options(p, o)
    return o


def check_options(p: argparse.ArgumentParser, o: argparse.Namespace) -> None:
    """Ends with a usage message if an option is out of range."""
    for name, least, most in (
        ("rank", 1, 10**6), ("degree_exponent", 0, 2), ("degree_rescale", -2, 2),
        ("positions", 0, 10**9), ("local_neighbours", 0, 1000), ("tolerance", 1e-6, 0.1),
        ("max_passes", 2, 10**6), ("block", 0, 10**5), ("blocks", 3, 10**4), ("strip", 0, 10**5),
        ("partitions", 0, 10**6), ("max_bad_rows", 0, 10**12), ("seed", 0, 2**63 - 1),
    ):
        if not least <= getattr(o, name) <= most:
            p.error(f"--{name.replace('_', '-')}: {getattr(o, name)}, want {least} to {most}")
    if o.window != 0 and not 2 <= o.window <= 10_000:
        p.error(f"--window: {o.window}, want 2 to 10000, or 0 for whole histories")
    try:
        o.parsed_bands = spectrum.parse_bands(o.bands)
    except ValueError as e:
        p.error(f"--bands: {e}")


class Refused(Exception):
    """The data cannot be used as they are."""


def only_row(frame: DataFrame) -> Row:
    """The row of an aggregate over all rows, which there always is."""
    return frame.collect()[0]


# --- Events -------------------------------------------------------------------------------------


def format_of(o: argparse.Namespace) -> str:
    """The format of the events."""
    if o.format:
        return o.format
    csv = any(part in os.path.basename(o.data[0]) for part in (".csv", ".tsv"))
    return "csv" if csv else "parquet"


def read_events(spark: SparkSession, o: argparse.Namespace) -> DataFrame:
    """The events as user, item, time (seconds), weight, row. row orders events of equal time as the
    files do, as far as Spark keeps their order.
    """
    if format_of(o) == "csv":
        raw = spark.read.csv(o.data, header=True, escape='"')
    else:
        raw = spark.read.parquet(*o.data)
    wanted = [o.user_column, o.item_column, o.time_column]
    wanted += [o.weight_column] if o.weight_column else []
    if missing := [c for c in wanted if c not in raw.columns]:
        raise Refused(f"the events have no column {missing[0]}, but {', '.join(raw.columns)}")
    column = {name: F.col(f"`{name}`") for name in wanted}
    weight = column[o.weight_column].cast("double") if o.weight_column else F.lit(1.0)
    return raw.select(
        column[o.user_column].cast("string").alias("user"),
        column[o.item_column].cast("string").alias("item"),
        seconds(raw, o).alias("time"),
        weight.alias("weight"),
        F.monotonically_increasing_id().alias("row"),
    )


def seconds(raw: DataFrame, o: argparse.Namespace) -> Column:
    """The column of the times in whole seconds since 1970; null where it is no time."""
    def cast(kind: str) -> Column:
        return F.expr(f"try_cast(`{o.time_column}` as {kind})")

    kind = dict(raw.dtypes)[o.time_column]
    if kind in ("timestamp", "timestamp_ntz", "date"):
        return F.unix_timestamp(cast("timestamp"))
    number = F.floor(cast("decimal(38, 3)") / F.lit(TICKS[o.time_unit])).cast("bigint")
    if kind == "string":
        return F.coalesce(number, F.unix_timestamp(cast("timestamp")))
    return number


def without_bad_rows(events: DataFrame, o: argparse.Namespace) -> DataFrame:
    """The events without rows that gsimc refuses; more than --max-bad-rows of these are refused."""
    def id_is_good(name: str) -> Column:
        size = F.octet_length(name)
        return F.col(name).isNotNull() & (size > 0) & (size <= MAX_ID_BYTES)

    weight = F.col("weight")
    good = (id_is_good("user") & id_is_good("item") & F.col("time").isNotNull() &
            weight.isNotNull() & (weight > 0) & (weight <= MAX_WEIGHT))  # NaN is above all numbers
    good = F.coalesce(good, F.lit(False))
    bad, rows = only_row(events.select(F.count_if(~good), F.count("*")))
    if rows == 0:
        raise Refused("there are no events")
    if bad > o.max_bad_rows:
        raise Refused(
            f"{bad} of {rows} rows lack an id of 1 to {MAX_ID_BYTES} bytes, a time, or a weight "
            f"above 0 and at most {MAX_WEIGHT}: look at the columns, or raise --max-bad-rows")
    log(f"{rows} rows, {bad} of them bad")
    return events.where(good)


def first_of_each(events: DataFrame, partitions: int) -> DataFrame:
    """The first event of each user on each item, with all of a user in one partition."""
    first = F.min(F.struct("time", "row", "weight")).alias("first")
    grouped = events.repartition(partitions, "user").groupBy("user", "item").agg(first)
    return grouped.select("user", "item", "first.time", "first.row", "first.weight")


def core(events: DataFrame, min_user: int, min_item: int) -> DataFrame:
    """The largest set of events in which users have min_user items and items min_item users."""
    if min_user <= 1 and min_item <= 1:
        return events
    left = events.count()
    while True:
        for name, least in (("item", min_item), ("user", min_user)):
            enough = events.groupBy(name).count().where(F.col("count") >= least).select(name)
            events = events.join(enough, name, "left_semi")
        events = events.persist(StorageLevel.MEMORY_AND_DISK)
        before, left = left, events.count()
        if left == before:
            return events


def without_rare(events: DataFrame, o: argparse.Namespace) -> tuple[DataFrame, int, int]:
    """Applies the filters of rare users and items, and returns them with what is left."""
    if o.min_user_events is not None or o.min_item_events is not None or o.split:
        user, item = o.min_user_events or 0, o.min_item_events or 0
        return core(events, user, item), user, item
    items, total = only_row(events.select(F.count_distinct("item"), F.count("*")))
    if items <= RARE_ITEMS:
        return events, 0, 0
    left = core(events, RARE_EVENTS, RARE_EVENTS)
    users, some = only_row(left.select(F.count_distinct("user"), F.count("*")))
    if users < RARE_USERS or some < RARE_SHARE * total:
        return events, 0, 0
    log(f"left out users and items with fewer than {RARE_EVENTS} events: {some} of {total} stay")
    return left, RARE_EVENTS, RARE_EVENTS


def with_roles(spark: SparkSession, events: DataFrame, o: argparse.Namespace) -> DataFrame:
    """The events of the users who have a role, with it."""
    if o.split:
        roles = spark.read.csv(o.split, header=True, escape='"')
        if missing := [c for c in ("user_id", "role") if c not in roles.columns]:
            raise Refused(f"--split: there is no column {missing[0]}")
        rows, users = only_row(
            roles.select(F.count("user_id"), F.count_distinct("user_id")))
        if rows != users:
            raise Refused("--split: a user has two roles")
        roles = roles.select(F.col("user_id").alias("user"), "role")
        return events.join(roles, "user")
    tenth = F.pmod(F.xxhash64("user", F.lit(o.seed)), F.lit(10)) == 0
    return events.withColumn("role", F.when(tenth, "validation").otherwise("train"))


# --- Partitions of histories --------------------------------------------------------------------


@dataclass(frozen=True)
class Catalogue:
    """The items of the training users."""

    ids: list[str]  # in bytewise order
    numbers: DataFrame  # item, number


def catalogue_of(train: DataFrame) -> Catalogue:
    """Numbers the items in the bytewise order of their ids."""
    items = train.select("item").distinct().orderBy("item")
    numbered = items.rdd.zipWithIndex().map(lambda x: (x[0].item, x[1]))
    numbers = numbered.toDF("item string, number bigint").persist(StorageLevel.MEMORY_AND_DISK)
    ids = [r.item for r in numbers.orderBy("number").toLocalIterator()]
    if len(ids) < 2:
        raise Refused(f"the training users have {len(ids)} items, want at least 2")
    return Catalogue(ids, numbers)


def histories(train: DataFrame, catalogue: Catalogue, weighted: bool, partitions: int) -> RDD:
    """One Block for each partition, the same in each run over the same files."""
    event = F.struct("time", "row", "number", "weight")
    rows = (train.join(catalogue.numbers, "item").repartition(partitions, "user")
            .groupBy("user").agg(F.sort_array(F.collect_list(event)).alias("h"))
            .sortWithinPartitions("user").select("h.number", "h.time", "h.weight"))

    def block(part: Iterable) -> Iterator[Block]:
        made = spectrum.block_of((r[0], r[1], r[2] if weighted else None) for r in part)
        if made.users:
            yield made

    return rows.rdd.mapPartitions(block)


@dataclass(frozen=True)
class Counts:
    """Sums over the training users."""

    users: int
    events: int
    hyperedges: int
    degrees: np.ndarray  # (n,) users of each item
    edge_degrees: np.ndarray  # (n,) hyperedges of each item
    newest: int

    def plus(self, other: "Counts") -> "Counts":
        return Counts(self.users + other.users, self.events + other.events,
                      self.hyperedges + other.hyperedges, self.degrees + other.degrees,
                      self.edge_degrees + other.edge_degrees, max(self.newest, other.newest))


def counts_of(parts: RDD, n: int) -> Counts:
    """parts holds pairs of Block and Edges."""
    def count(part: tuple[Block, Edges]) -> Counts:
        block, edges = part
        return Counts(block.users, block.events, edges.count,
                      np.bincount(block.item, minlength=n), np.bincount(edges.item, minlength=n),
                      int(block.time.max()))

    return parts.map(count).treeReduce(Counts.plus)


# --- What is learned ----------------------------------------------------------------------------


class Operator:
    """K = D_v^{−s/2} Rᵀ D_e^{−s} R D_v^{−s/2} over the partitions."""

    def __init__(self, parts: RDD, scale: np.ndarray, strip: int) -> None:
        self.parts, self.scale, self.strip = parts, scale[:, None], strip

    def apply(self, x: np.ndarray) -> np.ndarray:
        """K x for an n×b block, strip by strip."""
        strips = [self._apply(x[:, at:at + self.strip]) for at in range(0, x.shape[1], self.strip)]
        return np.hstack(strips)

    def _apply(self, x: np.ndarray) -> np.ndarray:
        z = self.parts.context.broadcast((self.scale * x).astype(np.float32))
        total = self.parts.map(lambda p: spectrum.multiply(p[1], z.value)).treeReduce(add)
        z.destroy()
        return self.scale * total


def add(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a + b in the memory of a, which nobody else has."""
    a += b
    return a


def learn_sums(parts: RDD, rows: np.ndarray, o: argparse.Namespace) -> spectrum.Sums:
    """The normal equations of the dynamics, in one pass."""
    shared, bands, positions = parts.context.broadcast(rows), o.parsed_bands, o.positions
    sums = parts.map(lambda p: spectrum.sums_of(p[0], shared.value, bands, positions)).treeReduce(
        spectrum.Sums.add)
    shared.destroy()
    return sums


def learn_successions(parts: RDD, degrees: np.ndarray, events: int, neighbours: int
                      ) -> dict[str, np.ndarray]:
    """The counts of the local term by a shuffle: each event goes with its neighbours to the task
    of its item's range, which adds up the pairs of the range and keeps the strongest.
    """
    n = len(degrees)
    ranges = min(n, max(parts.getNumPartitions(), math.ceil(events / RANGE_EVENTS)))
    bounds = range_bounds(degrees, ranges)
    shared = parts.context.broadcast(degrees)

    def send(part: tuple[Block, Edges]) -> Iterator[tuple[int, np.ndarray]]:
        contexts = spectrum.contexts_of(part[0])
        for at in range(0, len(contexts), CONTEXT_ROWS):
            some = contexts[at:at + CONTEXT_ROWS]
            some = some[np.argsort(some[:, 0], kind="stable")]
            cuts = np.searchsorted(some[:, 0], bounds)
            for to, rows in enumerate(np.split(some, cuts)):
                if len(rows):
                    yield to, rows

    def receive(records: Iterable[tuple[int, np.ndarray]]) -> Iterator[Rows]:
        found = Successions(n)
        for _, contexts in records:
            found.add(contexts)
        yield found.rows(shared.value, neighbours)

    rows = (parts.flatMap(send).partitionBy(len(bounds) + 1, lambda to: to)
            .mapPartitions(receive).persist(StorageLevel.MEMORY_AND_DISK))
    rows.count()  # all at once; the results come one by one, below the limit of their size
    arrays = spectrum.rows_of(rows.toLocalIterator(), n)
    rows.unpersist()
    shared.destroy()
    return arrays


def range_bounds(degrees: np.ndarray, ranges: int) -> np.ndarray:
    """The first items of all ranges but the first, so that ranges have about as many events."""
    before = np.cumsum(degrees) - degrees
    share = before * ranges // max(int(degrees.sum()), 1)
    return np.unique(np.searchsorted(share, np.arange(1, ranges)))


# --- The job ------------------------------------------------------------------------------------


_BEGIN = time.monotonic()


def log(text: str) -> None:
    """Prints a line with the time since the start of the job."""
    print(f"{time.monotonic() - _BEGIN:8.1f} s  {text}", flush=True)


@dataclass(frozen=True)
class Prepared:
    """The training users' histories over the cluster, and the sample."""

    parts: RDD  # of (Block, Edges)
    catalogue: Catalogue
    counts: Counts
    sample: DataFrame
    sampled: int  # users
    min_user: int
    min_item: int


def prepare(spark: SparkSession, o: argparse.Namespace) -> Prepared:
    """From the events to histories."""
    context = spark.sparkContext
    events = without_bad_rows(read_events(spark, o), o)
    shuffled = o.partitions or context.defaultParallelism
    events = first_of_each(events, shuffled).persist(StorageLevel.DISK_ONLY)
    partitions = o.partitions or max(context.defaultParallelism,
                                     math.ceil(events.count() / PARTITION_EVENTS))
    kept, min_user, min_item = without_rare(events, o)
    kept = with_roles(spark, kept, o)
    train = kept.where("role = 'train'")
    catalogue = catalogue_of(train)
    window, exponent = o.window, o.degree_exponent
    blocks = histories(train, catalogue, bool(o.weight_column), partitions)
    parts = blocks.map(lambda b: (b, spectrum.edges_of(b, window, exponent)))
    parts = parts.persist(StorageLevel.MEMORY_AND_DISK)
    counts = counts_of(parts, len(catalogue.ids))
    log(f"{counts.users} training users, {len(catalogue.ids)} items, {counts.events} interactions, "
        f"{counts.hyperedges} hyperedges, {parts.getNumPartitions()} partitions")
    sample = sample_of(kept.where("role = 'validation'"), catalogue, o)
    sample = sample.persist(StorageLevel.MEMORY_AND_DISK)
    sampled = sample.select("user").distinct().count()
    if sampled < FEWEST_SAMPLED:
        raise Refused(f"{sampled} validation users have two items of the training users, want at "
                      f"least {FEWEST_SAMPLED}: gsimc learns the noise from them")
    return Prepared(parts, catalogue, counts, sample, sampled, min_user, min_item)


def sample_of(validation: DataFrame, catalogue: Catalogue, o: argparse.Namespace) -> DataFrame:
    """The histories of up to SAMPLE_USERS validation users with two known items, by a hash."""
    known = validation.join(catalogue.numbers, "item")
    users = known.groupBy("user").count().where("count >= 2").select("user")
    drawn = users.orderBy(F.xxhash64("user", F.lit(o.seed + 1)), "user").limit(SAMPLE_USERS)
    return known.join(drawn, "user", "left_semi")


def learn(spark: SparkSession, o: argparse.Namespace, data: Prepared
          ) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """The arrays and the metadata of the file."""
    n, counts = len(data.catalogue.ids), data.counts
    if o.rank > n:
        raise Refused(f"--rank: {o.rank} is above the number of items {n}")
    if counts.newest < 365 * 86400 and any(b.half_life for b in o.parsed_bands):
        raise Refused("--bands: the times are positions, so nothing fades by time; leave out the "
                      "half-lives")
    shape = spectrum.solver_shape(n, o.rank, o.block, o.blocks)
    strip = spectrum.strip_width(n, o.strip or max(shape.width, o.rank),
                                 data.parts.getNumPartitions(), result_limit(spark))
    scale = spectrum.vertex_scale(counts.edge_degrees, o.degree_exponent)
    operator = Operator(data.parts, scale, strip)
    log(f"solver: blocks of {shape.width} vectors in strips of up to {strip}, {shape.capacity} "
        f"vectors on the driver ({8 * n * shape.capacity / 1e9:.2f} GB), "
        f"{4 * n * min(strip, shape.width) / 1e6:.0f} MB to each executor and back in a strip")
    found = spectrum.solve(
        operator.apply, n, o.rank, shape, o.tolerance, o.seed, o.max_passes,
        lambda passes, vectors, residual: log(
            f"pass {passes}: {vectors} vectors, residual {residual:.1e}"))
    u = fix_signs(found.u).astype(np.float32)
    sums = learn_sums(data.parts, spectrum.encoder_rows(u, counts.degrees, o.degree_rescale), o)
    if sums.count == 0:
        raise Refused("no training user has two events, so there is nothing to predict")
    log(f"sums of the dynamics: {sums.count} positions")
    arrays: dict[str, np.ndarray] = {
        "basis": u, "eigenvalues": found.kappa.copy(), "degrees": counts.degrees.astype(np.int64),
        "graph_scale": scale, "normal_states": sums.states, "normal_targets": sums.targets,
        **spectrum.packed(data.catalogue.ids),
    }
    if o.local_neighbours:
        arrays |= learn_successions(data.parts, counts.degrees, counts.events, o.local_neighbours)
        log(f"local term: {len(arrays['succession_items'])} pairs")
    return arrays, metadata(spark, o, data, found, sums)


def metadata(spark: SparkSession, o: argparse.Namespace, data: Prepared,
             found: spectrum.Spectrum, sums: spectrum.Sums) -> dict[str, str]:
    """Settings and counts, as gsimc reads them."""
    counts = data.counts
    values = {
        "program": f"train_spectrum.py on Spark {spark.version}", "seed": o.seed,
        "degree_exponent": o.degree_exponent, "window": o.window,
        "degree_rescale": o.degree_rescale, "bands": o.bands, "positions": o.positions,
        "local_neighbours": o.local_neighbours, "tolerance": o.tolerance,
        "train_users": counts.users, "interactions": counts.events,
        "hyperedges": counts.hyperedges, "targets": sums.count, "sample_users": data.sampled,
        "min_user_events": data.min_user, "min_item_events": data.min_item,
        "residual": found.residual, "passes": found.passes, "vectors": found.vectors,
        "weighted": "true" if o.weight_column else "false", "last_event": counts.newest,
        "partitions": data.parts.getNumPartitions(),
    }
    return {key: str(value) for key, value in values.items()}


def fix_signs(u: np.ndarray) -> np.ndarray:
    """Makes the entry of largest magnitude of each column positive."""
    at = np.abs(u).argmax(axis=0)
    return u * np.sign(u[at, range(u.shape[1])])


def result_limit(spark: SparkSession) -> int:
    """spark.driver.maxResultSize in bytes, 0 for none."""
    text = spark.conf.get("spark.driver.maxResultSize", "1g")
    return int(spark._jvm.org.apache.spark.network.util.JavaUtils.byteStringAsBytes(text))


class Folder:
    """A folder of any file system that Spark knows."""

    def __init__(self, spark: SparkSession, uri: str) -> None:
        jvm = spark._jvm
        self._path = jvm.org.apache.hadoop.fs.Path
        self._root = self._path(uri)
        self._fs = self._root.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())
        self._fs.mkdirs(self._root)

    def put(self, local: str, name: str) -> None:
        """Moves a file of this machine into the folder."""
        self._fs.copyFromLocalFile(True, True, self._path(local), self._path(self._root, name))

    def write_parquet(self, frame: DataFrame, name: str) -> None:
        """Writes a frame of one partition as one file."""
        parts, target = self._path(self._root, name + ".parts"), self._path(self._root, name)
        frame.write.mode("overwrite").parquet(parts.toString())
        made = [s.getPath() for s in self._fs.globStatus(self._path(parts, "part-*.parquet"))]
        self._fs.delete(target, False)
        if len(made) != 1 or not self._fs.rename(made[0], target):
            raise Refused(f"{target.toString()} cannot be written")
        self._fs.delete(parts, True)


def write(spark: SparkSession, o: argparse.Namespace, data: Prepared,
          arrays: dict[str, np.ndarray], meta: dict[str, str]) -> None:
    """Writes both files."""
    out = Folder(spark, o.out)
    columns = [F.col("user").alias("user_id"), F.col("item").alias("item_id"),
               F.col("time").alias("timestamp")]
    columns += [F.col("weight").cast("float")] if o.weight_column else []
    rows = data.sample.coalesce(1).sortWithinPartitions("user", "time", "row")
    out.write_parquet(rows.select(columns), "sample.parquet")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "spectrum.safetensors")
        spectrum.write_file(path, arrays, meta)
        log(f"{os.path.getsize(path) / 1e6:.1f} MB of spectrum, {data.sampled} users in the sample")
        out.put(path, "spectrum.safetensors")


def start(name: str) -> SparkSession:
    """The session, whose executors have both files."""
    spark = SparkSession.builder.appName(name).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    for path in (spectrum.__file__, __file__):
        spark.sparkContext.addPyFile(os.path.abspath(path))
    return spark


def main() -> int:
    o = parse_options(sys.argv[1:])
    spark = start("gsimc-spectrum")
    try:
        data = prepare(spark, o)
        arrays, meta = learn(spark, o, data)
        write(spark, o, data, arrays, meta)
        log(f"wrote {o.out}: residual {float(meta['residual']):.1e}, {meta['passes']} passes")
        return 0
    except (Refused, spectrum.NotConverged, ValueError) as e:
        print(f"train_spectrum.py: {e}", file=sys.stderr)
        return 1
    finally:
        spark.stop()


if __name__ == "__main__":
    sys.exit(main())
