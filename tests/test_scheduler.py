"""The scheduler in whole crawls: order, politeness, what survives the way through Redis, and how a crawl ends and goes on."""

from __future__ import annotations

import itertools
import signal
import time
from collections import defaultdict

import pytest
import redis

from tests.localweb.web import LocalWeb, write_site
from tests.running import HURRY, crawl, log_of, seen, start

WALKER = "tests.spiders.Walker"
CLOCKS_MS = 5
"""The web notes the end of an answer after its last byte has gone."""


def page(*links, title="page", size=0):
    return f"<title>{title}</title>" + "".join(f'<a href="{link}">{link}</a> ' for link in links) + "x" * size


def tree(folder, hosts, pages):
    """Pages 0 to pages-1 spread over the hosts; each links to four later ones. The first is http://h0.test/0."""

    def url(n):
        return f"http://h{n % hosts}.test/{n}"

    for n in range(pages):
        children = [url(child) for child in range(4 * n + 1, 4 * n + 5) if child < pages]
        write_site(folder, f"h{n % hosts}.test", {f"/{n}": page(*children)})
    return {url(n) for n in range(pages)}


@pytest.fixture
def settings(redis_server, request):
    """Settings of a hurried crawl of its own in the tests' Redis."""
    name = request.node.name.replace("[", "-").replace("]", "")[:80]
    return HURRY | {"REDIS_URL": redis_server.url, "FRONTIER_CRAWL": name, "LOG_LEVEL": "INFO"}


def requests_by_host(web, robots=False):
    found = defaultdict(list)
    for record in web.access_log():
        if robots or record["path"] != "/robots.txt":
            found[record["host"]].append(record)
    return {host: sorted(records, key=lambda record: record["start_ms"]) for host, records in found.items()}


def gaps_ms(records):
    return [later["start_ms"] - earlier["end_ms"] for earlier, later in itertools.pairwise(records)]


def test_every_page_is_fetched_once_and_the_crawl_ends_by_itself(tmp_path, settings):
    urls = tree(tmp_path / "web", hosts=7, pages=150)
    with LocalWeb(tmp_path / "web") as web:
        stats = crawl(WALKER, tmp_path, settings | web.settings() | {"WALK_FROM": "http://h0.test/0"})
    assert sorted(entry["url"] for entry in seen(tmp_path)) == sorted(urls)
    assert stats["finish_reason"] == "finished"
    assert stats["frontier/queued"] == 0
    assert stats["frontier/settled"] >= 150


def test_a_server_never_gets_two_requests_at_once_and_no_more_servers_are_open_than_allowed(tmp_path, settings):
    tree(tmp_path / "web", hosts=12, pages=100)
    with LocalWeb(tmp_path / "web", latency_ms=20) as web:
        crawl(WALKER, tmp_path, settings | web.settings() | {"WALK_FROM": "http://h0.test/0", "CONCURRENT_REQUESTS": 3})
        by_host = requests_by_host(web, robots=True)
        moments = sorted(
            moment for record in web.access_log() for moment in ((record["start_ms"], 1), (record["end_ms"], -1))
        )
    assert sum(map(len, by_host.values())) == 112
    assert all(gap >= 0 for records in by_host.values() for gap in gaps_ms(records))
    open_now = most = 0
    for _, change in moments:
        open_now += change
        most = max(most, open_now)
    assert most <= 3


def test_the_crawl_delay_lies_between_all_requests_to_a_server_robots_txt_included(tmp_path, settings):
    tree(tmp_path / "web", hosts=2, pages=8)
    with LocalWeb(tmp_path / "web") as web:
        began = time.monotonic()
        crawl(WALKER, tmp_path, settings | web.settings() | {"WALK_FROM": "http://h0.test/0", "CRAWL_DELAY": 0.3})
        took = time.monotonic() - began
        by_host = requests_by_host(web, robots=True)
    assert min(gap for records in by_host.values() for gap in gaps_ms(records)) >= 300 - CLOCKS_MS
    assert took < 8, "the engine was not woken when a server became due"


def test_robots_txt_may_ask_for_a_longer_delay_within_bounds_and_may_forbid(tmp_path, settings):
    write_site(
        tmp_path / "web", "a.test", {"/": page("/1", "/secret/2", "http://b.test/"), "/1": page(), "/secret/2": page()}
    )
    write_site(tmp_path / "web", "b.test", {"/": page("/1"), "/1": page()})
    write_site(tmp_path / "web", "a.test", {"/robots.txt": "User-agent: *\nDisallow: /secret/\nCrawl-delay: 0.4"})
    write_site(tmp_path / "web", "b.test", {"/robots.txt": "User-agent: *\nCrawl-delay: 600"})
    with LocalWeb(tmp_path / "web") as web:
        crawl(WALKER, tmp_path, settings | web.settings() | {"CRAWL_DELAY_MAX": 1.0, "CRAWL_DELAY_FACTOR": 0.001})
        by_host = requests_by_host(web, robots=True)
    assert [record["path"] for record in by_host["a.test"]] == ["/robots.txt", "/", "/1"]
    assert min(gaps_ms(by_host["a.test"])) >= 400 - CLOCKS_MS
    assert min(gaps_ms(by_host["b.test"])) >= 1000 - CLOCKS_MS
    assert max(gaps_ms(by_host["b.test"])) < 4000


