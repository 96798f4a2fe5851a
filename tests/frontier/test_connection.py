"""URLs of a Redis, what a refusal means, what is looked at before a crawl begins, and the clock."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

import msgpack
import pytest
import redis.exceptions as theirs
from hypothesis import given
from hypothesis import strategies as st
from redis.asyncio import Redis, RedisCluster

from extensions.errors import ConfigurationError, FrontierBroken, FrontierUnavailable
from extensions.frontier.checks import check
from extensions.frontier.clock import RedisClock
from extensions.frontier.connection import client_of
from extensions.frontier.faults import fault_of
from extensions.frontier.records import Policy, Rules
from extensions.frontier.redis import RedisFrontier
from tests.frontier.examples import url
from tests.redis_servers import Server, Servers, durable_server, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

RULES = Rules(policy=Policy.QUALITY)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with durable_server() as started:
        yield started


# URLs


def test_url_of_a_cluster_names_any_number_of_its_nodes():
    client = client_of("redis+cluster://me:p%40ss@one.test,two.test:7001,[::1]:7002", {})
    assert isinstance(client, RedisCluster)
    assert [(node.host, node.port) for node in client.startup_nodes] == [
        ("one.test", 6379),
        ("two.test", 7001),
        ("::1", 7002),
    ]
    assert (client.connection_kwargs["username"], client.connection_kwargs["password"]) == ("me", "p@ss")
    assert "ssl_cert_reqs" not in client.connection_kwargs


def test_url_with_tls_is_with_tls_in_every_node():
    client = client_of("rediss+cluster://one.test:7000,two.test:7001?ssl_ca_certs=ca.pem&socket_timeout=7", {})
    for node in client.startup_nodes:
        assert node.connection_class.__name__ == "SSLConnection"
        assert node.connection_kwargs["ssl_ca_certs"] == "ca.pem"
        assert node.connection_kwargs["socket_timeout"] == 7


def test_sentinels_and_their_server_are_reached_in_the_same_way_but_for_the_password():
    client = client_of("rediss+sentinel://:secret@one.test,two.test:7001/my-service/3", {})
    pool = client.connection_pool
    assert (pool.service_name, pool.connection_kwargs["db"], pool.connection_kwargs["password"]) == (
        "my-service",
        3,
        "secret",
    )
    assert "SSL" in pool.connection_class.__name__
    ways = [one.connection_pool for one in pool.sentinel_manager.sentinels]
    assert [(way.connection_kwargs["host"], way.connection_kwargs["port"]) for way in ways] == [
        ("one.test", 26379),
        ("two.test", 7001),
    ]
    assert all("SSL" in way.connection_class.__name__ for way in ways)
    assert all(way.connection_kwargs.get("password") is None for way in ways)


@pytest.mark.parametrize(
    "wrong",
    [
        "redis+cluster://",
        "redis+cluster://one.test:port",
        "redis+cluster://one.test,,two.test",
        "redis+cluster://one.test/3",
        "redis+sentinel://one.test",
        "http+cluster://one.test",
        "one.test:6379",
    ],
)
def test_url_that_cannot_be_one_is_told_with_those_that_can(wrong: str):
    with pytest.raises(ConfigurationError, match=r"must be redis://host:port/db"):
        client_of(wrong, {})


# Refusals


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (theirs.OutOfMemoryError("command not allowed when used memory > 'maxmemory'."), "raise its maxmemory"),
        (
            theirs.ResponseError(
                "Error running script (call to f_1): @user_script:1: @user_script: 1: -OOM command not allowed when…"
            ),
            "raise its maxmemory",
        ),
        (theirs.BusyLoadingError("Redis is loading the dataset in memory"), "still loading"),
        (theirs.ReadOnlyError("You can't write against a read only replica."), "a replica"),
        (theirs.ResponseError("MISCONF Redis is configured to save RDB snapshots, but…"), "disk"),
        (theirs.ResponseError("NOREPLICAS Not enough good replicas to write."), "min-replicas-to-write"),
        (theirs.ResponseError("BUSY Redis is busy running a script."), "SCRIPT KILL"),
        (theirs.ResponseError("UNBLOCKED force unblock from blocking operation"), "no longer a master"),
        (theirs.MasterDownError("Link with MASTER is down"), "lost its master"),
        (theirs.ClusterDownError("The cluster is down"), "no master"),
        (theirs.TryAgainError("Multiple keys request during rehashing of slot"), "moving these keys"),
        (theirs.ResponseError("Lua script attempted to access a non local key in a cluster node"), "moving these keys"),
        (theirs.RedisClusterException("Redis Cluster cannot be connected."), "as a whole"),
        (theirs.ConnectionError("Connection closed by server."), "cannot be reached"),
        (theirs.TimeoutError("Timeout reading from socket"), "in time"),
        (TimeoutError(), "in time"),
        (ConnectionResetError(104, "reset"), "cannot be reached"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_what_waiting_mends_is_told_with_its_remedy(error: Exception, words: str):
    fault = fault_of(error)
    assert isinstance(fault, FrontierUnavailable)
    assert words in str(fault)
    assert str(fault).endswith("the crawl waits.")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (theirs.AuthenticationError("Authentication required."), "password"),
        (theirs.NoPermissionError("this user has no permissions to run the 'evalsha' command"), "may not do"),
        (theirs.ResponseError("WRONGTYPE Operation against a key holding the wrong kind of value"), "something else"),
        (
            theirs.ResponseError("Error running script (call to f_1): @user_script:9: -WRONGTYPE Operation against…"),
            "something else",
        ),
        (theirs.ResponseError("unknown command `EVALSHA`"), "waiting will not help"),
        (theirs.ResponseError("Error running script (call to f_1): attempt to index a nil value"), "will not help"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_what_waiting_does_not_mend_is_broken(error: Exception, words: str):
    fault = fault_of(error)
    assert isinstance(fault, FrontierBroken)
    assert words in str(fault)


async def test_each_call_is_answered_for_itself(server: Server):
    """One partition's key is of another kind: the other partition is not held up by it."""
    client = client_of(server.url, {})
    frontier = RedisFrontier(client, "half", RULES, 2)
    names = {frontier.partition_of(f"s{n}"): f"s{n}" for n in range(20)}
    await client.set("frontier:{half:0}:m", "no hash")
    candidates = [url(name, "/") for name in names.values()]
    replies = await frontier.pipeline.run(frontier._admit_calls(0, candidates))
    kinds = {frontier.partition_of(one.server): reply for one, reply in zip(candidates, replies, strict=True)}
    assert isinstance(kinds[0], FrontierBroken)
    assert msgpack.unpackb(kinds[1])[0] == 1
    with pytest.raises(FrontierBroken):
        await frontier.admit(0, candidates)
    await client.aclose()


