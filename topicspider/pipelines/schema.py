"""The database ``crawl.sqlite``: its schema, how it is opened, and pages as its rows."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

from extensions.errors import OutputError
from topicspider.items import PageItem
from topicspider.pipelines.fetches import SCORED

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

FILE = "crawl.sqlite"
VERSION = 2
LATER: dict[str, Any] = {"probability": None}
"""Fields that pages stored by version 1 lack."""

SCHEMA = f"""
BEGIN;
CREATE TABLE pages (
    url TEXT PRIMARY KEY,
    title TEXT NOT NULL,
    relevance REAL NOT NULL,
    probability REAL,        -- that the page is on topic; NULL where it was stored by version 1
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

# Columns by name: where one was added later, it is the last.
INSERT_PAGE = (
    f"INSERT OR IGNORE INTO pages ({', '.join(PageItem.__dataclass_fields__)}) "  # noqa: S608 - names from the code and question marks
    f"VALUES ({', '.join('?' * len(PageItem.__dataclass_fields__))})"
)
STORE_FETCH = "INSERT OR REPLACE INTO fetched VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
UPGRADE = f"""
BEGIN IMMEDIATE;
ALTER TABLE pages ADD COLUMN probability REAL;
PRAGMA user_version = {VERSION};
COMMIT;
"""
COUNT_SCORED = "SELECT count(*) FROM fetched WHERE outcome IN (?, ?)"


def connect(path: Path) -> sqlite3.Connection:
    """The database in this project's schema, created if there is none, and brought up to date if it is of version 1."""
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
    version = _version(connection)
    if version == 1:
        connection.executescript(UPGRADE)
        version = _version(connection)
    if version == VERSION:
        connection.execute("PRAGMA journal_mode = WAL")
        # With WAL a transaction then survives a kill of the process at once, and a power cut leaves the file whole.
        connection.execute("PRAGMA synchronous = NORMAL")
    return version


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


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


def row_of(record: Mapping[str, Any]) -> tuple[Any, ...]:
    """A page's record, or the JSON of its line, as a row of the table ``pages``."""
    complete = LATER | dict(record)
    return tuple(bindable(complete[name]) for name in PageItem.__dataclass_fields__)


def scored_in(path: Path) -> int:
    """Pages scored by whoever writes, or wrote, this database; 0 if it cannot be read."""
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=0.1)) as connection:
            return int(connection.execute(COUNT_SCORED, SCORED).fetchone()[0])
    except sqlite3.Error:
        return 0
