"""What `RedisFrontier` adds to the contract: batches, partitions, bad input, a server that has forgotten the scripts."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from redis.asyncio import Redis

from extensions.errors import FrontierUnavailable
from extensions.frontier.allotment import Ask, PartitionView
from extensions.frontier.oracle import DictFrontier
from extensions.frontier.records import MAX_SEQUENCE, Admission, Policy, Rules, Settlement, Stats
from extensions.frontier.redis import RedisFrontier
from extensions.frontier.scripts import script
from tests.frontier.examples import counted_to, done, given_back, lease_all, lease_one, members, servers, url

if TYPE_CHECKING:
    from tests.conftest import RedisServer
    from tests.frontier.conftest import SynchronousFrontier

RULES = Rules(policy=Policy.QUALITY)
Factory = Callable[..., "SynchronousFrontier"]


# Bad input is refused before anything is sent


@pytest.mark.parametrize(
    "fields",
    [
        {"quality": math.nan},
        {"quality": math.inf},
        {"quality": -math.inf},
        {"depth": -1},
        {"hops": -1},
        {"member": ""},
        {"server": ""},
        {"server": "\ud800"},
        {"member": "/\ud800"},
    ],
    ids=str,
)
def test_impossible_candidate_is_refused_and_its_batch_with_it(
    redis_partition: Factory, fields: dict[str, Any]
) -> None:
    frontier = redis_partition(RULES)
    with pytest.raises(ValueError):
        frontier.admit(0, [url("a", "/good"), url("a", "/bad")._replace(**fields)])
    assert frontier.stats() == Stats()


@pytest.mark.parametrize(
    "fields",
    [
        {"connection_ms": (math.nan,)},
        {"connection_ms": (1.0, -1.0)},
        {"response_ms": (math.inf,)},
        {"response_ms": (math.nan,)},
        {"delay_ms": math.nan},
        {"delay_ms": math.inf},
        {"delay_ms": -5.0},
        {"pages": -1},
        {"failures": -1},
        {"due_ms": math.inf},
        {"due_ms": math.nan},
        {"odds": 0.0},
        {"odds": -1.0},
        {"odds": math.inf},
        {"odds": math.nan},
        {"lowered": (("/", 0.1), ("/", math.nan))},
        {"lowered": (("/", -0.1),)},
        {"lowered": (("/", 1.1),)},
    ],
    ids=str,
)
def test_impossible_settlement_is_refused_and_its_batch_with_it(
    redis_partition: Factory, fields: dict[str, Any]
) -> None:
    frontier = redis_partition(RULES)
    frontier.admit(0, [url("a", "/"), url("b", "/")])
    good, bad = lease_all(frontier)
    with pytest.raises(ValueError):
        frontier.loop.run_until_complete(frontier.frontier.settle(0, [done(good), done(bad, **fields)]))
    assert frontier.stats() == Stats(leased=2, open_servers=2, servers=2, seen=2, admitted=2)


# Batches


def test_batch_of_settlements_is_settled_in_its_order(redis_partition: Factory) -> None:
    rules = Rules(policy=Policy.BREADTH_FIRST, requests_per_connection=2, max_pages=3)
    frontier, oracle = redis_partition(rules), DictFrontier(rules)
    batch = [url(name, f"/{n}") for name in "abcd" for n in range(4)]
    leases = []
    for one in (frontier, oracle):
        one.admit(0, batch)
        leases = lease_all(one)
    a, b, c, d = leases
    settlements = [
        Settlement("c", c.token, done=("/0",), pages=1),
        given_back(a, response_ms=(7.0, 11.0)),
        done(a),
        done(d, pages=3),
        given_back(c, carried=1),
        done(b, due_ms=50),
        Settlement("nobody", 1),
    ]
    accepted = frontier.loop.run_until_complete(frontier.frontier.settle(0, settlements))
    assert accepted == [oracle.settle(0, one) for one in settlements]
    assert accepted == [True, True, False, True, True, True, False]
    assert frontier.stats() == oracle.stats()
    assert frontier.peek(99, 99) == oracle.peek(99, 99)
    oracle.check()


def test_exchange_does_all_its_verbs_in_one_round_trip(redis_partition: Factory) -> None:
    frontier = redis_partition(Rules(policy=Policy.QUALITY, requests_per_connection=1))
    frontier.admit(0, [url("a", "/1"), url("a", "/2"), url("b", "/1"), url("c", "/1")])
    c, b, a = lease_all(frontier)
    trips = frontier.frontier.round_trips
    reply = exchange(
        frontier,
        candidates=[url("d", "/1"), url("d", "/1")],
        settlements=[done(c), done(c)],
        renewals=[(b.server, b.token), (c.server, c.token)],
    )
    assert frontier.frontier.round_trips == trips + 1
    assert reply.admission == Admission(admitted=1, duplicates=1)
    assert reply.accepted == (True, False)
    assert reply.stale == {"c"}
    assert [lease.server for lease in reply.leases] == ["d"]
    assert reply.views == (PartitionView(0, None, queued=1, leased=3, ready=0, ranks=()),)
    assert (reply.all_admitted, reply.all_renewed, reply.error) == (True, True, None)
    frontier.settle(0, given_back(a, due_ms=70))
    assert exchange(frontier).views[0].next_due_ms == 70


def exchange(frontier: SynchronousFrontier, **fields: Any) -> Any:
    fields = {"agent": "agent", "asks": [Ask(0, 10)], "lease_ms": 1000, **fields}
    return frontier.loop.run_until_complete(frontier.frontier.exchange(0, **fields))


def test_exchange_runs_in_its_order_even_if_the_server_knew_only_one_of_the_scripts(
    redis_partition: Factory, redis_server: RedisServer
) -> None:
    redis_server.forget_scripts()
    frontier = redis_partition(RULES)
    assert frontier.lease(0, "agent", 1, 1000) == ([], None)
    reply = exchange(frontier, candidates=[url("a", "/")])
    assert reply.admission == Admission(admitted=1)
    assert [lease.server for lease in reply.leases] == ["a"]
    assert (reply.views[0].queued, reply.views[0].leased) == (0, 1)


def test_exchange_with_a_server_that_has_restarted_loses_nothing(
    redis_partition: Factory, redis_server: RedisServer
) -> None:
    frontier = redis_partition(RULES)
    frontier.admit(0, [url("a", "/1"), url("b", "/1")])
    b = lease_one(frontier)
    redis_server.forget_scripts()
    reply = exchange(frontier, candidates=[url("c", "/1")], settlements=[done(b)])
    assert reply.admission == Admission(admitted=1)
    assert reply.accepted == (True,)
    assert [lease.server for lease in reply.leases] == ["c", "a"]


@pytest.mark.parametrize("known", ["admit", "lease", "settle", "renew"])
def test_server_that_has_lost_some_scripts_does_nothing_twice(
    redis_partition: Factory, redis_server: RedisServer, known: str
) -> None:
    frontier = redis_partition(RULES)
    frontier.admit(0, [url("a", "/1"), url("b", "/1"), url("c", "/1")])
    c, b = frontier.lease(0, "agent", 2, 1000)[0]
    redis_server.forget_scripts()
    frontier.loop.run_until_complete(frontier.frontier.client.script_load(script(known).source))
    reply = exchange(
        frontier, candidates=[url("d", "/1")], settlements=[done(c)], renewals=[("b", b.token), ("nobody", 1)]
    )
    assert reply.admission == Admission(admitted=1)
    assert reply.accepted == (True,)
    assert reply.stale == {"nobody"}
    stats = frontier.stats()
    assert (stats.admitted, stats.duplicates, stats.settled, stats.refused) == (4, 0, 1, 1)
    assert stats.leased == 1 + len(reply.leases), "no lease is open that nobody was told of"


# Partitions


def test_partitions_share_the_servers_and_their_counters_add_up(redis_partition: Factory) -> None:
    frontier = redis_partition(RULES, 4)
    names = [f"http://s{n}" for n in range(40)]
    assert frontier.admit(0, [url(name, f"/{n}", n / 2) for name in names for n in range(2)]) == Admission(admitted=80)
    assert frontier.stats() == Stats(queued=80, servers=40, seen=80, admitted=80)
    leases = [lease for _ in range(10) for lease in lease_all(frontier)]
    assert sorted(lease.server for lease in leases) == sorted(names)
    assert all(members(lease) == ["/1", "/0"] for lease in leases)
    assert frontier.renew(0, [(lease.server, lease.token) for lease in leases], 1000) == set()
    settlements = [done(lease) if n % 2 else given_back(lease, due_ms=9) for n, lease in enumerate(leases)]
    assert frontier.loop.run_until_complete(frontier.frontier.settle(0, settlements)) == [True] * 40
    assert frontier.stats() == Stats(queued=40, servers=40, seen=80, admitted=80, settled=40)
    assert servers(frontier, "waiting") != []
    assert len(frontier.peek(99)) == 20
    frontier.clear()
    assert frontier.stats() == Stats()


def test_idle_servers_of_all_partitions_are_reached_with_few_asked_for(redis_partition: Factory) -> None:
    frontier = redis_partition(RULES, 8)
    names = [f"http://s{n}" for n in range(24)]
    frontier.admit(0, [url(name, "/") for name in names])
    got = [lease.server for _ in range(8 * 24) for lease in frontier.lease(0, "agent", 1, 1000)[0]]
    assert sorted(got) == sorted(names)


def test_leases_of_an_agent_are_reclaimed_in_all_partitions(redis_partition: Factory) -> None:
    frontier = redis_partition(RULES, 4)
    frontier.admit(0, [url(f"http://s{n}", "/") for n in range(20)])
    assert len(lease_all(frontier, agent="dead")) == 20
    assert frontier.reclaim(0, "alive") == 0
    assert frontier.reclaim(0, "dead") == 20


# Crawls, faults


def test_crawls_share_nothing(redis_partition: Factory) -> None:
    one, other = redis_partition(RULES), redis_partition(RULES)
    one.admit(0, [url("a", "/")])
    assert other.stats() == Stats()
    assert other.admit(0, [url("a", "/")]) == Admission(admitted=1)
    one.clear()
    assert other.stats().queued == 1


def test_what_was_not_fixed_when_a_crawl_began_is_never_added(redis_partition: Factory) -> None:
    frontier = redis_partition(RULES)
    about, run = frontier.frontier.about, frontier.loop.run_until_complete
    assert run(about({"order": "quality"})) == {"order": "quality"}
    for _ in range(2):
        assert run(about({"order": "first in, first out", "layout": "2"})) == {"order": "quality"}


def keys_of(frontier: SynchronousFrontier) -> list[str]:
    """What kinds of keys the crawl has: their names within the partition, without the server's."""

    async def scan() -> list[str]:
        pattern = f"frontier:{{{frontier.frontier.crawl}:*"
        return [key.decode().split("}:")[1][:2] async for key in frontier.frontier.client.scan_iter(match=pattern)]

    return sorted(frontier.loop.run_until_complete(scan()))