async def test_full_redis_refuses_a_call_whole_and_says_what_to_do(server: Server):
    client = client_of(server.url, {})
    frontier = RedisFrontier(client, "full", RULES)
    await frontier.admit(0, [url("a", "/1")])
    await client.config_set("maxmemory", 1)
    try:
        with pytest.raises(FrontierUnavailable, match="raise its maxmemory"):
            await frontier.admit(0, [url("a", "/2"), url("b", "/")])
    finally:
        await client.config_set("maxmemory", 0)
    assert (await frontier.stats()).queued == 1
    assert (await frontier.admit(0, [url("a", "/2"), url("b", "/")])).admitted == 2
    await client.aclose()


# Before a crawl begins


async def test_replica_is_refused_with_the_address_of_its_master(server: Server):
    servers = Servers()
    try:
        replica = servers.add({"replicaof": server.address.replace(":", " ")})
        client = client_of(replica.url, {})
        with pytest.raises(FrontierUnavailable, match=server.address):
            await check(client, replica.url)
        await client.aclose()
    finally:
        servers.end()


async def test_redis_that_may_evict_any_key_is_refused(server: Server):
    client = client_of(server.url, {})
    await client.config_set("maxmemory", "1gb")
    await client.config_set("maxmemory-policy", "allkeys-lru")
    try:
        with pytest.raises(FrontierUnavailable, match="set maxmemory-policy noeviction"):
            await check(client, server.url)
    finally:
        await client.config_set("maxmemory-policy", "noeviction")
        await client.config_set("maxmemory", 0)
    await client.aclose()


