"""URLs of one page share their payload in Redis, and a queue is read only as far as its rank needs: neither can be told from outside."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
import redis

from extensions.frontier.oracle import DictFrontier
from extensions.frontier.records import MAX_SEQUENCE, Policy, Rules, Settlement
from tests.frontier.conftest import SynchronousFrontier
from tests.frontier.examples import done, lease_all, lease_one, members, url

if TYPE_CHECKING:
    from tests.conftest import RedisServer

Factory = Callable[..., SynchronousFrontier]
RULES = Rules(policy=Policy.QUALITY, requests_per_connection=4)


def stored(server: RedisServer, frontier: SynchronousFrontier, kind: str, command: str) -> Any:
    """What a command says of the only key of a kind."""
    with redis.Redis.from_url(server.url) as client:
        return client.execute_command(command, f"frontier:{{{frontier.frontier.crawl}:0}}:{kind}:a")


def test_links_of_one_page_have_one_payload_and_it_goes_with_the_last_of_them(
    redis_partition: Factory, redis_server: RedisServer
) -> None:
    frontier = redis_partition(RULES)
    pages = [b"first page", b"second page"]
    frontier.admit(0, [url("a", f"/{page}/{n}", n / 10, payload=pages[page]) for page in (0, 1) for n in range(5)])
    assert stored(redis_server, frontier, "x", "ZCARD") == 2
    for left in (2, 2, 0):
        lease = lease_one(frontier)
        assert all(one.payload == pages[int(one.member[1])] for one in lease.urls)
        frontier.settle(0, done(lease))
        assert stored(redis_server, frontier, "x", "ZCARD") == left


def test_url_between_two_pages_that_has_no_payload_gets_none(redis_partition: Factory) -> None:
    frontier = redis_partition(RULES)
    frontier.admit(0, [url("a", "/1", payload=b"one"), url("a", "/2"), url("a", "/3", payload=b"one")])
    assert {one.member: one.payload for one in lease_one(frontier).urls} == {"/1": b"one", "/2": b"", "/3": b"one"}


def test_closed_server_keeps_the_payloads_of_what_is_held_and_no_other(
    redis_partition: Factory, redis_server: RedisServer
) -> None:
    frontier = redis_partition(Rules(policy=Policy.QUALITY, requests_per_connection=3, max_pages=1))
    frontier.admit(0, [url("a", f"/{n}", 1 - n / 100, payload=b"p%d" % (n // 2)) for n in range(20)])
    lease = lease_one(frontier)
    frontier.settle(0, Settlement("a", lease.token, done=("/0",), pages=1))
    assert stored(redis_server, frontier, "x", "ZCARD") == 2
    frontier.settle(0, Settlement("a", lease.token, done=("/1", "/2"), pages=2, release=True))
    assert stored(redis_server, frontier, "x", "EXISTS") == 0


def test_payloads_of_a_queue_that_has_counted_to_the_end_are_told_apart(
    redis_partition: Factory, redis_server: RedisServer
) -> None:
    frontier = redis_partition(RULES)
    frontier.admit(0, [url("a", "/first", payload=b"first")])
    with redis.Redis.from_url(redis_server.url) as client:
        client.hset(f"frontier:{{{frontier.frontier.crawl}:0}}:s:a", "seq", MAX_SEQUENCE - 1)
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
    )
    partition, oracle = redis_partition(rules), DictFrontier(rules)
    batch = []
    for server in "abcdefgh":
        levels = rng.choice([[0.0], [1.0], [0.5], [0.2, 0.2001, 0.9], [rng.random() for _ in range(40)]])
        length = rng.randint(1, 120)
        batch += [
            url(server, f"/{n}", rng.choice(levels), payload=rng.choice([b"", b"p", b"q"])) for n in range(length)
        ]
    for one in (partition, oracle):
        one.admit(0, batch)
    assert partition.peek(100) == oracle.peek(100)
    for count in (3, 1000):
        leases, expected = (one.lease(0, "agent", count, 1000)[0] for one in (partition, oracle))
        assert leases == expected


def test_what_is_left_of_a_lease_keeps_its_payload_when_it_goes_back(redis_partition: Factory) -> None:
    frontier = redis_partition(RULES)
    frontier.admit(0, [url("a", f"/{n}", payload=b"page") for n in range(4)])
    lease = lease_one(frontier)
    frontier.settle(0, Settlement("a", lease.token, done=tuple(members(lease)[:2]), pages=2, release=True))
    (again,) = lease_all(frontier)
    assert [one.payload for one in again.urls] == [b"page"] * 2
