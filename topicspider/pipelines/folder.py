"""The folder that a crawl's results go to, shared by everything that writes there.

The first process to open a folder writes ``pages.jsonl`` and ``crawl.sqlite``. Another one that runs at the same time with the same
folder (agents of one crawl on one machine) writes ``pages-2.jsonl`` and ``crawl-2.sqlite``, the next one ``-3``, so none of these files
ever has two writers. A number is free again when its process ends, however it ends.

For the moments in which they must not get in each other's way, one of them at a time is `alone` in the folder.

Raises `ConfigurationError` where OUTPUT_DIR cannot be a folder, `OutputError` where the system refuses.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
import time
from contextlib import ExitStack, asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from scrapy import signals

from extensions.config import Config
from extensions.errors import ConfigurationError, OutputError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.crawler import Crawler

    from topicspider.pipelines.stored import StoredPages

logger = logging.getLogger(__name__)

MAX_WRITERS = 1000
RETRY_SECONDS = 0.005
PATIENCE_SECONDS = 10.0
"""After which waiting for a neighbour is worth a warning: what it does alone takes less than a millisecond."""


class OutputFolder:
    """One crawler's place in its output folder. `check` touches nothing; `open` creates the folder and claims a number in it."""

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()
        self.number = 0
        """1 for the first process in the folder, 2 for the second; 0 while it is not open."""
        self.resumed = False
        """Whether an earlier run left results under this number."""
        self.stored: StoredPages | None = None
        """What the pages pipeline, where it is in use, knows to be stored; the database pipeline goes by it."""
        self._lock: sqlite3.Connection | None = None
        self._door: sqlite3.Connection | None = None

    @classmethod
    def of(cls, crawler: Crawler) -> OutputFolder:
        """The crawler's folder: the same object for every component of one crawler."""
        if (folder := _folders.get(crawler)) is None:
            spider = crawler.spider or crawler.spidercls
            folder = cls(Path(Config.from_settings(crawler.settings).output_of(spider.name)))
            crawler.signals.connect(folder.close, signals.engine_stopped)
            _folders[crawler] = folder
        return folder

    def path(self, name: str) -> Path:
        """Where this process writes the file called `name`."""
        assert self.number, "the folder is not open"
        return numbered(self.root / name, self.number)

    def check(self) -> None:
        """Tell an OUTPUT_DIR that cannot work before anything is created."""
        existing = next(path for path in (self.root, *self.root.parents) if os.path.lexists(path))
        if not existing.is_dir():
            raise ConfigurationError(
                f"OUTPUT_DIR is {str(self.root)!r}, but {str(existing)!r} is not a folder: choose another OUTPUT_DIR."
            )
        if not os.access(existing, os.W_OK | os.X_OK):
            raise ConfigurationError(
                f"OUTPUT_DIR is {str(self.root)!r}, but this user may not write to {str(existing)!r}: "
                "choose another OUTPUT_DIR or change the permissions."
            )

    def open(self) -> None:
        """Create the folder and claim the first free number in it; again is harmless."""
        if self.number:
            return
        self.check()
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            for number in range(1, MAX_WRITERS + 1):
                if (lock := _claim(numbered(self.root / "lock", number))) is not None:
                    self._lock, self.number = lock, number
                    break
            else:
                raise OutputError(f"{MAX_WRITERS} crawls write to {str(self.root)!r}: choose another OUTPUT_DIR.")
            self._door = _unlocked(self.root / "lock-door")
            self.resumed = any(self.path(name).exists() for name in ("pages.jsonl", "crawl.sqlite"))
        except (OSError, sqlite3.Error) as error:
            raise OutputError(
                f"Results cannot be written to {str(self.root)!r} ({error}): choose another OUTPUT_DIR."
            ) from error

    def close(self) -> None:
        """Let the number go. Paths stay valid for whoever reads them."""
        for lock in (self._lock, self._door):
            if lock is not None:
                lock.close()
        self._lock = self._door = None

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """Wait until no other process is alone here, and be it. The body must not await: it would keep the others waiting.

        A process that is paused within the body goes on to keep the others out, until it goes on or dies.
        """
        began, warned = time.monotonic(), False
        while not self._enter():
            await asyncio.sleep(RETRY_SECONDS)
            if not warned and time.monotonic() - began > PATIENCE_SECONDS:
                warned = True
                logger.warning(
                    "A process that writes to %s stands still: pages wait to be stored until it goes on or is killed.",
                    self.root,
                )
        try:
            yield
        finally:
            self._leave()

    @contextmanager
    def alone_if_possible(self, seconds: float) -> Iterator[None]:
        """The same without a loop, waiting for so long at most: for what is better done in company than not at all."""
        deadline = time.monotonic() + seconds
        while not (entered := self._enter()) and time.monotonic() < deadline:
            time.sleep(RETRY_SECONDS)
        try:
            yield
        finally:
            if entered:
                self._leave()

    @contextmanager
    def abandoned(self) -> Iterator[list[int]]:
        """The numbers whose processes have ended, taken for as long as the body runs, so that nobody else gets them."""
        with ExitStack() as claims:
            numbers = []
            for path in sorted(self.root.glob("pages*.jsonl")):
                number = _number_in(path.stem)
                if number in (None, self.number):
                    continue
                if (lock := _claim(numbered(self.root / "lock", number))) is not None:
                    claims.enter_context(closing(lock))
                    numbers.append(number)
            yield numbers

    def _enter(self) -> bool:
        assert self._door is not None, "the folder is not open"
        return _seize(self._door)

    def _leave(self) -> None:
        if self._door is not None:
            self._door.execute("ROLLBACK")


_folders: WeakKeyDictionary[Crawler, OutputFolder] = WeakKeyDictionary()
# Scrapy builds pipelines and extensions apart from each other; what they share hangs on the crawler, and goes with it.


def numbered(path: Path, number: int) -> Path:
    """The file of this name that belongs to the number."""
    return path if number == 1 else path.with_stem(f"{path.stem}-{number}")


def _number_in(stem: str) -> int | None:
    """The number in a name such as ``pages-2``; None if it is no name of ours."""
    _, dash, digits = stem.partition("-")
    if not dash:
        return 1 if stem == "pages" else None
    return int(digits) if digits.isdecimal() and int(digits) > 1 else None


def _claim(path: Path) -> sqlite3.Connection | None:
    """An exclusive lock on the file, or None if a living process has it. The system frees it when its process dies."""
    lock = _unlocked(path)
    try:
        if _seize(lock):
            return lock
    except sqlite3.Error:
        lock.close()
        raise
    lock.close()
    return None


def _unlocked(path: Path) -> sqlite3.Connection:
    """A hidden file for a lock.

    SQLite's locks are used because they work on every system that the database beside them works on.
    """
    return sqlite3.connect(path.with_name("." + path.name), timeout=0, isolation_level=None)


def _seize(lock: sqlite3.Connection) -> bool:
    try:
        lock.execute("PRAGMA journal_mode = MEMORY")  # otherwise an empty journal stays behind a killed process
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY:
            return False
        raise
    return True