async def test_redis_without_an_append_only_file_is_warned_of(server: Server, caplog: pytest.LogCaptureFixture):
    client = client_of(server.url, {})
    with caplog.at_level(logging.WARNING):
        await check(client, server.url, 1)
        assert caplog.messages == []
        await client.config_set("appendonly", "no")
        try:
            await check(client, server.url, 1)
        finally:
            await client.config_set("appendonly", "yes")
    (message,) = caplog.messages
    assert "no append-only file" in message
    await client.aclose()


async def test_wrong_password_is_told_as_such(server: Server):
    owner = client_of(server.url, {})
    await owner.config_set("requirepass", "right")
    try:
        for words in ("", ":wrong@"):
            client = client_of(server.url.replace("//", f"//{words}"), {})
            with pytest.raises(FrontierBroken, match="password"):
                await check(client, server.url)
            await client.aclose()
    finally:
        await owner.config_set("requirepass", "")
    await owner.aclose()


# The clock


def test_clock_keeps_what_agrees_with_a_reading_however_slow_the_network():
    clock = RedisClock()
    clock.set(1_000_000, 0, 10)
    assert clock._at(10) == 1_000_005
    clock.set(1_000_500, 100, 900)  # somewhere between 999_600 and 1_000_400 after the start
    assert clock._at(900) == 1_000_895


def test_clock_is_put_forward_when_the_server_is_ahead():
    clock = RedisClock()
    clock.set(1_000_000, 0, 0)
    clock.set(1_000_500, 100, 120)
    assert clock._at(120) == 1_000_500


def test_clock_that_is_ahead_runs_at_half_speed_until_it_is_caught_up_with():
    clock = RedisClock()
    clock.set(1_000_000, 0, 0)
    clock.set(999_100, 100, 100)  # a replica one second behind
    assert [clock._at(at) for at in (100, 1100, 2100, 3100)] == [1_000_100, 1_000_600, 1_001_100, 1_002_100]


@given(
    st.lists(
        st.tuples(st.floats(0, 100_000), st.floats(0, 5_000), st.floats(-60_000, 60_000), st.floats(0, 1)),
        min_size=1,
        max_size=8,
    )
)
def test_clock_never_goes_back_whatever_servers_tell(readings: list[tuple[float, float, float, float]]):
    clock = RedisClock()
    at = 0.0
    latest = None
    for pause, trip, skew, where in readings:
        for part in (0.25, 0.5, 1.0):
            now = clock._at(at + pause * part)
            assert latest is None or now >= latest - 1e-3
            latest = None if clock._offset_ms is None else now
        at += pause
        clock.set(1e9 + at + trip * where + skew, at, at + trip)
        at += trip
        now = clock._at(at)
        assert latest is None or now >= latest - 1e-3
        latest = now


async def test_clock_tells_the_time_of_the_server(server: Server):
    client = Redis.from_url(server.url)
    clock = RedisClock()
    await clock.set_by(client)
    seconds, micros = await client.time()
    told = seconds * 1000 + micros // 1000
    assert told - 1 <= clock() + 1000
    before = clock()
    await asyncio.sleep(0.02)
    assert clock() >= before + 19
    await client.aclose()


async def test_clock_of_a_server_that_is_gone_is_one_clear_error():
    with durable_server() as gone:
        client = client_of(gone.url, {})
        clock = RedisClock()
        await clock.set_by(client)
        gone.kill()
        with pytest.raises(FrontierUnavailable):
            await clock.set_by(client)
        before = clock()
        gone.restart()
        wait_until("it serves", lambda: gone.ask("PING"))
        await clock.set_by(client)
        assert clock() >= before
        await client.aclose()
