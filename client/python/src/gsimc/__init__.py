"""A client of a gsimc server, and its models without one. See the README of the package."""

from typing import TYPE_CHECKING, Any

from gsimc._calls import Error, Field, Item, Items, Outcome, Row, Session
from gsimc._client import AsyncClient, Client
from gsimc.v1.recommender_service_pb2 import HistoryEntry, PageRow, RecommendRequest
from gsimc.v1.types_pb2 import Event, ItemFilter, SeenPolicy

if TYPE_CHECKING:
    from gsimc._model import Model

__all__ = [
    "AsyncClient", "Client", "Error", "Event", "Field", "HistoryEntry", "Item", "ItemFilter",
    "Items", "Model", "Outcome", "PageRow", "RecommendRequest", "Row", "SeenPolicy", "Session",
]


def __getattr__(name: str) -> Any:
    if name == "Model":  # it alone needs numpy
        try:
            from gsimc._model import Model
        except ModuleNotFoundError as missing:
            raise ImportError("gsimc.Model needs numpy: pip install 'gsimc[model]'") from missing
        return Model
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
