"""The package beside real servers. GSIMC is the program; make clients-test sets it."""

import asyncio
import contextlib
import csv
import json
import math
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
from collections.abc import Callable, Iterator
from concurrent import futures
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pandas

import gsimc
from gsimc._calls import Window
from gsimc.v1.event_service_pb2 import StreamObserveResponse
from gsimc.v1.recommender_service_pb2 import ListKind
from gsimc.v1.types_pb2 import EventDisposition, SeenPolicy

GSIMC = os.path.abspath(os.environ["GSIMC"])
START = 1_700_000_000
ITEMS = 400
EVENTS = [gsimc.Event(user_id="carol", item_id=f"i{n % 100}", event_id=str(n))
          for n in range(3000)]


def run(*args: str, cwd: str | Path) -> str:
    done = subprocess.run(args, cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        raise AssertionError(f"{args}: {done.stderr}")
    return done.stdout


class Server:
    """A running gsimc serve, on the port that it had before, if any."""

    def __init__(self, folder: Path, model: str, *flags: str) -> None:
        self.folder, self.model, self.flags = folder, model, flags
        self.state = tempfile.mkdtemp(dir=folder)
        # It has its port again after it was killed, where the loopback interface has addresses
        # that hardly anybody uses.
        self.address = "127.7.1.8:0" if sys.platform == "linux" else "127.0.0.1:0"
        self.start()

    def start(self) -> None:
        free = "127.0.0.1:0"
        self.process = subprocess.Popen(
            [GSIMC, "serve", "--model", self.model, "--data-dir", self.state,
             "--listen", self.address, "--admin-listen", free, "--ops-listen", free,
             "--drain-delay", "0s", "--log-format", "json", *self.flags],
            cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr
        said = []
        for line in self.process.stderr:
            said.append(line)
            if line.startswith("{") and (told := json.loads(line))["msg"] == "serving":
                self.address = told["grpc"]
                self.rest = threading.Thread(target=self.process.stderr.read)
                self.rest.start()
                return
        raise AssertionError("".join(said))

    def stop(self) -> None:
        self.process.terminate()
        self._wait()

    def kill(self) -> None:
        self.process.kill()
        self._wait()

    def _wait(self) -> None:
        self.process.wait()
        self.rest.join()
        assert self.process.stderr
        self.process.stderr.close()


class Case(unittest.TestCase):
    folder: Path

    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)

    def serve(self, model: str, *flags: str) -> Server:
        server = Server(self.folder, model, *flags)
        self.addCleanup(server.kill)
        return server

    def train(self, name: str, *flags: str, users: int = 1000) -> gsimc.Model:
        """A model of users who take the one item that follows another, four times of five."""
        draw = random.Random(1)
        follower = draw.sample(range(ITEMS), ITEMS)
        with open(self.folder / "events.csv", "w", newline="") as f:
            out = csv.writer(f)
            out.writerow(["user_id", "item_id", "timestamp"])
            for user in range(users):
                item, at = draw.randrange(ITEMS), START
                for _ in range(12):
                    at += draw.randrange(1, 100_000)
                    out.writerow([f"u{user}", f"i{item}", at])
                    item = follower[item] if draw.random() < 0.8 else draw.randrange(ITEMS)
        run(GSIMC, "train", "--quiet", "--data", "events.csv", "--rank", "4", "--out", name,
            *flags, cwd=self.folder)
        return gsimc.Model(self.folder / name)


class TestModel(Case):
    """A model alone gives the scores of a server that has it."""

    def test_without_local_term(self) -> None:
        model = self.train("smooth.gsimc", "--local-neighbours", "0", "--bands", "0,0.87@720h")
        self.assertNotIn("local_values", model.tensors.keys())
        self.compare(model, "smooth.gsimc")

    def test_without_deviation(self) -> None:
        model = self.train("mean.gsimc", "--no-deviation", users=300)
        self.assertNotIn("p0", model.tensors.keys())
        self.compare(model, "mean.gsimc")

    def test_with_local_term(self) -> None:
        model = self.train("local.gsimc")
        self.assertIn("local_values", model.tensors.keys())
        self.compare(model, "local.gsimc")

    def compare(self, model: gsimc.Model, file: str) -> None:
        draw = random.Random(2)
        without = gsimc.RecommendRequest(list=ListKind.LIST_KIND_WITHOUT_TRENDS)
        with gsimc.Client(self.serve(file).address) as client:
            for length in (0, 1, 2, 3, 12, 40):
                history = [f"i{draw.randrange(ITEMS + 2)}" for _ in range(length)] + ["unknown"]
                weights = [draw.choice([1.0, 0.5, 3.0, 0.0, -1.0]) for _ in history]
                times = [START + draw.randrange(10_000_000) for _ in history]
                entries = [
                    gsimc.HistoryEntry(item_id=item, value=weight,
                                       event_time=datetime.fromtimestamp(at, timezone.utc))
                    for item, weight, at in zip(history, weights, times)]
                here = model.recommend(history, ITEMS, weights=weights, times=times, deny=["i5"])
                there = client.recommend(entries, ITEMS, request=without, filter=gsimc.ItemFilter(
                    deny_item_ids=["i5"]))
                self.assertEqual({i.source for i in here}, {i.source for i in there})
                want = {i.item_id: i.score for i in there}
                self.assertEqual(want.keys(), {*here.ids})
                np.testing.assert_allclose([i.score for i in here], [want[i] for i in here.ids],
                                           rtol=0, atol=1e-6)
                # Nearly equal scores may change their places.
                np.testing.assert_allclose([i.score for i in here], [i.score for i in there],
                                           rtol=0, atol=1e-6)

    def test_foreign_files(self) -> None:
        (self.folder / "foreign").write_bytes(b"no model at all")
        with self.assertRaises(ValueError):
            gsimc.Model(self.folder / "foreign")


class TestClient(Case):
    """Calls, and what becomes of them when the server goes away."""

    def setUp(self) -> None:
        if not (self.folder / "m.gsimc").exists():
            self.train("m.gsimc", users=300)

    @unittest.skipUnless(shutil.which("openssl"), "openssl is not installed")
    def test_tls_and_token(self) -> None:
        run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
            "-nodes", "-keyout", "key.pem", "-out", "cert.pem", "-days", "2", "-subj",
            "/CN=rec.test", "-addext", "subjectAltName=DNS:rec.test", cwd=self.folder)
        token = run(GSIMC, "token", "web", "--roles", "recommend", "--add-to", "tokens",
                    cwd=self.folder).strip()
        server = self.serve("m.gsimc", "--tls-cert", "cert.pem", "--tls-key", "key.pem",
                            "--token-file", "tokens")
        tls = {"ca": self.folder / "cert.pem", "server_name": "rec.test"}
        with gsimc.Client(server.address, token=token, **tls) as client:  # type: ignore[arg-type]
            self.assertEqual(len(client.recommend("alice", 3)), 3)
            self.assertEqual(len(client.similar("i1", 3)), 3)
            self.refused(client, "PERMISSION_DENIED")
        with gsimc.Client(server.address, **tls) as client:  # type: ignore[arg-type]
            self.refused(client, "UNAUTHENTICATED")
        with gsimc.Client(server.address, tls=True, attempts=1) as client:
            self.refused(client, "UNAVAILABLE", "set ca")  # the system does not know the authority
        with gsimc.Client(server.address, attempts=1) as client:
            self.refused(client, "UNAVAILABLE", "set tls=True, or ca")
        plain = self.serve("m.gsimc").address
        with gsimc.Client(plain, attempts=1, **tls) as client:  # type: ignore[arg-type]
            self.refused(client, "UNAVAILABLE", "leave out tls, ca")
        with gsimc.Client(server.address, token=token, cert=self.folder / "cert.pem",
                          key=self.folder / "key.pem", attempts=1) as client:
            self.refused(client, "UNAVAILABLE")  # it is TLS, by the authorities of the system

    @unittest.skipUnless(shutil.which("openssl"), "openssl is not installed")
    def test_bad_arguments(self) -> None:
        cert, key, other, locked, empty = (
            str(self.folder / f) for f in ("c.pem", "k.pem", "o.pem", "l.pem", "empty"))
        run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
            "-nodes", "-keyout", key, "-out", cert, "-subj", "/CN=rec.test", cwd=self.folder)
        run("openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", other,
            cwd=self.folder)
        run("openssl", "ec", "-in", key, "-aes128", "-passout", "pass:x", "-out", locked,
            cwd=self.folder)
        Path(empty).touch()
        for want, arguments in (
            ("use tls", {"token": "t"}),
            ("use tls", {"token": "t", "ca": "", "cert": "", "key": ""}),
            ("address: https://example.com, want HOST:PORT", {"address": "https://example.com"}),
            ("token: want one line", {"token": "a\nb", "tls": True}),
            ("token: want one line", {"token": "\u00e4", "tls": True}),
            (f"ca: {empty}, want certificates", {"ca": empty}),
            (f"ca: {key}, want certificates", {"ca": key}),
            (f"ca: {key}, .*NO_CERTIFICATE", {"ca": key}),
            ("cert and key: one is missing", {"cert": cert}),
            ("cert and key: one is missing", {"cert": cert, "key": ""}),
            ("cert and key: one is missing", {"key": key, "tls": True}),
            (f"cert and key: {empty} and {key}, want", {"cert": empty, "key": key}),
            (f"cert and key: {cert} and {other}, want", {"cert": cert, "key": other}),
            (f"cert and key: {cert} and {other}, .*KEY_VALUES_MISMATCH",
             {"cert": cert, "key": other}),
            (f"cert and key: {cert} and {locked}, want", {"cert": cert, "key": locked}),
        ):
            with self.subTest(want), self.assertRaisesRegex(ValueError, want):
                gsimc.Client(**{"address": "example.com:443", **arguments})  # type: ignore
        gsimc.Client("example.com:443", tls=True, ca="", cert="", key="").close()
        with self.assertRaisesRegex(FileNotFoundError, "/nowhere"):
            gsimc.Client("example.com:443", ca="/nowhere")
        with (gsimc.Client("example.com:443") as client,
              self.assertRaisesRegex(ValueError, "window: 0, want at least 1")):
            next(client.observe_many(EVENTS, window=0))

    def test_types_and_times(self) -> None:
        """What is no text, and a time in which no call can end, is refused before a call."""
        for kind, want, arguments in (
            *((TypeError, f"address: {re.escape(repr(a))}, want a str: HOST:PORT", {"address": a})
              for a in (None, 5, b"foo:1", ["foo:1"])),
            *((TypeError, "token: (bytes|int), want a str", {"token": t}) for t in (b"t", 5)),
            *((ValueError, "token: it is empty, want", {"token": t}) for t in ("", " \n")),
            *((TypeError, "timeout: .*, want a number of seconds", {"timeout": t})
              for t in (True, False, "5", None, [5])),
            *((ValueError, "timeout: .*, want a finite number of seconds above 0", {"timeout": t})
              for t in (0, -1, -0.0, math.nan, math.inf, -math.inf)),
        ):
            for client in (gsimc.Client, gsimc.AsyncClient):
                with self.subTest(arguments), self.assertRaisesRegex(kind, want):
                    client(**{"address": "127.0.0.1:1", **arguments})  # type: ignore
        good: tuple[Any, ...] = (1, 0.1, np.float32(2), np.int64(3))
        for timeout in good:
            gsimc.Client("127.0.0.1:1", token=None, timeout=timeout).close()

    def test_addresses(self) -> None:
        bad = ("", "foo", "foo:", ":80", "foo:0", "foo:65536", "foo:99999", "foo:http", "foo:-1",
               "foo:8\u0665", " foo:80", "foo:80\n", "::1", "::1:80", "[]:80", "[::1]", "1.2.3.4")
        good = ("foo:1", "foo:65535", "1.2.3.4:80", "[::1]:80", "unix:/x", "dns:///foo",
                "ipv4:1.2.3.4:80,1.2.3.5:80")

        async def later() -> None:
            for address in good:
                await gsimc.AsyncClient(address).close()
            for address in bad:
                with self.subTest(address), self.assertRaisesRegex(ValueError, "address: .*PORT"):
                    gsimc.AsyncClient(address)

        for address in good:
            gsimc.Client(address).close()
        for address in bad:
            with self.subTest(address), self.assertRaisesRegex(ValueError, "address: .*PORT"):
                gsimc.Client(address)
        asyncio.run(later())

    def refused(self, client: gsimc.Client, code: str, hint: str = "") -> None:
        with self.assertRaises(gsimc.Error) as caught:
            client.observe("alice", "i1")
        self.assertEqual(caught.exception.code, code)
        self.assertIn(hint, str(caught.exception))

    def test_sessions_and_errors(self) -> None:
        with gsimc.Client(self.serve("m.gsimc").address) as client:
            alice = gsimc.Session("alice")
            for n, item in enumerate(["i1", "i2"]):
                self.assertEqual(client.observe(alice, item, event_id=item).revision, n + 1)
            token = alice.token
            self.assertEqual(client.observe(alice, "i1", event_id="i1").disposition, "DUPLICATE")
            self.assertEqual(alice.token, token)
            later = gsimc.Session("alice", token)  # it cannot tell whether a repeat is older
            client.observe(later, "i1", event_id="i1")
            self.assertEqual(later.token, token)
            client.observe(later, "i3", event_id="i3")
            self.assertNotEqual(later.token, token)
            self.assertEqual(client.recommend(later).response.user_revision, 3)
            self.assertEqual(client.score(alice, ["i4", "i1"]).ids, ["i4"])
            unnamed = [client.observe("bob", "i1").event.event_id for _ in range(2)]
            self.assertEqual(len({"", *unnamed}), 3)
            every = SeenPolicy(mode=SeenPolicy.MODE_INCLUDE)
            self.assertEqual(len(client.score(alice, ["i4", "i1"], seen=every)), 2)
            with self.assertRaises(gsimc.Error) as caught:
                client.recommend(gsimc.Session("bob", token))
            self.assertEqual((caught.exception.code, caught.exception.reason),
                             ("INVALID_ARGUMENT", "INVALID_FIELD"))
            self.assertEqual(caught.exception.fields[0].name, "session_token")

    def test_pages(self) -> None:
        rows = [gsimc.PageRow(name="now", page_size=5, list=ListKind.LIST_KIND_POPULAR),
                gsimc.PageRow(name="for you", page_size=10)]
        server = self.serve("m.gsimc").address

        async def later() -> list[gsimc.Row]:
            async with gsimc.AsyncClient(server) as client:
                return await client.page(["i1", "i2"], rows)

        with gsimc.Client(server) as client:
            now, for_you = client.page(["i1", "i2"], rows)
            self.assertEqual((now.name, now.place, len(now.items), now.worth), ("now", 0, 5, None))
            self.assertEqual((for_you.name, for_you.place), ("for you", 1))
            mine = client.recommend(["i1", "i2"], 15).ids
            self.assertEqual(for_you.items.ids, [i for i in mine if i not in now.items.ids][:10])
            self.assertEqual(asyncio.run(later()), [now, for_you])
            best = client.page(["i1", "i2"], rows, by_worth=True)
            self.assertEqual([row.place for row in best], [1, 0])
            self.assertGreater(best[0].worth or 0, best[1].worth or 0)

    def test_deadlines(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            with gsimc.Client(f"127.0.0.1:{silent.getsockname()[1]}") as client:
                with self.assertRaises(gsimc.Error) as caught:
                    client.recommend("alice", timeout=0.05)
                self.assertEqual(caught.exception.code, "DEADLINE_EXCEEDED")

    def test_frames(self) -> None:
        frame = pandas.DataFrame({
            "user_id": ["alice", "alice", "bob"], "item_id": ["i1", "", "unknown"],
            "value": [2.0, None, None],
            "event_time": pandas.to_datetime([START, START, None], unit="s")}, index=[7, 8, 9])
        with gsimc.Client(self.serve("m.gsimc").address) as client:
            got = client.observe_frame(frame)
            self.assertEqual(got.disposition.to_dict(),
                             {7: "APPLIED", 8: "REJECTED", 9: "PENDING_ITEM"})
            self.assertEqual(got.reason[8], "INVALID_FIELD")
            self.assertEqual(client.observe_frame(frame[:1]).disposition[7], "DUPLICATE")
            self.assertEqual(client.recommend("alice", 3).to_frame().item_id.size, 3)
            with self.assertRaises(ValueError):
                client.observe_frame(frame.rename(columns={"value": "valeu"}))

    def test_restarts(self) -> None:
        """No event is lost and none counts twice when a server goes away in the middle."""
        server = self.serve("m.gsimc")
        outcomes = []
        with gsimc.Client(server.address) as client, self.restarting(server) as go:
            for outcome in client.observe_many(EVENTS, window=200):
                outcomes.append(outcome)
                go(len(outcomes))
        self.check(outcomes, server)

    def test_restarts_in_asyncio(self) -> None:
        server = self.serve("m.gsimc")
        outcomes = []

        async def send() -> None:
            async with gsimc.AsyncClient(server.address) as client:
                self.assertEqual(len(await client.recommend("alice", 3)), 3)
                async for outcome in client.observe_many(EVENTS, window=200):
                    outcomes.append(outcome)
                    go(len(outcomes))

        with self.restarting(server) as go:
            asyncio.run(send())
        self.check(outcomes, server)

    @contextlib.contextmanager
    def restarting(self, server: Server) -> Iterator[Callable[[int], None]]:
        """Ends the server at a third of the events, and kills it at two thirds, with others on
        their way."""
        marks = [len(EVENTS) // 3, 2 * len(EVENTS) // 3]
        reached = [threading.Event() for _ in marks]

        def go(n: int) -> None:
            for mark, event in zip(marks, reached):
                if n >= mark:
                    event.set()

        def restart() -> None:
            for event, end in zip(reached, [server.stop, server.kill]):
                event.wait()
                end()
                server.start()

        thread = threading.Thread(target=restart)
        thread.start()
        try:
            yield go
        finally:
            go(len(EVENTS))
            thread.join()

    def check(self, outcomes: list[gsimc.Outcome], server: Server) -> None:
        self.assertEqual([o.event.event_id for o in outcomes], [e.event_id for e in EVENTS])
        self.assertLessEqual({o.disposition for o in outcomes}, {"APPLIED", "DUPLICATE"})
        with gsimc.Client(server.address) as client:
            self.assertEqual(client.recommend("carol").response.user_revision, len(EVENTS))
            again = {o.disposition for o in client.observe_many(EVENTS)}
            self.assertEqual(again, {"DUPLICATE"})
            server.kill()
            later = threading.Thread(target=server.start)
            later.start()
            answer = None
            while answer is None and later.is_alive():  # gRPC repeats a call for half a second
                try:
                    answer = client.recommend("carol", 3).response
                except gsimc.Error as error:
                    self.assertIn(error.code, ("UNAVAILABLE", "DEADLINE_EXCEEDED"))
            later.join()
            answer = answer or client.recommend("carol", 3).response
            self.assertEqual(answer.user_revision, len(EVENTS))

    def test_repeats(self) -> None:
        """What finds no server is called again, unless the server says not to."""
        asked: list[str] = []

        class Away(grpc.GenericRpcHandler):
            def service(self, call: grpc.HandlerCallDetails) -> Any:
                def answer(request: bytes, context: grpc.ServicerContext) -> bytes:
                    asked.append(call.method.rpartition("/")[2])
                    if len(asked) == 3:
                        return b""
                    if asked[0] == "SimilarItems":
                        context.set_trailing_metadata((("grpc-retry-pushback-ms", "-1"),))
                    context.abort(grpc.StatusCode.UNAVAILABLE, "away")

                return grpc.unary_unary_rpc_method_handler(answer)

        server = grpc.server(futures.ThreadPoolExecutor(1), [Away()])
        address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
        server.start()
        self.addCleanup(lambda: server.stop(None).wait())
        for attempts, name, args, want in (
            (4, "observe", ["alice", "i1"], ["Observe"] * 3),
            (4, "recommend", ["alice"], ["Recommend"] * 3),
            (2, "recommend", ["alice"], ["Recommend"] * 2),
            (4, "similar", ["i1"], ["SimilarItems"]),
        ):
            with gsimc.Client(address, attempts=attempts) as client:
                asked.clear()
                call = getattr(client, name)
                if len(want) == 3:
                    call(*args)
                else:
                    self.assertRaisesRegex(gsimc.Error, "UNAVAILABLE: away", call, *args)
                self.assertEqual(asked, want)

    def test_no_room(self) -> None:
        """An event for which the server has no room is sent again, with all behind it."""
        window = Window(10, 60.0)
        for n in range(3):
            window.add(gsimc.Event(user_id="u", item_id=f"i{n}", event_id=str(n)))
        self.assertEqual([len(m.events) for m in window.messages()], [3])
        answer = StreamObserveResponse(acked_sequence=3)
        answer.exceptions.add(sequence=2).result.disposition = (
            EventDisposition.EVENT_DISPOSITION_REJECTED)
        answer.exceptions[0].result.error.code = 8
        outcomes, error = window.settle(answer)
        self.assertEqual([o.event.event_id for o in outcomes], ["0"])
        assert error
        self.assertEqual((error.code, window.pause(error)), ("RESOURCE_EXHAUSTED", 1.0))
        [message] = window.messages()
        self.assertEqual((message.sequence, [e.event_id for e in message.events]), (1, ["1", "2"]))

    def test_a_server_that_stays_away(self) -> None:
        server = self.serve("m.gsimc")
        server.kill()
        with gsimc.Client(server.address) as client:
            with self.assertRaises(gsimc.Error) as caught:
                list(client.observe_many([gsimc.Event(user_id="u", item_id="i")], give_up=3.0))
            self.assertEqual(caught.exception.code, "UNAVAILABLE")


if __name__ == "__main__":
    unittest.main()
