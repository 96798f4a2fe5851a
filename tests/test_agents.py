"""Several agents on one crawl: real processes and signals, and what the servers saw of it."""

from __future__ import annotations

import json
import signal
import time
from collections import Counter
from contextlib import ExitStack
from datetime import datetime

import pytest

from tests.benchmarks.accesslog import violations
from tests.crawls import TopicCrawl, expected, write_web
from tests.localweb.web import LocalWeb

LEASE_SECONDS = 2
DELAY = 0.05


@pytest.fixture
def web(tmp_path):
    write_web(tmp_path / "web")
    with LocalWeb(tmp_path / "web", latency_ms=20) as web:
        yield web


@pytest.fixture
def team(tmp_path, web, redis_server, request):
    """Makes agents of one crawl, each with a folder of its own as on a machine of its own."""
    name = request.node.name[:60].replace("[", "-").replace("]", "")

    def agent(number, **settings):
        return TopicCrawl(
            tmp_path / f"agent{number}",
            web,
            REDIS_URL=redis_server.url,
            FRONTIER_CRAWL=name,
            FRONTIER_AGENT=f"agent{number}",
            FRONTIER_LEASE_SECONDS=LEASE_SECONDS,
            CRAWL_DELAY=DELAY,
            CONCURRENT_REQUESTS=3,
            **settings,
        )

    return agent


def stored(*crawls):
    """How often each URL is in the agents' results."""
    urls = Counter()
    for one in crawls:
        path = one.out / "pages.jsonl"
        urls.update(json.loads(line)["url"] for line in path.read_text().splitlines()) if path.exists() else None
    return urls


def impolite(web):
    return [str(one) for one in violations(web.access_log(), crawl_delay_ms=DELAY * 1000)]


def own_summary(crawl):
    """What an agent says of itself alone."""
    return json.loads((crawl.out / f"summary-{crawl.settings['FRONTIER_AGENT']}.json").read_text())


def wait_for(condition, seconds=40):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_agents_that_join_at_will_share_a_crawl_politely_and_end_together(web, team):
    first, second, third = (team(number) for number in range(3))
    with ExitStack() as running:
        runs = [running.enter_context(first.started())]
        wait_for(lambda: first.stored() >= 20)
        runs += [running.enter_context(one.started()) for one in (second, third)]
        assert [run.ended() for run in runs] == [0, 0, 0]
    assert set(stored(first, second, third)) == expected()
    assert max(first.fetched().values()) == 1, "a page was fetched twice"
    assert impolite(web) == []
    assert min(one.stored() for one in (first, second, third)) > 0, "an agent had nothing to do"
    last_answer = max(record["end_ms"] for record in web.access_log())
    for one in (first, second, third):
        summary = one.summary()
        assert summary["finish_reason"] == "finished"
        began = datetime.fromisoformat(own_summary(one)["started_at"]).timestamp()
        assert (began + own_summary(one)["elapsed_seconds"]) * 1000 >= last_answer, "an agent ended before the crawl"
        assert {agent["name"] for agent in summary["agents"]} == {"agent0", "agent1", "agent2"}


def test_an_agent_that_is_killed_leaves_its_servers_to_the_others_who_finish_the_crawl(web, team):
    # Leases that explore are so short that an agent may just hold none.
    first, second = (team(number, FRONTIER_EXPLORE=0) for number in (0, 1))
    with first.started() as one, second.started() as two:
        wait_for(lambda: first.stored() >= 20 and second.stored() >= 20)
        one.kill()
        assert two.ended() == 0
    both = stored(first, second)
    assert set(both) == expected()
    assert impolite(web) == []
    summary = second.summary()
    assert {agent["name"]: agent["state"] for agent in summary["agents"]} == {"agent0": "lost", "agent1": "ended"}
    assert summary["leases"]["expired"] > 0


def test_an_agent_that_was_paused_for_longer_than_its_leases_sends_nothing_to_servers_that_others_have(web, team):
    first, second = team(0), team(1)
    with first.started() as one, second.started() as two:
        wait_for(lambda: first.stored() >= 20 and second.stored() >= 20)
        one.signal(signal.SIGSTOP)
        before = second.stored()
        # The leases run out, the servers change hands, and the second agent is at work on them.
        time.sleep(LEASE_SECONDS * 1.6)
        assert second.stored() > before
        one.signal(signal.SIGCONT)
        assert (one.ended(), two.ended()) == (0, 0)
    assert set(stored(first, second)) == expected()
    assert impolite(web) == []
    assert "Traceback" not in one.log
    # What was on its way to the first agent when it stopped was fetched again, and no more.
    assert len(first.repeated()) <= 3


def test_only_the_last_agent_to_end_clears_a_crawl_that_is_not_to_be_kept(web, team):
    first, second = team(0, SCHEDULER_PERSIST=False), team(1, SCHEDULER_PERSIST=False)
    with first.started() as one, second.started() as two:
        wait_for(lambda: first.stored() >= 10 and second.stored() >= 10)
        one.signal(signal.SIGINT)
        assert one.ended() == 0
        assert two.ended() == 0
    assert set(stored(first, second)) == expected()
    assert max(first.fetched().values()) == 1


def test_a_crawl_is_not_begun_anew_under_agents_that_are_at_work_on_it(team):
    first, second = team(0), team(1)
    with first.started():
        wait_for(lambda: first.stored() >= 10)
        with second.started(SCHEDULER_FLUSH_ON_START=True) as refused:
            assert refused.ended() == 2
    assert "under other agents that are at work on it (agent0)" in refused.log
    assert "Traceback" not in refused.log


def test_two_machines_cannot_be_the_same_agent(team):
    first, second = team(0), team(1)
    with first.started():
        wait_for(lambda: first.stored() >= 10)
        with second.started(FRONTIER_AGENT="agent0") as refused:
            assert refused.ended() == 2
    assert "give each a FRONTIER_AGENT of its own" in refused.log
