"""Tests of the stages of train_spectrum.py on a Spark of this process: python3 -m unittest."""

import contextlib
import io
import os
import random
import tempfile
import unittest

import numpy as np
from pyspark.sql import SparkSession

import spectrum
import train_spectrum as job


def options(*args):
    return job.parse_options(["--data", "x.csv", "--out", "y", *args])


class Job(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
        for key, value in (("spark.driver.host", "127.0.0.1"),
                           ("spark.driver.bindAddress", "127.0.0.1"),
                           ("spark.sql.shuffle.partitions", "2"),
                           ("spark.sql.adaptive.enabled", "false"),
                           ("spark.sql.codegen.wholeStage", "false"),
                           ("spark.ui.showConsoleProgress", "false"),
                           ("spark.sql.session.timeZone", "UTC")):
            builder = builder.config(key, value)
        cls.spark = builder.getOrCreate()
        cls.spark.sparkContext.setLogLevel("OFF")

    @classmethod
    def tearDownClass(cls):
        cls.spark.stop()

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        silence = contextlib.redirect_stdout(io.StringIO())
        silence.__enter__()
        self.addCleanup(silence.__exit__, None, None, None)

    def file(self, text, name="events.csv"):
        path = os.path.join(self.folder, name)
        with open(path, "w") as f:
            f.write(text)
        return path

    def events(self, text, *args):
        o = options(*args)
        o.data = [self.file(text)]
        return job.read_events(self.spark, o), o

    def frame(self, rows):
        """Events of (user, item, time)."""
        data = [(u, i, t, 1.0, at) for at, (u, i, t) in enumerate(rows)]
        return self.spark.createDataFrame(
            data, "user string, item string, time bigint, weight double, row bigint")

    def test_reads_columns_and_times(self):
        frame, _ = self.events(
            'who,"what, so",when,much\nb,"x ""1""",1700000000500,2\na,y,2023-11-14T22:13:20,0.5\n',
            "--user-column", "who", "--item-column", "what, so", "--time-column", "when",
            "--weight-column", "much", "--time-unit", "ms")
        rows = [(r.user, r.item, r.time, r.weight) for r in frame.orderBy("row").collect()]
        self.assertEqual(rows, [("b", 'x "1"', 1700000000, 2.0), ("a", "y", 1700000000, 0.5)])

    def test_reads_parquet(self):
        path = os.path.join(self.folder, "events")
        self.spark.sql("select 7 as user_id, 8 as item_id, timestamp '2020-01-01 00:00:01' as "
                       "timestamp").write.parquet(path)
        o = options()
        o.data = [path]
        row = job.read_events(self.spark, o).first()
        self.assertEqual((row.user, row.item, row.time, row.weight), ("7", "8", 1577836801, 1.0))

    def test_missing_column(self):
        with self.assertRaisesRegex(job.Refused, "no column timestamp, but user_id, item_id"):
            self.events("user_id,item_id\na,b\n")

    def test_bad_rows(self):
        good = "a,x,1,1\nb,y,2,1000\n"
        bad = ["a,,1,1", ",x,1,1", "a,x,soon,1", "a,x,1,0", "a,x,1,-1", "a,x,1,NaN", "a,x,1,1001",
               "a,x,1,", "a," + "ö" * 129 + ",1,1"]
        text = "user_id,item_id,timestamp,w\n" + good + "\n".join(bad) + "\n"
        frame, o = self.events(text, "--weight-column", "w", "--max-bad-rows", str(len(bad)))
        self.assertEqual(job.without_bad_rows(frame, o).count(), 2)
        o.max_bad_rows -= 1
        with self.assertRaisesRegex(job.Refused, "9 of 11 rows lack an id"):
            job.without_bad_rows(frame, o)
        frame, o = self.events("user_id,item_id,timestamp\n")
        with self.assertRaisesRegex(job.Refused, "there are no events"):
            job.without_bad_rows(frame, o)

    def test_first_of_each(self):
        frame = self.frame([("a", "x", 5), ("a", "y", 4), ("a", "x", 3), ("b", "x", 3),
                            ("a", "x", 3)])
        first = job.first_of_each(frame, 2).collect()
        rows = sorted((r.user, r.item, r.time, r.row) for r in first)
        self.assertEqual(rows, [("a", "x", 3, 2), ("a", "y", 4, 1), ("b", "x", 3, 3)])

    def test_core(self):
        rng = random.Random(1)
        pairs = {(f"u{rng.randrange(60)}", f"i{int(rng.random() ** 2 * 50)}") for _ in range(400)}
        for least_user, least_item in ((4, 5), (30, 30)):
            left, before = set(pairs), None
            while left != before:
                before = left
                users = [u for u, _ in left]
                items = [i for _, i in left]
                left = {(u, i) for u, i in left
                        if users.count(u) >= least_user and items.count(i) >= least_item}
            frame = self.frame([(u, i, 1) for u, i in sorted(pairs)])
            got = {(r.user, r.item) for r in job.core(frame, least_user, least_item).collect()}
            self.assertEqual(got, left)

    def test_rare_stay_in_small_catalogues(self):
        frame = self.frame([("a", "x", 1), ("b", "y", 1)])
        self.assertEqual(job.without_rare(frame, options())[1:], (0, 0))
        self.assertEqual(job.without_rare(frame, options("--min-item-events", "1"))[1:], (0, 1))
        split = options("--split", "roles.csv")
        self.assertEqual(job.without_rare(frame, split)[1:], (0, 0))

    def test_roles(self):
        frame = self.frame([(f"u{at}", "x", 1) for at in range(1000)])
        drawn = {r.user: r.role for r in job.with_roles(self.spark, frame, options()).collect()}
        held = [u for u, role in drawn.items() if role == "validation"]
        self.assertEqual(len(drawn), 1000)
        self.assertTrue(60 < len(held) < 140, len(held))
        again = job.with_roles(self.spark, frame, options()).where("role = 'validation'").count()
        self.assertEqual(again, len(held))
        path = self.file("user_id,role\nu1,train\nu2,test\nu4,validation\n", "roles.csv")
        given = job.with_roles(self.spark, frame, options("--split", path)).collect()
        self.assertEqual({r.user: r.role for r in given},
                         {"u1": "train", "u2": "test", "u4": "validation"})
        path = self.file("user_id,role\nu1,train\nu1,test\n", "twice.csv")
        with self.assertRaisesRegex(job.Refused, "a user has two roles"):
            job.with_roles(self.spark, frame, options("--split", path))
        path = self.file("user,role\nu1,train\n", "named.csv")
        with self.assertRaisesRegex(job.Refused, "no column user_id"):
            job.with_roles(self.spark, frame, options("--split", path))

    def test_catalogue_is_in_bytewise_order(self):
        ids = ["b", "B", "10", "9", "ö", "z", "\U0001f600", "\uff5e", "a b", "a,b"]
        catalogue = job.catalogue_of(self.frame([("u", i, 1) for i in ids]))
        self.assertEqual(catalogue.ids, sorted(ids, key=str.encode))
        numbers = {r.item: r.number for r in catalogue.numbers.collect()}
        self.assertEqual(numbers, {i: at for at, i in enumerate(catalogue.ids)})
        with self.assertRaisesRegex(job.Refused, "the training users have 1 items"):
            job.catalogue_of(self.frame([("u", "x", 1)]))

    def parts(self, rows, count):
        train = job.first_of_each(self.frame(rows), count)
        catalogue = job.catalogue_of(train)
        blocks = job.histories(train, catalogue, False, count)
        return catalogue, blocks.map(lambda b: (b, spectrum.edges_of(b, 4, 0.8)))

    def test_histories_and_counts(self):
        rng = random.Random(2)
        rows = [(f"u{rng.randrange(30)}", f"i{rng.randrange(20)}", rng.randrange(9))
                for _ in range(300)]
        catalogue, parts = self.parts(rows, 3)
        first = {}
        for at, (user, item, when) in enumerate(rows):
            key = (user, catalogue.ids.index(item))
            first[key] = min(first.get(key, (99, 0)), (when, at))
        want = {}
        for (user, item), place in sorted(first.items(), key=lambda x: x[1]):
            want.setdefault(user, []).append(item)
        blocks = [b for b, _ in parts.collect()]
        got = [b.item[x:y].tolist() for b in blocks for x, y in zip(b.ptr[:-1], b.ptr[1:])]
        self.assertEqual(sorted(got), sorted(want.values()))
        counts = job.counts_of(parts, 20)
        self.assertEqual((counts.users, counts.events), (30, len(first)))
        self.assertEqual(counts.degrees.sum(), len(first))
        self.assertEqual(counts.newest, max(when for when, _ in first.values()))
        again = [b for b, _ in self.parts(rows, 3)[1].collect()]
        for one, other in zip(blocks, again):
            self.assertEqual(one.item.tolist(), other.item.tolist())

    def test_operator_and_successions(self):
        """Partitions and strips change nothing: one partition is compared with four."""
        rng = random.Random(3)
        rows = [(f"u{rng.randrange(60)}", f"i{rng.randrange(40):02}", rng.randrange(999))
                for _ in range(900)]
        results = []
        for count, strip in ((1, 7), (4, 3)):
            _, parts = self.parts(rows, count)
            counts = job.counts_of(parts, 40)
            scale = spectrum.vertex_scale(counts.edge_degrees, 0.8)
            x = np.random.default_rng(0).standard_normal((40, 7))
            results.append((job.Operator(parts, scale, strip).apply(x),
                            job.learn_successions(parts, counts.degrees, counts.events, 5)))
        np.testing.assert_allclose(results[0][0], results[1][0], rtol=0, atol=1e-5)
        for name, values in results[0][1].items():
            self.assertEqual(values.tolist(), results[1][1][name].tolist(), name)

    def test_sample(self):
        rows = [(f"u{u}", f"i{i}", i) for u in range(50) for i in range(1 + u % 3)]
        catalogue = job.catalogue_of(self.frame([("t", "i0", 1), ("t", "i1", 1)]))
        known = job.sample_of(self.frame(rows), catalogue, options())
        users = {r.user for r in known.collect()}
        self.assertEqual(users, {f"u{u}" for u in range(50) if u % 3})
        self.assertEqual({r.item for r in known.collect()}, {"i0", "i1"})

    def test_the_same_job_makes_the_same_arrays(self):
        rng = random.Random(5)
        lines = [f"u{rng.randrange(400)},i{int(rng.random() ** 2 * 80)},{rng.randrange(10**9)}"
                 for _ in range(6000)]
        o = options("--rank", "8", "--partitions", "3", "--window", "6")
        o.data = [self.file("user_id,item_id,timestamp\n" + "\n".join(lines))]
        made = []
        for _ in range(2):
            data = job.prepare(self.spark, o)
            made.append(job.learn(self.spark, o, data))
        self.assertEqual(made[0][1], made[1][1])
        self.assertEqual(spectrum.checksum(*made[0]), spectrum.checksum(*made[1]))

    def test_learning_refuses(self):
        lines = [f"u{u},i{i},{i}" for u in range(400) for i in range(u % 2 + 2)]
        text = "user_id,item_id,timestamp\n" + "\n".join(lines)
        for args, want in ((["--rank", "4"], "--rank: 4 is above the number of items 3"),
                           (["--rank", "2", "--bands", "0.5@1h"], "the times are positions")):
            o = options("--partitions", "1", *args)
            o.data = [self.file(text)]
            with self.assertRaisesRegex(job.Refused, want):
                job.learn(self.spark, o, job.prepare(self.spark, o))
        few = self.file("user_id,role\nu0,train\nu1,train\nu2,validation\n", "few.csv")
        o = options("--split", few)
        o.data = [self.file(text)]
        with self.assertRaisesRegex(job.Refused, "1 validation users have two items"):
            job.prepare(self.spark, o)

    def test_folder(self):
        out = job.Folder(self.spark, os.path.join(self.folder, "new", "folder"))
        for name in ("first", "second"):  # replaces
            out.put(self.file(name), "file")
            out.write_parquet(self.frame([(name, "x", 1)]).coalesce(1), "sample.parquet")
        made = os.path.join(self.folder, "new", "folder")
        with open(os.path.join(made, "file")) as f:
            self.assertEqual(f.read(), "second")
        sample = os.path.join(made, "sample.parquet")
        self.assertTrue(os.path.isfile(sample))
        self.assertEqual(self.spark.read.parquet(sample).first().user, "second")


class Options(unittest.TestCase):
    def test_refusals(self):
        for args, want in (
            (["--rank", "0"], "--rank: 0, want 1 to"),
            (["--window", "1"], "--window: 1, want 2 to"),
            (["--tolerance", "1e-9"], "--tolerance: 1e-09, want 1e-06"),
            (["--bands", "2"], "--bands: '2' is not a share"),
            (["--degree-exponent", "3"], "--degree-exponent: 3.0, want 0 to 2"),
        ):
            errors = io.StringIO()
            with self.assertRaises(SystemExit), contextlib.redirect_stderr(errors):
                options(*args)
            self.assertIn(want, errors.getvalue())

    def test_formats(self):
        for name, want in (("a/b.csv.gz", "csv"), ("events.tsv", "csv"), ("lake/events", "parquet"),
                           ("lake.csv/events", "parquet"), ("x.parquet", "parquet")):
            o = options()
            o.data = [name]
            self.assertEqual(job.format_of(o), want, name)

    def test_ranges_have_about_as_many_events(self):
        rng = np.random.default_rng(4)
        degrees = (1 / np.arange(1, 1001) * 1e5).astype(np.int64)
        rng.shuffle(degrees)
        bounds = job.range_bounds(degrees, 10)
        sizes = [part.sum() for part in np.split(degrees, bounds)]
        self.assertEqual(sum(sizes), degrees.sum())
        self.assertLessEqual(max(sizes), degrees.sum() / 10 + degrees.max())
        self.assertTrue((np.diff(bounds) > 0).all())

    def test_signs(self):
        u = job.fix_signs(np.array([[0.1, -0.9], [-0.5, 0.2]]))
        self.assertEqual(u.tolist(), [[-0.1, 0.9], [0.5, -0.2]])


if __name__ == "__main__":
    unittest.main()
