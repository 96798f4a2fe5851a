"""What became of every fetch, gathered from signals: the rows of the table ``fetched``.

A row belongs to one request on the wire, redirects, retries and robots.txt included. It appears when the response has arrived and gets
its final outcome when the page has been scored, possibly after it was first stored; `changed` holds the rows to be stored (again).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from itemadapter import ItemAdapter
from scrapy import signals as scrapy_signals
from scrapy.http import HtmlResponse, Request, Response

from extensions import signals

if TYPE_CHECKING:
    from scrapy.signalmanager import SignalManager
    from twisted.python.failure import Failure


class Outcome(StrEnum):
    """What a fetch led to."""

    RELEVANT = "relevant"
    OFF_TOPIC = "off_topic"
    FETCHED = "fetched"
    """HTML that was not scored: its callback made no page of it."""
    NOT_HTML = "not_html"
    REDIRECT = "redirect"
    HTTP_ERROR = "http_error"
    """The server answered with a status other than success."""
    ROBOTS = "robots"
    """A robots.txt that the crawler read for itself."""
    SPIDER_ERROR = "spider_error"
    """The callback raised; the column `error` has the exception's name."""
    ERROR = "error"
    """No response; the column `error` has the exception's name."""
    DENIED = "denied"
    """Never sent: robots.txt or a middleware forbade it."""


SCORED = (Outcome.RELEVANT, Outcome.OFF_TOPIC)


@dataclass(slots=True)
class Fetch:
    """One row of the table, in the order of its columns."""

    id: int
    url: str
    status: int | None
    error: str | None
    outcome: Outcome
    relevance: float | None
    depth: int
    bytes: int
    """Size of the body on the wire, as compressed as the server sent it."""
    elapsed_ms: float | None
    """From sending the request to the response's headers."""
    fetched_at: str
    """UTC, ISO 8601, to the millisecond."""

    def as_row(self) -> tuple[Any, ...]:
        """The values in the order of the columns."""
        return tuple(getattr(self, name) for name in self.__slots__)


class FetchLog:
    """Turns signals into `Fetch` rows, numbered upwards from `last_id` + 1."""

    def __init__(self, last_id: int = 0) -> None:
        self.changed: dict[int, Fetch] = {}
        self.scored = 0
        """Pages scored so far."""
        self._last_id = last_id
        self._fetches: WeakKeyDictionary[Request, Fetch] = WeakKeyDictionary()

    def connect(self, manager: SignalManager) -> None:
        """Listen from now on."""
        manager.connect(self.downloaded, scrapy_signals.response_downloaded)
        manager.connect(self.received, scrapy_signals.response_received)
        manager.connect(self.spider_failed, scrapy_signals.spider_error)
        manager.connect(self.page_scored, signals.page_scored)
        manager.connect(self.failed, signals.fetch_failed)

    def downloaded(self, response: Response, request: Request) -> None:
        """A response came in over the wire; redirects and retries are seen here only."""
        fetch = self._of(request)
        fetch.status, fetch.bytes = response.status, len(response.body)
        latency = request.meta.get("download_latency")
        fetch.elapsed_ms = None if latency is None else round(latency * 1000, 1)
        fetch.outcome = outcome_of(request, response)

    def received(self, response: Response, request: Request) -> None:
        """A response passed the downloader middlewares: decompressed, and perhaps from Scrapy's HTTP cache."""
        if request not in self._fetches:
            self.downloaded(response, request)
        fetch = self._of(request)
        fetch.outcome = outcome_of(request, response)
        if fetch.outcome is Outcome.FETCHED and not isinstance(response, HtmlResponse):
            fetch.outcome = Outcome.NOT_HTML

    def page_scored(self, response: Response, item: Any, on_topic: bool) -> None:
        """The page's relevance is known. A page of which a spider makes several items counts once."""
        if response.request is None:
            return
        fetch = self._of(response.request)
        self.scored += fetch.outcome not in SCORED
        fetch.status = response.status
        fetch.relevance = ItemAdapter(item).get("relevance") if ItemAdapter.is_item(item) else None
        fetch.outcome = Outcome.RELEVANT if on_topic else Outcome.OFF_TOPIC

    def spider_failed(self, failure: Failure, response: Any) -> None:
        """A callback raised. A page scored before that keeps its outcome, since its item may be stored."""
        request = getattr(response, "request", None)
        if request is None:
            return
        fetch = self._of(request)
        fetch.error = type(failure.value).__name__
        if fetch.outcome not in SCORED and isinstance(response, Response):
            fetch.outcome = Outcome.SPIDER_ERROR

    def failed(self, request: Request, reason: str) -> None:
        """No response came."""
        fetch = self._of(request)
        fetch.error = reason
        fetch.outcome = Outcome.DENIED if reason == "IgnoreRequest" else Outcome.ERROR

    def _of(self, request: Request) -> Fetch:
        """The request's row, marked as changed."""
        fetch = self._fetches.get(request)
        if fetch is None:
            self._last_id += 1
            now = datetime.now(UTC).isoformat(timespec="milliseconds")
            depth = request.meta.get("depth", 0)
            fetch = Fetch(self._last_id, request.url, None, None, Outcome.FETCHED, None, depth, 0, None, now)
            self._fetches[request] = fetch
        self.changed[fetch.id] = fetch
        return fetch


def outcome_of(request: Request, response: Response) -> Outcome:
    """What can be told before the page is parsed."""
    if "dont_obey_robotstxt" in request.meta and urlsplit(request.url).path == "/robots.txt":
        return Outcome.ROBOTS
    if 300 <= response.status < 400 and b"Location" in response.headers:
        return Outcome.REDIRECT
    if not 200 <= response.status < 300:
        return Outcome.HTTP_ERROR
    return Outcome.FETCHED
