"""Which server comes next, and for how many pages: the four policies as pure functions.

After Cao, Jiang, Singh, "Implementation of a Web Crawl Scheduler", Princeton TR-682-03 (2003), section 3, with the paper's
symbols. For server s and its i-th connection:

=============  ====================================================================================================
``P(s,i)``     pages the connection will carry: min(RequestsPerConnection(s), TaskURLs(s))
``T(s,i)``     seconds the connection takes: 2·ConnectionTime + P·ResponseTime/p + (P−1)·delay
``R(s,i)``     pages per second: P / T, the rank of performance-first
``C(s,i)``     crawl capability: quality per second
=============  ====================================================================================================

Three things go beyond the paper. A polite crawler leaves a server alone between two responses' end and beginning, and for so long its connection is idle and
nobody else's: T counts those pauses, one less than pages, because the one after the last page passes when the connection is over already. The paper's P is the most that the
server allows; here a connection ends where the rate is greatest, as the marginal value theorem has it for a forager in a patch that becomes
poorer (Charnov 1976): n* = argmaxₙ Σₖ≤ₙ qₖ / T(n), and C is that maximum. From both follows that one does not sit out a crawl delay that is longer than it takes to come back
(2·ConnectionTime); unless no other server wants the connection: then pauses cost nothing, and to come back does (`lease_length`). What each of these brings is measured by
``python -m tests.benchmarks.scheduling --delay 1``.

Qualities are those that URLs were queued with. What was learned of their server since then is one number, its odds, and counts as if every quality had been queued
with it (`adjusted`); it leaves the order within a server as it is.

Units: estimates come in milliseconds, rates are per second. The order of the floating-point operations is part of the
contract (`contract`): Lua repeats it and gets the same doubles to the last bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from extensions.frontier.records import LEAST_ODDS, MOST_ODDS, Policy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from extensions.frontier.records import Rules

LEAST_SECONDS = 0.001
"""No connection is shorter: keeps every rate finite where nothing has been measured but zeros."""


@dataclass(frozen=True, slots=True)
class Estimates:
    """What is known of a server, or supposed of it by the `Rules` as long as nothing was measured."""

    requests_per_connection: int
    connection_ms: float
    response_ms: float
    delay_ms: float
    odds: float = 1.0


def ewma(estimate: float | None, measured: float, alpha: float) -> float:
    """The moving average after one more measurement: α·estimate + (1−α)·measured; the first one stands alone."""
    return measured if estimate is None else alpha * estimate + (1 - alpha) * measured


def bounded_odds(odds: float) -> float:
    """Odds that a server can have."""
    return min(MOST_ODDS, max(LEAST_ODDS, odds))


def adjusted(quality: float, odds: float) -> float:
    """A quality, 0 to 1, after its odds were multiplied: o·q / (1 + (o − 1)·q)."""
    return odds * quality / (1 + (odds - 1) * quality)


def pages_per_connection(requests_per_connection: int, task_urls: int) -> int:
    """``P(s,i)``, the pages a connection will carry."""
    return min(requests_per_connection, task_urls)


def response_seconds(response_ms: float, pipelining: float) -> float:
    """Seconds in which a page arrives: ResponseTime over the paper's `p`."""
    return response_ms / pipelining / 1000


def connection_seconds(pages: int, connection_time: float, response_time: float, pause: float) -> float:
    """``T(s,i)``, the seconds that a connection of `pages` takes: to open it, to fetch with a pause between two pages, to close it."""
    return max(2 * connection_time + pages * response_time + (pages - 1) * pause, LEAST_SECONDS)


def performance_rank(pages: int, connection_time: float, response_time: float, pause: float) -> float:
    """``R(s,i)``, pages per second."""
    return pages / connection_seconds(pages, connection_time, response_time, pause)


def quality_rank(qualities: Sequence[float]) -> float:
    """Quality of the server's best URL; `qualities` are those of its queue, in order."""
    return qualities[0]


def capability_rank(
    qualities: Sequence[float], connection_time: float, response_time: float, pause: float
) -> tuple[float, int]:
    """``C(s,i)`` and ``n*``: the greatest quality per second, and the number of pages that brings it (the most of equals).

    `qualities` are those of the first P URLs of the queue, in order; without any there is nothing to gain: (0.0, 0).
    """
    best, length, total = 0.0, 0, 0.0
    for pages, quality in enumerate(qualities, start=1):
        total += quality
        rate = total / connection_seconds(pages, connection_time, response_time, pause)
        if rate >= best:
            best, length = rate, pages
    return best, length


def rank(rules: Rules, server: Estimates, order: int, qualities: Sequence[float]) -> float:
    """Rank of a server in the server queue, the greatest first.

    `qualities` are those of its whole URL queue, in order and not empty; `order` is its turn among those that began to wait.
    """
    times = _times(rules, server)
    pages = pages_per_connection(server.requests_per_connection, len(qualities))
    match rules.policy:
        case Policy.BREADTH_FIRST:
            return float(-order)
        case Policy.PERFORMANCE:
            return performance_rank(pages, *times)
        case Policy.QUALITY:
            return quality_rank(_as_learned(server, qualities[:1]))
        case Policy.CAPABILITY:
            return capability_rank(_as_learned(server, qualities[:pages]), *times)[0]


def lease_length(rules: Rules, server: Estimates, qualities: Sequence[float], *, contested: bool = True) -> int:
    """How many URLs one lease of the server takes; arguments as in `rank`. `contested`: another server waits for the connection.

    One, if its crawl delay is so long that a connection would not survive the wait: then nothing is saved by staying.
    """
    if 0 < rules.keep_open_ms <= server.delay_ms:
        return 1
    pages = pages_per_connection(server.requests_per_connection, len(qualities))
    if rules.policy is not Policy.CAPABILITY:
        return pages
    connection_time, response_time, pause = _times(rules, server)
    qualities = _as_learned(server, qualities[:pages])
    length = capability_rank(qualities, connection_time, response_time, pause)[1]
    if contested:
        return length
    # Pauses are free. But what is not kept can serve a better server soon: in sum, they take no longer than a connection would survive.
    if rules.keep_open_ms > 0:
        pages = min(pages, 1 + int(rules.keep_open_ms / max(server.delay_ms, 1.0)))
    return max(length, capability_rank(qualities[:pages], connection_time, response_time, 0.0)[1])


def _as_learned(server: Estimates, qualities: Sequence[float]) -> Sequence[float]:
    """What qualities of this server's URLs are by its odds."""
    return qualities if server.odds == 1 else [adjusted(quality, server.odds) for quality in qualities]


def _times(rules: Rules, server: Estimates) -> tuple[float, float, float]:
    """ConnectionTime, ResponseTime / p and crawl delay, in seconds."""
    return (
        server.connection_ms / 1000,
        response_seconds(server.response_ms, rules.pipelining),
        server.delay_ms / 1000,
    )