def test_clear_leaves_no_key_behind(redis_partition: Factory) -> None:
    frontier = redis_partition(RULES, 2)
    frontier.admit(0, [url(name, "\0p", payload=b"p") for name in "abcdef"])
    lease_all(frontier)
    assert keys_of(frontier) != []
    frontier.clear()
    assert keys_of(frontier) == []


def test_closed_server_leaves_no_queue_and_no_payload_behind(redis_partition: Factory) -> None:
    frontier = redis_partition(Rules(policy=Policy.QUALITY, requests_per_connection=2, max_pages=1))
    batch = [url("a", f"{first}{n}", payload=b"p", bucket=0, remainder=n) for n, first in enumerate("\0/\0//")]
    frontier.admit(0, batch)
    lease = lease_one(frontier)
    assert keys_of(frontier) == ["h:", "l", "m", "q:", "s:", "u:", "x:", "y:"]
    frontier.settle(0, Settlement("a", lease.token, done=("\x000",), pages=1, release=True))
    assert frontier.stats() == Stats(servers=1, seen=5, admitted=5, settled=1, dropped=4)
    assert keys_of(frontier) == ["m", "s:", "u:"]


def test_thousands_of_urls_of_one_server_are_leased_given_back_and_dropped(redis_partition: Factory) -> None:
    """More than one call of Redis takes arguments for."""
    size = 9000
    rules = Rules(policy=Policy.QUALITY, requests_per_connection=size, max_pages=1)
    frontier = redis_partition(rules)
    frontier.admit(0, [url("a", f"/{n}", payload=b"p") for n in range(size)])
    lease = lease_one(frontier)
    assert len(lease.urls) == size
    assert all(one.payload == b"p" for one in lease.urls)
    frontier.settle(0, given_back(lease))
    assert frontier.stats().queued == size
    lease = lease_one(frontier)
    frontier.settle(0, done(lease, done=tuple(members(lease)[: size // 2]), pages=0))
    frontier.admit(0, [url("a", "/last")])
    frontier.settle(0, done(lease_one(frontier), done=("/last",), pages=1))
    assert frontier.stats().dropped == size - size // 2
    assert set(keys_of(frontier)) == {"m", "s:", "u:"}


def test_seen_set_stays_small_however_many_urls_fall_into_one_bucket(redis_partition: Factory) -> None:
    frontier = redis_partition(RULES)
    urls = [url("a", f"/{n}")._replace(bucket=7, remainder=n * 1_000_003 % 2**32 - 2**31) for n in range(6000)]
    for first in range(0, len(urls), 1500):
        frontier.admit(0, urls[first : first + 1500])
    assert frontier.stats().seen == 6000
    assert frontier.admit(0, urls[::7]).duplicates == len(urls[::7])
    client, loop = frontier.frontier.client, frontier.loop
    pattern = f"frontier:{{{frontier.frontier.crawl}:0}}:u:7*"
    keys = loop.run_until_complete(client.keys(pattern))
    assert len(keys) > 6000 / 512
    assert {loop.run_until_complete(client.object("encoding", key)) for key in keys} == {b"intset"}


async def test_redis_that_is_not_there_is_one_clear_error() -> None:
    client = Redis.from_url("unix:///nowhere/socket", retry=None)
    frontier = RedisFrontier(client, "crawl", RULES)
    for verb in (frontier.admit(0, [url()]), frontier.lease(0, "agent", 1, 1), frontier.stats(), frontier.clear()):
        with pytest.raises(FrontierUnavailable):
            await verb
    await client.aclose()


# Old crawls


def test_queue_that_has_seen_as_many_urls_as_it_can_count_goes_on(redis_partition: Factory) -> None:
    for policy in Policy:
        rules = Rules(policy=policy)
        frontier, oracle = redis_partition(rules), DictFrontier(rules)
        for one in (frontier, oracle):
            one.admit(0, [url("a", "/first")])
        count_insertions(frontier, oracle, MAX_SEQUENCE - 1)
        batch = [url("a", f"/{n}", n % 2 / 2) for n in range(6)]
        for one in (frontier, oracle):
            assert one.admit(0, batch) == Admission(admitted=6)
        assert frontier.peek(1, 99) == oracle.peek(1, 99)
        assert lease_one(frontier) == lease_one(oracle)


def test_full_queue_takes_no_equal_that_is_as_young_as_can_be(redis_partition: Factory) -> None:
    rules = Rules(policy=Policy.QUALITY, max_pending=1)
    frontier, oracle = redis_partition(rules), DictFrontier(rules)
    for one in (frontier, oracle):
        one.admit(0, [url("a", "/first")])
        lease_one(one)
    count_insertions(frontier, oracle, MAX_SEQUENCE)
    for one in (frontier, oracle):
        assert one.admit(0, [url("a", "/b"), url("a", "/c"), url("a", "/a")]) == Admission(admitted=1, dropped=2)
    assert frontier.peek(1, 99) == oracle.peek(1, 99)


def count_insertions(frontier: SynchronousFrontier, oracle: DictFrontier, sequence: int) -> None:
    """Of server a, on both sides."""
    key, client, run = (
        f"frontier:{{{frontier.frontier.crawl}:0}}:s:a",
        frontier.frontier.client,
        frontier.loop.run_until_complete,
    )
    run(client.set(key, counted_to(run(client.get(key)), sequence)))
    oracle._servers["a"].sequence = sequence
