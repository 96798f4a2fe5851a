"""The frontier on a real Redis Cluster: three masters, three replicas, each a process that can be killed."""

from __future__ import annotations

import asyncio
import itertools
import logging
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from redis.asyncio import RedisCluster

from extensions.errors import CrawlError, FrontierUnavailable
from extensions.frontier.allotment import Ask
from extensions.frontier.checks import check
from extensions.frontier.clock import CLOCK_KEY, RedisClock
from extensions.frontier.connection import client_of, run_ids
from extensions.frontier.keys import about_key, partition_key
from extensions.frontier.oracle import DictFrontier
from extensions.frontier.records import Admission, AgentRecord, Policy, Rules, Settlement, Stats
from extensions.frontier.redis import RedisFrontier
from extensions.frontier.registry import Registry
from tests.crawls import TopicCrawl, expected, write_web
from tests.frontier.examples import done, members, url
from tests.localweb.web import LocalWeb
from tests.redis_servers import Cluster, Server, cluster, durable_server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from pathlib import Path

    from extensions.frontier.records import Lease

RULES = Rules(policy=Policy.QUALITY)
PARTITIONS = 12
LEASE_MS = 4000
NAMES = itertools.count()

pytestmark = pytest.mark.timeout(120)


@pytest.fixture(scope="module")
def six() -> Iterator[Cluster]:
    with cluster() as started:
        yield started


@pytest.fixture
def whole(six: Cluster) -> Iterator[Cluster]:
    """To be disturbed: the next test gets it whole again."""
    yield six
    for server in six.servers:
        server.resume()
    six.mend()


@asynccontextmanager
async def a_frontier(six: Cluster, partitions: int = PARTITIONS, **params: Any) -> AsyncIterator[RedisFrontier]:
    client = client_of(six.url, params)
    try:
        yield RedisFrontier(client, f"crawl{next(NAMES)}", RULES, partitions)
    finally:
        await client.aclose()


def servers(count: int) -> list[str]:
    return [f"http://s{number}" for number in range(count)]


def holder(six: Cluster, frontier: RedisFrontier, partition: int = 0) -> Server:
    return six.master_of(partition_key(frontier.crawl, partition))


async def when_it_serves(call: Callable[[], Any], seconds: float = 30.0) -> Any:
    """As the courier does: again, until Redis does not refuse."""
    async with asyncio.timeout(seconds):
        while True:
            try:
                return await call()
            except FrontierUnavailable:
                await asyncio.sleep(0.1)


# The verbs


async def test_verbs_on_a_cluster_do_what_the_oracle_does(six: Cluster):
    oracle = DictFrontier(RULES)
    candidates = [url(name, f"/{n}", n / 10) for name in servers(40) for n in range(3)]
    async with a_frontier(six) as frontier:
        assert await frontier.admit(0, candidates) == oracle.admit(0, candidates) == Admission(admitted=120)
        assert await frontier.admit(0, candidates[:50]) == oracle.admit(0, candidates[:50])
        leases = []
        while got := (await frontier.lease(0, "agent", 24, LEASE_MS))[0]:
            leases += got
        theirs, _ = oracle.lease(0, "agent", 1000, LEASE_MS)
        assert {lease.server: members(lease) for lease in leases} == {one.server: members(one) for one in theirs}
        tokens = {one.server: one.token for one in theirs}
        assert await frontier.renew(1, [(one.server, one.token) for one in leases] + [("nobody", 1)], LEASE_MS) == {
            "nobody"
        }
        settlements = [done(lease) for lease in leases[:30]]
        assert await frontier.settle(2, [*settlements, settlements[0]]) == [True] * 30 + [False]
        for one in settlements:
            assert oracle.settle(2, Settlement(one.server, tokens[one.server], one.done, one.pages, release=True))
        assert await frontier.reclaim(2, "agent") == oracle.reclaim(2, "agent") == 30
        found, wanted = await frontier.stats(), oracle.stats()
        names = ("queued", "leased", "seen", "admitted", "duplicates", "settled", "reclaimed")
        assert [getattr(found, name) for name in names] == [getattr(wanted, name) for name in names]
        assert {row.server for row in await frontier.peek(99)} == {row.server for row in oracle.peek(99)}


