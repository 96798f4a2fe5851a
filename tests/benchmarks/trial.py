"""One chaos trial: a crawl of a local web to its end while agents and Redis are killed, stopped and cut off, and what became of the web's pages.

Everything that is chosen at random is chosen by the trial's seed: the web, the number of partitions, whether agents share a folder, the kinds of faults
and at how many fetched pages each happens. (When a process gets to run is the machine's to say, so a trial with the same seed is alike, not the same.)

**What may be fetched twice.** A page that was requested and not yet settled when something died or hung, and no other. For each fault there are two
bounds, both sound, and the lesser counts; `repeated_allowed` is the sum over all faults.

- *Leased*: whatever was under a lease at any moment between two readings of the frontier's counters around the fault has been settled or reclaimed between
  them, or is leased still: ``leased after + settled between + reclaimed between``.
- *Requested*: the pages of which the access log shows a request before the fault was over, less those that had been settled before it began.
  A fault of an agent is over when the signal has been delivered, since it starts nothing new after that; one of Redis a lease after Redis is
  back, since until then agents may work on leases that they could not renew.

Where Redis is away, the counters before are the last that were read, and the counters after are read when it is back, which makes the bounds wider
and never too narrow.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import threading
import time
from bisect import bisect_right
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from extensions.errors import FrontierUnavailable
from extensions.frontier.connection import client_of
from extensions.frontier.records import Rules, Stats
from extensions.frontier.redis import RedisFrontier
from tests.benchmarks.accesslog import Violation, fetched, repeated, url_of, violations
from tests.benchmarks.agents import Agent, Agents
from tests.benchmarks.chaosredis import ChaosRedis, cluster_redis, one_redis
from tests.benchmarks.outputs import Stored, stored
from tests.benchmarks.webs import SETTINGS, tangle
from tests.localweb.web import LocalWeb

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.benchmarks.webs import Web

CRAWL = "chaos"
LEASE_SECONDS = 3.0
CRAWL_DELAY_MS = 30.0
LOOK_SECONDS = 0.25
"""Between two looks at agents and access log."""
STILL_SECONDS = 90.0
"""A crawl that fetches nothing for so long, with all faults over, will not end."""
MOST_STARTS = 30
"""Of one agent. One that cannot start while Redis is away is started again, as a service manager would."""
CLOCK_SECONDS = 1.0
"""An agent's end is noticed so late at most."""


@dataclass(frozen=True)
class Plan:
    """What a trial is to be like."""

    seed: int
    pages: int
    agents: int
    faults: int
    cluster: bool = False


@dataclass(frozen=True)
class Fault:
    """One that happened."""

    kind: str
    words: str
    """When, and to whom."""
    settled: int
    """Pages, before it began."""
    leased: int
    """Pages at most that were under a lease meanwhile."""
    over_ms: float
    """When it was over, as the access log tells the time."""


@dataclass
class Outcome:
    """What became of it. All but `faults`, `repeated_allowed` and `restarts` should be nothing."""

    plan: Plan
    finished: bool = False
    """All agents ended by themselves, and well."""
    faults: list[Fault] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    repeated: int = 0
    repeated_allowed: int = 0
    violations: list[Violation] = field(default_factory=list)
    torn_records: int = 0
    records_repeated: int = 0
    restarts: int = 0
    """Of agents that could not go on by themselves."""
    ended_early: int = 0
    """Agents that said the crawl was done when pages were still to be fetched."""
    seconds: float = 0.0

    @property
    def wrong(self) -> list[str]:
        """What is not as promised, in words."""
        broken = {
            "the crawl did not end": not self.finished,
            f"{len(self.lost)} pages lost, such as {', '.join(self.lost[:3])}": len(self.lost),
            f"{self.repeated} pages fetched again, {self.repeated_allowed} allowed": max(
                0, self.repeated - self.repeated_allowed
            ),
            f"{len(self.violations)} requests impolite, such as {next(iter(self.violations), '')}": len(
                self.violations
            ),
            f"{self.torn_records} torn records": self.torn_records,
            f"{self.records_repeated} records twice in one folder": self.records_repeated,
            f"{self.ended_early} agents ended too early": self.ended_early,
        }
        return [words for words, number in broken.items() if number]


