"""Which leases look for new servers, and by which URLs they do: the hubs of a server that has not shown to be rich.

When more connections are free than servers are ready, what the crawl lacks is servers. Then a page is worth what it leads to, more than what it is: and who links to
many other servers (a start page, a list of links) stands near a server's root. So such a lease takes URLs with short paths before those of the best quality; unless
its server was found to be above the average, where relevant pages are to be had without looking any further. And only as long as it helps: a crawl of one site, or one that has
found all servers there are, explores in vain, and goes back to the best pages first.

Of one lease only a few URLs, as what they lead to may change everything, and only from the first ones of a queue, so that the length of a queue costs nothing. The
order of the floating-point operations is part of the contract, as in `policies`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from extensions.frontier import score
from extensions.frontier.records import QUALITY_STEPS, Policy

if TYPE_CHECKING:
    from collections.abc import Iterable

    from extensions.frontier.records import Rules

EXPLORED_ODDS = 2.0
"""A server with such odds is rich: it is fetched from, and not explored."""
EXPLORED_URLS = 64
"""How many of a queue's first URLs are looked at."""
EXPLORED_LENGTH = 2
"""URLs of an exploring lease at most."""
PATIENCE = 30
"""Exploring leases in a row after which no new server came: then a partition stops, until one comes by itself. Less than 20 ends it too early where the first servers lead nowhere for long."""
STEEPNESS = 0.4
"""By what every segment of its path multiplies the odds that a URL leads to new servers."""


def explores(rules: Rules, odds: float, token: int, *, vain: int, contested: bool) -> bool:
    """Whether the lease under this token explores: the share `Rules.explore` of those that may, evenly among the tokens. `odds` are the server's; `vain` the exploring leases of its partition since that got a new server."""
    if contested or rules.policy is not Policy.CAPABILITY or odds >= EXPLORED_ODDS or vain >= PATIENCE:
        return False
    return math.floor(token * rules.explore) > math.floor((token - 1) * rules.explore)


def segments(member: str) -> int:
    """How many segments of a path come after the first one, those of the query included: 0 for a page at the root and for an opaque member."""
    return 0 if member.startswith("\0") else member.count("/", 1)


def promise(quality: float, segments: int) -> float:
    """How likely it is that a URL leads to new servers, as odds and but for a factor that is the same for all."""
    step = min(max(score.steps(quality), 1), QUALITY_STEPS - 1)
    odds = step / (QUALITY_STEPS - step)
    for _ in range(segments):
        odds *= STEEPNESS
    return odds


def explored(promises: Iterable[float], length: int) -> list[int]:
    """Places in the queue of the URLs that an exploring lease takes, the most promising first; `promises` are those of the queue, in order."""
    found = [value for _, value in zip(range(EXPLORED_URLS), promises, strict=False)]
    return sorted(range(len(found)), key=found.__getitem__, reverse=True)[: min(length, EXPLORED_LENGTH)]