async def test_every_master_has_a_share_and_a_call_to_all_is_one_round_trip(six: Cluster):
    async with a_frontier(six) as frontier:
        await frontier.admit(0, [url(name) for name in servers(60)])
        assert {holder(six, frontier, number).port for number in range(PARTITIONS)} == {
            one.port for one in six.servers[:3]
        }
        trips = frontier.round_trips
        leases, _ = await frontier.lease(0, "agent", 24, LEASE_MS)
        reply = await frontier.exchange(
            0,
            candidates=[url(name, "/next") for name in servers(60)],
            settlements=[done(lease) for lease in leases],
            renewals=[(lease.server, lease.token) for lease in leases[:1]],
            agent="agent",
            asks=[Ask(number, 5) for number in range(PARTITIONS)],
            lease_ms=LEASE_MS,
        )
        assert frontier.round_trips == trips + 2
        assert reply.error is None
        assert reply.admission == Admission(admitted=60)
        assert all(reply.accepted)
        # Admitted and settled before leased: whoever was given back is open again, with the page just found.
        assert {lease.server for lease in leases} <= {lease.server for lease in reply.leases}
        assert all("/next" in members(lease) for lease in reply.leases)


async def test_calls_on_one_partition_run_in_their_order(six: Cluster):
    async with a_frontier(six, 1) as frontier:
        for number in range(20):
            reply = await frontier.exchange(
                0, candidates=[url(f"s{number}")], agent="agent", asks=[Ask(0, 5)], lease_ms=LEASE_MS
            )
            assert [lease.server for lease in reply.leases] == [f"s{number}"]


async def test_clear_forgets_one_crawl_on_all_masters_and_no_other(six: Cluster):
    async with a_frontier(six) as one, a_frontier(six) as other:
        for frontier in (one, other):
            await frontier.about({"order": "quality"})
            await frontier.admit(0, [url(name, "\0p", payload=b"p") for name in servers(60)])
            await frontier.lease(0, "agent", 24, LEASE_MS)
        await one.clear()
        assert await one.stats() == Stats()
        assert (await other.stats()).seen == 60
        left = [key async for key in one.client.scan_iter(match=f"frontier:{{{one.crawl}*")]
        assert left == []


async def test_what_was_fixed_at_the_beginning_is_fixed_by_one_of_two_who_begin(six: Cluster):
    async with a_frontier(six) as frontier:
        found = await asyncio.gather(*(frontier.about({"a": one, "b": one, "c": one}) for one in "xyz"))
        assert found[0] == found[1] == found[2]
        assert len(set(found[0].values())) == 1


async def test_agents_know_of_each_other(six: Cluster):
    async with a_frontier(six) as frontier:
        registry = Registry(frontier.client, frontier.crawl)
        for name in ("one", "two"):
            found = await registry.write(AgentRecord(name, "here", 1, 0, 0, False, {}))
        assert set(found) == {"one", "two"} == set(await registry.read())
        await registry.forget(["one"])
        assert set(await registry.read()) == {"two"}


async def test_masters_that_have_forgotten_the_scripts_do_nothing_twice(six: Cluster):
    async with a_frontier(six) as frontier:
        await frontier.admit(0, [url(name) for name in servers(24)])
        for server in six.servers:
            server.ask("SCRIPT", "FLUSH")
        leases, _ = await frontier.lease(0, "agent", 240, LEASE_MS)
        assert len(leases) == 24 == (await frontier.stats()).leased


async def test_slot_that_has_moved_is_followed_and_the_call_runs_once(six: Cluster):
    async with a_frontier(six, 1) as frontier:
        await frontier.admit(0, [url("a", "/1"), url("b", "/1")])
        await frontier.clear()  # an empty slot can be given away
        source = holder(six, frontier)
        target = next(one for one in six.servers[:3] if one is not source and one.info()["role"] == "master")
        slot = source.ask("CLUSTER", "KEYSLOT", partition_key(frontier.crawl, 0))
        for one in (target, source):
            one.ask("CLUSTER", "SETSLOT", slot, "NODE", target.ask("CLUSTER", "MYID"))
        assert await frontier.admit(0, [url("a", "/1"), url("b", "/1")]) == Admission(admitted=2)
        assert len((await frontier.lease(0, "agent", 9, LEASE_MS))[0]) == 2
        await frontier.clear()
        for one in (source, target):
            one.ask("CLUSTER", "SETSLOT", slot, "NODE", source.ask("CLUSTER", "MYID"))
        six.wait_until_whole()


