"""What calls say and what answers mean, whichever way they travel."""

from __future__ import annotations

import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from time import monotonic
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import grpc
from google.protobuf.message import DecodeError, Message
from google.rpc import error_details_pb2, status_pb2

from gsimc.v1 import event_service_pb2 as events
from gsimc.v1 import recommender_service_pb2 as recommender
from gsimc.v1.types_pb2 import Event, EventDisposition, ItemFilter, ResultSource, SeenPolicy

if TYPE_CHECKING:
    import pandas

T = TypeVar("T")

CODES = {code.value[0]: code.name for code in grpc.StatusCode}
# What grpc says of a connection that could not be made, and what may help.
HINTS = {
    "Socket closed": "if the server wants TLS, set tls=True, or ca to the file of its authority",
    "WRONG_VERSION_NUMBER": "if the server is without TLS, leave out tls, ca, server_name, cert "
                            "and key",
    "CERTIFICATE_VERIFY_FAILED": "set ca to the file of the authority of its certificate",
}


class Field(NamedTuple):
    """A field of a request that breaks its rule."""

    name: str
    reason: str
    description: str


@dataclass(eq=False)
class Error(Exception):
    """Why a call, or an event of many, failed. Act on code and reason, show the rest to people."""

    code: str  # as grpc.StatusCode names it: "UNAVAILABLE"
    message: str
    reason: str = ""  # of the server, never changes its meaning; "": it said nothing
    fields: tuple[Field, ...] = ()
    retry_after: float | None = None  # seconds

    def __str__(self) -> str:
        reason = f" ({self.reason})" if self.reason else ""
        return f"{self.code}{reason}: {self.message}"

    @classmethod
    def of(cls, status: Any) -> Error:
        """The error of a google.rpc.Status."""
        reason, fields, retry_after = "", [], None
        for detail in status.details:
            info, bad = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
            retry = error_details_pb2.RetryInfo()
            if detail.Unpack(info):
                reason = info.reason
            elif detail.Unpack(bad):
                fields += [Field(v.field, v.reason, v.description) for v in bad.field_violations]
            elif detail.Unpack(retry):
                retry_after = retry.retry_delay.ToTimedelta().total_seconds()
        return cls(CODES.get(status.code, "UNKNOWN"), status.message, reason, tuple(fields),
                   retry_after)

    @classmethod
    def of_call(cls, error: Any) -> Error:
        """The error of a grpc.RpcError, of grpc.aio too."""
        for key, value in error.trailing_metadata() or ():
            if key == "grpc-status-details-bin":
                try:
                    return cls.of(status_pb2.Status.FromString(value))
                except DecodeError:
                    break
        code, message = error.code().name, error.details() or ""
        if code == "UNAVAILABLE" and message.startswith("failed to connect"):
            hints = (f": {hint}" for sign, hint in HINTS.items() if sign in message)
            message += next(hints, "")
        return cls(code, message)


class Item(NamedTuple):
    """An entry of a list."""

    item_id: str
    score: float
    stddev: float | None = None  # of the score; None: not known
    source: str = "PERSONALIZED"  # as ResultSource has it


class Items(list[Item]):
    """A list, and all that the server said with it (None: a Model made it)."""

    def __init__(self, items: Iterable[Item], response: Any = None) -> None:
        super().__init__(items)
        self.response = response

    @property
    def ids(self) -> list[str]:
        return [item.item_id for item in self]

    def to_frame(self) -> pandas.DataFrame:
        """The list as a pandas.DataFrame."""
        import pandas

        return pandas.DataFrame(self, columns=list(Item._fields))


def items_of(response: Any) -> Items:
    return Items((
        Item(i.item_id, i.score, i.score_stddev if i.HasField("score_stddev") else None,
             ResultSource.Name(i.source).removeprefix("RESULT_SOURCE_"))
        for i in response.items
    ), response)


class Outcome(NamedTuple):
    """What became of an event."""

    event: Event
    disposition: str  # APPLIED, DUPLICATE, PENDING_ITEM or REJECTED
    revision: int = 0  # of the user's history with it; 0: the server did not say
    error: Error | None = None  # of an event that is REJECTED

    @classmethod
    def of(cls, event: Event, answer: Any) -> Outcome:
        """The outcome of an ObserveResponse or an EventResult; None: APPLIED."""
        if answer is None:
            return cls(event, "APPLIED")
        name = EventDisposition.Name(answer.disposition).removeprefix("EVENT_DISPOSITION_")
        error = Error.of(answer.error) if name == "REJECTED" else None
        return cls(event, name, answer.user_revision, error)


