"""Which server comes next, and for how many pages: the four policies as pure functions.

After Cao, Jiang, Singh, "Implementation of a Web Crawl Scheduler", Princeton TR-682-03 (2003), section 3, with the paper's
symbols. For server s and its i-th connection:

=============  ====================================================================================================
``P(s,i)``     pages the connection will carry: min(RequestsPerConnection(s), TaskURLs(s))
``T(s,i)``     seconds the connection takes: 2·ConnectionTime + P·cost
``R(s,i)``     pages per second: P / T, the rank of performance-first
``C(s,i)``     crawl capability: quality per second
=============  ====================================================================================================

Two things go beyond the paper. Its page costs ResponseTime/p; a polite crawler also waits between two requests, so here a
page costs the greater of the two, `page_seconds`. And its P is the most that the server allows; here a connection ends
where the rate is greatest, as the marginal value theorem has it for a forager in a patch that becomes poorer (Charnov
1976): n* = argmaxₙ Σₖ≤ₙ qₖ / (2·ConnectionTime + n·cost), and C is that maximum.

Units: estimates come in milliseconds, rates are per second. The order of the floating-point operations is part of the
contract (`contract`): Lua repeats it and gets the same doubles to the last bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from extensions.frontier.records import Policy

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


def ewma(estimate: float | None, measured: float, alpha: float) -> float:
    """The moving average after one more measurement: α·estimate + (1−α)·measured; the first one stands alone."""
    return measured if estimate is None else alpha * estimate + (1 - alpha) * measured


def pages_per_connection(requests_per_connection: int, task_urls: int) -> int:
    """``P(s,i)``, the pages a connection will carry."""
    return min(requests_per_connection, task_urls)


def page_seconds(response_ms: float, delay_ms: float, pipelining: float) -> float:
    """Seconds one page costs: the response over the paper's `p`, or the crawl delay where that is greater."""
    return max(response_ms / pipelining, delay_ms) / 1000


def connection_seconds(pages: int, connection_time: float, cost: float) -> float:
    """``T(s,i)``, the seconds that a connection of `pages` takes: to open it, to fetch, to close it."""
    return max(2 * connection_time + pages * cost, LEAST_SECONDS)


def performance_rank(pages: int, connection_time: float, cost: float) -> float:
    """``R(s,i)``, pages per second."""
    return pages / connection_seconds(pages, connection_time, cost)


def quality_rank(qualities: Sequence[float]) -> float:
    """Quality of the server's best URL; `qualities` are those of its queue, in order."""
    return qualities[0]


def capability_rank(qualities: Sequence[float], connection_time: float, cost: float) -> tuple[float, int]:
    """``C(s,i)`` and ``n*``: the greatest quality per second, and the number of pages that brings it (the most of equals).

    `qualities` are those of the first P URLs of the queue, in order; without any there is nothing to gain: (0.0, 0).
    """
    best, length, total = 0.0, 0, 0.0
    for pages, quality in enumerate(qualities, start=1):
        total += quality
        rate = total / connection_seconds(pages, connection_time, cost)
        if rate >= best:
            best, length = rate, pages
    return best, length


def rank(rules: Rules, server: Estimates, order: int, qualities: Sequence[float]) -> float:
    """Rank of a server in the server queue, the greatest first.

    `qualities` are those of its whole URL queue, in order and not empty; `order` is its turn among those that began to wait.
    """
    connection_time = server.connection_ms / 1000
    cost = page_seconds(server.response_ms, server.delay_ms, rules.pipelining)
    pages = pages_per_connection(server.requests_per_connection, len(qualities))
    match rules.policy:
        case Policy.BREADTH_FIRST:
            return float(-order)
        case Policy.PERFORMANCE:
            return performance_rank(pages, connection_time, cost)
        case Policy.QUALITY:
            return quality_rank(qualities)
        case Policy.CAPABILITY:
            return capability_rank(qualities[:pages], connection_time, cost)[0]


def lease_length(rules: Rules, server: Estimates, qualities: Sequence[float]) -> int:
    """How many URLs one lease of the server takes; arguments as in `rank`.

    One, if its crawl delay is so long that a connection would not survive the wait: then nothing is saved by staying.
    """
    if 0 < rules.keep_open_ms <= server.delay_ms:
        return 1
    pages = pages_per_connection(server.requests_per_connection, len(qualities))
    if rules.policy is not Policy.CAPABILITY:
        return pages
    cost = page_seconds(server.response_ms, server.delay_ms, rules.pipelining)
    return capability_rank(qualities[:pages], server.connection_ms / 1000, cost)[1]