# Before a crawl


async def test_cluster_is_found_by_any_of_its_nodes_that_lives(six: Cluster):
    client = client_of(f"redis+cluster://127.0.0.1:1,{six.servers[4].address}", {})
    await check(client, six.url)
    await client.aclose()


async def test_node_of_a_cluster_is_not_taken_for_a_whole_redis(six: Cluster):
    client = client_of(six.servers[0].url, {})
    with pytest.raises(FrontierUnavailable, match=r"write redis\+cluster://"):
        await check(client, six.servers[0].url)
    await client.aclose()


async def test_every_node_of_a_cluster_is_looked_at(six: Cluster):
    odd = six.servers[5]
    odd.ask("CONFIG", "SET", "maxmemory", "1gb")
    odd.ask("CONFIG", "SET", "maxmemory-policy", "allkeys-lfu")
    client = client_of(six.url, {})
    try:
        with pytest.raises(FrontierUnavailable, match=f"{odd.address} may evict"):
            await check(client, six.url)
    finally:
        odd.ask("CONFIG", "SET", "maxmemory-policy", "noeviction")
        odd.ask("CONFIG", "SET", "maxmemory", "0")
    await check(client, six.url)
    await client.aclose()


async def test_partitions_too_few_for_the_masters_are_warned_of(six: Cluster, caplog: pytest.LogCaptureFixture):
    client = client_of(six.url, {})
    with caplog.at_level(logging.WARNING):
        await check(client, six.url, 3)
        assert caplog.messages == []
        await check(client, six.url, 2)
    (message,) = caplog.messages
    assert "2 of the 3 masters" in message
    await client.aclose()


async def test_single_server_is_not_taken_for_a_cluster():
    with durable_server() as server:
        client = client_of(f"redis+cluster://{server.address}", {})
        with pytest.raises(FrontierUnavailable, match="Cluster mode is not enabled"):
            await check(client, server.url)
        await client.aclose()


# A master dies


class Crawl:
    """Does to a frontier what an agent does, and keeps the books: what was acknowledged to it, and what it settled."""

    def __init__(self, frontier: RedisFrontier, clock: RedisClock) -> None:
        self.frontier = frontier
        self.clock = clock
        self.admitted: set[tuple[str, str]] = set()
        self.settled: dict[tuple[str, str], int] = {}
        self.refused = 0
        self.errors: list[CrawlError] = []
        self._numbers = itertools.count()

    async def step(self) -> None:
        """Some new URLs, some servers leased and settled."""
        candidates = [url(f"http://s{n % 50}", f"/{n}") for n in itertools.islice(self._numbers, 60)]
        for _ in range(200):
            try:
                await self.frontier.admit(self.clock(), candidates)
            except FrontierUnavailable as error:
                self.errors.append(error)
                await asyncio.sleep(0.05)
            else:
                break
        else:
            pytest.fail(f"it never came back: {self.errors[-1]}")
        self.admitted |= {(one.server, one.member) for one in candidates}
        await self.work()

    async def work(self) -> int:
        """One exchange that leases, one settlement of what was leased."""
        reply = await self.frontier.exchange(
            self.clock(), agent="agent", asks=[Ask(number, 2) for number in range(PARTITIONS)], lease_ms=LEASE_MS
        )
        if reply.error is not None:
            assert isinstance(reply.error, FrontierUnavailable), reply.error
            self.errors.append(reply.error)
        await self.settle(list(reply.leases))
        return len(reply.leases)

    async def settle(self, leases: list[Lease]) -> None:
        """What could not be told is told again; a page is done when it has been accepted."""
        waiting = [done(lease) for lease in leases]
        told_twice: set[str] = set()
        for _ in range(200):
            if not waiting:
                return
            reply = await self.frontier.exchange(
                self.clock(), settlements=waiting, agent="agent", asks=[], lease_ms=LEASE_MS
            )
            for one, accepted in zip(waiting, reply.accepted, strict=True):
                for member in one.done if accepted else ():
                    self.settled[one.server, member] = self.settled.get((one.server, member), 0) + 1
                if accepted is False:
                    self.refused += 1
                    # Where the reply was lost, the repetition is stale. Whether the first was heard, the frontier's own books tell.
                    for member in one.done if one.server in told_twice else ():
                        self.settled.setdefault((one.server, member), 0)
            waiting = [one for one, accepted in zip(waiting, reply.accepted, strict=True) if accepted is None]
            told_twice |= {one.server for one in waiting}
            await asyncio.sleep(0.05 if waiting else 0)
        pytest.fail("it could never be settled")

    async def finish(self) -> Stats:
        """Until nothing is queued and nothing leased; leases of which nobody was told expire meanwhile."""
        async with asyncio.timeout(40):
            while True:
                await self.work()
                stats = await when_it_serves(self.frontier.stats)
                if not stats.queued and not stats.leased:
                    return stats
                await when_it_serves(lambda: self.frontier.reclaim(self.clock()))
                await asyncio.sleep(0.02)


