"""A lease in the hands of this agent: which of its URLs wait, which is being fetched, which are through, what was measured."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from extensions.frontier.records import Lease, LeasedUrl, Settlement
from extensions.frontier.score import steps

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request


@dataclass(slots=True, eq=False)
class HandedOut:
    """A request of a lease that the engine has."""

    server: OpenServer
    url: LeasedUrl
    batch: int = 0
    """The batch of candidates that its links are in, once it is through."""
    started_ms: int = 0
    connecting_ms: float = 0.0
    """How much of the time since then went into opening a connection."""
    answered: bool = False
    downloaded: bool = False
    sent: bool = True
    """False once it was kept back because the lease had run out before it could be sent."""
    stored: bool = True
    """False once an item of it could not be stored: then it is not acknowledged."""


@dataclass(slots=True, eq=False)
class OpenServer:
    """One lease. The server gets one request at a time: `busy` from handing one out until its download has ended."""

    lease: Lease
    due_ms: int
    delay_ms: float
    held_until_ms: int = 0
    """When the lease ends, as far as is known here: the server may be another agent's from then on."""
    waiting: deque[LeasedUrl] = field(default_factory=deque)
    put_back: deque[tuple[Request, HandedOut]] = field(default_factory=deque)
    lowered: dict[str, float] = field(default_factory=dict)
    """Members that are not fetched under this lease, and what each is worth now."""
    busy: bool = False
    unfinished: int = 0
    """Requests the engine has, in whatever stage."""
    through: list[HandedOut] = field(default_factory=list)
    """Finished and not yet acknowledged."""
    response_ms: list[float] = field(default_factory=list)
    connection_ms: list[float] = field(default_factory=list)
    """Measured since the last settlement, as is `carried`."""
    carried: int | None = None
    stale: bool = False

    @classmethod
    def of(cls, lease: Lease) -> OpenServer:
        """A lease as it arrives."""
        return cls(lease, lease.due_ms, lease.delay_ms, lease.deadline_ms, deque(lease.urls))

    @property
    def drained(self) -> bool:
        """Whether nothing is left to download: its connection is over, though pages may still be in the pipelines."""
        return not (self.waiting or self.put_back or self.busy)

    @property
    def over(self) -> bool:
        """Whether every URL is through."""
        return self.drained and not self.unfinished

    def give_back(self, member: str, quality: float) -> bool:
        """A URL that waits here is worth only this, 0 to 1: it goes back to the queue with the lease's end.

        False if it does not wait any more; or if that is no less, as then it would be leased again and again.
        """
        for url in self.waiting:
            if url.member == member and steps(quality) < steps(url.quality):
                self.waiting.remove(url)
                self.lowered[member] = quality
                return True
        return False

    def settlement(
        self, confirmed: int, *, give_back: bool = False, odds_of: Callable[[str], float | None] | None = None
    ) -> Settlement | None:
        """What may be acknowledged now: pages whose links are in a batch that Redis has confirmed. None if there is nothing to say.

        The lease ends with it when every URL is through and acknowledged, or with `give_back` in any case. `odds_of` tells what the
        crawl has learned of a server: the pages that are through now included, and those that are still under way not.
        """
        ready = [one for one in self.through if one.batch <= confirmed]
        later = [one for one in self.through if one.batch > confirmed]
        release = give_back or (self.over and not later)
        if not (ready or release):
            return None
        settlement = Settlement(
            server=self.lease.server,
            token=self.lease.token,
            done=tuple(one.url.member for one in ready if one.stored and one.sent),
            pages=sum(one.answered for one in ready),
            failures=failures_in_a_row(ready),
            connection_ms=tuple(self.connection_ms),
            response_ms=tuple(self.response_ms),
            carried=self.carried,
            delay_ms=self.delay_ms,
            due_ms=self.due_ms,
            release=release,
            odds=None if odds_of is None else odds_of(self.lease.server),
            lowered=tuple(self.lowered.items()) if release else (),
        )
        self.through = later
        self.connection_ms, self.response_ms, self.carried = [], [], None
        return settlement


def failures_in_a_row(through: list[HandedOut]) -> int:
    """How many requests at the end of the list failed. What was never sent, since robots.txt forbids it, say, is neither a failure nor an answer."""
    failures = 0
    for one in through:
        if one.answered:
            failures = 0
        elif one.downloaded and one.sent:
            failures += 1
    return failures
