"""Small in-process caches that answer most of the questions "was this URL sent already?", and what each would miss.

A cache maps URLs to the best quality sent for them. One that evicts forgets: the URL then costs a look-up in the exact seen-set, but is never
fetched twice. The policies, and the finding that CLOCK and RANDOM serve as well as LRU, are those of Broder, Najork and Wiener,
*Efficient URL Caching for World Wide Web Crawling* (WWW 2003). `min_misses` and `miss_rate` are for offline study.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from heapq import heapify, heappop, heappush
from itertools import islice
from typing import TYPE_CHECKING

from extensions.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

NEVER = float("inf")


class SeenCache(ABC):
    """URLs and the best quality sent for each, at most `capacity` of them."""

    __slots__ = ("_qualities", "capacity")

    def __init__(self, capacity: float) -> None:
        if capacity < 1:
            raise ConfigurationError(f"SEEN_CACHE_SIZE is {capacity}, but must be 1 or more.")
        self.capacity = capacity
        self._qualities: dict[str, float] = {}

    def get(self, url: str) -> float | None:
        """The quality kept for the URL, which counts as a request for it; None if the cache does not hold it."""
        return self._qualities.get(url)

    @abstractmethod
    def put(self, url: str, quality: float) -> None:
        """Keep the quality for the URL; another URL may have to go."""

    def __len__(self) -> int:
        return len(self._qualities)


class ClockCache(SeenCache):
    """Evicts the first unmarked URL under a hand that sweeps a circle and clears marks; a hit sets the URL's mark.

    Almost LRU, at the price of RANDOM: a hit is a look-up in a dict and one byte written.
    """

    __slots__ = ("_circle", "_hand", "_marks", "_slot_qualities", "_slots")

    def __init__(self, capacity: int) -> None:
        super().__init__(capacity)
        self._slots: dict[str, int] = {}
        self._circle: list[str] = []
        self._slot_qualities: list[float] = []
        self._marks = bytearray()
        self._hand = 0

    def get(self, url: str) -> float | None:
        """The quality kept for the URL, whose mark is set; None if the cache does not hold it."""
        slot = self._slots.get(url)
        if slot is None:
            return None
        self._marks[slot] = 1
        return self._slot_qualities[slot]

    def put(self, url: str, quality: float) -> None:
        """Keep the quality; a new URL takes, unmarked, the place of the first unmarked one."""
        slot = self._slots.get(url)
        if slot is None and len(self._circle) < self.capacity:
            self._slots[url] = len(self._circle)
            self._circle.append(url)
            self._slot_qualities.append(quality)
            self._marks.append(0)
            return
        if slot is None:
            slot = self._sweep()
            del self._slots[self._circle[slot]]
            self._slots[url] = slot
            self._circle[slot] = url
        self._slot_qualities[slot] = quality

    def _sweep(self) -> int:
        """Move the hand to the first unmarked slot and past it, clearing the marks on the way."""
        # Searching and clearing bytes is C: a sweep past a thousand marks costs less than a look-up.
        slot = self._marks.find(0, self._hand)
        if slot < 0:
            self._marks[self._hand :] = bytes(len(self._marks) - self._hand)
            slot = self._marks.find(0)  # if all were marked, this is where the hand began
            self._marks[:slot] = bytes(slot)
        else:
            self._marks[self._hand : slot] = bytes(slot - self._hand)
        self._hand = (slot + 1) % len(self._marks)
        return slot

    def __len__(self) -> int:
        return len(self._slots)


class RandomCache(SeenCache):
    """Evicts any URL. `seed` makes it repeatable."""

    __slots__ = ("_random", "_urls")

    def __init__(self, capacity: int, seed: int | None = None) -> None:
        super().__init__(capacity)
        self._urls: list[str] = []
        self._random = random.Random(seed)

    def put(self, url: str, quality: float) -> None:
        """Keep the quality; a new URL takes the place of any other."""
        if url not in self._qualities:
            if len(self._urls) < self.capacity:
                self._urls.append(url)
            else:
                slot = int(self._random.random() * len(self._urls))
                del self._qualities[self._urls[slot]]
                self._urls[slot] = url
        self._qualities[url] = quality


class LruCache(SeenCache):
    """Evicts the URL not requested for longest. The dict keeps the URLs in the order of their last request."""

    __slots__ = ()

    def get(self, url: str) -> float | None:
        """The quality kept for the URL, which is now the latest requested; None if the cache does not hold it."""
        quality = self._qualities.pop(url, None)
        if quality is not None:
            self._qualities[url] = quality
        return quality

    def put(self, url: str, quality: float) -> None:
        """Keep the quality; a new URL takes the place of the one not requested for longest."""
        if self._qualities.pop(url, None) is None and len(self._qualities) >= self.capacity:
            del self._qualities[next(iter(self._qualities))]
        self._qualities[url] = quality


class StaticCache(SeenCache):
    """Evicts nothing and takes in nothing but the given URLs, popular ones of an earlier crawl.

    It knows one of them only once it was sent in this crawl: a cache that knew them from the start would keep them from ever being fetched.
    """

    __slots__ = ("_places",)

    def __init__(self, capacity: int, urls: Iterable[str]) -> None:
        super().__init__(capacity)
        self._places = frozenset(islice(dict.fromkeys(urls), capacity))

    def put(self, url: str, quality: float) -> None:
        """Keep the quality if the URL is one of the given."""
        if url in self._places:
            self._qualities[url] = quality


class InfiniteCache(SeenCache):
    """Evicts nothing and takes in everything: misses only what is new, the floor of every policy."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(NEVER)

    def put(self, url: str, quality: float) -> None:
        """Keep the quality."""
        self._qualities[url] = quality


