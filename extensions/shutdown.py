"""A crawl that is told to stop does so within seconds, however long servers take.

Scrapy closes a spider when the last download under way has ended, which may take DOWNLOAD_TIMEOUT and more for a server that hangs, or for a
body that trickles. Here downloads have `GRACE_SECONDS` from the moment in which closing begins. What arrives in time is stored as ever; the
rest is cancelled, its connections are closed, and its URLs go back to the queue with their leases, so that they are fetched by the next start
or by another agent.

Scrapy has no signal for the beginning of the end and no hold on a download. Both pass through one public method each, which this extension
wraps: the engine's `close_spider_async` and the download handlers' `download_request_async`.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from scrapy import signals

from extensions.connections import Interrupted
from extensions.scheduler import TwoLevelScheduler

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

logger = logging.getLogger(__name__)

GRACE_SECONDS = 5.0
"""Most pages take less, and an operator who pressed Ctrl-C, or a scrapyd that is restarted, waits no longer."""


class QuickCloseExtension:
    """Bounds the time between the order to stop and the end of the last download."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._running: set[asyncio.Task[Response]] = set()
        self._download: Callable[[Request], Awaitable[Response]]
        self._close_spider: Callable[..., Awaitable[None]]
        self._alarm: asyncio.TimerHandle | None = None
        self._over = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> QuickCloseExtension:
        """No settings."""
        quick = cls(crawler)
        crawler.signals.connect(quick.spider_opened, signals.spider_opened)
        crawler.signals.connect(quick.spider_closed, signals.spider_closed)
        return quick

    def spider_opened(self) -> None:
        """Step between the engine and its downloads; none has begun yet."""
        engine = self._crawler.engine
        assert engine is not None
        handlers = engine.downloader.handlers
        self._download = handlers.download_request_async
        handlers.download_request_async = self._download_in_time  # type: ignore[method-assign]
        self._close_spider = engine.close_spider_async
        engine.close_spider_async = self._close_in_time  # type: ignore[method-assign]

    def spider_closed(self) -> None:
        """Nothing is left to be bounded."""
        if self._alarm is not None:
            self._alarm.cancel()

    async def _close_in_time(self, **reason: Any) -> None:
        if self._alarm is None:
            self._alarm = asyncio.get_running_loop().call_later(GRACE_SECONDS, self._interrupt)
        await self._close_spider(**reason)

    def _interrupt(self) -> None:
        """The grace is over: end what is under way, and let nothing begin, such as the page whose robots.txt hung."""
        self._over = True
        if self._running:
            logger.info("Not waiting any longer for %d downloads: their URLs go back to the queue", len(self._running))
        for task in self._running:
            task.cancel()

    async def _download_in_time(self, request: Request) -> Response:
        if self._over:
            raise self._interrupted(request)
        task = asyncio.ensure_future(self._download(request))
        self._running.add(task)
        try:
            return await task
        except asyncio.CancelledError:
            if not self._over:
                raise
            raise self._interrupted(request) from None
        finally:
            self._running.discard(task)

    def _interrupted(self, request: Request) -> Interrupted:
        """Keep the request's URL from being acknowledged: its lease is given back with the URL in it."""
        scheduler = getattr(self._crawler.engine, "scheduler", None)
        if isinstance(scheduler, TwoLevelScheduler):
            scheduler.keep_back(request)
        return Interrupted(f"{request} took longer than the crawl, which is closing")