@asynccontextmanager
async def a_crawl(six: Cluster, **params: Any) -> AsyncIterator[Crawl]:
    async with a_frontier(six, **params) as frontier:
        clock = RedisClock()
        await clock.set_by(frontier.client)
        yield Crawl(frontier, clock)


def nothing_is_lost(crawl: Crawl, stats: Stats) -> None:
    """Every URL that was acknowledged is in the books, and the frontier's own books agree."""
    assert crawl.admitted - set(crawl.settled) == set()
    assert stats.seen == stats.admitted == len(crawl.admitted)
    assert stats.settled == len(crawl.admitted)


async def test_master_killed_during_a_crawl_costs_no_url(whole: Cluster):
    async with a_crawl(whole) as crawl:
        for _ in range(5):
            await crawl.step()
        victim = holder(whole, crawl.frontier)
        stepping = asyncio.create_task(crawl.step())
        await asyncio.sleep(0.002)
        victim.kill()
        await stepping
        for _ in range(5):
            await crawl.step()
        stats = await crawl.finish()
        assert crawl.errors, "nobody noticed"
        assert holder(whole, crawl.frontier) is not victim
        nothing_is_lost(crawl, stats)


async def test_partitions_of_living_masters_go_on_while_one_is_dead(whole: Cluster):
    async with a_frontier(whole) as frontier:
        names = servers(60)
        await frontier.admit(0, [url(name) for name in names])
        victim = holder(whole, frontier)
        dead = {number for number in range(PARTITIONS) if holder(whole, frontier, number) is victim}
        victim.kill()
        reply = await frontier.exchange(
            0, agent="agent", asks=[Ask(number, 50) for number in range(PARTITIONS)], lease_ms=LEASE_MS
        )
        assert isinstance(reply.error, FrontierUnavailable)
        assert {view.partition for view in reply.views} == set(range(PARTITIONS)) - dead
        assert {lease.server for lease in reply.leases} == {
            name for name in names if frontier.partition_of(name) not in dead
        }


async def test_clock_and_identity_survive_the_death_of_their_master(whole: Cluster):
    async with a_frontier(whole) as frontier:
        clock = RedisClock()
        await clock.set_by(frontier.client)
        before, masters = clock(), await run_ids(frontier.client)
        victim = whole.master_of(CLOCK_KEY)
        victim.kill()
        await when_it_serves(lambda: clock.set_by(frontier.client), 5)
        assert before <= clock() < before + 10_000
        whole.wait_until_promoted(victim)
        now = await when_it_serves(lambda: run_ids(frontier.client))
        assert len(now) == 3
        assert len(now & masters) == 2
        await frontier.about({"a": "1"})


async def test_dead_replica_is_no_obstacle(whole: Cluster, caplog: pytest.LogCaptureFixture):
    replicas = [one for one in whole.servers if one.info()["role"] == "slave"]
    for one in replicas:
        one.kill()
    async with a_frontier(whole) as frontier:
        await check(frontier.client, whole.url, PARTITIONS)
        assert (await frontier.admit(0, [url(name) for name in servers(30)])).admitted == 30
        assert len(await run_ids(frontier.client)) == 3
    assert any("does not answer" in message for message in caplog.messages)


async def test_reply_waits_for_the_replica_that_may_be_promoted(whole: Cluster):
    async with a_frontier(whole, 1) as frontier:
        await frontier.admit(0, [url("a", "/1")])
        replica = whole.replica_of(holder(whole, frontier))
        replica.pause()
        admitting = asyncio.create_task(frontier.admit(0, [url("a", "/2")]))
        await asyncio.sleep(0.2)
        assert not admitting.done()
        replica.resume()
        assert (await admitting).admitted == 1