def test_a_slow_server_is_left_alone_for_a_multiple_of_its_response_time(tmp_path, settings):
    tree(tmp_path / "web", hosts=1, pages=4)
    with LocalWeb(tmp_path / "web", latency_ms=100) as web:
        crawl(WALKER, tmp_path, settings | web.settings() | {"WALK_FROM": "http://h0.test/0", "CRAWL_DELAY_FACTOR": 3})
        by_host = requests_by_host(web)
    assert min(gaps_ms(by_host["h0.test"])) >= 290


def test_what_a_request_carries_survives_the_round_trip_and_what_cannot_is_a_clear_error(tmp_path, settings):
    write_site(
        tmp_path / "web", "a.test", {"/": page(), "/form": page(), "/more": page(), "/lock": page(), "/target": page()}
    )
    behaviour = {
        "hosts": {"a.test": {"faults": [{"path": "/moved", "kind": "redirect", "location": "/target", "status": 302}]}}
    }
    with LocalWeb(tmp_path / "web", behaviour=behaviour) as web:
        stats = crawl("tests.spiders.Carrier", tmp_path, settings | web.settings())
    said = {entry.get("callback", "parse"): entry for entry in seen(tmp_path)}
    assert said["posted"]["method"] == "POST"
    assert said["posted"]["body"] == "x=1"
    assert said["more"]["pair"] == "('a', 1)"
    assert said["more"]["words"] == "{'x'}"
    assert said["more"]["meta"] == {"deep": [1, 2]}
    assert said["more"]["seven"] == "seven"
    assert said["more"]["header"] == "yes"
    assert said["more"]["flags"] == ["kept"]
    assert said["failed"]["url"] == "http://a.test/missing"
    assert said["again"]["url"] == "http://a.test/"
    assert "<GET http://a.test/lock> cannot be queued: cb_kwargs['lock'] holds a _thread.lock" in log_of(tmp_path)
    assert "<GET http://a.test/foreign> cannot be queued" in log_of(tmp_path)
    assert stats["frontier/unserialisable"] == 2
    assert stats["finish_reason"] == "finished"


def test_redirects_and_retries_reach_their_page(tmp_path, settings):
    write_site(tmp_path / "web", "a.test", {"/": page("/old", "/shaky", "/loop"), "/shaky": page()})
    write_site(tmp_path / "web", "b.test", {"/new": page()})
    faults = [
        {"path": "/old", "kind": "redirect", "location": "http://b.test/new", "status": 301},
        {"path": "/shaky", "kind": "status", "status": 503, "times": 1, "headers": {"Retry-After": "1"}},
        {"path": "/loop", "kind": "redirect", "location": "/loop", "status": 302},
    ]
    with LocalWeb(tmp_path / "web", behaviour={"hosts": {"a.test": {"faults": faults}}}) as web:
        stats = crawl(WALKER, tmp_path, settings | web.settings())
        records = requests_by_host(web)["a.test"]
    assert {entry["url"] for entry in seen(tmp_path)} == {"http://a.test/", "http://b.test/new", "http://a.test/shaky"}
    assert stats["retry/count"] == 1
    overloaded = [record["status"] for record in records].index(503)
    assert overloaded == len(records) - 1 or gaps_ms(records)[overloaded] >= 995
    assert stats["finish_reason"] == "finished"


def test_a_crawl_that_was_stopped_goes_on_where_it_was_and_fetches_nothing_twice(tmp_path, settings):
    urls = tree(tmp_path / "web", hosts=5, pages=120)
    with LocalWeb(tmp_path / "web") as web:
        mine = settings | web.settings() | {"WALK_FROM": "http://h0.test/0"}
        first = crawl(WALKER, tmp_path, mine | {"CLOSESPIDER_PAGECOUNT": 40})
        assert first["finish_reason"] == "closespider_pagecount"
        assert 0 < len(seen(tmp_path)) < 120
        second = crawl(WALKER, tmp_path, mine)
        third = crawl(WALKER, tmp_path, mine)
    assert second["finish_reason"] == "finished"
    assert sorted(entry["url"] for entry in seen(tmp_path)) == sorted(urls)
    assert third["finish_reason"] == "finished"
    assert third.get("response_received_count", 0) == 0


