"""The two ways in which calls travel: grpc and grpc.aio."""

from __future__ import annotations

import asyncio
import functools
import inspect
import ipaddress
import json
import math
import numbers
import re
import ssl
import time
from collections.abc import AsyncIterable, AsyncIterator, Callable, Coroutine, Iterable, Iterator
from os import PathLike
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import grpc
import grpc.aio

from gsimc import _calls
from gsimc._calls import EVENTS, RECOMMENDER, STREAM, Call, Error, Outcome, Window
from gsimc.v1.event_service_pb2 import StreamObserveRequest, StreamObserveResponse
from gsimc.v1.types_pb2 import Event

if TYPE_CHECKING:
    import pandas

P = ParamSpec("P")
T = TypeVar("T")
M = TypeVar("M", bound=Callable[..., Any])


def _options(attempts: int) -> dict[str, Any]:
    """Options of a channel: what may run twice is repeated as the client in Go does it."""
    policy = {
        "name": [{"service": RECOMMENDER}, {"service": EVENTS, "method": "Observe"}],
        "retryPolicy": {
            "maxAttempts": attempts, "initialBackoff": "0.05s", "maxBackoff": "0.5s",
            "backoffMultiplier": 2, "retryableStatusCodes": ["UNAVAILABLE"],
        },
    }
    return {
        "grpc.service_config": json.dumps({"methodConfig": [policy] if attempts > 1 else []}),
        "grpc.initial_reconnect_backoff_ms": 100,
        "grpc.max_reconnect_backoff_ms": 3000,
        # A peer that vanished is noticed. The server refuses pings less than 10 s apart.
        "grpc.keepalive_time_ms": 20_000,
        "grpc.keepalive_timeout_ms": 10_000,
    }


# Forms of an address that are for grpc alone to read.
_SCHEMES = ("unix:", "unix-abstract:", "vsock:", "dns:", "ipv4:", "ipv6:", "xds:")


def _check_address(address: str) -> None:
    """Refuses what grpc would take for a host with the port 443, or try to connect to for ever."""
    if not isinstance(address, str):
        raise TypeError(f"address: {address!r}, want a str: HOST:PORT, or unix:/PATH")
    if address.startswith(("http://", "https://")):
        raise ValueError(f"address: {address}, want HOST:PORT alone, and tls=True for https")
    match = re.fullmatch(r"(?:\[[^\s\]]+\]|[^\s:\[\]]+):([0-9]{1,5})", address)
    if not (address.startswith(_SCHEMES) or match and 0 < int(match[1]) < 65536):
        raise ValueError(f"address: {address!r}, want HOST:PORT with a port from 1 to 65535, "
                         "[HOST]:PORT for an IPv6 address, or unix:/PATH")


def _check_timeout(timeout: float) -> None:
    """Refuses what grpc would take for a time that is over already, or for ever."""
    if isinstance(timeout, bool) or not isinstance(timeout, numbers.Real):
        raise TypeError(f"timeout: {timeout!r}, want a number of seconds, such as 2.0")
    if not 0 < timeout < math.inf:
        raise ValueError(f"timeout: {timeout}, want a finite number of seconds above 0")


def _check_token(token: str | None) -> str:
    """The token alone, without the line break of its file. "" stands for none. No error has it."""
    if token is None:
        return ""
    if not isinstance(token, str):
        raise TypeError(f"token: {type(token).__name__}, want a str, as gsimc token drew it")
    token = token.strip()
    if not token:
        raise ValueError("token: it is empty, want one, as gsimc token drew it, or None")
    if not (token.isascii() and token.isprintable()):
        raise ValueError("token: want one line of ASCII, as gsimc token drew it")
    return token


def _on_this_machine(address: str) -> bool:
    """Whether what is sent to an address stays on this machine."""
    host = address.rpartition(":")[0].strip("[]")
    try:
        return address.startswith("unix:") or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _credentials(
    ca: str | PathLike[str] | None, cert: str | PathLike[str] | None,
    key: str | PathLike[str] | None,
) -> grpc.ChannelCredentials:
    """Credentials of files. grpc takes an empty ca for the system's, and aborts without a key."""
    if (cert is None) != (key is None):
        raise ValueError("cert and key: one is missing, want both files or neither")
    ca_text, key_text, cert_text = (None if p is None else Path(p).read_bytes()
                                    for p in (ca, key, cert))
    check = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        if ca is not None:
            check.load_verify_locations(ca)
    except ssl.SSLError as error:
        raise ValueError(f"ca: {ca}, want certificates in PEM ({error.reason or error})") from None
    try:
        if cert is not None:
            check.load_cert_chain(cert, key, password="")
    except ssl.SSLError as error:
        raise ValueError(f"cert and key: {cert} and {key}, want a certificate and its key in PEM, "
                         f"without a password ({error.reason or error})") from None
    return grpc.ssl_channel_credentials(ca_text, key_text, cert_text)