class Session:
    """A user whose lists reflect the events that went through it, whichever server answers.

    It stands where an id of a user does, and keeps the token of the last event. Send the events of
    a user one after the other. token goes on with an earlier session.
    """

    def __init__(self, user_id: str, token: bytes = b"") -> None:
        self.user_id = user_id
        self._last = token, 0  # and the revision of it; 0: not known

    @property
    def token(self) -> bytes:
        return self._last[0]

    def forget(self) -> None:
        """Begins anew, as after DATA_LOSS or FAILED_PRECONDITION: the events before are gone."""
        self._last = b"", 0

    def note(self, answer: events.ObserveResponse) -> None:
        """Keeps the token. A duplicate may be the last event, sent again, or an earlier one."""
        token, revision = self._last
        again = answer.disposition == EventDisposition.EVENT_DISPOSITION_DUPLICATE
        if not again or (revision or not token) and answer.user_revision > revision:
            self._last = answer.session_token, answer.user_revision


Subject = str | Session | Sequence[str | recommender.HistoryEntry]
"""For whom a list is: a stored user, by id or as a Session, or a history, the oldest item first."""


@dataclass(frozen=True)
class Call(Generic[T]):
    """A call and what its answer means."""

    method: str
    request: Message
    answer: type[Message]
    result: Callable[[Any], T]
    timeout: float | None  # seconds; None: that of the client


RECOMMENDER, EVENTS = "gsimc.v1.RecommenderService", "gsimc.v1.EventService"


def _enter(request: Any, who: Subject) -> None:
    """Enters whom a request is about."""
    if isinstance(who, str):
        request.user_id = who
    elif isinstance(who, Session):
        request.user_id, request.session_token = who.user_id, who.token
    else:
        request.history.entries.extend(
            recommender.HistoryEntry(item_id=e) if isinstance(e, str) else e for e in who)


def recommend(
    who: Subject, n: int = 10, *, filter: ItemFilter | None = None, seen: SeenPolicy | None = None,
    request: recommender.RecommendRequest | None = None, timeout: float | None = None,
) -> Call[Items]:
    """The n items with the largest scores. request has what else is to be asked for."""
    whole = recommender.RecommendRequest(page_size=n, filter=filter, seen=seen)
    if request is not None:
        whole.MergeFrom(request)
    _enter(whole, who)
    return Call(f"/{RECOMMENDER}/Recommend", whole, recommender.RecommendResponse, items_of,
                timeout)


class Row(NamedTuple):
    """A row of a page."""

    name: str
    place: int  # in what was asked for, the first being 0
    items: Items
    worth: float | None = None  # None: the order is that of the rows that were asked for


def page(
    who: Subject, rows: Sequence[recommender.PageRow], *, by_worth: bool = False,
    request: recommender.RecommendPageRequest | None = None, timeout: float | None = None,
) -> Call[list[Row]]:
    """The rows of a page, from its top, no item twice. request has what else is to be asked for.

    Rows of the request come after these.
    """
    whole = recommender.RecommendPageRequest(rows=rows, by_worth=by_worth)
    if request is not None:
        whole.MergeFrom(request)
    _enter(whole, who)

    def result(answer: recommender.RecommendPageResponse) -> list[Row]:
        return [Row(r.name, r.row, items_of(r.list), r.worth if r.HasField("worth") else None)
                for r in answer.rows]

    return Call(f"/{RECOMMENDER}/RecommendPage", whole, recommender.RecommendPageResponse, result,
                timeout)


def score(
    who: Subject, item_ids: Sequence[str], *, seen: SeenPolicy | None = None,
    timeout: float | None = None,
) -> Call[Items]:
    """The scores of given items, without those that are unknown or seen."""
    if isinstance(item_ids, str):
        raise TypeError("item_ids is a list of ids")
    request = recommender.ScoreItemsRequest(item_ids=item_ids, seen=seen)
    _enter(request, who)
    return Call(f"/{RECOMMENDER}/ScoreItems", request, recommender.ScoreItemsResponse, items_of,
                timeout)


def similar(
    item_id: str, n: int = 10, *, filter: ItemFilter | None = None, timeout: float | None = None,
) -> Call[Items]:
    """The items that go with an item."""
    request = recommender.SimilarItemsRequest(item_id=item_id, page_size=n, filter=filter)
    return Call(f"/{RECOMMENDER}/SimilarItems", request, recommender.SimilarItemsResponse,
                items_of, timeout)


def observe(
    who: str | Session, item_id: str, *, event_id: str = "", event_type: str = "",
    event_time: datetime | None = None, value: float | None = None, recommendation_id: str = "",
    timeout: float | None = None,
) -> Call[Outcome]:
    """Sends an event, which is on disk when this returns.

    With neither an id nor a time it gets an id, so that it counts once when it is repeated.
    """
    user = who.user_id if isinstance(who, Session) else who
    event = known(Event(
        user_id=user, item_id=item_id, event_id=event_id, event_type=event_type,
        event_time=event_time, value=value, recommendation_id=recommendation_id))

    def result(answer: events.ObserveResponse) -> Outcome:
        if isinstance(who, Session):
            who.note(answer)
        return Outcome.of(event, answer)

    return Call(f"/{EVENTS}/Observe", events.ObserveRequest(event=event), events.ObserveResponse,
                result, timeout)


