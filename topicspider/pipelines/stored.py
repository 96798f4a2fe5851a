"""Which pages the folder's ``pages*.jsonl`` hold: this process's own file, and those of its neighbours, followed as they grow.

A look at the neighbours costs a listing of the folder and a `stat` per file; only what was appended since the last look is read, and
of that whole lines only. A page counts as stored from the line feed on, so a torn line, whose page is fetched again, is none.
"""

from __future__ import annotations

import json
import os
import re
import stat
from dataclasses import dataclass
from hashlib import blake2b
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_URL = re.compile(rb'\{"url": ("(?:[^"\\]|\\.)*")')
# The URL comes first in each line, so a resumed crawl reads it without parsing the page's text.


@dataclass(slots=True)
class Progress:
    """How far a file has been read."""

    whole: int = 0
    """Bytes in whole lines."""
    pages: int = 0
    stamp: tuple[int, int] = (0, 0)
    """Size and time of change at the last look."""


class StoredPages:
    """`own` and `neighbours` are keys of URLs; a page is in one of them at most."""

    def __init__(self, path: Path) -> None:
        self.path = path
        """This process's own file, the only one of which a torn line is its business."""
        self.own: set[int] = set()
        self.neighbours: set[int] = set()
        self.files: dict[str, Progress] = {}
        """The neighbours' files by name."""
        self._looking = Lock()

    def __contains__(self, key: int) -> bool:
        return key in self.own or key in self.neighbours

    def __len__(self) -> int:
        return len(self.own) + len(self.neighbours)

    def learn(self) -> int:
        """Read everything; the number of bytes in whole lines of the own file."""
        self.look()
        own = Progress()
        _read(self.path, own, self.own)
        return own.whole

    def look(self) -> None:
        """Read what the neighbours have written since the last look. One look at a time: at the end a thread looks, too."""
        with self._looking:
            self._look()

    def _look(self) -> None:
        for name in os.listdir(self.path.parent):  # noqa: PTH208 - a third of the time, and this is done for every page
            if not (name.startswith("pages") and name.endswith(".jsonl")) or name == self.path.name:
                continue
            path = self.path.with_name(name)
            try:
                state = path.stat()
            except FileNotFoundError:  # removed since the listing
                continue
            stamp = state.st_size, state.st_mtime_ns
            progress = self.files.setdefault(name, Progress())
            if stamp == progress.stamp or not stat.S_ISREG(state.st_mode):
                continue
            if state.st_size < progress.whole:  # another file by the same name
                progress.whole = progress.pages = 0
            _read(path, progress, self.neighbours)
            progress.stamp = stamp


def whole_lines(path: Path, start: int = 0) -> Iterator[bytes]:
    """The file's lines from a place on, up to the last that has its line feed."""
    with path.open("rb") as lines:
        lines.seek(start)
        for line in lines:
            if not line.endswith(b"\n"):
                return
            yield line


def url_in(line: bytes) -> str | None:
    """The URL of a page's line, without reading the rest."""
    found = _URL.match(line)
    return str(json.loads(found[1])) if found else None


def url_key(url: str) -> int:
    """64 bits that stand for the URL: among a million pages, two alike have odds of 1 in 30 million."""
    return int.from_bytes(blake2b(url.encode("utf-8", "surrogatepass"), digest_size=8).digest())


def _read(path: Path, progress: Progress, keys: set[int]) -> None:
    for line in whole_lines(path, progress.whole):
        progress.whole += len(line)
        if (url := url_in(line)) is not None:
            keys.add(url_key(url))
            progress.pages += 1
