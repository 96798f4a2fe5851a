"""What passes in and out of a frontier: plain frozen records, the same for Redis and for its oracle in dicts.

`Candidate` and `LeasedUrl`, of which there is one for every URL, are tuples: those are made several times faster than frozen dataclasses.

Units: every instant is a whole number of milliseconds of the frontier's clock (`now_ms`), every estimate a float of
milliseconds, every quality a float from 0 to 1.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

QUALITY_STEPS = 2**14 - 1
"""Quality is kept in 14 bits: a resolution of 0.00006, far finer than any prediction of it."""

MAX_SEQUENCE = 2**25 - 1
MAX_DEPTH = 2**10 - 1
MAX_HOPS = 2**4 - 1

LEAST_ODDS, MOST_ODDS = 1e-6, 1e6
"""Bounds of a server's odds: no quality that is not 0 or 1 becomes either."""


class Policy(StrEnum):
    """How servers, and the URLs within a server, are ranked (Cao et al. 2003, section 3)."""

    CAPABILITY = "capability"
    QUALITY = "quality"
    PERFORMANCE = "performance"
    BREADTH_FIRST = "breadth_first"

    @property
    def orders_by_quality(self) -> bool:
        """Whether a URL queue is ranked by quality; otherwise it is first in, first out."""
        return self in (Policy.CAPABILITY, Policy.QUALITY)


@dataclass(frozen=True, slots=True)
class Rules:
    """What every verb needs to know of the campaign. It travels with each call, so a script keeps no configuration.

    A bound of 0 means no bound.
    """

    policy: Policy = Policy.CAPABILITY
    max_pending: int = 0
    """URLs queued per server; beyond it the worst is dropped."""
    max_pages: int = 0
    """Pages settled as fetched per server; from then on its URLs are dropped."""
    max_depth: int = 0
    """Links from a seed; deeper URLs are dropped."""
    max_failures: int = 0
    """Consecutive failed URLs after which a server counts as dead and its queue is dropped."""
    requests_per_connection: int = 50
    """`RequestsPerConnection(s)` of a server nobody has opened yet."""
    connection_ms: float = 100.0
    """`ConnectionTime(s)` of a server nobody has opened yet."""
    response_ms: float = 300.0
    """`ResponseTime(s)` of a server nobody has opened yet."""
    delay_ms: float = 0.0
    """Crawl delay of a server whose own is not known yet."""
    alpha: float = 0.8
    """Weight of the past in the moving averages."""
    pipelining: float = 1.0
    """The paper's `p`: 1.2 where a connection carries several requests at once, otherwise 1."""
    keep_open_ms: float = 2500.0
    """Crawl delay from which on a connection is not kept for the next request: such a server is leased one URL at a time. And how long the pauses of a lease may take together that
    nobody else wants. Servers close idle connections after some five seconds; half of that, because what the crawl learns meanwhile does not change a lease."""
    explore: float = 0.0
    """Share, 0 to 1, of the leases that nobody else wants, of servers not known to be rich, that go to pages likely to lead to new servers (`exploring`)."""


class Candidate(NamedTuple):
    """A URL offered to the frontier.

    `member` identifies it within its server: path and query (starting with "/") of a plain GET, otherwise an opaque name
    starting with a NUL, whose request is in `payload`. `bucket` and `remainder` are its fingerprint's place in the seen-set.
    With `force` the seen test is skipped (Scrapy's dont_filter), though the URL is still remembered as seen.
    """

    server: str
    member: str
    bucket: int
    remainder: int
    quality: float
    depth: int = 0
    hops: int = 0
    force: bool = False
    payload: bytes = b""


@dataclass(frozen=True, slots=True)
class Admission:
    """What became of a batch of candidates. Every candidate is counted once among the first four."""

    admitted: int = 0
    raised: int = 0
    """Already queued, and now with a better quality."""
    duplicates: int = 0
    dropped: int = 0
    """Turned away by a bound; remembered as seen, so done."""
    evicted: int = 0
    """Queued before, pushed out by a better one of this batch: done, unfetched."""


class LeasedUrl(NamedTuple):
    """One URL of a lease, as it stood in the URL queue (quality in the queue's resolution)."""

    member: str
    quality: float
    depth: int
    hops: int
    payload: bytes = b""


@dataclass(frozen=True, slots=True)
class Lease:
    """A server and its best URLs, this agent's alone until `deadline_ms`. `token` fences off whoever held it before."""

    server: str
    token: int
    deadline_ms: int
    due_ms: int
    """When the server may get its next request at the earliest."""
    delay_ms: float
    connection_ms: float
    response_ms: float
    urls: tuple[LeasedUrl, ...]


@dataclass(frozen=True, slots=True)
class Settlement:
    """What an agent reports of one lease. URLs in `done` are done; with `release` the others go back to the queue.

    `pages` of the `done` were fetched; `failures` counts the failed ones at the end of the batch in a row (and `pages > 0`
    resets what earlier batches counted). Measurements enter the moving averages in the order given. `carried` is how many requests the connection
    carried before the server closed it, None if it did not. `delay_ms` is the crawl delay the server asked for, if known. `odds` is by what the odds of all
    URLs queued there are to be multiplied from now on, as the crawl has learned since they were queued; None leaves it as it is, 1 in the beginning.
    `again`: it was accepted before, by a Redis that may have forgotten it, and the lease. `lowered` names URLs that go back, (member, quality) each, and what they are worth now if that is less than what they were queued with.
    """

    server: str
    token: int
    done: tuple[str, ...] = ()
    pages: int = 0
    failures: int = 0
    connection_ms: tuple[float, ...] = ()
    response_ms: tuple[float, ...] = ()
    carried: int | None = None
    delay_ms: float | None = None
    due_ms: int = 0
    release: bool = False
    odds: float | None = None
    lowered: tuple[tuple[str, float], ...] = ()
    again: bool = False


@dataclass(frozen=True, slots=True)
class Stats:
    """Counters of a crawl, added over its partitions. The first four say what is; the others what has happened."""

    queued: int = 0
    leased: int = 0
    open_servers: int = 0
    """Servers under a lease."""
    servers: int = 0
    """Servers ever seen."""
    seen: int = 0
    admitted: int = 0
    raised: int = 0
    duplicates: int = 0
    dropped: int = 0
    evicted: int = 0
    settled: int = 0
    reclaimed: int = 0
    refused: int = 0
    """Settlements and renewals with a stale token."""
    expired: int = 0
    """Leases that ended by their deadline: their agent died, or was away for too long."""

    def __add__(self, other: Stats) -> Stats:
        return Stats(*(getattr(self, name) + getattr(other, name) for name in Stats.__slots__))


@dataclass(frozen=True, slots=True)
class Peek:
    """One server as the frontier sees it, for an operator's eye."""

    server: str
    state: str
    """"ready", "waiting" or "leased"."""
    rank: float
    """Rank if ready, the instant it becomes due if waiting, the lease's deadline if leased."""
    queued: int
    head: tuple[LeasedUrl, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class AgentRecord:
    """One agent of a crawl's present run, as it last told the others.

    A run begins when an agent joins a crawl that no other agent is at work on, and ends with its last agent.
    """

    name: str
    place: str
    """Tells two processes of one name apart: which folder on which machine they run in."""
    capacity: int
    """Servers it may hold open at once."""
    joined_ms: int
    beat_ms: int
    left: bool = False
    """It has ended and said so."""
    stats: Mapping[str, float] = field(default_factory=dict)
    """Its numeric Scrapy stats, as of `beat_ms`."""
