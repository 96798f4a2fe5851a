"""What is read off a crawl: curves of recall and harvest rate, their areas, and how much of the possible gain a policy made its own."""

from __future__ import annotations

import math
import statistics
from bisect import bisect_right
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from tests.benchmarks.simulation_focus.crawl import Trace

POINTS = 40
"""Of a curve."""

_T_975 = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13, 2.12, 2.11)
"""Student's t for 95 % confidence, by degrees of freedom from 1."""


@dataclass(frozen=True, slots=True)
class Figures:
    """One policy on one task. Areas are means of recall, 0 to 1, over the pages fetched so far or over the seconds so far.

    A crawl that ends early keeps its recall. `pages_to_…` are None for what was not reached within the budget.
    """

    fetched: int
    relevant: int
    recall_area: float
    recall_area_in_time: float
    pages_to_quarter: int | None
    pages_to_half: int | None
    curve: list[tuple[int, float, float]]
    """Pages fetched, recall, harvest rate."""
    curve_in_time: list[tuple[float, float, float]]
    """Seconds, recall, harvest rate."""


def recall_area(labels: AbstractSet[int], order: Sequence[int], pages: int) -> float:
    """Mean of recall, 0 to 1, over the first `pages` pages fetched in this order; a crawl that ends early keeps its recall."""
    found = _found(labels, order[:pages])
    return (math.fsum(found) + (found[-1] if found else 0) * (pages - len(found))) / (pages * len(labels))


def figures(labels: AbstractSet[int], by_page: Trace, pages: int, by_time: Trace, seconds: float) -> Figures:
    """Read off a crawl of `pages` pages, one at a time, and one of `seconds` on many connections."""
    found = _found(labels, by_page.pages[:pages])
    whole = len(labels)
    counts = found + [found[-1] if found else 0] * (pages - len(found))
    in_time = _found(labels, by_time.pages)
    return Figures(
        fetched=len(found),
        relevant=counts[-1],
        recall_area=recall_area(labels, by_page.pages, pages),
        recall_area_in_time=_area_in_time(labels, by_time, seconds),
        pages_to_quarter=_pages_to(found, 0.25 * whole),
        pages_to_half=_pages_to(found, 0.5 * whole),
        curve=[
            (number, counts[number - 1] / whole, counts[number - 1] / min(number, len(found)))
            for number in _steps(pages)
            if found
        ],
        curve_in_time=[
            (seconds * step / POINTS, *_at(by_time.seconds, in_time, whole, seconds * step / POINTS))
            for step in range(1, POINTS + 1)
        ],
    )


def mean_and_interval(values: Sequence[float]) -> tuple[float, float | None]:
    """The mean and half the width of its 95 % confidence interval (Student's t); None for a single value."""
    if len(values) < 2:
        return statistics.fmean(values), None
    degrees = len(values) - 1
    t = _T_975[degrees - 1] if degrees <= len(_T_975) else 1.96 + 2.4 / degrees
    return statistics.fmean(values), t * statistics.stdev(values) / math.sqrt(len(values))


def headroom_share(ours: float, plain: float, oracle: float) -> float | None:
    """(ours − breadth-first) / (oracle − breadth-first): 0 gains nothing, 1 all there is; None where there is nothing to gain."""
    return None if oracle - plain < 1e-9 else (ours - plain) / (oracle - plain)


def comparison(of: Mapping[str, Figures], area: str, bound: float | None = None) -> dict[str, Any]:
    """The shares and ranks of one task, by the figure `area`; `bound` is what no policy can exceed in it."""
    areas = {policy: getattr(found, area) for policy, found in of.items()}
    baselines = {name: value for name, value in areas.items() if not name.startswith(("ours", "oracle"))}
    best = max(baselines, key=baselines.__getitem__) if baselines else None
    told: dict[str, Any] = {"best_baseline": best}
    if best is not None and "ours" in areas:
        told["ahead_of_every_baseline"] = areas["ours"] > baselines[best]
    if {"ours", "breadth-first"} <= areas.keys():
        told["never_below_breadth_first"] = areas["ours"] >= areas["breadth-first"]
        if bound is not None:
            told["headroom_share_bound"] = headroom_share(areas["ours"], areas["breadth-first"], bound)
    for oracle, share in (("oracle", "headroom_share"), ("oracle-nearest", "headroom_share_nearest")):
        if {"ours", oracle, "breadth-first"} <= areas.keys():
            told[share] = headroom_share(areas["ours"], areas["breadth-first"], areas[oracle])
    return told


def as_json(found: Figures) -> dict[str, Any]:
    """Rounded for reading."""
    return _rounded(asdict(found))  # type: ignore[no-any-return]


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 5)
    if isinstance(value, dict):
        return {name: _rounded(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(part) for part in value]
    return value


def _found(labels: AbstractSet[int], pages: Sequence[int]) -> list[int]:
    """Relevant pages so far, after each page."""
    counts, total = [], 0
    for page in pages:
        total += page in labels
        counts.append(total)
    return counts


def _steps(pages: int) -> list[int]:
    return sorted({max(1, round(pages * step / POINTS)) for step in range(1, POINTS + 1)})


def _pages_to(found: Sequence[int], wanted: float) -> int | None:
    return next((number for number, count in enumerate(found, start=1) if count >= wanted), None)


def _area_in_time(labels: AbstractSet[int], trace: Trace, seconds: float) -> float:
    """Every relevant page counts from its instant to the end."""
    gained = math.fsum(
        max(0.0, seconds - at) for page, at in zip(trace.pages, trace.seconds, strict=True) if page in labels
    )
    return gained / (seconds * len(labels))


def _at(instants: Sequence[float], counts: Sequence[int], whole: int, second: float) -> tuple[float, float]:
    fetched = bisect_right(instants, second)
    count = counts[fetched - 1] if fetched else 0
    return count / whole, count / max(1, fetched)
