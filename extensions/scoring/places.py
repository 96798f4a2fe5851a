"""What a crawl has seen of each place: for each server and folder, how many pages were judged there and how probably they were on topic by their words.

Shares are reckoned from these sums whenever they are asked for, and sums only ever add up. So agents can tell each other what they have seen (`changes`, `merge`), in any order: in
the end all have the records that one alone would have who saw all pages, as long as no records had to be forgotten. Only the level is a mean of shares as they
were when each page came: it is the same for all who have heard the same, and lies near what one alone would have.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import msgpack

K = 3.0
"""Pages of its own that weigh as much in a folder's share as the folder above."""
DEEPEST = 4
"""Server and folders of a path that have records."""
LEAST_MEAN = 0.05
"""A crawl that finds nothing does not despair of new servers."""
FIRST_MEAN, FIRST_PAGES = 0.05, 10.0
"""The crawl's mean before its first page, and how many pages that counts for."""
FIRST_LEVEL, FIRST_HITS = 0.5, 2.0
CAPACITY = 200_000
"""Records kept; about two hundred bytes each."""
FORMAT = 1

Record: TypeAlias = list[float]
"""Pages, and the sum of their probabilities."""
Totals: TypeAlias = tuple[float, float, float, float]
"""Of the crawl: pages, the sum of their probabilities, pages on topic by their words, the sum of their folders' shares."""
NOTHING: Totals = (0.0, 0.0, 0.0, 0.0)


class Places:
    """See the module's docstring. Bounded: see `CAPACITY`. A `Learner`."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self.capacity = capacity
        self._records: dict[str, Record] = {}
        self._totals = NOTHING
        self._changes: dict[str, Record] = {}
        self._changed = NOTHING

    @property
    def level(self) -> float:
        """The mean share of the folders of pages that were on topic by their words, as it was when each came: 0 to 1."""
        _, _, hits, shares = self._totals
        return (FIRST_LEVEL * FIRST_HITS + shares) / (FIRST_HITS + hits)

    def take_in(self, url: str, probability: float) -> tuple[float, float]:
        """Add a page; the share of its folder with it, and the level of shares without it."""
        pages, probabilities, _, _ = self._totals
        level = self.level
        share = max(LEAST_MEAN, (FIRST_MEAN * FIRST_PAGES + probabilities) / (FIRST_PAGES + pages))
        for place in _places(url):
            _add(self._changes, place, 1.0, probability)
            own_pages, own_sum = _add(self._records, place, 1.0, probability)
            share = (own_sum + K * share) / (own_pages + K)
        seen = (1.0, probability, 1.0, share) if probability > 0.5 else (1.0, probability, 0.0, 0.0)
        self._totals = _sum(self._totals, seen)
        self._changed = _sum(self._changed, seen)
        self._thin_out()
        return share, level

    def changes(self) -> bytes:
        """What was seen here since the last call, for `merge` elsewhere; empty if nothing was."""
        if not self._changes:
            return b""
        told = _packed(self._changes, self._changed)
        self._changes, self._changed = {}, NOTHING
        return told

    def merge(self, changes: bytes) -> None:
        """Take in what `changes` or `state` wrote. Raises `ValueError` for anything else, and is unchanged then."""
        if not changes:
            return
        records, totals = _unpacked(changes)
        for place, (pages, probabilities) in records.items():
            _add(self._records, place, pages, probabilities)
        self._totals = _sum(self._totals, totals)
        self._thin_out()

    def state(self) -> bytes:
        """All that was seen, here and elsewhere."""
        return _packed(self._records, self._totals)

    def __len__(self) -> int:
        return len(self._records)

    def _thin_out(self) -> None:
        """Where there are too many records, forget the half with the fewest pages: their folders are judged by the ones above."""
        if len(self._records) > self.capacity:
            kept = sorted(self._records.items(), key=lambda item: item[1][0], reverse=True)
            self._records = dict(kept[: self.capacity // 2])
        # An agent that shares nothing keeps no sums to share.
        if len(self._changes) > self.capacity:
            self._changes, self._changed = {}, NOTHING


def _add(records: dict[str, Record], place: str, pages: float, probabilities: float) -> Record:
    record = records.setdefault(place, [0.0, 0.0])
    record[0] += pages
    record[1] += probabilities
    return record


def _sum(one: Totals, other: Totals) -> Totals:
    return (one[0] + other[0], one[1] + other[1], one[2] + other[2], one[3] + other[3])


def _places(url: str) -> list[str]:
    """The server, then each folder down to the page's, at most `DEEPEST` of them: ``a.test``, ``a.test/b``, …; http and https are one."""
    bare = url.partition("?")[0].partition("#")[0].partition("://")[2]
    end = bare.find("/")
    places = [bare if end < 0 else bare[:end]]
    while end >= 0 and len(places) < DEEPEST:
        end = bare.find("/", end + 1)
        if end >= 0:
            places.append(bare[:end])
    return places


def _packed(records: dict[str, Record], totals: Totals) -> bytes:
    packed: bytes = msgpack.packb((FORMAT, records, totals))
    return packed


def _unpacked(packed: bytes) -> tuple[dict[str, Record], Totals]:
    """Records and totals. Raises `ValueError`."""
    try:
        version, found, (pages, probabilities, hits, shares) = msgpack.unpackb(packed)
        if version == FORMAT:
            records = {str(place): [_amount(n), _amount(p)] for place, (n, p) in found.items()}
            return records, (_amount(pages), _amount(probabilities), _amount(hits), _amount(shares))
    except (ValueError, TypeError, AttributeError, msgpack.UnpackException) as error:
        raise ValueError("these bytes hold no places") from error
    raise ValueError(f"places of format {version!r}, written by another version of this project")


def _amount(value: float) -> float:
    """A number that can be added without spoiling all others."""
    number = float(value)
    if not 0.0 <= number < math.inf:
        raise ValueError(f"{number} is no amount")
    return number
