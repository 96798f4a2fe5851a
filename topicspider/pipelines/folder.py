"""The folder that a crawl's results go to, shared by everything that writes there.

The first process to open a folder writes ``pages.jsonl``, ``crawl.sqlite`` and ``summary.json``. Another one that runs at the same time
with the same folder (agents of one crawl on one machine) writes ``pages-2.jsonl``, ``crawl-2.sqlite``, ``summary-2.json``, the next one
``-3``, so no file ever has two writers. A number is free again when its process ends, however it ends.

Raises `ConfigurationError` where OUTPUT_DIR cannot be a folder, `OutputError` where the system refuses.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from scrapy import signals

from extensions.config import Config
from extensions.errors import ConfigurationError, OutputError

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

MAX_WRITERS = 1000


class OutputFolder:
    """One crawler's place in its output folder. `check` touches nothing; `open` creates the folder and claims a number in it."""

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()
        self.number = 0
        """1 for the first process in the folder, 2 for the second; 0 while it is not open."""
        self.resumed = False
        """Whether an earlier run left results under this number."""
        self._lock: sqlite3.Connection | None = None

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
        plain = self.root / name
        return plain if self.number == 1 else plain.with_stem(f"{plain.stem}-{self.number}")

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
                if (lock := _claim(self.root / ("lock" if number == 1 else f"lock-{number}"))) is not None:
                    self._lock, self.number = lock, number
                    break
            else:
                raise OutputError(f"{MAX_WRITERS} crawls write to {str(self.root)!r}: choose another OUTPUT_DIR.")
            self.resumed = any(self.path(name).exists() for name in ("pages.jsonl", "crawl.sqlite", "summary.json"))
        except (OSError, sqlite3.Error) as error:
            raise OutputError(
                f"Results cannot be written to {str(self.root)!r} ({error}): choose another OUTPUT_DIR."
            ) from error

    def close(self) -> None:
        """Let the number go. Paths stay valid for whoever reads them."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None


_folders: WeakKeyDictionary[Crawler, OutputFolder] = WeakKeyDictionary()
# Scrapy builds pipelines and extensions apart from each other; what they share hangs on the crawler, and goes with it.


def _claim(path: Path) -> sqlite3.Connection | None:
    """An exclusive lock on the file, or None if a living process has it. The system frees it when its process dies.

    SQLite's locks are used because they work on every system that the database beside them works on.
    """
    lock = sqlite3.connect(path.with_name("." + path.name), timeout=0, isolation_level=None)
    try:
        lock.execute("PRAGMA journal_mode = MEMORY")  # otherwise an empty journal stays behind a killed process
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.Error as error:
        lock.close()
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY:
            return None
        raise
    return lock
