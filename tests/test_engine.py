"""What is used of Scrapy's engine and has no public door. If a new Scrapy breaks one of these, `extensions/engine.py` must follow.

One crawl with plain Scrapy settings and Scrapy's own scheduler in memory; a diary of it is judged by the tests.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
import scrapy
from scrapy import signals
from scrapy.core.scheduler import Scheduler
from scrapy.exceptions import DontCloseSpider, IgnoreRequest

from extensions.engine import in_progress, wake
from tests.localweb.web import LocalWeb, write_site
from tests.running import PROJECT

HELD_SECONDS = 0.3
PIPELINE_SECONDS = 0.3
IDLE_SECONDS = 0.3

RUN = """
import json, sys
from scrapy.crawler import CrawlerProcess
process = CrawlerProcess(json.loads(sys.argv[1]))
from tests.test_engine import Diarist
process.crawl(Diarist)
process.start()
"""


def note(event, **more):
    with Path("diary.jsonl").open("a") as out:
        out.write(json.dumps({"event": event, "at": time.monotonic(), **more}) + "\n")


def in_engine(crawler):
    return sorted(request.url for request in in_progress(crawler.engine))


class HoldingScheduler(Scheduler):
    """Scrapy's own, but what has meta["hold"] becomes due later, and only `wake` says so."""

    @classmethod
    def from_crawler(cls, crawler):
        note("scheduler made", engine_is_there=crawler.engine is not None)
        wake(None)
        if crawler.engine is not None:
            wake(crawler.engine)  # it has no slot yet
            note("before the slot", in_progress=in_engine(crawler))
        scheduler = super().from_crawler(crawler)
        scheduler.held, scheduler.watched = [], crawler
        return scheduler

    def enqueue_request(self, request):
        note("enqueued", url=request.url, in_progress=in_engine(self.watched))
        if "hold" in request.meta:
            self.held.append(request)
            asyncio.get_running_loop().call_later(HELD_SECONDS, self.release)
            return True
        return super().enqueue_request(request)

    def release(self):
        for request in self.held:
            super().enqueue_request(request)
        self.held = []
        note("woken")
        wake(self.watched.engine)
        wake(self.watched.engine)  # twice is once

    def has_pending_requests(self):
        return bool(self.held) or super().has_pending_requests()

    def next_request(self):
        request = super().next_request()
        if request is not None:
            note("handed out", url=request.url, in_progress=in_engine(self.watched))
            asyncio.get_running_loop().call_soon(self._after, request.url)
        return request

    def _after(self, url):
        note("just after", url=url, in_progress=in_engine(self.watched))


class SlowPipeline:
    """Takes its time, and notes what the engine holds when it is done."""

    @classmethod
    def from_crawler(cls, crawler):
        pipeline = cls()
        pipeline.crawler = crawler
        return pipeline

    async def process_item(self, item):
        await asyncio.sleep(PIPELINE_SECONDS)
        note("stored", url=item["url"], in_progress=in_engine(self.crawler))
        return item


class Forbid:
    """A downloader middleware that refuses one page."""

    def process_request(self, request):
        if request.url.endswith("/forbidden"):
            raise IgnoreRequest("not this one")


class Diarist(scrapy.Spider):
    name = "diarist"

    @classmethod
    def from_crawler(cls, crawler, *args, **kwargs):
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider.idle_since = None
        crawler.signals.connect(spider.on_idle, signals.spider_idle)
        crawler.signals.connect(spider.on_closed, signals.spider_closed)
        crawler.signals.connect(spider.on_stopped, signals.engine_stopped)
        return spider

    async def start(self):
        yield scrapy.Request("http://a.test/")

    async def parse(self, response):
        yield {"url": response.url}
        await asyncio.sleep(0.1)
        for path in "/broken", "/forbidden", "/missing", "/cut", "/moved":
            yield response.follow(path, errback=self.failed, callback=self.broken)
        yield response.follow("/held", callback=self.leaf, meta={"hold": True})
        yield scrapy.Request("http://nowhere.test/", errback=self.failed)

    def leaf(self, response):
        yield {"url": response.url}

    def broken(self, response):
        raise RuntimeError("a bug in the spider")

    def failed(self, failure):
        yield {"url": failure.request.url}

    def on_idle(self):
        note("idle", in_progress=in_engine(self.crawler))
        if self.idle_since is None:
            self.idle_since = time.monotonic()
        if time.monotonic() - self.idle_since < IDLE_SECONDS:
            asyncio.get_running_loop().call_later(IDLE_SECONDS, wake, self.crawler.engine)
            raise DontCloseSpider

    def on_closed(self):
        note("closed", in_progress=in_engine(self.crawler))
        wake(self.crawler.engine)

    def on_stopped(self):
        note("stopped", in_progress=in_engine(self.crawler))
        wake(self.crawler.engine)


