"""One agent, whatever dies: the crawl's process by kill -9, its Redis for a while, in every way a Redis can be away.

Each crawl must bring home the whole web; only what was in flight at a kill may be fetched twice; and an outage is told once when it
begins and once when it is over.
"""

from __future__ import annotations

import random
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from tests.crawls import HOSTS, PAGES, TopicCrawl, expected, wait_until, write_web
from tests.faults import DurableRedis, RedisProxy
from tests.localweb.web import LocalWeb

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.timeout(180)

AWAY_SECONDS = 0.5
"""After the crawl has met the outage and told of it: the pages that it still holds go on being fetched meanwhile."""
UNUSED = ("127.0.0.1", 1)
"""Nobody listens there: whoever replicates it keeps what it has and can be read only."""


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> Path:
    return write_web(tmp_path_factory.mktemp("web"))


@pytest.fixture
def web(pages) -> Iterator[LocalWeb]:
    with LocalWeb(pages, latency_ms=15) as started:
        yield started


@pytest.fixture
def server(tmp_path) -> Iterator[DurableRedis]:
    with DurableRedis(tmp_path / "redis") as started:
        yield started


@pytest.fixture
def proxy(server) -> Iterator[RedisProxy]:
    with RedisProxy(server.url) as started:
        yield started


# The crawl's own death


def leased(server: DurableRedis, crawl: str) -> int:
    """URLs that Redis has as handed to an agent."""
    with server.client() as client:
        tables = [key for key in client.scan_iter(f"*{{{crawl}:*") if client.type(key) == b"hash"]
        counts = [client.hget(key, "leased") for key in tables]
    found = [int(count) for count in counts if count is not None]
    assert found, "the frontier keeps its count of leased URLs elsewhere now"
    return sum(found)


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)])
def test_a_crawl_killed_again_and_again_brings_home_what_an_undisturbed_one_does(tmp_path, web, server, seed):
    chance = random.Random(seed)
    crawl = TopicCrawl(tmp_path / "crawl", web, REDIS_URL=server.url)
    in_flight = 0
    for kill in range(4):
        with crawl.started() as run:
            run.wait_for_pages(chance.randrange(1 + 55 * kill, 40 + 55 * kill))
            time.sleep(chance.random() * 0.05)
            run.kill()
            in_flight += leased(server, "disturbed")
            assert "Traceback" not in run.log
    crawl.finish()
    crawl.check_pages(expected())
    fetched = crawl.fetched()
    assert set(fetched) == expected()
    assert sum(fetched.values()) - PAGES <= in_flight
    assert max(fetched.values()) <= 5


@pytest.mark.slow
def test_a_crawl_killed_before_its_first_page_begins_anew(tmp_path, web, server):
    crawl = TopicCrawl(tmp_path / "crawl", web, REDIS_URL=server.url)
    for seconds in (0.5, 1.0, 1.3):
        with crawl.started() as run:
            time.sleep(seconds)
            run.kill()
    crawl.finish()
    crawl.check_pages(expected())


# Redis away, one way or another


@contextmanager
def redis_killed(server: DurableRedis, proxy: RedisProxy) -> Iterator[None]:
    server.kill()
    yield
    server.start()


@contextmanager
def killed_and_loading(server: DurableRedis, proxy: RedisProxy) -> Iterator[None]:
    server.fill()
    server.kill()
    yield
    server.start(loading_seconds=2)


@contextmanager
def unreachable(server: DurableRedis, proxy: RedisProxy) -> Iterator[None]:
    proxy.refuse()
    yield
    proxy.accept()


def answering(error: str) -> Callable[[DurableRedis, RedisProxy], object]:
    @contextmanager
    def fault(server: DurableRedis, proxy: RedisProxy) -> Iterator[None]:
        proxy.fail(error)
        yield
        proxy.heal()

    return fault


@contextmanager
def read_only(server: DurableRedis, proxy: RedisProxy) -> Iterator[None]:
    with server.client() as client:
        client.replicaof(*UNUSED)
    yield
    with server.client() as client:
        client.replicaof("NO", "ONE")


@contextmanager
def out_of_memory(server: DurableRedis, proxy: RedisProxy) -> Iterator[None]:
    with server.client() as client:
        client.config_set("maxmemory-policy", "noeviction")
        client.config_set("maxmemory", 1)
    yield
    with server.client() as client:
        client.config_set("maxmemory", 0)


OUTAGES = {
    "killed and restarted on its append-only file": redis_killed,
    "unreachable": unreachable,
    "loading a large file": killed_and_loading,
    "not able to write its file": answering("MISCONF Errors writing to the AOF file: No space left on device"),
    "read only": read_only,
    "out of memory": out_of_memory,
}


def each_outage() -> Iterator[object]:
    """Two of them each time; the others meet the same lines of code."""
    for name, outage in OUTAGES.items():
        often = outage in (redis_killed, read_only)
        yield pytest.param(outage, id=name, marks=() if often else pytest.mark.slow)


@pytest.mark.parametrize("outage", list(each_outage()))
def test_the_crawl_pauses_while_redis_is(tmp_path, web, server, proxy, outage):
    crawl = TopicCrawl(tmp_path / "crawl", web, REDIS_URL=proxy.url)
    with crawl.started() as run:
        run.wait_for_pages(60)
        with outage(server, proxy):
            run.wait_for_line("The crawl pauses")
            time.sleep(AWAY_SECONDS)
            assert run.process.poll() is None, run.log[-5000:]
        assert run.ended() == 0
    assert crawl.summary()["finish_reason"] == "finished"
    crawl.check_pages(expected())
    run.check_told(outages=1)
    assert not crawl.repeated(), "the agent lives and has its leases: it fetches nothing twice"


