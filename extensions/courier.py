"""Carries a scheduler's buffers to Redis and back, in batches, without ever making the engine wait.

One task, one pipeline at a time. When to send is a balance: often enough that no place for a server stays empty and little has to be
fetched again after a crash, seldom enough that a page costs a fraction of a round trip.

While Redis does not answer, what is held stays held, and what is leased goes on being fetched for as long as the leases surely last. The courier tries again
until Redis answers, and then makes sure of where things stand (`upkeep`) before anything else.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from twisted.python.failure import Failure

from extensions.errors import CrawlError, FrontierUnavailable, OutputError
from extensions.frontier.allotment import Allotment, Ask
from extensions.session import Session
from extensions.signals import settling
from extensions.upkeep import POLL_SECONDS, Upkeep

if TYPE_CHECKING:
    from scrapy import Spider

    from extensions.frontier.records import Admission, AgentRecord, Candidate, Settlement, Stats
    from extensions.frontier.redis import Exchange
    from extensions.scheduler import TwoLevelScheduler

logger = logging.getLogger(__name__)

HURRY_SECONDS = 0.01
"""Between two exchanges when the engine has nothing to do and new work may be waiting."""
ENOUGH_PAGES = 16
ENOUGH_CANDIDATES = 1000
BIGGEST_BATCH = 2000
"""Candidates in one script call: it keeps Redis, and every other agent, busy for its length."""
RETRY_SECONDS = 1.0
CLOSE_SECONDS = 5.0
"""How long a crawl that ends waits for a Redis that does not answer."""
OVERDUE_MS = 1000
"""Agents help themselves to servers of other agents' partitions that have been due for so long: their own agent has no room for them."""


