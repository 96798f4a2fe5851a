"""A disk that fills up: the crawl stops with one sentence, acknowledges nothing that it could not store, and goes on when there is room.

Where the disk is full is a matter of chance: here files may have only so many bytes, at several sizes, which ends a crawl in the first table
of the database, in a page's line, or in a write-ahead log that grows.
"""

from __future__ import annotations

import resource
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from tests.crawls import PAGES, TopicCrawl, expected, write_web
from tests.faults import DurableRedis
from tests.localweb.web import LocalWeb

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.crawls import Run

pytestmark = pytest.mark.timeout(180)

SENTENCE = "make room on the disk and start the crawl again, it goes on where it stopped."


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> Path:
    return write_web(tmp_path_factory.mktemp("web"))


@pytest.fixture
def web(pages) -> Iterator[LocalWeb]:
    with LocalWeb(pages, latency_ms=5) as started:
        yield started


@pytest.fixture
def server(tmp_path) -> Iterator[DurableRedis]:
    with DurableRedis(tmp_path / "redis") as started:
        yield started


def no_file_larger_than(size: int) -> Callable[[], None]:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return limit


def check_stopped_clearly(run: Run) -> None:
    assert run.ended() == 1, run.log[-5000:]
    told = [line for line in run.lines if " ERROR: " in line or " CRITICAL: " in line]
    assert len(told) == 1, run.log[-5000:]
    assert SENTENCE in told[0]
    assert "Traceback" not in run.log, run.log[-5000:]


def in_the_database(crawl: TopicCrawl) -> set[str]:
    with closing(sqlite3.connect(crawl.out / "crawl.sqlite")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return {url for (url,) in connection.execute("SELECT url FROM pages")}


def test_a_disk_that_is_full_again_and_again_costs_no_page(tmp_path, web, server):
    """Each start has a little more room than the last one; what was stored stays, and what was not comes again."""
    crawl = TopicCrawl(tmp_path / "crawl", web, REDIS_URL=server.url)
    before = 0
    for size in (40_000, 75_000, 110_000):
        with crawl.started(limits=no_file_larger_than(size)) as run:
            check_stopped_clearly(run)
        assert before <= crawl.stored() < PAGES
        before = crawl.stored()
    crawl.finish()
    crawl.check_pages(expected())
    assert in_the_database(crawl) == expected(), "what was acknowledged is in both outputs"


def test_a_device_without_room_stops_the_crawl_and_all_its_pages_come_again(tmp_path, web, server):
    crawl = TopicCrawl(tmp_path / "crawl", web, REDIS_URL=server.url)
    crawl.out.mkdir()
    (crawl.out / "pages.jsonl").symlink_to("/dev/full")
    with crawl.started() as run:
        check_stopped_clearly(run)
    assert crawl.summary()["finish_reason"] == "output_error"
    (crawl.out / "pages.jsonl").unlink()
    crawl.finish()
    crawl.check_pages(expected())
    assert in_the_database(crawl) == expected()


def test_a_crawl_killed_on_a_full_disk_loses_nothing(tmp_path, web, server):
    crawl = TopicCrawl(tmp_path / "crawl", web, REDIS_URL=server.url)
    with crawl.started(limits=no_file_larger_than(75_000)) as run:
        run.wait_for_line(SENTENCE)
        run.kill()
    crawl.finish()
    crawl.check_pages(expected())
    assert in_the_database(crawl) == expected()
