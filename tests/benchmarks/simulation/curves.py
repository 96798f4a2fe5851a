"""Shares of quality and pages over time, and what is read off them.

*The time* of a web is what its pages take on connections that are never short of a server and stay through every crawl delay, each carrying as much as its server allows:
``Σ (2c·⌈n/L⌉ + Σ r + (n−1)·d) / connections`` over the servers. It is less than any real crawl takes, because a large or slow server has one connection
only and is alone at the end; so a share at half of the time is not flattered by a long tail. It depends on the web alone: all policies are
read at the same instants.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.benchmarks.simulation.crawl import Trace
    from tests.benchmarks.simulation.web import Web

INSTANTS = 40
"""Equal steps of the time at which everything is read, the bound too; four to a tenth."""


@dataclass(frozen=True, slots=True)
class Curve:
    """Shares, 0 to 1, at the `INSTANTS`."""

    quality: tuple[float, ...]
    pages: tuple[float, ...]

    @property
    def area(self) -> float:
        """Share of the quality, averaged over the instants: 1 if all were there at once."""
        return sum(self.quality) / len(self.quality)

    def time_to(self, share: float) -> float | None:
        """Part of the time after which that share of the quality is there, at the resolution of the instants."""
        reached = (place for place, value in enumerate(self.quality, start=1) if value >= share)
        place = next(reached, None)
        return None if place is None else place / len(self.quality)

    def as_json(self, bound: Curve) -> dict[str, object]:
        """What issue and documents name."""
        return {
            "quality_at": tenths(self.quality),
            "pages_at": tenths(self.pages),
            "area": self.area,
            "share_of_bound": self.area / bound.area,
            "time_to_60": self.time_to(0.6),
            "time_to_80": self.time_to(0.8),
        }


def time_of(web: Web, connections: int) -> float:
    """The time, in seconds, as the module's docstring has it."""
    seconds = sum(web.response_seconds)
    for server in web.servers:
        openings = -(-len(server.pages) // server.requests_per_connection)
        seconds += 2 * server.connection_seconds * openings + server.delay_seconds * (len(server.pages) - 1)
    return seconds / connections


def instants_of(web: Web, connections: int) -> list[float]:
    """The instants at which curves are read."""
    time = time_of(web, connections)
    return [time * step / INSTANTS for step in range(1, INSTANTS + 1)]


def curve_of(web: Web, trace: Trace, instants: Sequence[float]) -> Curve:
    """What was fetched by each instant, as shares of the whole web."""
    quality, pages = [], []
    gained, place = 0.0, 0
    for instant in instants:
        while place < len(trace.fetches) and trace.fetches[place].ended <= instant:
            gained += web.quality[trace.fetches[place].page]
            place += 1
        quality.append(gained)
        pages.append(place)
    total = sum(web.quality)
    return Curve(tuple(value / total for value in quality), tuple(count / len(web.quality) for count in pages))


def mean(curves: Sequence[Curve]) -> Curve:
    """The average of several, instant by instant."""
    count = len(curves)
    return Curve(
        tuple(sum(values) / count for values in zip(*(curve.quality for curve in curves), strict=True)),
        tuple(sum(values) / count for values in zip(*(curve.pages for curve in curves), strict=True)),
    )


def tenths(values: Sequence[float]) -> dict[str, float]:
    """{"0.1": …, "1.0": …}."""
    step = len(values) // 10
    return {f"{place / 10:.1f}": values[place * step - 1] for place in range(1, 11)}
