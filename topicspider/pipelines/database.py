"""``crawl.sqlite``: the relevant pages of ``pages.jsonl`` as table ``pages``, and every fetch as table ``fetched``.

Rows travel in transactions: one when pages are about to be acknowledged (signal `settling`), after every `BATCH_ROWS` rows, and at the
end. A kill of the process therefore loses only rows whose pages are fetched again. In WAL mode anyone may read while the crawl writes.

A page that the pages pipeline found in a neighbour's file belongs into that neighbour's database, not into this one.

Sets the stats ``output/pages_total`` and ``output/relevant_total``: pages scored and pages stored by whoever wrote under this number,
earlier runs included; and ``output/folder_pages_before``: pages that had been scored under any number when this process began.
Raises `OutputError` when rows cannot be stored; they are kept, and the next transaction tries again.
"""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any

from scrapy import signals as scrapy_signals

from extensions import signals
from extensions.errors import OutputError
from topicspider.items import PageItem
from topicspider.pipelines.fetches import SCORED, FetchLog
from topicspider.pipelines.folder import OutputFolder
from topicspider.pipelines.mending import mend
from topicspider.pipelines.schema import COUNT_SCORED, FILE, INSERT_PAGE, STORE_FETCH, connect, row_of, scored_in
from topicspider.pipelines.stored import url_key

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.signalmanager import SignalManager
    from scrapy.statscollectors import StatsCollector

BATCH_ROWS = 100


class DatabasePipeline:
    """Stores relevant pages and the outcome of every fetch. Items other than `PageItem` pass through untouched."""

    def __init__(self, folder: OutputFolder, manager: SignalManager, stats: StatsCollector) -> None:
        self.folder = folder
        self._signals = manager
        self._stats = stats
        self._connection: sqlite3.Connection | None = None
        self._fetches = FetchLog()
        self._pages: list[tuple[Any, ...]] = []
        self._stored_pages = 0
        self._scored_before = 0
        self._failure: OutputError | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> DatabasePipeline:
        """Check the folder before the crawl connects to anything."""
        folder = OutputFolder.of(crawler)
        folder.check()
        return cls(folder, crawler.signals, crawler.stats)

    def open_spider(self) -> None:
        """Create or open the database, and begin to listen to what becomes of fetches."""
        self.folder.open()
        self._connection = connect(self.folder.path(FILE))
        (last_id,) = self._connection.execute("SELECT coalesce(max(id), 0) FROM fetched").fetchone()
        (self._stored_pages,) = self._connection.execute("SELECT count(*) FROM pages").fetchone()
        (self._scored_before,) = self._connection.execute(COUNT_SCORED, SCORED).fetchone()
        neighbours = set(self.folder.root.glob("crawl*.sqlite")) - {self.folder.path(FILE)}
        scored = self._scored_before + sum(map(scored_in, neighbours))
        self._stats.set_value("output/folder_pages_before", scored)
        self._fetches = FetchLog(last_id)
        self._fetches.connect(self._signals)
        self._signals.connect(self.commit, signals.settling)
        self._signals.connect(self._commit_if_many, scrapy_signals.response_received)
        self._count()

    def process_item(self, item: Any) -> Any:
        """Take the page into the next transaction."""
        stored = self.folder.stored
        if isinstance(item, PageItem) and not (stored is not None and url_key(item.url) in stored.neighbours):
            self._pages.append(row_of(item.as_record()))
            if len(self._pages) >= BATCH_ROWS:
                self.commit()
        return item

    async def close_spider(self) -> None:
        """Store what is left, close the database, and put right what killed neighbours left.

        A coroutine, so that raising here does not keep Scrapy from closing the other pipelines.
        """
        if self._connection is None:
            return
        with closing(self._connection):
            try:
                self.commit()
            finally:
                self._connection = None
        if self.folder.stored is not None:
            await asyncio.to_thread(mend, self.folder, self.folder.stored)

    def commit(self) -> None:
        """Store everything that waits, in one transaction; all of it goes on waiting if that fails."""
        if not self._pages and not self._fetches.changed:
            return
        try:
            if self._connection is None:
                raise self._failure or sqlite3.ProgrammingError("the database is closed")
            with self._connection:
                stored = self._connection.executemany(INSERT_PAGE, self._pages).rowcount
                rows = [fetch.as_row() for fetch in self._fetches.changed.values()]
                self._connection.executemany(STORE_FETCH, rows)
        except sqlite3.Error as error:
            self._failure = OutputError(
                f"{str(self.folder.path(FILE))!r} cannot be written ({error}): make room on the disk and start the crawl "
                "again, it goes on where it stopped."
            )
            raise self._failure from error
        self._stored_pages += max(stored, 0)
        self._pages.clear()
        self._fetches.changed.clear()
        self._count()

    def _commit_if_many(self) -> None:
        """Bound what waits in a stretch without relevant pages. A failure shows at the next `settling`, where it counts."""
        if len(self._fetches.changed) >= BATCH_ROWS:
            with suppress(OutputError):
                self.commit()

    def _count(self) -> None:
        self._stats.set_value("output/pages_total", self._scored_before + self._fetches.scored)
        self._stats.set_value("output/relevant_total", self._stored_pages)
