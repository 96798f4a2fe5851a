"""How long a server is left alone, and that what is remembered of servers stays bounded."""

from __future__ import annotations

import json
import time
from email.utils import formatdate
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy.http import Response

from extensions import politeness
from extensions.politeness import CrawlDelays, PoliteRobotsMiddleware
from tests.localweb.web import LocalWeb, write_site
from tests.running import HURRY, crawl, log_of
from tests.spiders import Walker

SERVER = "http://a.test"
delays_ms = st.floats(0, 1e7)


def delays(least_ms=1000.0, most_ms=60_000.0, factor=10.0):
    return CrawlDelays(least_ms=least_ms, most_ms=most_ms, factor=factor)


def overloaded(retry_after=None, status=503, date=None):
    headers = {"Retry-After": retry_after} if retry_after is not None else {}
    return Response(SERVER + "/", status=status, headers=headers | ({"Date": date} if date else {}))


@given(least=delays_ms, most=delays_ms, factor=st.floats(0, 1000), asked=st.floats(0, 1e6), took=delays_ms)
def test_the_delay_is_the_largest_of_three_two_of_them_bounded(least, most, factor, asked, took):
    crawl_delays = delays(least, most, factor)
    crawl_delays.robots_ask(SERVER + "/robots.txt", asked)
    assert crawl_delays.after(SERVER, took) == max(least, min(asked * 1000, most), min(factor * took, most))


def test_the_campaigns_minimum_is_kept_although_it_is_beyond_the_bound():
    assert delays(least_ms=90_000, most_ms=60_000).after(SERVER, 10_000) == 90_000


def test_robots_txt_is_for_its_host_and_port_alone():
    crawl_delays = delays()
    crawl_delays.robots_ask("http://a.test:8080/robots.txt", 5)
    assert crawl_delays.after("http://a.test:8080", 0) == 5000
    assert crawl_delays.after("http://a.test", 0) == 1000
    assert crawl_delays.after("http://b.a.test:8080", 0) == 1000


@pytest.mark.parametrize("nothing", [None, 0, 0.0])
def test_a_robots_txt_that_asks_for_nothing_changes_nothing(nothing):
    crawl_delays = delays()
    crawl_delays.robots_ask(SERVER, nothing)
    assert crawl_delays.after(SERVER, 0) == 1000


def test_a_factor_of_zero_leaves_the_response_time_out():
    assert delays(factor=0).after(SERVER, 50_000) == 1000


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(
    ("said", "milliseconds"),
    [
        ("7", 7000),
        (" 7 ", 7000),
        ("0", 0),
        ("3600", 60_000),
        ("9" * 400, 60_000),
        ("Wed, 21 Oct 2015 07:28:30 GMT", 30_000),
        ("Wednesday, 21-Oct-15 07:28:30 GMT", 30_000),
        ("Wed Oct 21 07:28:30 2015", 30_000),
        ("Wed, 21 Oct 2015 09:28:30 +0200", 30_000),
        ("Wed, 21 Oct 2015 09:28:30 GMT", 60_000),
        ("Wed, 21 Oct 2015 07:27:59 GMT", 0),
        (None, 10_000),
        ("", 10_000),
        ("soon", 10_000),
        ("-5", 10_000),
        ("1.5", 10_000),
        ("²", 10_000),
        ("Wed, 99 Oct 2015 07:28:30 GMT", 10_000),
        ("Wed, 21 Oct 99999999999 07:28:30 GMT", 10_000),
    ],
)
def test_an_overloaded_server_says_how_long(status, said, milliseconds):
    response = overloaded(said.encode("latin-1") if said else said, status, "Wed, 21 Oct 2015 07:28:00 GMT")
    assert delays().retry_after(response) == milliseconds


def test_without_a_date_of_the_answer_this_machines_clock_counts():
    then = formatdate(time.time() + 30, usegmt=True)
    assert 28_000 <= delays().retry_after(overloaded(then)) <= 30_000


