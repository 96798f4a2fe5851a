"""A log without tracebacks for what is no fault of any code here: dead servers, and Scrapy's stumbling after a fault that was told.

On the open web unreachable servers are everyday matters; each costs a line. Tracebacks of everything else stay, since those are faults of
code. With LOG_LEVEL=DEBUG all of them stay.

Nor does a page or an item cost a line that nobody will read: Scrapy puts one together for each, and throws it away unless LOG_LEVEL is DEBUG.
"""

from __future__ import annotations

import gzip
import logging
import socket
import ssl
import zlib
from typing import TYPE_CHECKING

from scrapy import exceptions, signals
from scrapy.core.downloader.handlers.http11 import TunnelError
from scrapy.exceptions import NotConfigured
from scrapy.logformatter import LogFormatter
from twisted.internet import error
from twisted.web.client import ResponseFailed

from extensions.errors import OutputError
from extensions.scheduler import TwoLevelScheduler

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.logformatter import LogFormatterResult

FILTERED = ("scrapy.core.scraper", "scrapy.core.engine", "scrapy.downloadermiddlewares.robotstxt")
CLEANING_UP = ("scrapy.core.engine", "scrapy.utils.signal")
NETWORK_ERRORS = (
    exceptions.CannotResolveHostError,
    exceptions.DownloadCancelledError,
    exceptions.DownloadConnectionRefusedError,
    exceptions.DownloadFailedError,
    exceptions.DownloadTimeoutError,
    exceptions.ResponseDataLossError,
    exceptions.UnsupportedURLSchemeError,
    error.ConnectError,
    error.ConnectionClosed,
    error.DNSLookupError,
    ResponseFailed,
    TunnelError,
    ConnectionError,
    TimeoutError,
    socket.gaierror,
    ssl.SSLError,
    # A body that cannot be decompressed. OSError itself would be too much: a file that is missing here is no fault of the web.
    gzip.BadGzipFile,
    zlib.error,
)


class OneLine(logging.Filter):
    """Takes the traceback of a network error off the record of one crawler, and puts its text into the message.

    A full disk fails for every page in flight, and once more when the pipelines close: the scheduler tells it once, as a sentence.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__()
        self._crawler = crawler

    def filter(self, record: logging.LogRecord) -> bool:
        """Called by logging; False for what is told elsewhere."""
        fault = record.exc_info[1] if record.exc_info else None
        if isinstance(fault, OutputError):
            engine = self._crawler.engine
            if engine is not None and isinstance(engine.scheduler, TwoLevelScheduler):
                return False
            record.msg, record.args, record.exc_info = str(fault), None, None
        elif isinstance(fault, NETWORK_ERRORS) and getattr(record, "spider", None) is self._crawler.spider:
            message, why = record.getMessage(), str(fault)
            if not why or why not in message:
                message = f"{message}: {type(fault).__name__}{': ' if why else ''}{why}"
            record.msg, record.args = " ".join(message.split()), None
            record.exc_info = record.exc_text = None
        return True


def tells_all(crawler: Crawler) -> bool:
    """Whether LOG_LEVEL asks for everything."""
    level = str(crawler.settings.get("LOG_LEVEL"))
    return level in ("DEBUG", "NOTSET") or (level.isdecimal() and int(level) <= logging.DEBUG)


class QuietLogFormatter(LogFormatter):
    """Says nothing of pages and items that went well; of what went wrong it speaks as Scrapy's."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self | LogFormatter:  # type: ignore[override]
        """Scrapy's own where LOG_LEVEL asks for everything."""
        return LogFormatter() if tells_all(crawler) else cls()

    def crawled(self, *_: object, **__: object) -> LogFormatterResult | None:  # type: ignore[override]
        """Nothing."""
        return None

    def scraped(self, *_: object, **__: object) -> LogFormatterResult | None:  # type: ignore[override]
        """Nothing."""
        return None


class QuietLogExtension:
    """Filters the loggers that speak of downloads and of items, from the start of a crawl to its end."""

    def __init__(self, crawler: Crawler) -> None:
        self._filter = OneLine(crawler)
        for name in FILTERED:
            logging.getLogger(name).addFilter(self._filter)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> QuietLogExtension:
        """Raises `NotConfigured` where LOG_LEVEL asks for everything."""
        if tells_all(crawler):
            raise NotConfigured  # without a reason: Scrapy would log a warning
        quiet = cls(crawler)
        crawler.signals.connect(quiet.engine_stopped, signals.engine_stopped)
        return quiet

    def engine_stopped(self) -> None:
        """Leave the loggers as they were."""
        for name in FILTERED:
            logging.getLogger(name).removeFilter(self._filter)


class HeldBack(logging.Filter):
    """Holds back the errors that Scrapy meets while it closes what never opened, until it is known what they follow from."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__()
        self._records: list[logging.LogRecord] = []
        for name in CLEANING_UP:
            logging.getLogger(name).addFilter(self)
        crawler.signals.connect(self.release, signals.spider_opened)

    def filter(self, record: logging.LogRecord) -> bool:
        """Called by logging; records with a traceback wait."""
        if record.exc_info:
            self._records.append(record)
        return not record.exc_info

    def drop(self) -> None:
        """They follow from a fault that the user is told."""
        self._records.clear()
        self.release()

    def release(self) -> None:
        """They are news, and so is what comes after them."""
        for name in CLEANING_UP:
            logging.getLogger(name).removeFilter(self)
        for record in self._records:
            logging.getLogger(record.name).handle(record)
        self._records.clear()
