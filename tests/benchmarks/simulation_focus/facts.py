"""What the product's parser says of every page, kept on disk: a page is parsed once, whatever number of crawls meet it.

The file is named after the parser's own source, so a changed parser never meets old facts. Links that lead out of the web are left out:
no crawl here can follow them.
"""

from __future__ import annotations

import hashlib
import sqlite3
import zlib
from array import array
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

import msgpack

import extensions.pages
import extensions.urls
from extensions.pages import Link, parse_page

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tests.benchmarks.simulation_focus.web import StoredWeb

AT_ONCE = 400
"""Pages that are handed to the parsing processes together."""


class Facts(NamedTuple):
    """A page as its policies see it. `targets` are the pages that `links` lead to, link by link."""

    title: str
    text: str
    links: list[Link]
    targets: array[int]


class FactStore:
    """Facts and link graph of a stored web, computed where they are first asked for. Close it, or use it in a `with`."""

    def __init__(self, web: StoredWeb, cache: Path, workers: int = 1) -> None:
        self.web = web
        self.workers = workers
        cache.mkdir(parents=True, exist_ok=True)
        path = cache / f"facts-{source_digest(extensions.pages, extensions.urls)}-{_digest_of(web)}.sqlite"
        self.digest = path.stem
        self._base = sqlite3.connect(path, isolation_level=None)
        self._base.execute("PRAGMA journal_mode=WAL")
        self._base.execute("PRAGMA synchronous=OFF")  # lost facts are found again
        self._base.execute("CREATE TABLE IF NOT EXISTS facts (page INTEGER PRIMARY KEY, facts BLOB, targets BLOB)")
        self._base.execute(
            "CREATE TABLE IF NOT EXISTS verdicts (key TEXT, page INTEGER, on_topic INTEGER, probability REAL,"
            " PRIMARY KEY (key, page)) WITHOUT ROWID"
        )
        self._targets: dict[int, array[int]] = {
            page: array("i", targets) for page, targets in self._base.execute("SELECT page, targets FROM facts")
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._base.close()

    def of(self, page: int) -> Facts:
        """A page's facts."""
        targets = self.targets(page)
        (packed,) = self._base.execute("SELECT facts FROM facts WHERE page = ?", (page,)).fetchone()
        title, text, links = msgpack.unpackb(zlib.decompress(packed))
        return Facts(title, text, [Link(*link) for link in links], targets)

    def targets(self, page: int) -> array[int]:
        """Where a page's links lead, in the order of the page; without links to itself, each target once for each of its spellings."""
        known = self._targets.get(page)
        if known is None:
            self.prepare([page])
            known = self._targets[page]
        return known

    def prepare(self, pages: Iterable[int]) -> None:
        """Parse what is not known yet, on all workers."""
        missing = [page for page in pages if page not in self._targets]
        for first in range(0, len(missing), AT_ONCE):
            self._take_in(missing[first : first + AT_ONCE])

    def reachable(self, seeds: Iterable[int]) -> dict[int, int]:
        """The pages that links lead to from the seeds, and over how many links."""
        distance = dict.fromkeys(seeds, 0)
        level = list(distance)
        while level:
            self.prepare(level)
            following: dict[int, int] = {}
            for page in level:
                for target in self._targets[page]:
                    if target not in distance:
                        distance[target] = following[target] = distance[page] + 1
            level = list(following)
        return distance

    def verdicts(self, key: str) -> Iterator[tuple[int, tuple[bool, float]]]:
        """What `keep_verdicts` was given under that key."""
        for page, on_topic, probability in self._base.execute(
            "SELECT page, on_topic, probability FROM verdicts WHERE key = ?", (key,)
        ):
            yield page, (bool(on_topic), probability)

    def keep_verdicts(self, key: str, verdicts: Mapping[int, tuple[bool, float]]) -> None:
        """Keep how a model judged pages; the key stands for all that its verdicts depend on."""
        self._base.execute("BEGIN")
        rows = ((key, page, int(on_topic), probability) for page, (on_topic, probability) in verdicts.items())
        self._base.executemany("INSERT OR REPLACE INTO verdicts VALUES (?, ?, ?, ?)", rows)
        self._base.execute("COMMIT")

    def _take_in(self, pages: list[int]) -> None:
        rows = list(self._parsed(pages))
        self._base.execute("BEGIN")
        self._base.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?, ?)", rows)
        self._base.execute("COMMIT")
        for page, _, targets in rows:
            self._targets[page] = array("i", targets)

    def _parsed(self, pages: list[int]) -> Iterator[tuple[int, bytes, bytes]]:
        todo = [(str(self.web.folder / self.web.pages[page].file), *self._named(page)) for page in pages]
        if self.workers > 1 and len(todo) > 20:
            with ProcessPoolExecutor(self.workers) as pool:
                parsed = list(pool.map(_parse, todo, chunksize=10))
        else:
            parsed = [_parse(one) for one in todo]
        for page, (title, text, links) in zip(pages, parsed, strict=True):
            inside = [(link, target) for link in links if (target := self.web.number(link[0])) not in (-1, page)]
            facts = zlib.compress(msgpack.packb((title, text, [link for link, _ in inside])), 1)
            yield page, facts, array("i", [target for _, target in inside]).tobytes()

    def _named(self, page: int) -> tuple[str, str | None]:
        return self.web.url(page), self.web.pages[page].charset


def _parse(task: tuple[str, str, str | None]) -> tuple[str, str, tuple[Link, ...]]:
    """Title, text and links of one file; a page that wants no link followed has none."""
    file, url, charset = task
    page = parse_page(Path(file).read_bytes(), url=url, declared=charset)
    return page.title, page.text, () if page.nofollow else page.links


def source_digest(*packages: object) -> str:
    """A name for the present source of some packages or modules."""
    digest = hashlib.sha256()
    for package in packages:
        place = Path(package.__file__)  # type: ignore[attr-defined]
        files = sorted(place.parent.glob("*.py")) if place.name == "__init__.py" else [place]
        for file in files:
            digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


def _digest_of(web: StoredWeb) -> str:
    digest = hashlib.sha256(str(web.folder.resolve()).encode())
    for page in web.pages:
        digest.update(f"{page.name}\t{page.file}\t{page.charset}\n".encode())
    return digest.hexdigest()[:12]
