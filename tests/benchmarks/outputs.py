"""What a crawl's output folders hold in the end: which pages, which of them twice, and what is torn.

All agents' files of a folder count together (``pages.jsonl``, ``pages-2.jsonl``, …). A record is torn if it is not a whole line of JSON, and so is a
database that fails SQLite's own check of integrity.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


@dataclass(frozen=True)
class Stored:
    """What the folders hold."""

    pages: frozenset[str]
    """URLs that are both in a ``pages.jsonl`` and in a ``crawl.sqlite``."""
    records_repeated: int
    """Lines beyond the first of a page, within one folder."""
    torn_records: int


def stored(folders: Iterable[Path]) -> Stored:
    """Read them all; the crawl must have ended."""
    in_lines: set[str] = set()
    in_tables: set[str] = set()
    repeated = torn = 0
    for folder in folders:
        urls: Counter[str] = Counter()
        for file in folder.glob("pages*.jsonl"):
            found, broken = _lines(file.read_bytes())
            urls.update(found)
            torn += broken
        repeated += urls.total() - len(urls)
        in_lines |= urls.keys()
        for file in folder.glob("crawl*.sqlite"):
            rows, whole = _table(file)
            in_tables |= rows
            torn += not whole
    return Stored(frozenset(in_lines & in_tables), repeated, torn)


def _lines(data: bytes) -> tuple[list[str], int]:
    *whole, rest = data.split(b"\n")
    urls, torn = [], int(bool(rest))
    for line in whole:
        try:
            urls.append(json.loads(line)["url"])
        except (ValueError, KeyError, TypeError):
            torn += 1
    return urls, torn


def _table(file: Path) -> tuple[set[str], bool]:
    with closing(sqlite3.connect(file)) as connection:
        try:
            (verdict,) = connection.execute("PRAGMA integrity_check").fetchone()
            rows = {url for (url,) in connection.execute("SELECT url FROM pages")}
        except sqlite3.Error:
            return set(), False
    return rows, verdict == "ok"