def known(event: Event) -> Event:
    """The event with an id, if the server would not know it when it is sent again."""
    if event.event_id or event.HasField("event_time"):
        return event
    copy = Event(event_id=uuid.uuid4().hex)
    copy.MergeFrom(event)
    return copy


STREAM = f"/{EVENTS}/StreamObserve"
MESSAGE = 100  # events in a message; more would make it no cheaper
PASSES = {"UNAVAILABLE", "INTERNAL", "UNKNOWN", "DEADLINE_EXCEEDED", "CANCELLED", "ABORTED",
          "RESOURCE_EXHAUSTED"}
FIRST_PAUSE, LAST_PAUSE = 0.1, 3.0  # seconds between connections while nothing is acknowledged


class Window:
    """The events of observe_many between their sending and their acknowledgement, in order.

    They outlive connections: what was not acknowledged is sent again over the next one.
    """

    def __init__(self, size: int, give_up: float) -> None:
        if size < 1:  # else nothing would be sent
            raise ValueError(f"window: {size}, want at least 1")
        self.size, self.give_up = size, give_up
        self.flight: deque[Event] = deque()
        self.more = True  # events to come
        self._backoff, self._waited = FIRST_PAUSE, 0.0  # since the last acknowledgement
        self.begin()

    def begin(self) -> None:
        """A connection begins. It sends nothing after give_up, and its deadline is twice that."""
        self._sent = self._settled = 0  # sequence numbers over it
        self._draining, self._since = False, monotonic()

    @property
    def done(self) -> bool:
        return not self.flight and not self.more

    @property
    def ends(self) -> bool:
        """Whether the connection is to be closed behind what is sent."""
        return not self.more or self._draining or monotonic() > self._since + self.give_up

    @property
    def room(self) -> bool:
        """Whether another event may be taken."""
        return not self.ends and len(self.flight) < self.size

    def add(self, event: Event | None) -> None:
        """Takes the next event; None: there is none."""
        if event is None:
            self.more = False
        else:
            self.flight.append(known(event))

    def messages(self) -> Iterator[events.StreamObserveRequest]:
        """What is not sent yet. An answer is waited for from then on."""
        while not self._draining and (begin := self._sent - self._settled) < len(self.flight):
            some = list(islice(self.flight, begin, begin + MESSAGE))
            yield events.StreamObserveRequest(sequence=self._sent + 1, events=some)
            self._sent += len(some)
        self._asked = monotonic()

    def settle(
        self, answer: events.StreamObserveResponse | None,
    ) -> tuple[list[Outcome], Error | None]:
        """The outcomes of the events that an answer acknowledges, and why the connection is over.

        None is the end of the answers.
        """
        if answer is None:
            return [], Error("UNAVAILABLE", "the server ended the stream")
        if answer.acked_sequence > self._sent:
            return [], Error("FAILED_PRECONDITION", "an event is acknowledged that was not sent")
        self._draining = self._draining or answer.draining
        exceptions = {e.sequence: e.result for e in answer.exceptions}
        outcomes: list[Outcome] = []
        while self._settled < answer.acked_sequence:
            outcome = Outcome.of(self.flight[0], exceptions.get(self._settled + 1))
            if outcome.error and outcome.error.code == "RESOURCE_EXHAUSTED":
                return outcomes, outcome.error  # no room at present: it is sent again
            self.flight.popleft()
            self._settled += 1
            self._backoff, self._waited = FIRST_PAUSE, 0.0
            outcomes.append(outcome)
        return outcomes, None

    def pause(self, error: Error) -> float:
        """Seconds until the next connection, after one that is over; raises if there is none."""
        self._waited += monotonic() - self._asked
        if error.code not in PASSES or self._waited >= self.give_up:
            raise error
        pause = max(self._backoff, error.retry_after or 0.0)
        if error.code == "RESOURCE_EXHAUSTED":
            pause = max(pause, 1.0)
        self._backoff = min(2 * self._backoff, LAST_PAUSE)
        self._waited += pause
        self.begin()
        return pause


def events_of(frame: pandas.DataFrame) -> Iterator[Event]:
    """The events of a frame: its columns are fields of Event, and what is missing is unset."""
    import pandas

    if extra := set(frame.columns) - set(Event.DESCRIPTOR.fields_by_name):
        raise ValueError(f"no fields of an event: {', '.join(sorted(map(str, extra)))}; these are: "
                         f"{', '.join(Event.DESCRIPTOR.fields_by_name)}")
    for row in frame.to_dict("records"):
        fields: dict[str, Any] = {str(k): v for k, v in row.items() if not pandas.isna(v)}
        if isinstance(time := fields.get("event_time"), pandas.Timestamp):
            fields["event_time"] = time.to_pydatetime(warn=False)
        yield Event(**fields)


def frame_of(frame: pandas.DataFrame, outcomes: list[Outcome]) -> pandas.DataFrame:
    """What became of the events of a frame, by its index."""
    import pandas

    return pandas.DataFrame({
        "disposition": [o.disposition for o in outcomes],
        "reason": [o.error.reason if o.error else "" for o in outcomes],
    }, index=frame.index)
