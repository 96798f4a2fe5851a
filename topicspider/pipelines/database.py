"""``crawl.sqlite``: the relevant pages of ``pages.jsonl`` as table ``pages``, and every fetch as table ``fetched``.

Rows travel in transactions: one when pages are about to be acknowledged (signal `settling`), after every `BATCH_ROWS` rows, and at the
end. A kill of the process therefore loses only rows whose pages are fetched again. In WAL mode anyone may read while the crawl writes.

Sets the stats ``output/pages_total`` and ``output/relevant_total``: pages scored and pages stored, earlier runs included.
Raises `OutputError` when rows cannot be stored; they are kept, and the next transaction tries again.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any

from scrapy import signals as scrapy_signals

from extensions import signals
from extensions.errors import OutputError
from topicspider.items import PageItem
from topicspider.pipelines.fetches import SCORED, FetchLog
from topicspider.pipelines.folder import OutputFolder

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.signalmanager import SignalManager
    from scrapy.statscollectors import StatsCollector

FILE = "crawl.sqlite"
BATCH_ROWS = 100
VERSION = 1

SCHEMA = f"""
BEGIN;
CREATE TABLE pages (
    url TEXT PRIMARY KEY,
    title TEXT NOT NULL,
    relevance REAL NOT NULL,
    title_similarity REAL NOT NULL,
    body_similarity REAL NOT NULL,
    quality REAL NOT NULL,
    depth INTEGER NOT NULL,
    host TEXT NOT NULL,
    port INTEGER NOT NULL,
    content_type TEXT NOT NULL,
    content_length INTEGER NOT NULL,
    downloaded_at TEXT NOT NULL,
    language TEXT NOT NULL,
    referrer TEXT NOT NULL,
    text TEXT NOT NULL,
    canonical TEXT NOT NULL
);
CREATE TABLE fetched (
    id INTEGER PRIMARY KEY,
    url TEXT NOT NULL,
    status INTEGER,          -- of HTTP; NULL where no response came
    error TEXT,              -- name of the exception, if one ended the fetch or its callback
    outcome TEXT NOT NULL,   -- relevant, off_topic, fetched, not_html, redirect, http_error, robots, spider_error, error, denied
    relevance REAL,          -- NULL where the page was not scored
    depth INTEGER NOT NULL,
    bytes INTEGER NOT NULL,  -- of the body on the wire
    elapsed_ms REAL,
    fetched_at TEXT NOT NULL
);
CREATE INDEX fetched_url ON fetched (url);
PRAGMA user_version = {VERSION};
COMMIT;
"""

INSERT_PAGE = f"INSERT OR IGNORE INTO pages VALUES ({', '.join('?' * len(PageItem.__dataclass_fields__))})"  # noqa: S608 - question marks only
STORE_FETCH = "INSERT OR REPLACE INTO fetched VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"


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
        self._connection = connect(self.folder)
        (last_id,) = self._connection.execute("SELECT coalesce(max(id), 0) FROM fetched").fetchone()
        (self._stored_pages,) = self._connection.execute("SELECT count(*) FROM pages").fetchone()
        (self._scored_before,) = self._connection.execute(
            "SELECT count(*) FROM fetched WHERE outcome IN (?, ?)", SCORED
        ).fetchone()
        self._fetches = FetchLog(last_id)
        self._fetches.connect(self._signals)
        self._signals.connect(self.commit, signals.settling)
        self._signals.connect(self._commit_if_many, scrapy_signals.response_received)
        self._count()

    def process_item(self, item: Any) -> Any:
        """Take the page into the next transaction."""
        if isinstance(item, PageItem):
            self._pages.append(tuple(map(bindable, item.as_record().values())))
            if len(self._pages) >= BATCH_ROWS:
                self.commit()
        return item

    async def close_spider(self) -> None:
        """Store what is left and close the database.

        A coroutine, so that raising here does not keep Scrapy from closing the other pipelines.
        """
        if self._connection is None:
            return
        with closing(self._connection):
            try:
                self.commit()
            finally:
                self._connection = None

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


def connect(folder: OutputFolder) -> sqlite3.Connection:
    """The database in this project's schema, created if there is none."""
    path = folder.path(FILE)
    try:
        connection = sqlite3.connect(path)
        try:
            version = _prepare(connection)
        except sqlite3.Error:
            connection.close()
            raise
    except sqlite3.Error as error:
        raise OutputError(f"{str(path)!r} cannot be used ({error}): choose another OUTPUT_DIR.") from error
    if version != VERSION:
        connection.close()
        raise OutputError(
            f"{str(path)!r} is not of this version (schema {version}, needed is {VERSION}): choose another OUTPUT_DIR."
        )
    return connection


def _prepare(connection: sqlite3.Connection) -> int:
    """Set the connection up and create the schema in an empty database; the schema's version."""
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if not tables:
        connection.executescript(SCHEMA)
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version == VERSION:
        connection.execute("PRAGMA journal_mode = WAL")
        # With WAL a transaction then survives a kill of the process at once, and a power cut leaves the file whole.
        connection.execute("PRAGMA synchronous = NORMAL")
    return int(version)


def bindable(value: Any) -> Any:
    """The value as SQLite takes it. One odd value, such as a made-up Content-Length, must not hold up its whole transaction."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:  # a lone surrogate
            return value.encode("utf-8", "replace").decode()
    elif isinstance(value, int):
        return max(-(2**63), min(value, 2**63 - 1))
    return value
