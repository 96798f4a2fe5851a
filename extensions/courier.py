"""Carries a scheduler's buffers to Redis and back, in batches, without ever making the engine wait.

One task, one pipeline at a time. When to send is a balance: often enough that no place for a server stays empty and little has to be
fetched again after a crash, seldom enough that a page costs a fraction of a round trip.

While Redis does not answer, what is held stays held, what is leased goes on being fetched, and the courier tries again until it does.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from typing import TYPE_CHECKING

from twisted.python.failure import Failure

from extensions.errors import FrontierUnavailable, OutputError
from extensions.seedlist import SeedList
from extensions.session import Session
from extensions.signals import settling

if TYPE_CHECKING:
    from scrapy import Spider

    from extensions.frontier.records import AgentRecord, Settlement, Stats
    from extensions.frontier.redis import Exchange
    from extensions.scheduler import TwoLevelScheduler

logger = logging.getLogger(__name__)

HURRY_SECONDS = 0.01
"""Between two exchanges when the engine has nothing to do and new work may be waiting."""
ENOUGH_PAGES = 16
ENOUGH_CANDIDATES = 1000
BIGGEST_BATCH = 2000
"""Candidates in one script call: it keeps Redis, and every other agent, busy for its length."""
POLL_SECONDS = 1.0
"""Between two looks at a frontier in which only other agents have work, and at pushed seeds."""
RETRY_SECONDS = 1.0
CLOSE_SECONDS = 20.0
"""How long a crawl that ends waits for a Redis that does not answer."""


class Courier:
    """Between one scheduler and one frontier."""

    def __init__(self, scheduler: TwoLevelScheduler) -> None:
        self.scheduler = scheduler
        self.holdings = scheduler.holdings
        self.config = scheduler.config
        self.stats = scheduler.stats
        self.session = Session(self.config, max_depth=scheduler.max_depth, seen_bits=scheduler.layout.bits)
        self.now_ms = self.session.now_ms
        self.finished = False
        """The frontier is empty, nothing is leased by anyone, and nothing is held here."""
        self._seeds: SeedList
        self._lease_ms = int(self.config.lease_seconds * 1000)
        self._kicked = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._sending: list[Settlement] = []
        self._next_due_ms: int | None = None
        self._remote_left = 1
        self._changed = True
        self._last_exchange = self._last_renewal = self._last_poll = time.monotonic()
        self._idle_since: float | None = None
        self._down_since: float | None = None
        self._seen_before = 0
        self._warned_outgrown = False
        self._closing = False

    async def open(self, spider: Spider) -> None:
        """Connect and begin. Raises `CrawlError`, with nothing left running."""
        found = await self.session.open(self.config.crawl_of(spider.name))
        self._seen_before = found.seen
        self.stats.set_value("frontier/resumed", found.seen > 0)
        self._seeds = SeedList(self.session.client, self.config, spider)
        self._task = asyncio.ensure_future(self._carry())

    def agents(self) -> tuple[AgentRecord, ...]:
        """Those of the crawl's present run, this one first."""
        return ()

    def kick(self) -> None:
        """Something has changed here; look soon."""
        self._kicked.set()

    # Sending

    async def _carry(self) -> None:
        while not self._closing:
            try:
                await self._wait()
                if not self._closing:
                    await self._once()
            except FrontierUnavailable as error:
                self._redis_is_down(error)
                await asyncio.sleep(RETRY_SECONDS)
            except OutputError as error:
                self.scheduler.stop("output_error", error)
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
        scheduler = self.scheduler
        since = time.monotonic() - self._last_exchange
        news = bool(self.holdings.candidates or self.holdings.through or self._sending or self._changed)
        room = scheduler.capacity - self.holdings.undrained
        now_due = self._next_due_ms is not None and self._next_due_ms <= self.now_ms()
        if self.holdings.through >= ENOUGH_PAGES or len(self.holdings.candidates) >= ENOUGH_CANDIDATES:
            return HURRY_SECONDS - since
        if news or (now_due and room):
            return (HURRY_SECONDS if not self.holdings.handed else self.config.flush_seconds) - since
        waits = [POLL_SECONDS - since, self._renewal_seconds() - (time.monotonic() - self._last_renewal)]
        if room and self._next_due_ms is not None:
            waits.append((self._next_due_ms - self.now_ms()) / 1000)
        return min(waits)

    def _renewal_seconds(self) -> float:
        return self.config.lease_seconds / 3

    async def _once(self) -> None:
        scheduler, holdings = self.scheduler, self.holdings
        scheduler.sweep()
        self._sending += holdings.settlements()
        if self._sending:
            self._make_durable()
        through, holdings.through = holdings.through, 0
        renew = time.monotonic() - self._last_renewal >= self._renewal_seconds()
        self._last_exchange = time.monotonic()
        candidates = holdings.depart(BIGGEST_BATCH)
        try:
            reply = await self.session.frontier.exchange(
                self.now_ms(),
                candidates=candidates,
                settlements=self._sending,
                renewals=holdings.leases() if renew else (),
                agent=self.session.agent,
                servers=max(0, scheduler.capacity - holdings.undrained),
                lease_ms=self._lease_ms,
            )
        except FrontierUnavailable:
            holdings.came_back()
            holdings.through += through
            raise
        holdings.arrived(candidates)
        self._redis_is_up()
        self._take(reply)
        if renew:
            self._last_renewal = time.monotonic()
            await self.session.set_clock()
        await self._poll()

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

    def _take(self, reply: Exchange) -> None:
        for settlement, accepted in zip(self._sending, reply.accepted, strict=True):
            if not accepted:
                self.stats.inc_value("frontier/settlements_refused")
                self._lost(settlement.server, settlement.token)
        self._sending = []
        for name in reply.stale:
            self._lost(name, None)
        for lease in reply.leases:
            self.scheduler.opened(lease)
        admission = reply.admission
        self.stats.inc_value("frontier/urls_discovered", admission.admitted + admission.dropped)
        self.stats.inc_value("frontier/urls_duplicate", admission.duplicates)
        for name in ("raised", "dropped", "evicted"):
            if count := getattr(admission, name):
                self.stats.inc_value(f"frontier/{name}", count)
        self._next_due_ms = reply.next_due_ms
        # Where Redis had forgotten its scripts, what it admitted may be newer than its count of what is queued.
        self._remote_left = max(reply.queued + reply.leased, admission.admitted)
        # A batch that was waiting for this confirmation can be settled now.
        holdings = self.holdings
        news = holdings.candidates or holdings.unsettled or (admission.admitted and not holdings.undrained)
        self._changed = bool(news)
        self._report(reply)
        if reply.leases:
            self.scheduler.wake()

    def _lost(self, name: str, token: int | None) -> None:
        if self.holdings.lost(name, token):
            self.stats.inc_value("frontier/leases_lost")
            logger.warning("The lease of %s ran out before it was renewed; another agent may have it", name)

    def _report(self, reply: Exchange) -> None:
        filtered = self.scheduler.dupefilter.filter
        for name, value in (
            ("frontier/queued", reply.queued),
            ("frontier/leased", reply.leased),
            ("frontier/open_servers", self.holdings.undrained),
            ("frontier/redis_round_trips", self.session.frontier.round_trips),
            ("seen/lookups", filtered.lookups),
            ("seen/hits", filtered.hits),
        ):
            self.stats.set_value(name, value)
        found = self._seen_before + self.stats.get_value("frontier/urls_discovered", 0)
        if found > self.scheduler.layout.outgrown_at and not self._warned_outgrown:
            self._warned_outgrown = True
            logger.warning(
                "The crawl has discovered more than SEEN_EXPECTED_URLS=%d URLs: it goes on, but the seen-set takes up to ten times the "
                "memory a URL. Begin the next crawl with a greater SEEN_EXPECTED_URLS.",
                self.config.expected_urls,
            )

    # Beside the exchange

    async def _poll(self) -> None:
        """Every now and then: leases of the dead, pushed seeds, and whether the crawl is over."""
        idle = self.holdings.empty and not self._sending
        if time.monotonic() - self._last_poll >= POLL_SECONDS or (idle and not self._remote_left):
            self._last_poll = time.monotonic()
            pushed = await self._seeds.take(self.scheduler)
            if not pushed and self._remote_left:
                await self.session.frontier.reclaim(self.now_ms())
            if pushed:
                return
            idle = idle and not self.holdings.candidates
        if not (idle and not self._remote_left):
            self._idle_since = None
            return
        self._idle_since = self._idle_since or time.monotonic()
        if time.monotonic() - self._idle_since >= self.config.idle_before_close and not self.finished:
            self.finished = True
            self.scheduler.wake()

    def _redis_is_down(self, error: FrontierUnavailable) -> None:
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
        await self.session.close()

    async def _end_of_task(self) -> None:
        """Let the exchange that is under way come to its end: what it acknowledges need not be said again."""
        self._closing = True
        self.kick()
        if self._task is not None:
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _hand_in(self) -> None:
        self.scheduler.sweep()
        while True:
            try:
                await self._last_words()
            except FrontierUnavailable:
                await asyncio.sleep(RETRY_SECONDS)
                continue
            break
        found = await self.session.frontier.stats()
        self.stats.set_value("frontier/servers", found.servers)
        self.stats.set_value("frontier/queued", found.queued)
        self.stats.set_value("frontier/redis_round_trips", self.session.frontier.round_trips)
        for name in ("settled", "reclaimed", "refused"):
            self.stats.set_value(f"frontier/{name}", getattr(found, name))
        if not self.config.persist or self._had_no_beginning(found):
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
        self._sending += self.holdings.settlements(give_back=True)
        if self._sending:
            self._make_durable()
            await self.session.frontier.settle(self.now_ms(), self._sending)
            self._sending = []