def make_cache(policy: str, size: int, static_urls: Iterable[str] = ()) -> SeenCache:
    """The cache of that policy: clock, random, lru, static (with the URLs to hold, the most popular first) or infinite."""
    match policy:
        case "clock":
            return ClockCache(size)
        case "random":
            return RandomCache(size)
        case "lru":
            return LruCache(size)
        case "static":
            return StaticCache(size, static_urls)
        case "infinite":
            return InfiniteCache()
    raise ConfigurationError(
        f"SEEN_CACHE_POLICY is {policy!r}, but must be one of clock, random, lru, static, infinite."
    )


def min_misses(trace: Sequence[str], capacity: int) -> int:
    """How many requests of the trace the clairvoyant optimum misses (Belady's MIN). Exact, in O(n log n).

    It keeps what is requested again soonest. It need not take in what it missed, so no policy whatever does better.
    """
    next_request: list[float] = [NEVER] * len(trace)
    last: dict[str, int] = {}
    for index in range(len(trace) - 1, -1, -1):
        next_request[index] = last.get(trace[index], NEVER)
        last[trace[index]] = index
    held: dict[str, float] = {}
    farthest: list[tuple[float, str]] = []
    """A heap of (−next request, URL), the farthest first. Entries that `held` no longer confirms are stale."""
    misses = 0
    for url, following in zip(trace, next_request, strict=True):
        misses += url not in held
        held[url] = following
        heappush(farthest, (-following, url))
        while len(held) > capacity:
            negative, candidate = heappop(farthest)
            if held.get(candidate) == -negative:
                del held[candidate]
        if len(farthest) > 4 * (capacity + 16):
            farthest = [(-request, kept) for kept, request in held.items()]
            heapify(farthest)
    return misses


def miss_rate(policy: str, trace: Sequence[str], capacity: int, static_urls: Iterable[str] = ()) -> float:
    """The share of a trace's requests that a cache misses: one of `make_cache`'s policies, or min."""
    if not trace:
        return 0.0
    if policy == "min":
        return min_misses(trace, capacity) / len(trace)
    cache = make_cache(policy, capacity, static_urls)
    misses = 0
    for url in trace:
        if cache.get(url) is None:
            misses += 1
            cache.put(url, 0.0)
    return misses / len(trace)