class _Base:
    """What both clients are made of.

    address: HOST:PORT, or unix:/PATH
    token: as `gsimc token` drew it; other machines need TLS for it
    tls: with the authorities of the system; each of the next ones implies it
    ca: file of authorities, PEM
    server_name: in the certificate of the server, if it is not the host of the address
    cert, key: files of the client's certificate, PEM
    timeout: seconds of a call that has none of its own
    attempts: of a call that finds no server or is UNAVAILABLE, within its timeout, at most 5
    """

    def __init__(
        self, address: str, *, token: str | None = None, tls: bool = False,
        ca: str | PathLike[str] | None = None, server_name: str = "",
        cert: str | PathLike[str] | None = None, key: str | PathLike[str] | None = None,
        timeout: float = 5.0, attempts: int = 4,
    ) -> None:
        _check_address(address)
        _check_timeout(timeout)
        token = _check_token(token)
        ca, cert, key = (p or None for p in (ca, cert, key))  # "": a variable that is not set
        tls = tls or any((ca, server_name, cert, key))
        if token and not tls and not _on_this_machine(address):
            raise ValueError(f"anybody on the way to {address} could read the token: use tls")
        options = _options(attempts)
        if server_name:
            options["grpc.ssl_target_name_override"] = server_name
        self._timeout = timeout
        self._metadata = (("authorization", f"Bearer {token}"),) if token else ()
        credentials = _credentials(ca, cert, key) if tls else None
        arguments = list(options.items())
        self.channel = (self._secure(address, credentials, arguments) if tls
                        else self._insecure(address, arguments))

    channel: Any
    _secure: Callable[..., Any]
    _insecure: Callable[..., Any]

    def _begin(self, call: Call[Any]) -> Any:
        """Makes a call; of AsyncClient it is to be awaited."""
        return self.channel.unary_unary(
            call.method, type(call.request).SerializeToString, call.answer.FromString,
        )(call.request, timeout=self._timeout if call.timeout is None else call.timeout,
          metadata=self._metadata)

    def _stream(self, requests: Any, give_up: float) -> Any:
        return self.channel.stream_stream(
            STREAM, StreamObserveRequest.SerializeToString, StreamObserveResponse.FromString,
        )(requests, timeout=2 * give_up, metadata=self._metadata)


def _sync(make: Callable[P, Call[T]]) -> Callable[Concatenate[Client, P], T]:
    @functools.wraps(make)
    def method(self: Client, /, *args: P.args, **kwargs: P.kwargs) -> T:
        call = make(*args, **kwargs)
        try:
            return call.result(self._begin(call))
        except grpc.RpcError as error:
            raise Error.of_call(error) from None

    return _shown(method, make)


