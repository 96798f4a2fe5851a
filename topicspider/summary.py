"""``summary.json``: what the crawl brought home, and a table of it at the end.

Written when the crawl ends and, so that a killed crawl leaves one too, every `INTERVAL_SECONDS` while it runs (`finish_reason` is then
"running"), each time in one step: a reader sees the old one or the new one, never a part. Figures are of this process since its start,
only `pages_total` and `relevant_total` include the earlier runs of a resumed crawl.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from scrapy import signals
from scrapy.utils.asyncio import create_looping_call

from extensions.config import Config
from extensions.errors import CrawlError
from topicspider.figures import Figures, clock, errors
from topicspider.pipelines.folder import OutputFolder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from scrapy.crawler import Crawler
    from scrapy.utils.asyncio import AsyncioLoopingCall
    from twisted.internet.task import LoopingCall

logger = logging.getLogger(__name__)

FILE = "summary.json"
INTERVAL_SECONDS = 30.0


class SummaryExtension:
    """Keeps ``summary.json`` up to date and shows it as a table when the crawl has ended."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._config = Config.from_settings(crawler.settings)
        self._folder = OutputFolder.of(crawler)
        self._started_at: datetime | None = None
        self._started = 0.0
        self._summary: dict[str, Any] = {}
        self._loop: AsyncioLoopingCall | LoopingCall | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> SummaryExtension:
        """Listen for the beginning and the end."""
        summary = cls(crawler)
        crawler.signals.connect(summary.spider_opened, signals.spider_opened)
        crawler.signals.connect(summary.spider_closed, signals.spider_closed)
        crawler.signals.connect(summary.engine_stopped, signals.engine_stopped)
        return summary

    def spider_opened(self) -> None:
        """Begin to count the time. A crawl that never opened has no summary."""
        try:
            self._folder.open()  # as the pipelines have done, where they are in use
        except CrawlError as error:
            logger.error("There will be no summary: %s", error)
            return
        self._started_at, self._started = datetime.now(UTC), time.monotonic()
        self._loop = create_looping_call(self._write_running)
        self._loop.start(INTERVAL_SECONDS)

    def spider_closed(self, reason: str) -> None:
        """Write the last one."""
        if self._loop is not None and self._loop.running:
            self._loop.stop()
        if self._started_at is not None:
            self._write(reason)

    def engine_stopped(self) -> None:
        """Show the table, after Scrapy's own last words."""
        if self._summary:
            show(self._summary)

    def _write_running(self) -> None:
        self._write("running")

    def _write(self, reason: str) -> None:
        """Gather and write the summary; failing to is worth a warning, not the crawl."""
        self._summary = self._gather(reason)
        try:
            replace(self._folder.path(FILE), json.dumps(self._summary, ensure_ascii=False, indent=2) + "\n")
        except OSError as error:
            logger.warning("The summary cannot be written: %s", error)

    def _gather(self, reason: str) -> dict[str, Any]:
        assert self._started_at is not None
        spider = self._crawler.spider
        assert spider is not None
        stats = self._crawler.stats.get_stats()
        figures = Figures.read(stats)
        return {
            "crawl": self._config.crawl_of(spider.name),
            "topic": self._config.topic,
            "policy": self._config.policy,
            "finish_reason": reason,
            "started_at": self._started_at.isoformat(timespec="milliseconds"),
            "elapsed_seconds": round(time.monotonic() - self._started, 3),
            "pages": figures.pages,
            "relevant": figures.relevant,
            "harvest_rate": round(figures.harvest_rate, 4),
            "relevance_sum": round(figures.relevance_sum, 4),
            "urls_discovered": figures.urls_discovered,
            "urls_duplicate": figures.urls_duplicate,
            "cache_hit_rate": round(figures.cache_hit_rate, 4),
            "redis_round_trips": figures.redis_round_trips,
            "bytes_downloaded": figures.bytes_downloaded,
            "servers": figures.servers,
            "errors": errors(stats),
            "resumed": self._folder.resumed or bool(stats.get("frontier/resumed")),
            "pages_total": stats.get("output/pages_total", figures.pages),
            "relevant_total": stats.get("output/relevant_total", figures.relevant),
            "output_dir": str(self._folder.root),
        }


def replace(path: Path, text: str) -> None:
    """Put the text in the place of the file in one step."""
    new = path.with_name(f".{path.name}.new")
    try:
        new.write_text(text, encoding="utf-8")
        new.replace(path)
    except OSError:
        with suppress(OSError):
            new.unlink()
        raise


def rows(summary: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The summary in a person's words: label and value."""
    elapsed = summary["elapsed_seconds"]
    yield "Crawl", f"{summary['crawl']}, {summary['finish_reason']} after {clock(elapsed)}, policy {summary['policy']}"
    yield "Topic", summary["topic"] or "none"
    yield "Pages", f"{summary['pages']:,} ({summary['pages'] / elapsed if elapsed else 0:.1f} a second)"
    yield "On topic", f"{summary['relevant']:,} (harvest rate {summary['harvest_rate']:.1%})"
    if summary["resumed"]:
        yield "With earlier runs", f"{summary['pages_total']:,} pages, {summary['relevant_total']:,} on topic"
    yield "URLs", f"{summary['urls_discovered']:,} discovered, {summary['urls_duplicate']:,} duplicates"
    yield "Seen cache", f"{summary['cache_hit_rate']:.1%} of look-ups hit"
    yield "Downloaded", f"{summary['bytes_downloaded'] / 1e6:,.1f} MB from {summary['servers']:,} servers"
    yield "Redis round trips", f"{summary['redis_round_trips']:,}"
    kinds = [
        f"{name} {count}"
        for group in ("download", "http", "spider")
        for name, count in sorted(summary["errors"][group].items(), key=lambda pair: -pair[1])
    ]
    yield "Errors", f"{summary['errors']['total']:,}" + (f" ({', '.join(kinds[:6])})" if kinds else "")
    yield "Results", summary["output_dir"]


def show(summary: dict[str, Any]) -> None:
    """Print the summary as a table on a terminal, otherwise log it."""
    if sys.stderr.isatty():
        table = Table(show_header=False, title="Summary", title_justify="left")
        table.add_column(style="bold")
        table.add_column(overflow="fold")
        for label, value in rows(summary):
            table.add_row(label, value)
        Console(stderr=True, markup=False, highlight=False).print(table)
    else:
        for label, value in rows(summary):
            logger.info("%s: %s", label, value)