async def test_replica_that_hangs_is_told_of_once_and_not_waited_for_again(
    whole: Cluster, caplog: pytest.LogCaptureFixture
):
    async with a_frontier(whole, 1, socket_timeout=0.8) as frontier:
        await frontier.admit(0, [url("a", "/0")])
        whole.replica_of(holder(whole, frontier)).pause()
        for number in range(1, 40):
            assert (await frontier.admit(0, [url("a", f"/{number}")])).admitted == 1
    assert sum("No replica" in message for message in caplog.messages) == 1


@pytest.mark.slow
async def test_masters_killed_one_after_the_other_cost_no_url(whole: Cluster):
    async with a_crawl(whole) as crawl:
        for number in range(3):
            await crawl.step()
            victim = holder(whole, crawl.frontier, number)
            stepping = asyncio.create_task(crawl.step())
            await asyncio.sleep(0.004 * number)
            victim.kill()
            await stepping
            await crawl.step()
            await asyncio.to_thread(whole.wait_until_promoted, victim)
            await asyncio.to_thread(whole.mend)
        nothing_is_lost(crawl, await crawl.finish())


@pytest.mark.slow
async def test_master_that_hangs_and_comes_back_as_a_replica_costs_no_url(whole: Cluster):
    async with a_crawl(whole, socket_timeout=1) as crawl:
        for _ in range(3):
            await crawl.step()
        victim = holder(whole, crawl.frontier)
        victim.pause()
        await crawl.step()
        victim.resume()
        await asyncio.to_thread(whole.wait_until_whole)
        for _ in range(3):
            await crawl.step()
        nothing_is_lost(crawl, await crawl.finish())


# A whole crawl


async def test_topic_crawl_on_a_cluster_brings_home_the_same_pages(six: Cluster, tmp_path: Path):
    pages = write_web(tmp_path / "web")
    with LocalWeb(pages, latency_ms=2) as web:
        crawl = TopicCrawl(
            tmp_path / "crawl", web, REDIS_URL=six.url, FRONTIER_PARTITIONS=PARTITIONS, FRONTIER_CRAWL="on-a-cluster"
        )
        run = await asyncio.to_thread(crawl.finish)
        crawl.check_pages(expected())
        assert crawl.repeated() == set()
    assert " ERROR: " not in run.log
    async with a_frontier(six) as frontier:
        assert await frontier.client.exists(about_key("on-a-cluster"))


@pytest.mark.slow
def test_topic_crawl_outlives_a_master(whole: Cluster, tmp_path: Path):
    pages = write_web(tmp_path / "web")
    with LocalWeb(pages, latency_ms=15) as web:
        crawl = TopicCrawl(
            tmp_path / "crawl", web, REDIS_URL=whole.url, FRONTIER_PARTITIONS=PARTITIONS, FRONTIER_CRAWL="outlives"
        )
        with crawl.started() as run:
            run.wait_for_pages(20)
            victim = whole.master_of(partition_key("outlives", 0))
            victim.kill()
            whole.wait_until_promoted(victim)
            assert run.ended() == 0, run.log[-5000:]
        crawl.check_pages(expected())
        assert "Traceback" not in run.log


async def test_pushed_seeds_are_taken_from_a_cluster(six: Cluster, tmp_path: Path):
    pages = write_web(tmp_path / "web")
    client = client_of(six.url, {})
    assert isinstance(client, RedisCluster)
    await client.lpush("topic:start_urls", *(f"http://h{number}.test/seed{number}" for number in range(3)))
    with LocalWeb(pages) as web:
        crawl = TopicCrawl(
            tmp_path / "crawl",
            web,
            REDIS_URL=six.url,
            FRONTIER_PARTITIONS=PARTITIONS,
            FRONTIER_CRAWL="seeded",
            SCHEDULER_IDLE_BEFORE_CLOSE=2,
        )
        await asyncio.to_thread(crawl.finish)
        assert {f"http://h{number}.test/seed{number}" for number in range(3)} <= set(crawl.fetched())
    assert await client.llen("topic:start_urls") == 0
    await client.aclose()