def test_ctrl_c_gives_leases_back_and_the_next_start_resumes(tmp_path, settings, redis_server):
    urls = tree(tmp_path / "web", hosts=5, pages=120)
    with LocalWeb(tmp_path / "web", latency_ms=30) as web:
        mine = settings | web.settings() | {"WALK_FROM": "http://h0.test/0", "FRONTIER_PARTITIONS": 1}
        process = start(WALKER, tmp_path, mine)
        while len(seen(tmp_path)) < 20:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0
        with redis.Redis.from_url(redis_server.url) as client:
            counters = client.hgetall(f"frontier:{{{settings['FRONTIER_CRAWL']}:0}}:m")
        assert int(counters[b"leased"]) == 0
        assert int(counters[b"queued"]) > 0
        crawl(WALKER, tmp_path, mine)
    assert sorted(entry["url"] for entry in seen(tmp_path)) == sorted(urls)


def test_a_killed_crawl_loses_nothing_and_repeats_only_what_was_in_flight(tmp_path, settings):
    urls = tree(tmp_path / "web", hosts=5, pages=200)
    with LocalWeb(tmp_path / "web", latency_ms=10) as web:
        mine = settings | web.settings() | {"WALK_FROM": "http://h0.test/0"}
        process = start(WALKER, tmp_path, mine)
        while len(seen(tmp_path)) < 40:
            time.sleep(0.02)
        process.kill()
        process.wait()
        before = len(seen(tmp_path))
        began = time.monotonic()
        crawl(WALKER, tmp_path, mine)
        assert time.monotonic() - began < 30, "the dead agent's leases were waited for"
    fetched = [entry["url"] for entry in seen(tmp_path)]
    assert before < 200
    assert set(fetched) == urls
    assert len(fetched) - len(urls) <= 40


def test_depth_is_limited_and_told(tmp_path, settings):
    tree(tmp_path / "web", hosts=2, pages=30)
    with LocalWeb(tmp_path / "web") as web:
        crawl(WALKER, tmp_path, settings | web.settings() | {"WALK_FROM": "http://h0.test/0", "DEPTH_LIMIT": 2})
    assert {entry["depth"] for entry in seen(tmp_path)} == {0, 1, 2}
    assert len(seen(tmp_path)) == 1 + 4 + 16


def test_seeds_pushed_to_redis_are_picked_up_while_the_crawl_runs(tmp_path, settings, redis_server):
    write_site(tmp_path / "web", "a.test", {"/": page()})
    write_site(tmp_path / "web", "b.test", {"/": page("/1"), "/1": page()})
    write_site(tmp_path / "web", "c.test", {"/": page()})
    with LocalWeb(tmp_path / "web") as web, redis.Redis.from_url(redis_server.url) as client:
        client.delete("walker:start_urls")
        process = start(WALKER, tmp_path, settings | web.settings() | {"SCHEDULER_IDLE_BEFORE_CLOSE": 4})
        while not seen(tmp_path):
            time.sleep(0.02)
        client.lpush("walker:start_urls", "http://b.test/", '{"url": "http://c.test/", "meta": {"job": 1}}', "nonsense")
        process.wait(30)
        left = client.llen("walker:start_urls")
    assert {entry["url"] for entry in seen(tmp_path)} == {
        f"http://{path}" for path in ("a.test/", "b.test/", "b.test/1", "c.test/")
    }
    assert left == 0
    assert "nonsense" in log_of(tmp_path)


def test_a_crawl_waits_for_a_redis_that_went_away_and_goes_on(tmp_path, settings):
    """The private Redis is stopped in the middle (SIGSTOP), so every call hangs; then it goes on."""
    urls = tree(tmp_path / "web", hosts=5, pages=150)
    mine = {name: value for name, value in settings.items() if name != "REDIS_URL"}
    with LocalWeb(tmp_path / "web", latency_ms=10) as web:
        process = start(WALKER, tmp_path, mine | web.settings() | {"WALK_FROM": "http://h0.test/0"})
        while len(seen(tmp_path)) < 20:
            time.sleep(0.02)
        with redis.Redis(unix_socket_path=str(tmp_path / ".scrapy/redis/redis.sock")) as client:
            pid = client.info()["process_id"]
        import os

        os.kill(pid, signal.SIGKILL)
        time.sleep(1)
        from extensions.frontier.embedded import EmbeddedRedis

        again = EmbeddedRedis(tmp_path / ".scrapy/redis")
        again.start()
        assert process.wait(60) == 0
        again.stop()
    fetched = [entry["url"] for entry in seen(tmp_path)]
    assert set(fetched) == urls
    assert "The crawl pauses and goes on when Redis answers again." in log_of(tmp_path)
    assert "Redis answers again" in log_of(tmp_path)