class Courier:
    """Between one scheduler and one frontier."""

    def __init__(self, scheduler: TwoLevelScheduler) -> None:
        self.scheduler = scheduler
        self.holdings = scheduler.holdings
        self.config = scheduler.config
        self.stats = scheduler.stats
        self.session = Session(
            self.config,
            capacity=scheduler.capacity,
            max_depth=scheduler.max_depth,
            seen_bits=scheduler.layout.bits,
        )
        self.upkeep = Upkeep(self.session, scheduler)
        self.now_ms = self.session.now_ms
        self.finished = False
        """The frontier is empty, nothing is leased by anyone, and nothing is held here."""
        self._lease_ms = int(self.config.lease_seconds * 1000)
        self.margin_ms = self._lease_ms // 10
        """So long before its end a lease is not relied upon any more."""
        self._allotment = Allotment()
        self._kicked = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._sending: list[Settlement] = []
        self._over: list[str] = []
        """Servers whose lease ends with the next exchange and whose connections are still open."""
        self._changed = True
        self._last_exchange = self._last_help = time.monotonic()
        self._down_since: float | None = None
        self._unsure = False
        self._forgotten = False
        """Redis was restarted: it may not know our leases any more."""
        self._closing = False

    async def open(self, spider: Spider) -> None:
        """Connect and begin. Raises `CrawlError`, with nothing left running."""
        found = await self.session.open(self.config.crawl_of(spider.name))
        await self.upkeep.begin(spider)
        self.stats.set_value("frontier/resumed", found.seen > 0)
        self._task = asyncio.ensure_future(self._carry())

    def agents(self) -> tuple[AgentRecord, ...]:
        """Those of the crawl's present run, this one first; none before `open`."""
        if self._task is None:
            return ()
        return self.session.members.records(self.now_ms(), self._numbers())

    def kick(self) -> None:
        """Something has changed here; look soon."""
        self._kicked.set()

    def renew_soon(self) -> None:
        """A lease is about to end, or has ended while this process was asleep."""
        self.upkeep.beat_soon()
        self.kick()

    # Sending

    async def _carry(self) -> None:
        while not self._closing:
            try:
                await self._wait()
                if not self._closing:
                    await self._make_sure()
                    await self._once()
            except FrontierUnavailable as error:
                self._redis_is_down(error)
                await asyncio.sleep(RETRY_SECONDS)
            except CrawlError as error:
                self.scheduler.stop("output_error" if isinstance(error, OutputError) else "scheduler_error", error)
                return
            except asyncio.CancelledError:
                raise
            except Exception:
                logger.exception("The courier failed; the crawl stops and can be resumed")
                self.scheduler.stop("scheduler_error", FrontierUnavailable("The frontier cannot be used any further."))
                return

    async def _wait(self) -> None:
        """Until it is worth a round trip."""
        while not self._closing:
            self._kicked.clear()
            self.scheduler.sweep()
            wait = self._seconds_to_wait()
            if wait <= 0:
                return
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self._kicked.wait()
                    # What kicked is part of a burst: the links of a page, a page and its pipelines.
                    await asyncio.sleep(0)

    def _seconds_to_wait(self) -> float:
        since = time.monotonic() - self._last_exchange
        next_beat = self.upkeep.next_beat
        if self._unsure or next_beat <= 0:
            return 0.0
        news = bool(self.holdings.candidates or self.holdings.through or self._sending or self._changed)
        next_due_ms = self._allotment.next_due_ms(self.session.members.mine) if self._room else None
        now_due = next_due_ms is not None and next_due_ms <= self.now_ms()
        if self.holdings.through >= ENOUGH_PAGES or len(self.holdings.candidates) >= ENOUGH_CANDIDATES:
            return HURRY_SECONDS - since
        if news or now_due:
            return (HURRY_SECONDS if not self.holdings.handed else self.config.flush_seconds) - since
        waits = [POLL_SECONDS - since, next_beat]
        if next_due_ms is not None:
            waits.append((next_due_ms - self.now_ms()) / 1000)
        return min(waits)

    @property
    def _round_trips(self) -> int:
        return self.session.frontier.round_trips + self.upkeep.trips

    @property
    def _room(self) -> int:
        """For how many more servers there is room, if any may be leased now."""
        if time.monotonic() < self.upkeep.lease_again_at:
            return 0
        return max(0, self.scheduler.capacity - self.holdings.undrained)

    async def _once(self) -> None:
        scheduler, holdings = self.scheduler, self.holdings
        scheduler.sweep()
        self._settle_what_is_through()
        holdings.through = 0
        beat = self.upkeep.next_beat <= 0
        self._last_exchange = time.monotonic()
        candidates = holdings.depart(BIGGEST_BATCH)
        renewals = holdings.leases() if beat else []
        now_ms = self.now_ms()
        try:
            reply = await self.session.frontier.exchange(
                now_ms,
                candidates=candidates,
                settlements=self._sending,
                renewals=renewals,
                agent=self.session.agent,
                asks=self._asks(now_ms, candidates),
                lease_ms=self._lease_ms,
            )
        except BaseException:
            holdings.came_back()
            raise
        if reply.all_admitted:
            holdings.arrived(candidates)
        else:
            holdings.came_back()
        if reply.all_renewed and beat:
            holdings.renewed([lease for lease in renewals if lease[0] not in reply.stale], now_ms + self._lease_ms)
            scheduler.renewed()
        self._take(now_ms, reply, candidates)
        # A server that nobody else could lease may have come back to us, and goes on over its old connection.
        over, self._over = self._over, []
        scheduler.hang_up(server for server in over if server not in holdings.open_servers)
        if reply.error is not None:
            raise reply.error
        self._redis_is_up()
        if beat:
            await self.upkeep.beat(self._numbers())
        if await self.upkeep.poll(idle=holdings.empty and not self._sending) and not self.finished:
            self.finished = True
            scheduler.wake()

    def _settle_what_is_through(self, *, give_back: bool = False) -> None:
        found = self.holdings.settlements(give_back=give_back)
        over = [one.server for one in found if one.release]
        if self.session.members.company or give_back:
            self.scheduler.hang_up(over)  # before anybody else can have the server
        else:
            self._over += over
        self._sending += found
        if self._sending:
            self._make_durable()

    def _make_durable(self) -> None:
        """Whoever stores pages does so now: they are about to be acknowledged."""
        for _, result in self.scheduler.crawler.signals.send_catch_log(signal=settling, dont_log=OutputError):
            if isinstance(result, Failure):
                self._sending.clear()
                if isinstance(result.value, OutputError):
                    raise result.value
                raise OutputError(
                    f"What was fetched could not be stored: {str(result.value).rstrip('.')}."
                ) from result.value

    def _asks(self, now_ms: int, candidates: list[Candidate]) -> list[Ask]:
        """Where to lease: from this agent's partitions first, and where they have nothing, what others have had no room for."""
        room, mine, others = self._room, self.session.members.mine, self.session.members.others
        partition_of = self.session.frontier.partition_of
        servers = {one.server for one in candidates} | {one.server for one in self._sending}
        self._allotment.touch({partition_of(server) for server in servers})
        asks = self._allotment.asks(now_ms, room, mine)
        now = time.monotonic()
        if room and others and not self._allotment.any_ready(mine) and now - self._last_help >= POLL_SECONDS:
            self._last_help = now
            start = int(now / POLL_SECONDS) * room  # another part of them each time
            helped = [others[(start + place) % len(others)] for place in range(min(room, len(others)))]
            share, rest = divmod(room, len(others))
            # The room is given away once: its own partitions are only looked into this time.
            asks = [Ask(ask.partition, 0) for ask in asks]
            asks += [Ask(part, share + (place < rest), OVERDUE_MS) for place, part in enumerate(helped)]
        return asks

    def _take(self, now_ms: int, reply: Exchange, candidates: list[Candidate]) -> None:
        settled = []
        unknown = []
        for settlement, accepted in zip(self._sending, reply.accepted, strict=True):
            if accepted is None:
                unknown.append(settlement)
            elif accepted:
                settled.append(settlement)
            else:
                self.stats.inc_value("frontier/settlements_refused")
                self._lost(settlement.server, settlement.token)
        self._sending = unknown
        self.upkeep.journal.note(candidates if reply.all_admitted else (), settled)
        for name in reply.stale:
            self._lost(name, None)
        for lease in reply.leases:
            self.scheduler.opened(lease)
        self._count(reply.admission)
        self._allotment.saw(now_ms, reply.views)
        # A batch that was waiting for this confirmation can be settled now; and servers may be ready where that was not known.
        more = self._room and self._allotment.any_ready(self.session.members.mine)
        self._changed = bool(self.holdings.candidates or self.holdings.unsettled or more)
        self._report()
        if reply.leases:
            self.scheduler.wake()

    def _count(self, admission: Admission) -> None:
        self.stats.inc_value("frontier/urls_discovered", admission.admitted + admission.dropped)
        self.stats.inc_value("frontier/urls_duplicate", admission.duplicates)
        for name in ("raised", "dropped", "evicted"):
            if count := getattr(admission, name):
                self.stats.inc_value(f"frontier/{name}", count)

    def _lost(self, name: str, token: int | None) -> None:
        if self.holdings.lost(name, token):
            self.scheduler.hang_up([name])
            self.stats.inc_value("frontier/leases_lost")
            logger.warning("The lease of %s ran out before it was renewed; another agent may have it", name)

    def _numbers(self) -> dict[str, float]:
        """What this agent tells the others of itself."""
        found = self.stats.get_stats().items()
        return {name: value for name, value in found if isinstance(value, (int, float)) and not isinstance(value, bool)}

    def _report(self) -> None:
        filtered = self.scheduler.dupefilter.filter
        queued, leased = self._allotment.left()
        for name, value in (
            ("frontier/queued", queued),
            ("frontier/leased", leased),
            ("frontier/open_servers", self.holdings.undrained),
            ("frontier/redis_round_trips", self._round_trips),
            ("seen/lookups", filtered.lookups),
            ("seen/hits", filtered.hits),
        ):
            self.stats.set_value(name, value)

    # Outages

    async def _make_sure(self) -> None:
        if self._unsure:
            self._forgotten |= await self.upkeep.make_sure(self._sending)
            if self._forgotten:
                await self._say_what_is_done()
            self._unsure = self._forgotten = False

    async def _say_what_is_done(self) -> None:
        """The next exchange may find that leases are forgotten. What was done under them until now would be lost with them: its links first, as ever."""
        self.scheduler.sweep()
        while self.holdings.candidates:
            candidates = self.holdings.depart(BIGGEST_BATCH)
            try:
                admission = await self.session.frontier.admit(self.now_ms(), candidates)
            except BaseException:
                self.holdings.came_back()
                raise
            self.holdings.arrived(candidates)
            self.upkeep.journal.note(candidates, ())
            self._count(admission)
        self._settle_what_is_through()
        self._sending = [replace(one, again=True) for one in self._sending]

    def _redis_is_down(self, error: FrontierUnavailable) -> None:
        self._unsure = True
        if self._down_since is None:
            self._down_since = time.monotonic()
            logger.error("%s The crawl pauses and goes on when Redis answers again.", error)
        self._kicked.set()

    def _redis_is_up(self) -> None:
        if self._down_since is not None:
            logger.info("Redis answers again after %.0f s; the crawl goes on", time.monotonic() - self._down_since)
            self._down_since = None

    # The end

    async def close(self) -> None:
        """Settle what is through, give back what is not, leave."""
        if self._task is not None:
            try:
                async with asyncio.timeout(CLOSE_SECONDS):
                    await self._end_of_task()
                    await self._hand_in()
            except (FrontierUnavailable, TimeoutError):
                logger.error(
                    "Redis does not answer, so the crawl's last pages stay leased for %g s more; the next start fetches them again",
                    self.config.lease_seconds,
                )
            except OutputError as error:
                if not self.scheduler.stopped:
                    logger.error("%s", error)
                logger.info(
                    "The pages that could not be stored are not acknowledged: the next start fetches them again"
                )
            except CrawlError as error:
                if not self.scheduler.stopped:
                    logger.error("%s", error)
        await self.session.close()

    async def _end_of_task(self) -> None:
        """Let the exchange that is under way come to its end: what it acknowledges need not be said again."""
        self._closing = True
        self.kick()
        if self._task is not None:
            # Not awaited itself: a cancellation of ours, when the time is over, must not be taken for one of the task's.
            try:
                await asyncio.wait({self._task})
            finally:
                self._task.cancel()

    async def _hand_in(self) -> None:
        self.scheduler.sweep()
        while True:
            try:
                await self._make_sure()
                await self._last_words()
            except FrontierUnavailable:
                self._unsure = True
                await asyncio.sleep(RETRY_SECONDS)
                continue
            break
        found = await self.session.frontier.stats()
        self.stats.set_value("frontier/servers", found.servers)
        self.stats.set_value("frontier/queued", found.queued)
        self.stats.set_value("frontier/redis_round_trips", self._round_trips)
        for name in ("settled", "reclaimed", "refused", "expired"):
            self.stats.set_value(f"frontier/{name}", getattr(found, name))
        await self.upkeep.keep_learned()
        await self.session.members.leave(self.now_ms(), self._numbers())
        alone = not self.session.members.company
        if alone and (not self.config.persist or self._had_no_beginning(found)):
            await self.session.frontier.clear()

    def _had_no_beginning(self, found: Stats) -> bool:
        """Nothing, or only seeds of our own that failed: kept, they would count as fetched, and the next start would have nothing to do."""
        fresh = not self.stats.get_value("frontier/resumed") and found.queued == found.leased == 0
        mine = found.seen <= self.stats.get_value("frontier/urls_discovered", 0)
        return fresh and mine and (not found.seen or bool(self.stats.get_value("topic/no_seed_fetched")))

    async def _last_words(self) -> None:
        """Links first, and once they are safe their pages; what was not fetched goes back."""
        while self.holdings.candidates:
            batch = self.holdings.candidates[:BIGGEST_BATCH]
            await self.session.frontier.admit(self.now_ms(), batch)
            del self.holdings.candidates[: len(batch)]
        self._settle_what_is_through(give_back=True)
        if self._sending:
            await self.session.frontier.settle(self.now_ms(), self._sending)
            self._sending = []
