"""``pages.jsonl``: every relevant page as one line of JSON, in UTF-8, with the fields of `PageItem` in order.

A line is handed to the system in one piece when its page arrives, so a kill of the process loses no stored page; there is nothing to
flush. Where a kill or a full disk interrupts a write, the torn line is cut off: at once if the process lives, otherwise by the next run.

Raises `OutputError` when a page cannot be written; the page is then not acknowledged, and comes again.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import re
import stat
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from extensions.errors import OutputError
from topicspider.items import PageItem
from topicspider.pipelines.folder import OutputFolder

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy.crawler import Crawler
    from scrapy.statscollectors import StatsCollector

logger = logging.getLogger(__name__)

FILE = "pages.jsonl"

_URL = re.compile(rb'\{"url": ("(?:[^"\\]|\\.)*")')
# The URL comes first in each line, so a resumed crawl reads it without parsing the page's text.


class PagesPipeline:
    """Writes each relevant page once. Items other than `PageItem` pass through untouched, for Scrapy's FEEDS."""

    def __init__(self, folder: OutputFolder, stats: StatsCollector) -> None:
        self.folder = folder
        self.stats = stats
        self._written: set[int] = set()
        self._file = -1

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> PagesPipeline:
        """Check the folder before the crawl connects to anything."""
        folder = OutputFolder.of(crawler)
        folder.check()
        return cls(folder, crawler.stats)

    async def open_spider(self) -> None:
        """Open the file, cut off a torn line, and learn which pages this and the neighbouring files hold."""
        self.folder.open()
        path = self.folder.path(FILE)
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
            # In a thread, because a long crawl's file takes a while to read and the frontier's leases want renewing.
            await asyncio.to_thread(self._learn, path)
        except OSError as error:
            raise OutputError(f"{str(path)!r} cannot be opened ({error}): choose another OUTPUT_DIR.") from error

    def process_item(self, item: Any) -> Any:
        """Write the page unless it is there."""
        if not isinstance(item, PageItem):
            return item
        key = url_key(item.url)
        if key in self._written:
            self.stats.inc_value("output/pages_already_stored")
            return item
        self._write(encode(item))
        self._written.add(key)
        return item

    async def close_spider(self) -> None:
        """Close the file. A coroutine, so that raising here does not keep Scrapy from closing the other pipelines."""
        if self._file < 0:
            return
        descriptor, self._file = self._file, -1
        try:
            os.close(descriptor)
        except OSError as error:  # file systems over a network report a full disk as late as here
            raise self._refusal(error) from error

    def _learn(self, path: Path) -> None:
        """Fill the set of written pages from the folder's files, and leave our own with whole lines only."""
        if not stat.S_ISREG(os.fstat(self._file).st_mode):
            return
        for other in sorted(path.parent.glob("pages*.jsonl")):
            if other != path and other.is_file():
                self._read(other)
        whole = self._read(path)
        if torn := path.stat().st_size - whole:
            os.ftruncate(self._file, whole)
            logger.warning("Cut a torn line of %d bytes off %s: its page is fetched again", torn, path)

    def _read(self, path: Path) -> int:
        """Learn the pages of one file; the number of bytes in its whole lines."""
        whole = 0
        with path.open("rb") as lines:
            for line in lines:
                if not line.endswith(b"\n"):
                    break
                whole += len(line)
                if found := _URL.match(line):
                    self._written.add(url_key(json.loads(found[1])))
        return whole

    def _write(self, line: bytes) -> None:
        """Append all of the line, or none of it."""
        done = 0
        try:
            while done < len(line):
                done += os.write(self._file, line[done:])
        except OSError as error:
            if done:
                with contextlib.suppress(OSError):  # if this fails too, the next run cuts the line off
                    os.ftruncate(self._file, os.fstat(self._file).st_size - done)
            raise self._refusal(error) from error

    def _refusal(self, error: OSError) -> OutputError:
        return OutputError(
            f"{str(self.folder.path(FILE))!r} cannot be written ({error}): make room on the disk and start the crawl again, "
            "it goes on where it stopped."
        )


def encode(item: PageItem) -> bytes:
    """The page's line. A lone surrogate, which UTF-8 cannot carry, becomes its JSON escape."""
    text = json.dumps(item.as_record(), ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "backslashreplace") + b"\n"


def url_key(url: str) -> int:
    """64 bits that stand for the URL: among a million pages, two alike have odds of 1 in 30 million."""
    return int.from_bytes(blake2b(url.encode("utf-8", "surrogatepass"), digest_size=8).digest())