def _async(
    make: Callable[P, Call[T]],
) -> Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, T]]:
    @functools.wraps(make)
    async def method(self: AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> T:
        call = make(*args, **kwargs)
        try:
            return call.result(await self._begin(call))
        except grpc.RpcError as error:
            raise Error.of_call(error) from None

    return _shown(method, make)


def _shown(method: M, make: Callable[..., Any]) -> M:
    """The method, which says of itself that it takes self, and returns what a call results in."""
    signature = inspect.signature(make)
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    result = str(signature.return_annotation).removeprefix("Call[").removesuffix("]")
    vars(method)["__signature__"] = signature.replace(
        parameters=[own, *signature.parameters.values()], return_annotation=result)
    return method


class Client(_Base):
    __doc__ = f"A connection to a server. It may be used by several threads.\n{_Base.__doc__}"

    channel: grpc.Channel  # for the stubs of gsimc.v1; they do not send the token
    _secure = staticmethod(grpc.secure_channel)
    _insecure = staticmethod(grpc.insecure_channel)

    recommend = _sync(_calls.recommend)
    page = _sync(_calls.page)
    score = _sync(_calls.score)
    similar = _sync(_calls.similar)
    observe = _sync(_calls.observe)

    def observe_many(self, events: Iterable[Event], *, window: int = 1000, give_up: float = 60.0,
                     ) -> Iterator[Outcome]:
        """Sends events over a stream, and yields what became of each, in their order.

        It takes events until window of them are not acknowledged, sends those that are new, and
        waits for answers: where events come one now and then, take a small window. After a break,
        what was not acknowledged is sent again and applied once. After give_up seconds of waiting
        without an acknowledgement, twice that beside a silent server, it raises the last Error.
        The events of a Session are not for this.
        """
        state, source = Window(window, give_up), iter(events)
        requests: SimpleQueue[StreamObserveRequest | None] = SimpleQueue()
        call: Any = None
        try:
            while True:
                while state.room:
                    state.add(next(source, None))
                if call is None:
                    if state.done:
                        return
                    state.begin()
                    requests = SimpleQueue()
                    call = self._stream(iter(requests.get, None), give_up)
                for message in state.messages():
                    requests.put(message)
                if state.ends:
                    requests.put(None)
                try:
                    outcomes, error = state.settle(next(call, None))
                except grpc.RpcError as broken:
                    outcomes, error = [], Error.of_call(broken)
                yield from outcomes
                if error:
                    requests.put(None)
                    call.cancel()
                    call = None
                    if not state.done:
                        time.sleep(state.pause(error))
        finally:
            requests.put(None)
            if call is not None:
                call.cancel()

    def observe_frame(self, frame: pandas.DataFrame, *, window: int = 1000, give_up: float = 60.0,
                      ) -> pandas.DataFrame:
        """As observe_many, of a frame whose columns are fields of Event."""
        events = _calls.events_of(frame)
        return _calls.frame_of(
            frame, list(self.observe_many(events, window=window, give_up=give_up)))

    def close(self) -> None:
        self.channel.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class AsyncClient(_Base):
    __doc__ = f"A connection to a server, for one event loop.\n{_Base.__doc__}"

    channel: grpc.aio.Channel  # for the stubs of gsimc.v1; they do not send the token
    _secure = staticmethod(grpc.aio.secure_channel)
    _insecure = staticmethod(grpc.aio.insecure_channel)

    recommend = _async(_calls.recommend)
    page = _async(_calls.page)
    score = _async(_calls.score)
    similar = _async(_calls.similar)
    observe = _async(_calls.observe)

    async def observe_many(
        self, events: Iterable[Event] | AsyncIterable[Event], *, window: int = 1000,
        give_up: float = 60.0,
    ) -> AsyncIterator[Outcome]:
        """As Client.observe_many."""
        state, source = Window(window, give_up), _walk(events)
        requests: asyncio.Queue[StreamObserveRequest | None] = asyncio.Queue()
        call: Any = None
        try:
            while True:
                while state.room:
                    state.add(await anext(source, None))
                if call is None:
                    if state.done:
                        return
                    state.begin()
                    requests = asyncio.Queue()
                    call = self._stream(_queued(requests), give_up)
                for message in state.messages():
                    requests.put_nowait(message)
                if state.ends:
                    requests.put_nowait(None)
                try:
                    answer = await call.read()
                    outcomes, error = state.settle(None if answer is grpc.aio.EOF else answer)
                except grpc.RpcError as broken:
                    outcomes, error = [], Error.of_call(broken)
                for outcome in outcomes:
                    yield outcome
                if error:
                    requests.put_nowait(None)
                    call.cancel()
                    call = None
                    if not state.done:
                        await asyncio.sleep(state.pause(error))
        finally:
            requests.put_nowait(None)
            if call is not None:
                call.cancel()

    async def observe_frame(
        self, frame: pandas.DataFrame, *, window: int = 1000, give_up: float = 60.0,
    ) -> pandas.DataFrame:
        """As Client.observe_frame."""
        events = _calls.events_of(frame)
        return _calls.frame_of(frame, [
            o async for o in self.observe_many(events, window=window, give_up=give_up)])

    async def close(self) -> None:
        await self.channel.close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()


async def _walk(events: Iterable[Event] | AsyncIterable[Event]) -> AsyncIterator[Event]:
    if isinstance(events, AsyncIterable):
        async for event in events:
            yield event
    else:
        for event in events:
            yield event


async def _queued(
    requests: asyncio.Queue[StreamObserveRequest | None],
) -> AsyncIterator[StreamObserveRequest]:
    while (request := await requests.get()) is not None:
        yield request
