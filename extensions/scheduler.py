"""The scheduler: the best server first, each server's best URLs first, and only what is due.

Scrapy calls a scheduler synchronously, so `enqueue_request` and `next_request` touch local buffers only. `courier.Courier` carries the
buffers to Redis and back, in batches, on Scrapy's own asyncio loop.

*Handing out.* At most CONCURRENT_REQUESTS servers are open (leased and not drained). Each gets one request at a time, the next one its
crawl delay after the last one ended; servers that are due wait in a heap, and when the first of them becomes due while the engine sleeps, the
scheduler wakes it. So no request ever waits inside the downloader, where it would take another server's place.

*Getting back.* A request is through when the engine is (`engine.in_progress`): its links are in the buffer of candidates by then and its
items have passed the pipelines. It is acknowledged once Redis has confirmed the batch with its links.

*Redirects and retries* come back through `enqueue_request` as new requests before the old one is through, so nothing is lost between.
"""

from __future__ import annotations

import asyncio
import heapq
import logging
import math
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.core.scheduler import BaseScheduler
from scrapy.utils.defer import deferred_from_coro
from scrapy.utils.misc import build_from_crawler, load_object

from extensions.candidates import Candidates
from extensions.config import Config
from extensions.connections import Connections
from extensions.courier import Courier
from extensions.engine import in_progress, wake
from extensions.errors import ConfigurationError, CrawlError, OutputError
from extensions.holdings import Holdings
from extensions.learning import fallen, odds_of
from extensions.openserver import HandedOut, OpenServer
from extensions.politeness import UNAVAILABLE, CrawlDelays
from extensions.seen import SeenLayout
from extensions.serialise import request_of
from extensions.urls import split_server

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.robotstxt import RobotParser
    from twisted.internet.defer import Deferred
    from twisted.python.failure import Failure

    from extensions.dupefilter import CachedDupeFilter
    from extensions.frontier.records import AgentRecord, Candidate, Lease

logger = logging.getLogger(__name__)

MAX_BUFFERED = 200_000
"""Candidates that may wait for a Redis that does not answer; beyond it nothing more is handed out."""
PUT_BACK_MS = 50


def later(now_ms: int, delay_ms: float) -> int:
    """The instant `delay_ms` after now, never too early: now is rounded down, so this is rounded up."""
    return now_ms + math.ceil(delay_ms) + 1 if delay_ms else now_ms


