"""What an agent does beside carrying: tell that it lives, take back what the dead held, read pushed seeds, see whether the crawl is over; and after an outage make sure of where things stand."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from extensions.journal import Journal
from extensions.learning import SharedLearning, learners_of
from extensions.seedlist import SeedList

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scrapy import Spider

    from extensions.frontier.records import Settlement
    from extensions.scheduler import TwoLevelScheduler
    from extensions.session import Session

POLL_SECONDS = 1.0
"""Between two looks at a frontier in which only other agents have work, and at pushed seeds."""
BEATS_PER_LEASE = 5
CLOCK_SECONDS = 60.0
"""Between two looks at the clock of Redis."""
ALL_HERE_SECONDS = 2.0
"""After an outage, until every agent has told what it holds: they try once a second."""


class Upkeep:
    """Of one agent. `journal` is written by whoever carries."""

    def __init__(self, session: Session, scheduler: TwoLevelScheduler) -> None:
        self.journal = Journal()
        self.lease_again_at = -math.inf
        """On the monotonic clock, as all instants here: nothing is leased before, since Redis may have forgotten who holds what."""
        self.trips = 0
        """Round trips to Redis that the frontier does not count."""
        self._session = session
        self._scheduler = scheduler
        self._config = scheduler.config
        self._beat_seconds = self._config.lease_seconds / BEATS_PER_LEASE
        self._last_beat = self._last_poll = self._clock_set = time.monotonic()
        self._reclaim_again_at = -math.inf
        self._run_id: object = None
        self._seeds: SeedList
        self._learning: SharedLearning | None = None
        self._was_idle = False
        self._nothing_left = False
        self._idle_since: float | None = None

    async def begin(self, spider: Spider) -> None:
        """Once the session is open. Whoever joins others leases nothing until they have heard of it: they close their connections earlier then."""
        session = self._session
        # The middlewares exist by now, and with them all that learns.
        if learners := learners_of(self._scheduler.crawler):
            self._learning = SharedLearning(learners, session.client, session.frontier.crawl, session.agent)
            await self._learning.recall()
        if session.members.company:
            self.lease_again_at = time.monotonic() + self._beat_seconds
        self._run_id = await session.run_id()
        self._seeds = SeedList(session.client, self._config, spider)

    # The heartbeat

    @property
    def next_beat(self) -> float:
        """Seconds until the heartbeat, and the renewal of leases that goes with it."""
        return self._beat_seconds - (time.monotonic() - self._last_beat)

    def beat_soon(self) -> None:
        """A lease is about to end, or has ended while this process was asleep."""
        self._last_beat = -math.inf

    async def beat(self, numbers: Mapping[str, float]) -> None:
        """Tell the other agents that this one lives, and take back the leases of those that do not."""
        session = self._session
        now = self._last_beat = time.monotonic()
        await session.members.beat(session.now_ms(), numbers)
        self.trips += 1
        if now >= self._reclaim_again_at:
            await session.frontier.reclaim(session.now_ms(), partitions=session.members.mine)
        if self._learning is not None:
            await self._learning.share()
            self.trips += 2
        if now - self._clock_set >= CLOCK_SECONDS:
            self._clock_set = now
            await session.set_clock()
            self.trips += 1

    async def keep_learned(self) -> None:
        """Save what was learned with the crawl."""
        if self._learning is not None:
            await self._learning.keep()

    # Seeds, and the end

    async def poll(self, *, idle: bool) -> bool:
        """Look for pushed seeds, and if there is nothing to do here, whether the crawl is over: nothing is left anywhere, for as long as one should wait."""
        just_idle, self._was_idle = idle and not self._was_idle, idle
        if time.monotonic() - self._last_poll < POLL_SECONDS and not just_idle and not self._nothing_left:
            return False
        self._last_poll = time.monotonic()
        self.trips += 1
        if await self._seeds.take(self._scheduler):
            return False
        # Asked again afterwards: a seed may have come in the meantime.
        self._nothing_left = idle and await self._is_over() and self._scheduler.holdings.empty
        if not self._nothing_left:
            self._idle_since = None
            return False
        self._idle_since = self._idle_since or time.monotonic()
        return time.monotonic() - self._idle_since >= self._config.idle_before_close

    async def _is_over(self) -> bool:
        """Whether no agent has anything left. Partitions are read one after the other, so it takes two readings between which nothing has happened."""
        first = await self._session.frontier.stats()
        if first.queued or first.leased:
            return False
        return self._config.partitions == 1 or await self._session.frontier.stats() == first

    # After an outage

    async def make_sure(self, unsaid: Sequence[Settlement]) -> bool:
        """Redis answers again. What was said when it went may or may not have been heard, and a restarted Redis may have forgotten the last of it: True if it was restarted."""
        session, frontier = self._session, self._session.frontier
        await session.set_clock()
        run_id = await session.run_id()
        self.trips += 2
        restarted = run_id != self._run_id
        if restarted:
            if candidates := self.journal.candidates():
                await frontier.admit(session.now_ms(), candidates)
            if settlements := self.journal.settlements():
                await frontier.settle(session.now_ms(), settlements)
        # Leases that were granted in a reply that got lost end. One whose last word has yet to be said is held too: what it has done
        # would be fetched again.
        held = [*((one.server, one.token) for one in unsaid), *self._scheduler.holdings.leases()]
        await frontier.reclaim(session.now_ms(), session.agent, held)
        now = time.monotonic()
        if restarted:
            self.lease_again_at = now + ALL_HERE_SECONDS
        self._run_id = run_id
        # The others renew their leases first.
        self._reclaim_again_at = now + self._beat_seconds + ALL_HERE_SECONDS
        self.beat_soon()
        return restarted
