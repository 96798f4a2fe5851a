"""``pages.jsonl``: every relevant page as one line of JSON, in UTF-8, with the fields of `PageItem` in order.

A line is handed to the system in one piece when its page arrives, so a kill of the process loses no stored page; there is nothing to
flush. Where a kill or a full disk interrupts a write, the torn line is cut off: at once if the process lives, otherwise by the next run.

No page is in two files of a folder. Between the last look at the neighbours' files and the end of the write, a process has the folder to
itself: whatever it is paused between, it goes on as if no time had passed, and the neighbours have waited, without blocking anything else.

Raises `OutputError` when a page cannot be written; the page is then not acknowledged, and comes again.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import stat
from typing import TYPE_CHECKING, Any

from extensions.errors import OutputError
from topicspider.items import PageItem
from topicspider.pipelines.folder import OutputFolder
from topicspider.pipelines.mending import cut
from topicspider.pipelines.stored import StoredPages, url_key

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy.crawler import Crawler
    from scrapy.statscollectors import StatsCollector

FILE = "pages.jsonl"


class PagesPipeline:
    """Writes each relevant page once. Items other than `PageItem` pass through untouched, for Scrapy's FEEDS."""

    def __init__(self, folder: OutputFolder, stats: StatsCollector) -> None:
        self.folder = folder
        self.stats = stats
        self._stored: StoredPages
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
        self._stored = self.folder.stored = StoredPages(path)
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
            # In a thread, because a long crawl's file takes a while to read and the frontier's leases want renewing.
            await asyncio.to_thread(self._learn, path)
        except OSError as error:
            raise OutputError(f"{str(path)!r} cannot be opened ({error}): choose another OUTPUT_DIR.") from error
        self._count()

    async def process_item(self, item: Any) -> Any:
        """Write the page unless it is there."""
        if not isinstance(item, PageItem):
            return item
        key = url_key(item.url)
        if key not in self._stored:
            line = encode(item)
            async with self.folder.alone():
                self._look()
                if key not in self._stored:
                    self._write(line)
                    self._stored.own.add(key)
                    self._count()
                    return item
        self.stats.inc_value("output/pages_already_stored")
        return item

    async def close_spider(self) -> None:
        """Close the file. A coroutine, so that raising here does not keep Scrapy from closing the other pipelines."""
        if self._file < 0:
            return
        with contextlib.suppress(OSError):  # the count is for the summary
            self._stored.look()
        self._count()
        descriptor, self._file = self._file, -1
        try:
            os.close(descriptor)
        except OSError as error:  # file systems over a network report a full disk as late as here
            raise self._refusal(error) from error

    def _look(self) -> None:
        try:
            self._stored.look()
        except OSError as error:
            raise self._refusal(error) from error

    def _count(self) -> None:
        self.stats.set_value("output/folder_stored", len(self._stored))

    def _learn(self, path: Path) -> None:
        """Learn what is stored, and leave our own file with whole lines only."""
        if not stat.S_ISREG(os.fstat(self._file).st_mode):
            self._stored.look()
            return
        cut(path, self._stored.learn())

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
