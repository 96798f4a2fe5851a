"""Pages and their links as a crawl meets them, made without end from a seed: what the frontier and the seen test are measured with.

A page is on some server and has about 50 links: `HOME` of them lead to the page's own server, the others to a few servers. With `known` that share
of the links was found before, popular URLs more often than others. All URLs are of one length, 80 characters unless told otherwise.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

LINKS = 50
HOME = 0.6
OTHER_SERVERS = 5
"""To which the other links of a page lead."""
LENGTH = 80
WORDS = [
    "honey",
    "bees",
    "wax",
    "hive",
    "queen",
    "drone",
    "swarm",
    "nectar",
    "pollen",
    "comb",
    "brood",
    "smoker",
    "frame",
    "colony",
    "keeper",
    "meadow",
    "clover",
]


@dataclass(frozen=True)
class Page:
    """A page that has been fetched, and what it links to."""

    url: str
    depth: int
    links: tuple[tuple[str, float], ...]
    """Raw URL and predicted quality of each."""


class Pages:
    """A stream of pages; iterate, or take some.

    With `popular`, some servers get far more links than others (the share of the servers that the other half of the links lead to shrinks with its power).
    """

    def __init__(
        self, servers: int, *, known: float = 0.0, popular: bool = True, seed: int = 0, name: str = "site"
    ) -> None:
        self.servers = servers
        self.known = known
        self.popular = popular
        self.name = name
        self._rng = random.Random(seed)
        self._numbers = count()
        self._found: list[str] = []

    def __iter__(self) -> Iterator[Page]:
        while True:
            yield self.page()

    def take(self, pages: int) -> list[Page]:
        """The next so many."""
        return [self.page() for _ in range(pages)]

    def batch(self) -> list[Page]:
        """What a crawl sends at once: 1 to 20 pages."""
        return self.take(self._rng.randint(1, 20))

    def page(self) -> Page:
        """The next one."""
        rng = self._rng
        home = rng.randrange(self.servers)
        others = [self._other() for _ in range(OTHER_SERVERS)]
        links = []
        for _ in range(rng.randint(LINKS // 2, LINKS + LINKS // 2)):
            if self._found and rng.random() < self.known:
                url = self._found[int(len(self._found) * rng.random() ** 3)]
            else:
                url = self._url(home if rng.random() < HOME else rng.choice(others))
                if self.known:
                    self._found.append(url)
            links.append((url, rng.random()))
        return Page(self._url(home), rng.randrange(1, 8), tuple(links))

    def _other(self) -> int:
        return int(self.servers * self._rng.random() ** (3 if self.popular else 1))

    def _url(self, server: int) -> str:
        rng = self._rng
        start = f"https://www.{self.name}{server:06d}.example/{rng.choice(WORDS)}/"
        end = f"-{next(self._numbers):09d}.html"
        middle = "-".join(rng.choices(WORDS, k=8))
        return start + middle[: LENGTH - len(start) - len(end)] + end
