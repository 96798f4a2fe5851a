"""``summary.json``: what the crawl brought home, and a table of it at the end.

It is of the crawl's present run, put together over all of its agents, wherever they run; where there are several, each also writes
``summary-<agent>.json`` with the same keys for itself alone. Both are written when an agent ends and, so that a killed one leaves
them too, every `INTERVAL_SECONDS` while it runs (`finish_reason` is then "running"), each time in one step: a reader sees the old one or the
new one, never a part. Agents know of each other as of their last heartbeats; the last to end knows all.

Figures are of the run since its first agent's beginning, only `pages_total` and `relevant_total` include earlier runs: pages scored, and pages
that the folders hold, each once. `resumed` says whether there were any.
"""

from __future__ import annotations

import json
import logging
import socket
import sys
import time
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from scrapy import signals
from scrapy.utils.asyncio import create_looping_call

from extensions.config import Config
from extensions.errors import CrawlError
from topicspider.agents import Agents, leases
from topicspider.figures import Figures, clock, errors
from topicspider.pipelines.folder import OutputFolder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from scrapy.crawler import Crawler
    from scrapy.statscollectors import StatsCollector
    from scrapy.utils.asyncio import AsyncioLoopingCall
    from twisted.internet.task import LoopingCall

    from topicspider.figures import Stats

logger = logging.getLogger(__name__)

FILE = "summary.json"
INTERVAL_SECONDS = 30.0
COMPANY_SECONDS = 1.0
"""How long to wait for other processes that write the summary in this folder."""


class SummaryExtension:
    """Keeps ``summary.json`` up to date and shows it as a table when the crawl has ended."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._config = Config.from_settings(crawler.settings)
        self._folder = OutputFolder.of(crawler)
        self._started_at: datetime | None = None
        self._started = 0.0
        self._summary: dict[str, Any] = {}
        """The crawl's, as last gathered."""
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
        stats = self._stats
        stats.set_value("output/folder", folder_number(self._folder.root))
        stats.set_value("output/resumed", int(self._folder.resumed or bool(stats.get_value("frontier/resumed"))))
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
        agents = self._agents(ended=reason != "running")
        self._summary = self._of_the_crawl(agents, reason)
        try:
            if agents.several:
                self._replace(f"summary-{agents.own.name}.json", self._of_this_agent(agents, reason))
                with self._folder.alone_if_possible(COMPANY_SECONDS):
                    if not knows_more(self._folder.root / FILE, self._summary, agents.own.name):
                        self._replace(FILE, self._summary)
            else:
                self._replace(FILE, self._summary)
        except OSError as error:
            logger.warning("The summary cannot be written: %s", error)

    def _replace(self, name: str, summary: dict[str, Any]) -> None:
        text = json.dumps(summary, ensure_ascii=False, indent=2) + "\n"
        replace(self._folder.root / name, text, self._folder.number)

    @property
    def _stats(self) -> StatsCollector:
        assert self._crawler.stats is not None
        return self._crawler.stats

    def _agents(self, *, ended: bool) -> Agents:
        assert self._started_at is not None
        began_ms = int(self._started_at.timestamp() * 1000)
        now_ms = began_ms + int(self._elapsed() * 1000)
        return Agents.of(self._crawler, began_ms, now_ms, self._config.lease_seconds, ended=ended)

    def _elapsed(self) -> float:
        return time.monotonic() - self._started

    def _of_the_crawl(self, agents: Agents, reason: str) -> dict[str, Any]:
        """The run's summary. It goes on while anybody runs, unless the frontier is empty: then it is over for all."""
        assert self._started_at is not None
        if not agents.several:
            began, elapsed = self._started_at, self._elapsed()
        else:
            began = datetime.fromtimestamp(agents.first.joined_ms / 1000, UTC)
            elapsed = agents.elapsed_seconds
            if reason != "finished" and agents.running:
                reason = "running"
        summary = self._gather(agents.merged(), reason, began, elapsed)
        summary["resumed"] = bool(agents.first.stats.get("output/resumed"))
        summary["pages_total"], summary["relevant_total"] = agents.totals()
        return summary | {"agents": agents.shares()}

    def _of_this_agent(self, agents: Agents, reason: str) -> dict[str, Any]:
        assert self._started_at is not None
        summary = self._gather(self._stats.get_stats(), reason, self._started_at, self._elapsed())
        name = agents.own.name
        return summary | {"agents": [share for share in agents.shares() if share["name"] == name]}

    def _gather(self, stats: Stats, reason: str, began: datetime, elapsed_seconds: float) -> dict[str, Any]:
        spider = self._crawler.spider
        assert spider is not None
        figures = Figures.read(stats)
        return {
            "crawl": self._config.crawl_of(spider.name),
            "topic": self._config.topic,
            "policy": self._config.policy,
            "finish_reason": reason,
            "started_at": began.isoformat(timespec="milliseconds"),
            "elapsed_seconds": round(elapsed_seconds, 3),
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
            "leases": leases(stats),
            "resumed": bool(stats.get("output/resumed")),
            "pages_total": int(stats.get("output/pages_total", figures.pages)),
            "relevant_total": int(stats.get("output/relevant_total", figures.relevant)),
            "output_dir": str(self._folder.root),
        }


def folder_number(folder: Path) -> int:
    """A number that stands for a folder on a machine, small enough for a float: agents with the same one share their results' folder."""
    name = f"{socket.gethostname()}:{folder.resolve()}"
    return int.from_bytes(blake2b(name.encode("utf-8", "surrogateescape"), digest_size=6).digest())


def knows_more(path: Path, summary: dict[str, Any], name: str) -> bool:
    """Whether the file is the work of another agent of the same run that ended after this one."""
    try:
        there = json.loads(path.read_text(encoding="utf-8"))
        same_run = all(there[key] == summary[key] for key in ("crawl", "started_at"))
        return same_run and any(share["name"] == name and share["state"] == "ended" for share in there["agents"])
    except (OSError, ValueError, LookupError, TypeError):
        return False


def replace(path: Path, text: str, writer: int) -> None:
    """Put the text in the place of the file in one step. Each writer has a number of its own."""
    new = path.with_name(f".{path.name}.{writer}.new")
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
    if summary["leases"].get("leases_lost") or summary["leases"].get("expired"):
        yield "Leases", ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in summary["leases"].items())
    if len(summary["agents"]) > 1:
        for agent in summary["agents"]:
            yield f"Agent {agent['name']}", share_in_words(agent)
    yield "Results", summary["output_dir"]


def share_in_words(agent: dict[str, Any]) -> str:
    """One agent's part in the crawl."""
    lost = agent.get("leases_lost", 0)
    return (
        f"{agent['pages']:,} pages ({agent['share']:.1%}), {agent['relevant']:,} on topic, "
        f"{agent['state']} after {clock(agent['elapsed_seconds'])}" + (f", {lost:,} leases lost" if lost else "")
    )


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
