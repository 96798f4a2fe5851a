"""Which links are news: unknown ones, and known ones whose evidence is now clearly better."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from extensions.seen.caches import SeenCache


class SeenFilter:
    """Asks the cache with the raw absolute URL of a link, before a request or even a canonical URL exists.

    `raise_by` is how much better (in quality, 0 to 1) a known URL's evidence must have become to go on as a raise. A smaller step would send
    the same URL again and again for nothing: the queue it stands in is ranked coarsely.
    """

    __slots__ = ("cache", "hits", "lookups", "raise_by")

    def __init__(self, cache: SeenCache, raise_by: float = 0.15) -> None:
        self.cache = cache
        self.raise_by = raise_by
        self.lookups = 0
        self.hits = 0
        """Look-ups that ended here; a raise goes on, so it is none."""

    def is_news(self, url: str, quality: float) -> bool:
        """Whether the URL goes on; if so, its quality is remembered as the best sent."""
        self.lookups += 1
        best = self.cache.get(url)
        if best is not None and quality < best + self.raise_by:
            self.hits += 1
            return False
        self.cache.put(url, quality)
        return True

    @property
    def hit_rate(self) -> float:
        """Share of the look-ups that ended here; 0 before the first."""
        return self.hits / self.lookups if self.lookups else 0.0