@pytest.fixture(scope="module")
def diary(tmp_path_factory):
    """(events in order, the crawl's log)."""
    folder = tmp_path_factory.mktemp("engine")
    write_site(folder / "web", "a.test", {"/": "page", "/broken": "page", "/held": "page", "/target": "page"})
    faults = [
        {"path": "/moved", "kind": "redirect", "location": "/target", "status": 302},
        {"path": "/cut", "kind": "status", "status": 500},
    ]
    with LocalWeb(
        folder / "web", behaviour={"hosts": {"a.test": {"faults": faults}}}, unresolvable=["nowhere.test"]
    ) as web:
        settings = web.settings() | {
            "SCHEDULER": "tests.test_engine.HoldingScheduler",
            "ITEM_PIPELINES": {"tests.test_engine.SlowPipeline": 100},
            "DOWNLOADER_MIDDLEWARES": {"tests.test_engine.Forbid": 50},
            "TELNETCONSOLE_ENABLED": False,
            "RETRY_TIMES": 1,
        }
        done = subprocess.run(
            [sys.executable, "-c", RUN, json.dumps(settings)],
            cwd=folder,
            env={"PYTHONPATH": str(PROJECT), "PATH": ""},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in (folder / "diary.jsonl").read_text().splitlines()], done.stderr


def entries(diary, event, path=None):
    return [
        entry
        for entry in diary[0]
        if entry["event"] == event and (path is None or entry["url"] == f"http://a.test{path}")
    ]


def test_a_request_is_in_progress_as_soon_as_it_is_handed_out(diary):
    handed, after = entries(diary, "handed out"), entries(diary, "just after")
    assert len(handed) == len(after) >= 9
    assert all(entry["url"] not in entry["in_progress"] for entry in handed)
    assert all(entry["url"] in entry["in_progress"] for entry in after)


def test_it_stays_until_its_items_have_passed_a_slow_pipeline(diary):
    for path in "/", "/held":
        (stored,) = entries(diary, "stored", path)
        assert f"http://a.test{path}" in stored["in_progress"]


def test_it_stays_until_its_errback_has_passed_its_items_too(diary):
    (stored,) = entries(diary, "stored", "/forbidden")
    assert "http://a.test/forbidden" in stored["in_progress"]


def test_it_stays_until_the_requests_it_led_to_are_enqueued(diary):
    children = [entry for entry in entries(diary, "enqueued") if entry["url"].endswith(("/broken", "/held"))]
    assert len(children) == 2
    assert all("http://a.test/" in entry["in_progress"] for entry in children)
    (target,) = entries(diary, "enqueued", "/target")
    assert "http://a.test/moved" in target["in_progress"]
    again = entries(diary, "enqueued", "/cut")[1]
    assert "http://a.test/cut" in again["in_progress"], "a retry came after its request had left"


def test_in_the_end_it_leaves_however_it_went(diary):
    """Errors in callbacks, downloads that fail, refusals, redirects, retries: all of them."""
    assert entries(diary, "idle")[0]["in_progress"] == []


def test_waking_makes_the_engine_ask_at_once_and_not_at_its_next_heartbeat(diary):
    (woken,) = entries(diary, "woken")
    (handed,) = entries(diary, "handed out", "/held")
    assert handed["at"] - woken["at"] < 0.05
    first, second, *_ = entries(diary, "idle")
    assert second["at"] - first["at"] < IDLE_SECONDS + 0.25


def test_before_the_first_and_after_the_last_page_waking_is_harmless_and_nothing_is_in_progress(diary):
    assert entries(diary, "closed")[0]["in_progress"] == []
    assert entries(diary, "stopped")[0]["in_progress"] == []
    assert all(entry["in_progress"] == [] for entry in entries(diary, "before the slot"))
    assert "Spider closed (finished)" in diary[1]
    assert diary[1].count("Traceback") == diary[1].count("RuntimeError: a bug in the spider")