def run(plan: Plan, folder: Path, tell: Callable[[str], None] = lambda words: None) -> Outcome:
    """Carry it out. `tell` hears how far it is. Nothing is left running, however this ends; logs and results stay in the folder."""
    rng = random.Random(plan.seed)
    web = tangle(folder / "web", pages=plan.pages, hosts=max(6, min(60, plan.pages // 40)), seed=plan.seed)
    shared = rng.random() < 0.5
    partitions = rng.choice((12, 16, 32) if plan.cluster else (1, 4, 16))
    settings = SETTINGS | {
        "FRONTIER_CRAWL": CRAWL,
        "FRONTIER_PARTITIONS": partitions,
        "FRONTIER_LEASE_SECONDS": LEASE_SECONDS,
        "CRAWL_DELAY": CRAWL_DELAY_MS / 1000,
        "CRAWL_DELAY_FACTOR": 0,
        "CONCURRENT_REQUESTS": 16,
        "OUTPUT_PROGRESS_SECONDS": 0,
    }
    began = time.monotonic()
    with (
        LocalWeb(web.folder, behaviour=web.behaviour) as server,
        cluster_redis() if plan.cluster else one_redis() as redis,
        Agents(plan.agents, folder, server, web.seed_url, settings | {"REDIS_URL": redis.url}, shared=shared) as agents,
    ):
        trial = Trial(plan, rng, server, redis, agents, Observer(redis.direct_url, partitions))
        try:
            trial.drive(tell)
        finally:
            trial.halt()
        agents.kill()
        outcome = trial.outcome
        outcome.seconds = time.monotonic() - began
        log = server.access_log()
        (folder / "access.jsonl").write_text("".join(json.dumps(record) + "\n" for record in log))
        judge(outcome, web, log, stored(agents.outputs), [agent.ended_at for agent in agents])
    return outcome


def judge(outcome: Outcome, web: Web, log: list[dict[str, Any]], results: Stored, ended_at: list[float]) -> None:
    """Hold what the servers saw and what the results have against what was promised."""
    outcome.lost = sorted(web.pages - (fetched(log) & results.pages))
    outcome.repeated = repeated(log)
    outcome.violations = violations(log, crawl_delay_ms=CRAWL_DELAY_MS, crawl_delays_ms=web.crawl_delays_ms)
    outcome.torn_records = results.torn_records
    outcome.records_repeated = results.records_repeated
    first: dict[str, float] = {}
    for record in log:
        first[url_of(record)] = min(record["start_ms"], first.get(url_of(record), record["start_ms"]))
    begun_ms = sorted(first[url] for url in web.pages & first.keys())
    outcome.repeated_allowed = sum(
        min(fault.leased, max(0, bisect_right(begun_ms, fault.over_ms) - fault.settled)) for fault in outcome.faults
    )
    last_new = begun_ms[-1] / 1000 if begun_ms else 0.0
    outcome.ended_early = sum(0 < at < last_new - CLOCK_SECONDS for at in ended_at)


class Observer:
    """Reads the frontier's counters past all proxies, from any thread."""

    def __init__(self, url: str, partitions: int) -> None:
        self._url = url
        self._partitions = partitions
        self._last = Stats()

    def last(self) -> Stats:
        """The counters now, or as they were last read where Redis is away."""
        with contextlib.suppress(FrontierUnavailable):
            self._last = asyncio.run(self._read())
        return self._last

    def when_back(self, halt: threading.Event) -> Stats:
        """The counters as soon as Redis tells them; the last read ones if the trial is halted before."""
        while not halt.is_set():
            try:
                self._last = asyncio.run(self._read())
            except FrontierUnavailable:
                halt.wait(0.05)
            else:
                break
        return self._last

    async def _read(self) -> Stats:
        client = client_of(self._url, {"socket_timeout": 1, "socket_connect_timeout": 1})
        try:
            return await RedisFrontier(client, CRAWL, Rules(), self._partitions).stats()
        finally:
            await client.aclose()


class Trial:
    """The faults of one trial, each in a thread of its own: at most one at a time befalls an agent, and one Redis."""

    def __init__(
        self, plan: Plan, rng: random.Random, web: LocalWeb, redis: ChaosRedis, agents: Agents, observer: Observer
    ) -> None:
        self.outcome = Outcome(plan)
        self._rng = rng
        self._web = web
        self._redis = redis
        self._agents = agents
        self._observer = observer
        self._halt = threading.Event()
        self._threads = ThreadPoolExecutor(len(agents) + 1, "fault")
        self._at_agents: dict[Agent, Future[None]] = {}
        self._at_redis: Future[None] | None = None
        self._lock = threading.Lock()
        self._began = time.monotonic()
        # Both kinds of targets alike often; dealt like cards, so that each kind comes.
        agent_kinds = ("agent_kill", "agent_stop")
        cards = [*agent_kinds, *agent_kinds, *redis.faults]
        deck = [card for _ in range(plan.faults // len(cards) + 1) for card in rng.sample(cards, len(cards))]
        places = sorted(rng.uniform(0.01, 0.99) for _ in range(plan.faults))
        self._due = list(zip([int(place * plan.pages) for place in places], deck, strict=False))

    def drive(self, tell: Callable[[str], None]) -> None:
        """Until all agents have ended, or nothing moves any more."""
        plan, most, moved_at = self.outcome.plan, 0, time.monotonic()
        while not self._ended():
            pages = len(fetched(self._web.access_log()))
            if pages > most or self._befallen():
                most, moved_at = max(most, pages), time.monotonic()
            elif time.monotonic() - moved_at > STILL_SECONDS:
                return
            while self._due and pages >= self._due[0][0] and self._begin(self._due[0][1]):
                self._due.pop(0)
            for agent in self._agents:
                if agent.status and agent not in self._at_agents and not self._restart(agent):
                    return
            tell(f"{pages} of {plan.pages} pages, {plan.faults - len(self._due)} of {plan.faults} faults")
            time.sleep(LOOK_SECONDS)
        self.outcome.finished = True

    def halt(self) -> None:
        """Let all faults end now."""
        self._halt.set()
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _ended(self) -> bool:
        return not self._befallen() and all(agent.status == 0 for agent in self._agents)

    def _befallen(self) -> bool:
        """Whether a fault is going on. One that failed is a fault of this benchmark, and raised."""
        for agent, future in list(self._at_agents.items()):
            if future.done():
                future.result()
                del self._at_agents[agent]
        if self._at_redis is not None and self._at_redis.done():
            self._at_redis.result()
            self._at_redis = None
        return bool(self._at_agents) or self._at_redis is not None

    def _begin(self, kind: str) -> bool:
        """Whether it could begin now; otherwise its time comes when another fault is over."""
        rng = random.Random(self._rng.getrandbits(64))  # threads draw from their own
        if kind in self._redis.faults:
            if self._at_redis is not None:
                return False
            self._at_redis = self._threads.submit(self._befall_redis, kind, rng)
            return True
        free = [agent for agent in self._agents if agent.running and agent not in self._at_agents]
        if not free:
            # Where all have ended there is nobody left to disturb.
            return all(agent.status == 0 for agent in self._agents)
        agent = rng.choice(free)
        befall = self._kill if kind == "agent_kill" else self._stop
        self._at_agents[agent] = self._threads.submit(befall, agent, rng)
        return True

    def _befall_redis(self, kind: str, rng: random.Random) -> None:
        before = self._observer.last()
        did = self._redis.faults[kind](rng, LEASE_SECONDS, self._halt)
        self._note(kind, did, before, time.time() + LEASE_SECONDS)

    def _kill(self, agent: Agent, rng: random.Random) -> None:
        """And start it again, at times when others have taken over already."""
        seconds = rng.uniform(0, 1) if rng.random() < 0.8 else rng.uniform(1, 2) * LEASE_SECONDS
        before = self._observer.last()
        agent.kill()
        self._note("agent_kill", f"{agent.name}, away for {seconds:.1f} s", before, time.time())
        self._halt.wait(seconds)
        if not self._halt.is_set():
            agent.start()

    def _stop(self, agent: Agent, rng: random.Random) -> None:
        """For half a lease, or for long enough that the others take it for dead."""
        seconds = (rng.uniform(0.05, 0.8) if rng.random() < 0.5 else rng.uniform(1.0, 2.5)) * LEASE_SECONDS
        before = self._observer.last()
        agent.stop()
        until = time.monotonic() + seconds
        self._note("agent_stop", f"{agent.name} for {seconds:.1f} s", before, time.time())
        self._halt.wait(max(0.0, until - time.monotonic()))
        agent.go_on()

    def _restart(self, agent: Agent) -> bool:
        """Whether it was worth trying."""
        if agent.starts >= MOST_STARTS:
            return False
        self.outcome.restarts += 1
        agent.start()
        return True

    def _note(self, kind: str, did: str, before: Stats, over: float) -> None:
        at = time.monotonic() - self._began
        after = self._observer.when_back(self._halt)
        leased = after.leased + max(0, after.settled - before.settled) + max(0, after.reclaimed - before.reclaimed)
        fault = Fault(kind, f"{at:.1f} s: {kind} {did}", before.settled, leased, over * 1000)
        with self._lock:
            self.outcome.faults.append(fault)
