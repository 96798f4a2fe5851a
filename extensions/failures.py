"""Tells who records fetches of those that end without a response: Scrapy has no signal for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from extensions.connections import LeaseLost
from extensions.signals import fetch_failed

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler


class FetchFailureMiddleware:
    """Downloader middleware, next to the downloader: sends `signals.fetch_failed` and changes nothing."""

    def __init__(self, crawler: Crawler) -> None:
        self._signals = crawler.signals

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> FetchFailureMiddleware:
        """No settings."""
        return cls(crawler)

    def process_exception(self, request: Request, exception: Exception) -> None:
        """Called by Scrapy for each download that raised."""
        if isinstance(exception, LeaseLost):
            return  # nothing was sent, so there is no fetch to tell of
        self._signals.send_catch_log(fetch_failed, request=request, reason=type(exception).__name__)
