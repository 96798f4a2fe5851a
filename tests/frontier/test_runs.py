"""URLs of one page share their payload in Redis, and a queue is read only as far as its rank needs: neither can be told from outside."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgpack
import pytest
import redis

from extensions.frontier.oracle import DictFrontier
from extensions.frontier.records import MAX_SEQUENCE, Policy, Rules, Settlement
from tests.frontier.conftest import SynchronousFrontier
from tests.frontier.examples import counted_to, done, given_back, lease_all, lease_one, members, url

if TYPE_CHECKING:
    from tests.conftest import RedisServer

Factory = Callable[..., SynchronousFrontier]
CHUNK = 32
"""URLs whose payloads are kept together (``lua/payloads.lua``)."""
RULES = Rules(policy=Policy.QUALITY, requests_per_connection=4)


def stored(server: RedisServer, frontier: SynchronousFrontier, kind: str, command: str) -> Any:
    """What a command says of the only key of a kind."""
    with redis.Redis.from_url(server.url) as client:
        return client.execute_command(command, f"frontier:{{{frontier.frontier.crawl}:0}}:{kind}:a")


def payloads(server: RedisServer, frontier: SynchronousFrontier) -> list[bytes]:
    """Those that are stored for queued URLs of plain GETs, each as often as it is."""
    with redis.Redis.from_url(server.url) as client:
        chunks = client.hgetall(f"frontier:{{{frontier.frontier.crawl}:0}}:x:a")
    unpacker = msgpack.Unpacker(raw=True)
    for chunk in chunks.values():
        unpacker.feed(chunk)
    return sorted(list(unpacker)[1::2])


def test_links_of_one_page_have_one_payload_and_it_goes_with_the_last_of_them(
    redis_partition: Factory, redis_server: RedisServer
) -> None:
    frontier = redis_partition(RULES)
    pages = [b"first page", b"second page"]
    frontier.admit(0, [url("a", f"/{page}/{n}", n / 10, payload=pages[page]) for page in (0, 1) for n in range(5)])
    assert payloads(redis_server, frontier) == pages
    for left in (pages, pages, []):
        lease = lease_one(frontier)
        assert all(one.payload == pages[int(one.member[1])] for one in lease.urls)
        frontier.settle(0, done(lease))
        assert payloads(redis_server, frontier) == left


def test_url_between_two_pages_that_has_no_payload_gets_none(redis_partition: Factory) -> None:
    frontier = redis_partition(RULES)
    frontier.admit(0, [url("a", "/1", payload=b"one"), url("a", "/2"), url("a", "/3", payload=b"one")])
    assert {one.member: one.payload for one in lease_one(frontier).urls} == {"/1": b"one", "/2": b"", "/3": b"one"}


def test_page_with_many_links_is_stored_with_every_chunk_of_them(
    redis_partition: Factory, redis_server: RedisServer
) -> None:
    frontier = redis_partition(Rules(policy=Policy.QUALITY, requests_per_connection=100))
    size = 3 * CHUNK + 1
    frontier.admit(0, [url("a", f"/{n}", payload=b"page") for n in range(size)])
    assert payloads(redis_server, frontier) == [b"page"] * 4
    lease = lease_one(frontier)
    assert [one.payload for one in lease.urls] == [b"page"] * size
    assert stored(redis_server, frontier, "x", "EXISTS") == 0


def test_closed_server_leaves_no_payload_though_what_is_held_has_its_own(
    redis_partition: Factory, redis_server: RedisServer
) -> None:
    frontier = redis_partition(Rules(policy=Policy.QUALITY, requests_per_connection=3, max_pages=1))
    frontier.admit(0, [url("a", f"/{n}", 1 - n / 100, payload=b"p%d" % (n // 2)) for n in range(20)])
    lease = lease_one(frontier)
    assert [one.payload for one in lease.urls] == [b"p0", b"p0", b"p1"]
    frontier.settle(0, Settlement("a", lease.token, done=("/0",), pages=1))
    assert stored(redis_server, frontier, "x", "EXISTS") == 0
    frontier.settle(0, Settlement("a", lease.token, done=("/1", "/2"), pages=2, release=True))
    assert stored(redis_server, frontier, "h", "EXISTS") == 0


def test_payloads_of_a_queue_that_has_counted_to_the_end_are_told_apart(
    redis_partition: Factory, redis_server: RedisServer
) -> None:
    frontier = redis_partition(RULES)
    frontier.admit(0, [url("a", "/first", payload=b"first")])
    with redis.Redis.from_url(redis_server.url) as client:
        key = f"frontier:{{{frontier.frontier.crawl}:0}}:s:a"
        client.set(key, counted_to(client.get(key), MAX_SEQUENCE - 1))
    frontier.admit(0, [url("a", f"/{n}", payload=b"%d" % n) for n in range(3)])
    lease = lease_one(frontier)
    assert {one.member: one.payload for one in lease.urls} == {
        "/first": b"first",
        "/0": b"0",
        "/1": b"1",
        "/2": b"2",
    }
    frontier.settle(0, done(lease))
    assert stored(redis_server, frontier, "x", "EXISTS") + stored(redis_server, frontier, "y", "EXISTS") == 0


@pytest.mark.parametrize("seed", range(12))
def test_long_queues_are_ranked_and_leased_as_if_read_to_their_end(redis_partition: Factory, seed: int) -> None:
    rng = random.Random(seed)
    rules = Rules(
        policy=Policy.CAPABILITY,
        requests_per_connection=rng.choice([50, 200]),
        connection_ms=rng.choice([0.0, 1.0, 100.0, 5000.0]),
        response_ms=rng.choice([0.0, 1.0, 300.0]),
        delay_ms=rng.choice([0.0, 20.0, 1000.0]),
        keep_open_ms=rng.choice([0.0, 5000.0]),
        explore=rng.choice([0.0, 0.3, 1.0]),
    )
    partition, oracle = redis_partition(rules), DictFrontier(rules)
    batch = []
    for server in "abcdefgh":
        levels = rng.choice([[0.0], [1.0], [0.5], [0.2, 0.2001, 0.9], [rng.random() for _ in range(40)]])
        length = rng.randint(1, 120)
        batch += [
            url(
                server,
                "/a" * rng.choice([0, 1, 5]) + f"/{n}",
                rng.choice(levels),
                payload=rng.choice([b"", b"p", b"q"]),
            )
            for n in range(length)
        ]
    for one in (partition, oracle):
        one.admit(0, batch)
    assert partition.peek(100) == oracle.peek(100)
    for count in (3, 1000):
        leases, expected = (one.lease(0, "agent", count, 1000)[0] for one in (partition, oracle))
        assert leases == expected
        for lease in leases:
            settlement = given_back(lease, odds=rng.choice([None, 5.0]))
            for one in (partition, oracle):
                one.settle(0, settlement)
    assert partition.peek(100, 1000) == oracle.peek(100, 1000)


@pytest.mark.parametrize("seed", range(8))
def test_lease_is_settled_bit_by_bit_in_its_order_and_out_of_it(redis_partition: Factory, seed: int) -> None:
    """What is left goes back with its payloads, a URL met again meanwhile is known, and nothing is settled twice."""
    rng = random.Random(seed)
    rules = Rules(policy=Policy.QUALITY, requests_per_connection=rng.choice([3, 15, 16, 40]))
    partition, oracle = redis_partition(rules), DictFrontier(rules)
    batch = [url("a", f"/{n}" * rng.choice([1, 30]), rng.random(), payload=rng.choice([b"", b"p"])) for n in range(60)]
    for one in (partition, oracle):
        one.admit(0, batch)
    for _ in range(3):
        lease, expected = lease_one(partition), lease_one(oracle)
        assert lease == expected
        left = members(lease)
        for _ in range(rng.randint(1, 8)):
            some = left[: rng.randint(0, 5)] if rng.random() < 0.7 else rng.sample(members(lease), 3)
            left = [one for one in left if one not in some]
            met = [one._replace(force=True) for one in batch if one.member in rng.sample(members(lease), 2)]
            for one in (partition, oracle):
                assert one.settle(0, Settlement("a", lease.token, done=tuple(some), pages=len(some)))
            if rng.random() < 0.2:
                assert partition.admit(0, met) == oracle.admit(0, met)
            assert partition.stats() == oracle.stats()
        for one in (partition, oracle):
            one.settle(0, Settlement("a", lease.token, done=tuple(left[:1]), release=True))
        assert partition.peek(9, 99) == oracle.peek(9, 99)
        oracle.check()


@pytest.mark.parametrize("odds", [None, 0.3, 40.0, 1e-6, 1e6])
@pytest.mark.parametrize("seed", range(6))
def test_rank_and_lease_follow_every_batch_that_could_change_them(
    redis_partition: Factory, seed: int, odds: float | None
) -> None:
    """New URLs and better evidence for queued ones; most of it too poor to matter, which is found out without looking at the queue."""
    rng = random.Random(seed)
    rules = Rules(
        policy=Policy.CAPABILITY,
        requests_per_connection=rng.choice([1, 5, 50]),
        connection_ms=rng.choice([0.0, 1.0, 100.0, 1000.0]),
        response_ms=rng.choice([0.0, 1.0, 300.0]),
        delay_ms=rng.choice([0.0, 20.0, 1000.0]),
        max_pending=rng.choice([0, 12]),
    )
    partition, oracle = redis_partition(rules), DictFrontier(rules)
    # Both ends of the scale are close together once their odds were multiplied, so that is where batches come close to the bound.
    power = 2 if odds is None else odds**0.2
    for one in (partition, oracle):
        one.admit(0, [url(server, "/first", 0.5) for server in "abc"])
        for lease in lease_all(one):
            one.settle(0, given_back(lease, odds=odds))
    for _ in range(60):
        batch = [
            url(server, f"/{rng.randrange(60)}", rng.random() ** power, payload=b"p")
            for server in rng.sample("abc", 2)
            for _ in range(rng.randint(1, 4))
        ]
        assert partition.admit(0, batch) == oracle.admit(0, batch)
        assert partition.peek(9, 99) == oracle.peek(9, 99)
    assert partition.lease(0, "agent", 1, 1000) == oracle.lease(0, "agent", 1, 1000)


def test_what_is_left_of_a_lease_keeps_its_payload_when_it_goes_back(redis_partition: Factory) -> None:
    frontier = redis_partition(RULES)
    frontier.admit(0, [url("a", f"/{n}", payload=b"page") for n in range(4)])
    lease = lease_one(frontier)
    frontier.settle(0, Settlement("a", lease.token, done=tuple(members(lease)[:2]), pages=2, release=True))
    (again,) = lease_all(frontier)
    assert [one.payload for one in again.urls] == [b"page"] * 2


def test_payloads_that_go_back_are_those_that_were_taken(redis_partition: Factory, redis_server: RedisServer) -> None:
    """Of three pages whose links are mixed within chunks; half of each lease is done."""
    rng = random.Random(7)
    frontier = redis_partition(Rules(policy=Policy.QUALITY, requests_per_connection=7))
    batch = [url("a", f"/{n}", rng.random(), payload=rng.choice([b"", b"p", b"q", b"r"])) for n in range(100)]
    frontier.admit(0, batch)
    payload_of = {one.member: one.payload for one in batch}
    while leases := lease_all(frontier):
        (lease,) = leases
        assert [one.payload for one in lease.urls] == [payload_of[one.member] for one in lease.urls]
        some = tuple(rng.sample(members(lease), (len(lease.urls) + 1) // 2))
        frontier.settle(0, Settlement("a", lease.token, done=some, pages=len(some), release=True))
    assert frontier.stats().settled == 100
    assert stored(redis_server, frontier, "x", "EXISTS") == 0
