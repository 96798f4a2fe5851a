"""What this project keeps about a request: one mapping, ``request.meta["topic"]``, written and read only here.

=========  ============================================================================================
quality    predicted relevance of the URL, 0 to 1, among those of its server (what is learned of that is told to the frontier apart)
hops       off-topic pages in a row between the last relevant page and this URL
referrer   URL of the page it was found on first, or an empty string
=========  ============================================================================================
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy import Request

KEY = "topic"


@dataclass(frozen=True, slots=True)
class TopicMeta:
    """The mapping, as a record."""

    quality: float
    hops: int = 0
    referrer: str = ""

    @classmethod
    def of(cls, request: Request | None) -> TopicMeta:
        """What a request carries; for one that carries nothing, a quality that keeps the order of its Scrapy priority."""
        meta: Mapping[str, Any] = request.meta if request is not None else {}
        found = meta.get(KEY)
        if found is None:
            priority = request.priority if request is not None else 0
            return cls(quality=1 / (1 + math.exp(-max(-300.0, min(300.0, priority / 10)))))
        quality = min(1.0, max(0.0, float(found["quality"])))  # in this order, so that NaN counts as 0
        return cls(quality, max(0, int(found["hops"])), str(found["referrer"]))

    def put(self, meta: dict[str, Any]) -> None:
        """Write it into a request's meta."""
        meta[KEY] = {"quality": self.quality, "hops": self.hops, "referrer": self.referrer}
