"""What Redis forgets when it is restarted from an older state is said again: nothing that was acknowledged is lost."""

from __future__ import annotations

import time

import redis

from extensions import journal
from extensions.frontier.records import Candidate, Settlement
from extensions.journal import Journal
from tests.crawls import PAGES, TopicCrawl, expected, write_web
from tests.localweb.web import LocalWeb
from tests.redis_servers import durable_server

ONE, TWO = (Candidate("http://a", f"/{n}", 0, n, 0.5) for n in (1, 2))
DONE = Settlement("http://a", 3, ("/1",), pages=1, failures=1, connection_ms=(1.0,), response_ms=(2.0,), release=True)


def test_what_was_said_lately_is_kept_in_order_and_counts_nothing_a_second_time():
    kept = Journal()
    kept.note([ONE], [])
    kept.note([TWO], [DONE])
    assert kept.candidates() == [ONE, TWO]
    assert kept.settlements() == [Settlement("http://a", 3, ("/1",), release=True, again=True)]


def test_what_was_said_long_ago_or_is_too_much_is_let_go(monkeypatch):
    kept = Journal()
    kept.note([ONE], [])
    monkeypatch.setattr(journal, "KEPT_SECONDS", -1.0)
    kept.note([], [])
    assert kept.candidates() == []
    monkeypatch.undo()
    monkeypatch.setattr(journal, "MOST_CANDIDATES", 1)
    kept.note([ONE], [])
    kept.note([TWO], [])
    assert kept.candidates() == [TWO]


def test_a_redis_that_has_lost_its_last_second_costs_no_page(tmp_path):
    """A copy of the append-only file is put in the place of the one that Redis wrote on: all that came after it is forgotten."""
    write_web(tmp_path / "web")
    with LocalWeb(tmp_path / "web", latency_ms=10) as web, durable_server() as server:
        crawl = TopicCrawl(tmp_path / "crawl", web, REDIS_URL=server.url, FRONTIER_LEASE_SECONDS=3)
        with crawl.started() as run:
            run.wait_for_pages(40)
            with redis.Redis.from_url(server.url) as client:
                files = {path: path.read_bytes() for path in server.folder.rglob("*.aof")}
                seen = sum(int(client.hget(key, "seen") or 0) for key in client.scan_iter("frontier:*:m"))
            time.sleep(0.8)
            server.kill()
            for path, data in files.items():
                path.write_bytes(data)
            server.start()
            assert run.ended() == 0, run.log[-5000:]
        crawl.check_pages(expected())
        assert crawl.repeated() == set(), "what was acknowledged was fetched again"
    assert 0 < seen < PAGES, "there was nothing to lose"