@given(st.binary(max_size=40), st.binary(max_size=30))
def test_whatever_stands_in_the_headers_the_pause_is_within_its_bounds(said, date):
    pause = delays().retry_after(overloaded(said, date=date))
    assert 0 <= pause <= 60_000


@pytest.mark.parametrize("status", [200, 301, 404, 500, 502])
def test_retry_after_counts_for_overloaded_servers_only(status):
    assert delays().retry_after(overloaded("7", status)) == 0


def test_a_polite_crawl_pauses_longer_without_a_retry_after():
    assert delays(least_ms=3000).retry_after(overloaded()) == 30_000


def test_only_the_most_recently_met_delays_are_remembered(monkeypatch):
    monkeypatch.setattr(politeness, "REMEMBERED_SERVERS", 100)
    crawl_delays = delays()
    for number in range(100):
        crawl_delays.robots_ask(f"http://h{number}.test/robots.txt", 5)
    crawl_delays.robots_ask("http://h0.test/robots.txt", 6)
    crawl_delays.robots_ask("http://new.test/robots.txt", 5)
    remembered = [n for n in range(100) if crawl_delays.after(f"http://h{n}.test", 0) > 1000]
    assert remembered == [0, *range(2, 100)]


class Forgetful(Walker):
    """Walks with a memory of three servers, and tells in the end how many it remembers."""

    name = "forgetful"

    @classmethod
    def from_crawler(cls, crawler, *args, **kwargs):
        politeness.REMEMBERED_SERVERS = 3
        return super().from_crawler(crawler, *args, **kwargs)

    def closed(self, reason):
        middleware = self.crawler.get_downloader_middleware(PoliteRobotsMiddleware)
        Path("remembered.json").write_text(json.dumps(sorted(middleware._parsers)))


def test_parsers_of_robots_txt_are_remembered_for_the_last_servers_and_forgotten_ones_are_asked_again(
    tmp_path, redis_server
):
    hosts = [f"h{number}.test" for number in range(8)]
    for host in hosts:
        links = "".join(f'<a href="http://{other}/">x</a><a href="http://{other}/secret">x</a>' for other in hosts)
        write_site(tmp_path / "web", host, {"/": links, "/secret": "no", "/robots.txt": "User-agent: *\nDisallow: /s"})
    settings = HURRY | {"REDIS_URL": redis_server.url, "FRONTIER_CRAWL": "forgetful", "WALK_FROM": "http://h0.test/"}
    with LocalWeb(tmp_path / "web") as web:
        stats = crawl("tests.test_politeness.Forgetful", tmp_path, settings | web.settings())
        paths = [record["path"] for record in web.access_log()]
    remembered = json.loads((tmp_path / "remembered.json").read_text())
    assert 1 <= len(remembered) <= 3
    assert "/secret" not in paths
    assert paths.count("/") == 8
    assert stats["finish_reason"] == "finished"


def test_the_delay_that_robots_txt_asks_for_counts_however_a_url_spells_its_server(tmp_path, redis_server):
    """With Scrapy's own fingerprints URLs keep their spelling, and robots.txt is asked for by that."""
    write_site(tmp_path / "web", "a.test", {"/": "<a href='http://A.test:80/1'>1</a>", "/1": "", "/2": ""})
    write_site(tmp_path / "web", "a.test", {"/robots.txt": "User-agent: *\nCrawl-delay: 0.5"})
    settings = HURRY | {
        "REDIS_URL": redis_server.url,
        "FRONTIER_CRAWL": "spelling",
        "WALK_FROM": "http://a.test:80/",
        "REQUEST_FINGERPRINTER_CLASS": "scrapy.utils.request.RequestFingerprinter",
    }
    with LocalWeb(tmp_path / "web") as web:
        crawl("tests.spiders.Walker", tmp_path, settings | web.settings())
        records = [record for record in web.access_log() if record["path"] != "/robots.txt"]
    assert [record["path"] for record in records] == ["/", "/1"], log_of(tmp_path)
    assert records[1]["start_ms"] - records[0]["end_ms"] >= 495
