"""The frontier on a Redis that sentinels watch: the master dies, its replica is promoted, the crawl goes on."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from extensions.errors import FrontierUnavailable
from extensions.frontier.checks import check
from extensions.frontier.clock import RedisClock
from extensions.frontier.connection import client_of, run_ids
from extensions.frontier.records import Policy, Rules
from extensions.frontier.redis import RedisFrontier
from tests.crawls import TopicCrawl, expected, write_web
from tests.frontier.examples import done, url
from tests.localweb.web import LocalWeb
from tests.redis_servers import Watched, sentinels, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RULES = Rules(policy=Policy.QUALITY)

pytestmark = pytest.mark.timeout(120)


@pytest.fixture
def watched() -> Iterator[Watched]:
    with sentinels() as started:
        yield started


async def test_what_was_acknowledged_is_there_after_the_master_was_killed(watched: Watched):
    client = client_of(watched.url, {})
    await check(client, watched.url, 1)
    clock, frontier = RedisClock(), RedisFrontier(client, "crawl", RULES, 2)
    await clock.set_by(client)
    master = await run_ids(client)
    batches = 0
    for _ in range(50):
        await frontier.admit(clock(), [url(f"s{n}", f"/{batches}") for n in range(10)])
        batches += 1
    leases, _ = await frontier.lease(clock(), "agent", 4, 60_000)
    before = clock()

    watched.master.kill()
    with pytest.raises(FrontierUnavailable, match="the crawl waits"):
        await frontier.settle(clock(), [done(lease) for lease in leases])
    async with asyncio.timeout(30):
        while True:
            try:
                accepted = await frontier.settle(clock(), [done(lease) for lease in leases])
                break
            except FrontierUnavailable:
                await asyncio.sleep(0.05)
    assert accepted == [True] * len(leases), "the promoted replica knows the leases"
    assert watched.master_port() == watched.replica.port
    await clock.set_by(client)
    assert clock() >= before
    assert await run_ids(client) != master
    stats = await frontier.stats()
    assert (stats.seen, stats.leased) == (10 * batches, 0)
    assert stats.settled == sum(len(lease.urls) for lease in leases)
    assert stats.queued == stats.seen - stats.settled
    await client.aclose()


async def test_sentinel_that_is_gone_is_passed_over(watched: Watched):
    watched.sentinels[0].kill()
    client = client_of(watched.url, {})
    await check(client, watched.url)
    assert (await RedisFrontier(client, "crawl", RULES).admit(0, [url()])).admitted == 1
    await client.aclose()


async def test_name_that_no_sentinel_knows_is_one_clear_error(watched: Watched):
    client = client_of(watched.url.replace("/frontier", "/another"), {})
    with pytest.raises(FrontierUnavailable, match="No Redis answers"):
        await check(client, watched.url)
    await client.aclose()


@pytest.mark.slow
def test_topic_crawl_outlives_the_master(watched: Watched, tmp_path: Path):
    pages = write_web(tmp_path / "web")
    with LocalWeb(pages, latency_ms=15) as web:
        crawl = TopicCrawl(tmp_path / "crawl", web, REDIS_URL=watched.url)
        with crawl.started() as run:
            run.wait_for_pages(20)
            watched.master.kill()
            wait_until("the replica is promoted", lambda: watched.master_port() == watched.replica.port)
            assert run.ended() == 0, run.log[-5000:]
        crawl.check_pages(expected())
        assert "Traceback" not in run.log
