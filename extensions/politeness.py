"""How long to leave a server alone, and robots.txt asked before anything else and spaced like everything else.

The crawl delay of a server is the largest of three: the campaign's minimum, the Crawl-delay of its robots.txt, and Mercator's multiple of
the last response time (Najork and Heydon 2001); the last two are bounded. A server that answers 429 or 503 is left alone for as long as its
Retry-After says, in seconds or until a date, within the same bound.
"""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.http.request import NO_CALLBACK
from twisted.internet.defer import Deferred

from extensions.connections import Interrupted, LeaseLost

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from extensions.config import Config

logger = logging.getLogger(__name__)

REMEMBERED_SERVERS = 20_000
OVERLOADED = frozenset({429, 503})
UNAVAILABLE = frozenset({502, 503, 504, 520, 521, 522, 523, 524})
"""Answers that stand for a server behind, or in place of, the one that does not answer: a failure of the server, not of the page."""
NOT_FETCHED: Deferred[None] = Deferred()


class CrawlDelays:
    """The crawl delay of every server, in milliseconds. What robots.txt asked for is kept per host and port."""

    def __init__(self, *, least_ms: float, most_ms: float, factor: float) -> None:
        self.least_ms = least_ms
        self.most_ms = most_ms
        self.factor = factor
        self._asked: OrderedDict[str, float] = OrderedDict()

    @classmethod
    def from_config(cls, config: Config) -> CrawlDelays:
        """As the campaign says."""
        return cls(
            least_ms=config.crawl_delay * 1000,
            most_ms=config.crawl_delay_max * 1000,
            factor=config.crawl_delay_factor,
        )

    def robots_ask(self, url: str, seconds: float | None) -> None:
        """Note the Crawl-delay of the robots.txt that governs a URL."""
        place = urlsplit(url).netloc
        if seconds:
            self._asked[place] = min(seconds * 1000, self.most_ms)
            self._asked.move_to_end(place)
            if len(self._asked) > REMEMBERED_SERVERS:
                self._asked.popitem(last=False)

    def after(self, server: str, response_ms: float) -> float:
        """Milliseconds from the end of a response that took `response_ms` to the next request."""
        asked = self._asked.get(urlsplit(server).netloc, 0.0)
        return max(self.least_ms, asked, min(self.factor * response_ms, self.most_ms))

    def retry_after(self, response: Response) -> float:
        """Milliseconds for which an overloaded server wants to be left alone; 0 for any other."""
        if response.status not in OVERLOADED:
            return 0.0
        said = (response.headers.get("Retry-After") or b"").decode("latin-1").strip()
        if said.isdecimal():
            seconds = float(said)
        elif (then := instant_of(said)) is not None:
            # By the server's own clock, which may not be ours.
            now = instant_of((response.headers.get("Date") or b"").decode("latin-1"))
            seconds = max(0.0, then - (time.time() if now is None else now))
        else:
            seconds = 10 * max(self.least_ms, 1000.0) / 1000
        return min(seconds * 1000, self.most_ms)


def instant_of(http_date: str) -> float | None:
    """Seconds since 1970 of a date in any of HTTP's three forms (RFC 9110, section 5.6.7); None for what is no date."""
    try:
        parsed = parsedate_to_datetime(http_date)
    except (ValueError, OverflowError):
        return None
    # Without a zone it is asctime's form, and HTTP's dates are in UTC.
    return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()


class PoliteRobotsMiddleware(RobotsTxtMiddleware):
    """Scrapy's robots.txt middleware, with the crawl delay between robots.txt and the first page as well.

    Where robots.txt had to be fetched first, the request goes back to the scheduler, which hands it out again when the server is due;
    so nothing waits inside the downloader. Parsers are kept for the `REMEMBERED_SERVERS` most recently met.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._not_sent: set[str] = set()
        """Hosts whose robots.txt was kept back. Scrapy would take that for a robots.txt that is not there, and allow everything."""

    async def process_request(  # type: ignore[override]  # Scrapy lets process_request return a Request; its own does not
        self,
        request: Request,
        spider: Spider | None = None,  # noqa: ARG002 - Scrapy's signature
    ) -> Request | None:
        """Raise IgnoreRequest where robots.txt forbids; return the request where the server must be left alone first."""
        if request.meta.get("dont_obey_robotstxt") and request.callback is NO_CALLBACK:
            # robots.txt itself. Scrapy would try it again at once, with no delay between; without it everything is allowed.
            request.meta["dont_retry"] = True
        place = urlsplit(request.url).netloc
        fetched_now = isinstance(self._parsers.get(place, NOT_FETCHED), Deferred)
        scheduler: Any = self.crawler.engine.scheduler if self.crawler.engine else None
        try:
            await super().process_request(request)
        finally:  # also where it forbids
            self._forget_oldest()
        if request.meta.get("dont_obey_robotstxt") or not fetched_now:
            return None
        if place in self._not_sent:
            self._not_sent.discard(place)
            self._parsers.pop(place, None)
            if hasattr(scheduler, "keep_back"):
                scheduler.keep_back(request)
            raise LeaseLost(f"{request} was not sent: whether robots.txt allows it could not be asked")
        if hasattr(scheduler, "put_back") and scheduler.put_back(request):
            return request
        return None

    def _robots_error(self, exc: Exception, netloc: str) -> None:
        if isinstance(exc, (LeaseLost, Interrupted)):
            self._not_sent.add(netloc)
        super()._robots_error(exc, netloc)

    def _forget_oldest(self) -> None:
        while len(self._parsers) > REMEMBERED_SERVERS:
            oldest = next(iter(self._parsers))
            if isinstance(self._parsers[oldest], Deferred):
                break  # somebody waits for it
            del self._parsers[oldest]