def test_the_policy_cannot_change_its_order_within_a_crawl(tmp_path, settings):
    tree(tmp_path / "web", hosts=1, pages=3)
    with LocalWeb(tmp_path / "web") as web:
        mine = settings | web.settings() | {"WALK_FROM": "http://h0.test/0"}
        crawl(WALKER, tmp_path, mine)
        (tmp_path / "stats.json").unlink()
        process = start(WALKER, tmp_path, mine | {"FRONTIER_POLICY": "breadth_first"})
        process.wait(30)
    assert "was begun with another FRONTIER_POLICY" in log_of(tmp_path)


@pytest.mark.parametrize("layout", [None, "0"])
def test_a_crawl_that_another_version_began_is_refused_until_it_is_forgotten(tmp_path, settings, layout):
    tree(tmp_path / "web", hosts=1, pages=3)
    about = f"frontier:{{{settings['FRONTIER_CRAWL']}}}:about"
    with LocalWeb(tmp_path / "web") as web, redis.Redis.from_url(settings["REDIS_URL"]) as client:
        mine = settings | web.settings() | {"WALK_FROM": "http://h0.test/0"}
        crawl(WALKER, tmp_path, mine)
        assert len(seen(tmp_path)) == 3
        assert client.hdel(about, "layout") == 1
        if layout is not None:
            client.hset(about, "layout", layout)
        before = client.hgetall(about)
        for _ in range(2):
            (tmp_path / "crawl.log").unlink()
            start(WALKER, tmp_path, mine).wait(30)
            assert "was begun by another version of this project" in log_of(tmp_path)
            assert client.hgetall(about) == before
        assert len(seen(tmp_path)) == 3
        (tmp_path / "stats.json").unlink()
        crawl(WALKER, tmp_path, mine | {"SCHEDULER_FLUSH_ON_START": True})
    assert len(seen(tmp_path)) == 6


@pytest.mark.parametrize("policy", ["capability", "quality", "performance", "breadth_first"])
def test_every_policy_brings_the_whole_web_home(tmp_path, settings, policy):
    urls = tree(tmp_path / "web", hosts=4, pages=60)
    with LocalWeb(tmp_path / "web") as web:
        crawl(
            WALKER, tmp_path, settings | web.settings() | {"WALK_FROM": "http://h0.test/0", "FRONTIER_POLICY": policy}
        )
    assert sorted(entry["url"] for entry in seen(tmp_path)) == sorted(urls)


def test_many_partitions_bring_the_same_pages(tmp_path, settings):
    urls = tree(tmp_path / "web", hosts=9, pages=90)
    with LocalWeb(tmp_path / "web") as web:
        crawl(WALKER, tmp_path, settings | web.settings() | {"WALK_FROM": "http://h0.test/0", "FRONTIER_PARTITIONS": 8})
    assert sorted(entry["url"] for entry in seen(tmp_path)) == sorted(urls)


def test_a_server_that_never_answers_is_given_up_and_the_crawl_ends(tmp_path, settings):
    write_site(tmp_path / "web", "a.test", {"/": page("http://b.test/", *(f"http://dead.test/{n}" for n in range(40)))})
    write_site(tmp_path / "web", "b.test", {"/": page()})
    with LocalWeb(tmp_path / "web") as web:  # an unknown host answers 502
        stats = crawl(WALKER, tmp_path, settings | web.settings() | {"FRONTIER_MAX_FAILURES_PER_SERVER": 5})
        asked = len(requests_by_host(web)["dead.test"])
    assert {entry["url"] for entry in seen(tmp_path)} == {"http://a.test/", "http://b.test/"}
    assert stats["finish_reason"] == "finished"
    assert 5 <= asked < 60, "a lease of 40 URLs and their second tries, and then no more"


def test_an_overcrowded_server_keeps_its_best_urls(tmp_path, settings):
    write_site(tmp_path / "web", "a.test", {"/": page(*(f"http://b.test/{n}" for n in range(30)))})
    write_site(tmp_path / "web", "b.test", {f"/{n}": page() for n in range(30)})
    with LocalWeb(tmp_path / "web") as web:
        stats = crawl(WALKER, tmp_path, settings | web.settings() | {"FRONTIER_MAX_PENDING_PER_SERVER": 12})
    # Thirty links in one batch leave twelve; in several, some are leased before the next comes.
    assert len(seen(tmp_path)) + stats["frontier/dropped"] == 31
    assert stats["frontier/dropped"] > 0
