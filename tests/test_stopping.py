"""Ctrl-C, SIGTERM, `scrapyd cancel`: the crawl ends within seconds, gives back what it leased, and goes on at the next start.

The patience of every wait is set to minutes here, so that a crawl that waits for what it should not wait for shows.
"""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING

import pytest

from tests.crawls import TopicCrawl, expected, url_of, write_web
from tests.faults import DurableRedis, RedisProxy
from tests.localweb.web import LocalWeb

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.crawls import Run

pytestmark = pytest.mark.timeout(180)

PAGES = 90
PATIENT = {"DOWNLOAD_TIMEOUT": 150, "FRONTIER_LEASE_SECONDS": 600}
FEW_SECONDS = 40.0
"""Five seconds of grace for downloads and as many for Redis, on a machine that is busy with other things."""
FAULTS = {
    "h1.test": {"faults": [{"path": "/7", "kind": "hang", "seconds": 160, "times": 1}]},
    "h2.test": {"faults": [{"path": "/8", "kind": "slow", "seconds": 160, "times": 1}]},
    "h3.test": {"faults": [{"path": "/robots.txt", "kind": "hang", "seconds": 160, "times": 1}]},
}
"""An answer that does not come, a body that trickles, a robots.txt that hangs and holds up its whole server."""


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> Path:
    return write_web(tmp_path_factory.mktemp("web"), PAGES)


@pytest.fixture
def web(pages) -> Iterator[LocalWeb]:
    with LocalWeb(pages, latency_ms=30) as started:
        yield started


@pytest.fixture
def hanging_web(pages) -> Iterator[LocalWeb]:
    with LocalWeb(pages, latency_ms=10, behaviour={"hosts": FAULTS}) as started:
        yield started


@pytest.fixture
def server(tmp_path) -> Iterator[DurableRedis]:
    with DurableRedis(tmp_path / "redis") as started:
        yield started


def check_ended_as_told(crawl: TopicCrawl, run: Run, status: int) -> None:
    assert status == 0, run.log[-5000:]
    assert "Traceback" not in run.log, run.log[-5000:]
    assert " ERROR: " not in run.log, run.log[-5000:]
    assert crawl.summary()["finish_reason"] == "shutdown"
    assert crawl.summary()["pages"] == crawl.stored()


def wait_until_all_but_what_hangs_is_fetched(crawl: TopicCrawl, run: Run) -> None:
    """Until no page has come for a second: whoever comes too early here tests less, and fails nothing."""
    run.wait_for_pages(10)
    before = 0
    while crawl.stored() > before:
        before = crawl.stored()
        time.sleep(1)


@pytest.mark.parametrize(
    "number", [pytest.param(signal.SIGINT, marks=pytest.mark.slow), signal.SIGTERM], ids=["SIGINT", "SIGTERM"]
)
def test_a_crawl_whose_servers_hang_stops_all_the_same_and_what_hung_is_fetched_by_the_next_start(
    tmp_path, hanging_web, server, number
):
    crawl = TopicCrawl(tmp_path / "crawl", hanging_web, REDIS_URL=server.url, **PATIENT)
    with crawl.started() as run:
        wait_until_all_but_what_hangs_is_fetched(crawl, run)
        run.signal(number)
        status = run.ended(FEW_SECONDS)
    check_ended_as_told(crawl, run, status)
    stored = crawl.stored()
    assert stored < PAGES
    crawl.finish(FRONTIER_AGENT="another")  # which would wait for leases that were not given back
    crawl.check_pages(expected(PAGES))
    assert crawl.repeated() <= {url_of(7), url_of(8)}
    assert crawl.summary()["pages"] == PAGES - stored


@pytest.mark.slow
def test_a_crawl_whose_first_page_hangs_stops_as_told_and_begins_anew(tmp_path, pages, server):
    first = {"h0.test": {"faults": [{"path": "/0", "kind": "hang", "seconds": 160, "times": 1}]}}
    with LocalWeb(pages, behaviour={"hosts": first}) as web:
        crawl = TopicCrawl(tmp_path / "crawl", web, REDIS_URL=server.url, **PATIENT)
        with crawl.started() as run:
            run.wait_for_line("Spider opened")
            time.sleep(1)
            run.signal(signal.SIGINT)
            status = run.ended(FEW_SECONDS)
        check_ended_as_told(crawl, run, status)
        crawl.finish()
        crawl.check_pages(expected(PAGES))


def test_pages_under_way_are_waited_for_and_their_servers_given_back(tmp_path, web, server):
    crawl = TopicCrawl(tmp_path / "crawl", web, REDIS_URL=server.url, **PATIENT)
    with crawl.started() as run:
        run.wait_for_pages(20)
        run.signal(signal.SIGTERM)
        status = run.ended(FEW_SECONDS)
    check_ended_as_told(crawl, run, status)
    crawl.finish(FRONTIER_AGENT="another")
    crawl.check_pages(expected(PAGES))
    assert not crawl.repeated()


@pytest.mark.parametrize("away", [pytest.param("refuse", marks=pytest.mark.slow), "pause"])
def test_a_crawl_stops_while_redis_is_away_and_its_next_start_has_everything(tmp_path, web, server, away):
    with RedisProxy(server.url) as proxy:
        crawl = TopicCrawl(tmp_path / "crawl", web, REDIS_URL=proxy.url, **PATIENT)
        with crawl.started() as run:
            run.wait_for_pages(20)
            getattr(proxy, away)()
            if away == "refuse":
                run.wait_for_line("The crawl pauses")
            else:
                time.sleep(0.5)  # by then it has something to say, and waits for the reply
            run.signal(signal.SIGTERM)
            assert run.ended(FEW_SECONDS) == 0
        proxy.resume()
        proxy.accept()
        assert "Traceback" not in run.log, run.log[-5000:]
        assert run.log.count("Redis does not answer, so the crawl's last pages stay leased") == 1, run.log[-5000:]
        assert crawl.summary()["finish_reason"] == "shutdown"
        crawl.finish()
    crawl.check_pages(expected(PAGES))


@pytest.mark.slow
def test_who_insists_is_obeyed_at_once_and_loses_nothing(tmp_path, hanging_web, server):
    crawl = TopicCrawl(tmp_path / "crawl", hanging_web, REDIS_URL=server.url, **PATIENT)
    with crawl.started() as run:
        run.wait_for_pages(20)
        run.signal(signal.SIGINT)
        run.wait_for_line("Send again to force")
        run.signal(signal.SIGINT)
        run.ended(FEW_SECONDS)
    crawl.finish()
    crawl.check_pages(expected(PAGES))