class TwoLevelScheduler(BaseScheduler):
    """Scrapy's SCHEDULER for a frontier in Redis. See the module's docstring."""

    def __init__(self, crawler: Crawler, config: Config, dupefilter: CachedDupeFilter) -> None:
        if crawler.stats is None or crawler.request_fingerprinter is None:
            raise ConfigurationError("The scheduler needs a crawler that is being run by Scrapy.")
        self.crawler = crawler
        self.config = config
        self.dupefilter = dupefilter
        self.stats = crawler.stats
        self.layout = SeenLayout.for_expected(config.expected_urls, config.partitions)
        self.candidates = Candidates(dupefilter, crawler.request_fingerprinter, self.layout, self.stats)
        self.delays = CrawlDelays.from_config(config)
        self.capacity = crawler.settings.getint("CONCURRENT_REQUESTS") or 64
        self.max_depth = crawler.settings.getint("DEPTH_LIMIT")
        self.holdings = Holdings(partial(odds_of, crawler), partial(fallen, crawler))
        self.stopped = False
        self._due: list[tuple[int, int, OpenServer]] = []
        self._unsure: list[OpenServer] = []
        """Servers that are due, but whose lease must be renewed first."""
        self._tie = count()
        self._alarm: asyncio.TimerHandle | None = None
        self.courier = Courier(self)
        self.spider: Spider

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> TwoLevelScheduler:
        """Read the settings; nothing is connected yet. Raises `ConfigurationError`."""
        dupefilter: Any = build_from_crawler(load_object(crawler.settings["DUPEFILTER_CLASS"]), crawler)
        if not hasattr(dupefilter, "filter"):
            raise ConfigurationError(
                "SCHEDULER extensions.scheduler.TwoLevelScheduler goes with DUPEFILTER_CLASS "
                "extensions.dupefilter.CachedDupeFilter: set both."
            )
        return cls(crawler, Config.from_settings(crawler.settings), dupefilter)

    # What the engine calls

    def open(self, spider: Spider) -> Deferred[None] | None:
        """Connect, join the crawl's agents, and begin to carry."""
        self.spider = self.candidates.spider = spider
        connect = self.crawler.signals.connect
        connect(self._request_left_downloader, signals.request_left_downloader)
        connect(self._response_downloaded, signals.response_downloaded)
        connect(self._request_reached_downloader, signals.request_reached_downloader)
        connect(self._robots_parsed, signals.robots_parsed)
        connect(self._item_error, signals.item_error)
        return deferred_from_coro(self.courier.open(spider))

    def close(self, reason: str) -> Deferred[None] | None:  # noqa: ARG002 - Scrapy's signature
        """Settle what is through, give back the rest."""
        if self._alarm is not None:
            self._alarm.cancel()
        return deferred_from_coro(self.courier.close())

    def has_pending_requests(self) -> bool:
        """Whether there is, or may yet be, anything to do: here, or with any other agent of the crawl."""
        return not self.courier.finished

    def enqueue_request(self, request: Request) -> bool:
        """Buffer a request for the frontier. False for a known duplicate and for what cannot be queued."""
        if request in self.holdings.handed:
            return True  # it was put back, and will be handed out again
        candidate = self.candidates.of_request(request)
        if candidate is None:
            return False
        self._offer([candidate])
        return True

    def next_request(self) -> Request | None:
        """The next request that is due, or None."""
        self.sweep()
        if len(self.holdings.candidates) > MAX_BUFFERED:
            return None
        now = self.courier.now_ms()
        while self._due and self._due[0][0] <= now:
            server = heapq.heappop(self._due)[2]
            if server.stale or server.busy:
                continue
            if not self._holds(server):
                self._unsure.append(server)
                self.courier.renew_soon()
                continue
            request = self._hand_out(server)
            if request is not None:
                return request
        self._set_alarm(now)
        self.courier.kick()
        return None

    # What the adapters beside it call

    def enqueue_links(self, links: Iterable[tuple[str, float]], *, depth: int, hops: int, referrer: str) -> int:
        """Buffer a page's links, (raw absolute URL, quality) each, that the seen cache does not know; how many they are."""
        if self.max_depth and depth > self.max_depth:
            return 0
        found = self.candidates.of_links(links, depth=depth, hops=hops, referrer=referrer)
        if found:
            self._offer(found)
        return len(found)

    def put_back(self, request: Request) -> bool:
        """Take back a request that must wait until its server is due again; True if the engine will get it anew."""
        handed = self.holdings.handed.get(request)
        if handed is None or handed.server.stale:
            return False
        server = handed.server
        now = self.courier.now_ms()
        # What robots.txt asks for is known only now.
        server.delay_ms = max(server.delay_ms, self.delays.after(server.lease.server, 0.0))
        server.due_ms = max(server.due_ms, later(now, server.delay_ms))
        if server.due_ms <= now:
            return False
        # The engine must be through with the request before it gets it again.
        server.due_ms = max(server.due_ms, now + PUT_BACK_MS)
        server.put_back.append((request, handed))
        server.busy = False
        self._note_due(server)
        return True

    @property
    def agents(self) -> tuple[AgentRecord, ...]:
        """The agents of the crawl's present run, those that have left or died included; this one first, as of now."""
        return self.courier.agents()

    def may_send(self, request: Request) -> bool:
        """Whether the lease of the request's server still holds, asked by the download handler when it could write the request.

        Where it does not, the request must fail without being sent; its URL is fetched by whoever has the server then.
        """
        handed = self.holdings.handed.get(request)
        server = handed.server if handed is not None else self._server_of(request)
        if server is None or self._holds(server):
            return True
        self.keep_back(request)
        return False

    def keep_back(self, request: Request) -> None:
        """The request is not sent after all, and nobody is to blame: its URL stays in the lease, and goes back to the queue with it."""
        handed = self.holdings.handed.get(request)
        if handed is not None:
            handed.sent = False
        self.stats.inc_value("frontier/kept_back")

    def connected(self, request: Request, milliseconds: float) -> None:
        """A connection was opened for the request, and took this long, name resolution and TLS included."""
        handed = self.holdings.handed.get(request)
        server = handed.server if handed is not None else self._server_of(request)
        if server is not None:
            server.connection_ms.append(milliseconds)
        if handed is not None:
            handed.connecting_ms += milliseconds

    def disconnected(self, request: Request, carried: int) -> None:
        """The server has closed a connection, after the response to this request, that carried so many."""
        server = self._server_of(request)
        if server is not None:
            server.carried = carried

    # What the courier calls

    def opened(self, lease: Lease) -> None:
        """A lease has arrived."""
        self._note_due(self.holdings.opened(lease))

    def hang_up(self, servers: Iterable[str]) -> None:
        """Leases have ended: nobody may meet an idle connection of ours there."""
        connections = Connections.of(self.crawler)
        for server in servers:
            connections.forget(server)

    def renewed(self) -> None:
        """Leases have been renewed: what waited for it may go on."""
        unsure, self._unsure = self._unsure, []
        for server in unsure:
            if not server.stale:
                self._note_due(server)

    def wake(self) -> None:
        """Have the engine ask."""
        wake(self.crawler.engine)

    def sweep(self) -> None:
        """Find the requests that the engine is through with."""
        handed = self.holdings.handed
        engine = self.crawler.engine
        if not handed or engine is None:
            return
        there = in_progress(engine)
        for request in [request for request in handed if request not in there]:
            server = handed[request].server
            if any(request is waiting for waiting, _ in server.put_back):
                continue
            if not self.holdings.finished(request).downloaded:  # robots.txt forbade it, or a middleware answered
                self._free(server)
            self.courier.kick()

    def stop(self, reason: str, error: CrawlError) -> None:
        """End the crawl because of a fault that waiting does not mend. Only the first is told: others follow from it."""
        if self.stopped:
            return
        self.stopped = True
        logger.error("%s", error)
        engine = self.crawler.engine
        if engine is not None and engine.spider is not None:
            task = asyncio.ensure_future(engine.close_spider_async(reason=reason))
            task.add_done_callback(lambda _: None)

    # Handing out

    def _holds(self, server: OpenServer) -> bool:
        """Whether the server is surely still ours: by the clock, since this process may have been asleep, or cut off from Redis."""
        return not server.stale and self.courier.now_ms() < server.held_until_ms - self.courier.margin_ms

    def _offer(self, candidates: Iterable[Candidate]) -> None:
        self.holdings.candidates += candidates
        self.courier.finished = False
        self.courier.kick()

    def _hand_out(self, server: OpenServer) -> Request | None:
        if server.put_back:
            request, handed = server.put_back.popleft()
            handed.downloaded = False
            server.busy = True
            return request
        while server.waiting:
            url = server.waiting.popleft()
            handed = HandedOut(server, url)
            try:
                request = request_of(server.lease.server, url, self.spider)
            except Exception as error:  # noqa: BLE001 - else the engine would stop asking, and the crawl never end
                # Queued by another version of the spider: the callback is gone, the class of the request, or what it needs.
                self.stats.inc_value("frontier/unreadable")
                logger.error("A queued request of %s cannot be made again: %s", server.lease.server, error)
                server.through.append(handed)
                continue
            server.busy = True
            server.unfinished += 1
            self.holdings.handed[request] = handed
            return request
        return None

    def _note_due(self, server: OpenServer) -> None:
        if server.waiting or server.put_back:
            heapq.heappush(self._due, (server.due_ms, next(self._tie), server))
            self.wake()

    def _set_alarm(self, now: int) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        if self._due:
            seconds = max(0.0, (self._due[0][0] - now) / 1000)
            self._alarm = asyncio.get_running_loop().call_later(seconds + 0.001, self.wake)

    # What happens to what was handed out

    def _request_reached_downloader(self, request: Request) -> None:
        handed = self.holdings.handed.get(request)
        if handed is not None:
            handed.started_ms = self.courier.now_ms()

    def _response_downloaded(self, response: Response, request: Request) -> None:
        handed = self.holdings.handed.get(request)
        if handed is None:
            return
        handed.answered = response.status not in UNAVAILABLE
        pause = self.delays.retry_after(response)
        if pause:
            self.stats.inc_value("politeness/retry_after")
            handed.server.due_ms = max(handed.server.due_ms, later(self.courier.now_ms(), pause))

    def _request_left_downloader(self, request: Request) -> None:
        """A download has ended, well or not: from now on the server must be left alone for its crawl delay."""
        now = self.courier.now_ms()
        handed = self.holdings.handed.get(request)
        if handed is None:
            self._other_request_ended(request, now)
            return
        server = handed.server
        elapsed = max(0.0, now - handed.started_ms - handed.connecting_ms)
        if handed.sent:
            server.response_ms.append(elapsed)
        self._leave_alone(server, now, elapsed)
        handed.downloaded = True
        self._free(server)

    def _free(self, server: OpenServer) -> None:
        """Nothing is under way at the server now. If its lease was lost meanwhile, a newer one of ours may have waited for that."""
        server.busy = False
        if server.stale:
            newer = self.holdings.left_late(server)
            if newer is None:
                return
            newer.due_ms = max(newer.due_ms, server.due_ms)
            server = newer
        self._note_due(server)

    def _server_of(self, request: Request) -> OpenServer | None:
        """The open server of a request that the scheduler did not hand out, such as one for robots.txt."""
        canonical = self.dupefilter.canonicalise(request.url)
        return self.holdings.open_servers.get(split_server(canonical)[0]) if canonical else None

    def _other_request_ended(self, request: Request, now: int) -> None:
        server = self._server_of(request)
        if server is not None:
            self._leave_alone(server, now, float(request.meta.get("download_latency", 0.0)) * 1000)

    def _leave_alone(self, server: OpenServer, now: int, elapsed_ms: float) -> None:
        server.delay_ms = self.delays.after(server.lease.server, elapsed_ms)
        server.due_ms = max(server.due_ms, later(now, server.delay_ms))

    def _robots_parsed(self, robotparser: RobotParser, request: Request) -> None:
        agent = self.crawler.settings["ROBOTSTXT_USER_AGENT"] or self.crawler.settings["USER_AGENT"]
        canonical = self.dupefilter.canonicalise(request.url)  # as the lease's server is spelt
        if canonical:
            self.delays.robots_ask(canonical, robotparser.crawl_delay(agent))

    def _item_error(self, response: Response | None, failure: Failure) -> None:
        """An item that could not be stored: its page must not be acknowledged, and the crawl cannot go on."""
        if not isinstance(failure.value, OutputError):
            return
        handed = (
            self.holdings.handed.get(response.request)
            if response is not None and response.request is not None
            else None
        )
        if handed is not None:
            handed.stored = False
        self.stop("output_error", failure.value)
