"""Two agents on one crawl with one folder for the results: real processes, real signals, a real Redis."""

import json
import signal
import sqlite3
import time
from contextlib import closing, contextmanager

import redis

from extensions.frontier.keys import agents_key
from tests.localweb.web import LocalWeb, write_site
from tests.test_topic_crawl import GOOD, page, project_in

HOSTS = [f"h{number}.test" for number in range(8)]
PAGES = 12
"""On each host."""
LEASE_SECONDS = 2
SETTINGS = {"FRONTIER_LEASE_SECONDS": LEASE_SECONDS, "CONCURRENT_REQUESTS": len(HOSTS) // 2}
"""An agent has room for half of the hosts, so that the one that starts first leaves some for the other."""


def write_web(folder):
    """Every host's root links to all of its pages; the URLs of all."""
    for host in HOSTS:
        paths = [f"/{number}" for number in range(1, PAGES)]
        write_site(folder, host, {"/": page(GOOD, *paths)} | {path: page(GOOD) for path in paths})
    return {f"http://{host}/{number or ''}" for host in HOSTS for number in range(PAGES)}


@contextmanager
def two_agents(project, web, **of_the_first):
    """Both are ended with the test, however it ends."""
    seeds = ",".join(f"http://{host}/" for host in HOSTS)
    project.seeds = seeds
    agents = [
        project.start(web, FRONTIER_AGENT=name, **settings) for name, settings in (("anna", of_the_first), ("bert", {}))
    ]
    try:
        yield agents
    finally:
        for agent in agents:
            agent.kill()
            agent.communicate()


def lines(file):
    *whole, _ = file.read_bytes().split(b"\n") if file.exists() else [b""]
    return [json.loads(line)["url"] for line in whole]


def stored(folder):
    """URLs of all lines, and of all rows."""
    rows = []
    for path in folder.glob("crawl*.sqlite"):
        with closing(sqlite3.connect(path)) as database:
            rows += [url for (url,) in database.execute("SELECT url FROM pages")]
    return [url for path in folder.glob("pages*.jsonl") for url in lines(path)], rows


def wait_until_both_store(folder, least):
    deadline = time.monotonic() + 40
    while any(len(lines(folder / name)) < least for name in ("pages.jsonl", "pages-2.jsonl")):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def wait_until_told(url, crawl, name):
    """The others know by then that this agent has scored pages."""
    deadline = time.monotonic() + 40
    with closing(redis.Redis.from_url(url)) as client:
        while b"topic/pages" not in (client.hget(agents_key(crawl), name) or b""):
            assert time.monotonic() < deadline
            time.sleep(0.01)


def assert_whole(folder, expected):
    in_lines, in_rows = stored(folder)
    assert sorted(in_lines) == sorted(expected)
    assert sorted(in_rows) == sorted(expected)
    assert all(not path.read_bytes() or path.read_bytes().endswith(b"\n") for path in folder.glob("pages*.jsonl"))


def test_agent_killed_between_storing_and_acknowledging_leaves_no_page_twice_and_none_out(tmp_path, redis_server):
    expected = write_web(tmp_path / "web")
    project = project_in(tmp_path, redis_server, "killed", **SETTINGS)
    # The first acknowledges late, so that it has stored pages in hand when it dies.
    with (
        LocalWeb(tmp_path / "web", latency_ms=250) as web,
        two_agents(project, web, FRONTIER_FLUSH_SECONDS=1) as (first, second),
    ):
        wait_until_both_store(project.out, 6)
        wait_until_told(redis_server.url, project.settings["FRONTIER_CRAWL"], "anna")
        first.kill()
        first.wait()
        log, _ = second.communicate(timeout=60)
        assert second.returncode == 0, log[-3000:]
    assert_whole(project.out, expected)
    summary = json.loads((project.out / "summary.json").read_text())
    assert summary["finish_reason"] == "finished"
    assert {agent["name"]: agent["state"] for agent in summary["agents"]} == {"anna": "lost", "bert": "ended"}
    assert summary["relevant_total"] == len(expected)
    assert json.loads((project.out / "summary-bert.json").read_text())["pages"] < summary["pages"]


def test_agent_that_was_paused_for_longer_than_its_leases_stores_nothing_twice(tmp_path, redis_server):
    expected = write_web(tmp_path / "web")
    project = project_in(tmp_path, redis_server, "paused", **SETTINGS)
    with LocalWeb(tmp_path / "web", latency_ms=120) as web, two_agents(project, web) as (first, second):
        wait_until_both_store(project.out, 4)
        first.send_signal(signal.SIGSTOP)
        time.sleep(1.5 * LEASE_SECONDS)
        first.send_signal(signal.SIGCONT)
        logs = [agent.communicate(timeout=60)[0] for agent in (first, second)]
        assert [first.returncode, second.returncode] == [0, 0], logs
    assert_whole(project.out, expected)
    summary = json.loads((project.out / "summary.json").read_text())
    own = [json.loads((project.out / f"summary-{name}.json").read_text()) for name in ("anna", "bert")]
    assert summary["pages"] == sum(one["pages"] for one in own)
    assert {agent["state"] for agent in summary["agents"]} == {"ended"}
    assert summary["relevant_total"] == len(expected)