@pytest.mark.slow
def test_the_crawl_outlives_a_redis_that_is_unreachable_for_a_minute(tmp_path, web, server, proxy):
    crawl = TopicCrawl(tmp_path / "crawl", web, REDIS_URL=proxy.url)
    with crawl.started() as run:
        run.wait_for_pages(60)
        proxy.refuse()
        time.sleep(60)
        proxy.accept()
        assert run.ended() == 0
    crawl.check_pages(expected())
    run.check_told(outages=1)
    assert len(crawl.repeated()) <= HOSTS


@pytest.mark.slow
def test_the_crawl_outlives_a_redis_that_hangs_for_longer_than_anybody_waits(tmp_path, web, server, proxy):
    crawl = TopicCrawl(tmp_path / "crawl", web, REDIS_URL=proxy.url)
    with crawl.started() as run:
        run.wait_for_pages(60)
        server.stop()
        time.sleep(40)
        server.go_on()
        assert run.ended() == 0
    crawl.check_pages(expected())
    run.check_told(outages=1)
    assert len(crawl.repeated()) <= HOSTS


@pytest.mark.slow
def test_a_short_hang_of_redis_is_waited_for_and_not_worth_a_word(tmp_path, web, server, proxy):
    crawl = TopicCrawl(tmp_path / "crawl", web, REDIS_URL=proxy.url)
    with crawl.started() as run:
        for pages in (40, 100):
            run.wait_for_pages(pages)
            proxy.pause()
            time.sleep(0.5)
            proxy.resume()
        assert run.ended() == 0
    crawl.check_pages(expected())
    run.check_told(outages=0)
    assert not crawl.repeated()


@pytest.mark.slow
def test_a_slow_redis_makes_a_slow_crawl_and_nothing_else(tmp_path, server, proxy):
    with LocalWeb(write_web(tmp_path / "web", pages=80)) as web:
        crawl = TopicCrawl(tmp_path / "crawl", web, REDIS_URL=proxy.url)
        proxy.delay = 0.2
        run = crawl.finish()
        crawl.check_pages(expected(80))
        run.check_told(outages=0)
        assert not crawl.repeated()


@pytest.mark.slow
@pytest.mark.parametrize("every", [0.37, 1.0])
def test_the_crawl_outlives_a_network_that_keeps_breaking(tmp_path, web, server, proxy, every):
    crawl = TopicCrawl(tmp_path / "crawl", web, REDIS_URL=proxy.url)
    with crawl.started() as run:
        run.wait_for_pages(20)
        resets = 0
        while run.process.poll() is None and resets < 8:
            proxy.reset()
            resets += 1
            time.sleep(every)
        assert run.ended() == 0
    crawl.check_pages(expected())
    assert "Traceback" not in run.log
    told = run.log.count("The crawl pauses")
    assert told <= resets
    run.check_told(outages=told)
    assert not crawl.repeated()


def test_replies_that_get_lost_cost_no_page_and_no_waiting_for_leases(tmp_path, web, server, proxy):
    """The scripts have run, but the agent cannot know: what they leased is its own all the same, what they settled is settled."""
    crawl = TopicCrawl(tmp_path / "crawl", web, REDIS_URL=proxy.url, FRONTIER_LEASE_SECONDS=600)
    lost = 0
    with crawl.started() as run:
        for pages in (10, 60, 160):
            run.wait_for_pages(pages)
            proxy.lose_reply()
            wait_until(lambda: proxy.losing is None or run.process.poll() is not None, lambda: run.log)
            lost += 1
        assert run.ended() == 0
    crawl.check_pages(expected())
    run.check_told(outages=lost)
    assert not crawl.repeated()


@pytest.mark.slow
def test_a_start_without_redis_is_one_sentence_and_the_next_start_begins(tmp_path, web, server, proxy):
    crawl = TopicCrawl(tmp_path / "crawl", web, REDIS_URL=proxy.url)
    proxy.refuse()
    with crawl.started() as run:
        assert run.ended() == 1
    assert "Traceback" not in run.log
    told = [line for line in run.lines if line.startswith("Error: ") or " ERROR: " in line]
    assert len(told) == 1, run.log
    assert "No Redis answers at" in told[0]
    proxy.accept()
    crawl.finish()
    crawl.check_pages(expected())


def test_a_start_while_redis_reads_its_file_back_waits_for_it(tmp_path, web, server):
    """After a restart of the machine both begin at once."""
    crawl = TopicCrawl(tmp_path / "crawl", web, REDIS_URL=server.url)
    server.fill()
    server.kill()
    server.start(loading_seconds=4)
    run = crawl.finish()
    crawl.check_pages(expected())
    assert " ERROR: " not in run.log


# What it holds meanwhile


def test_a_kill_while_redis_is_away_loses_nothing(tmp_path, web, server, proxy):
    """Pages are stored and cannot be acknowledged; links are found and cannot be admitted: both come again."""
    crawl = TopicCrawl(tmp_path / "crawl", web, REDIS_URL=proxy.url)
    with crawl.started() as run:
        run.wait_for_pages(60)
        proxy.refuse()
        run.wait_for_line("The crawl pauses")
        time.sleep(0.3)
        run.kill()
    in_flight = leased(server, "disturbed")
    proxy.accept()
    crawl.finish()
    crawl.check_pages(expected())
    assert len(crawl.repeated()) <= in_flight
