"""Whole crawls in processes of their own: what they leave behind, whatever ends them."""

import json
import signal
import sqlite3
import subprocess
import time
from contextlib import closing

import pytest

from tests.topicspider.crawling import ROOT, command, crawl, even_pages, site
from topicspider.items import PageItem


@pytest.fixture(scope="module")
def web():
    with site() as url:
        yield url


@pytest.fixture(scope="module")
def mixed(web, tmp_path_factory):
    """One crawl that meets every kind of page."""
    output = tmp_path_factory.mktemp("mixed") / "new" / "folder"
    paths = [*even_pages(3), "/page/1", "/page/13", "/old/8", "/image/1", "/missing", "/hangup"]
    settings = {"OUTPUT_PROGRESS_SECONDS": 0.1, "FEEDS": {str(output.parent / "own.jsonl"): {"format": "jsonlines"}}}
    return output, crawl(web, output, paths, raises=True, extra_items=True, settings=settings)


def records(output, name="pages.jsonl"):
    text = (output / name).read_bytes()
    assert text.endswith(b"\n")
    return [json.loads(line) for line in text.decode().split("\n")[:-1]]


def query(output, sql, name="crawl.sqlite"):
    with closing(sqlite3.connect(output / name)) as database:
        return database.execute(sql).fetchall()


def summary(output, name="summary.json"):
    return json.loads((output / name).read_text())


def test_relevant_pages_are_in_both_outputs_with_the_same_values(mixed):
    output, done = mixed
    assert done.returncode == 0, done.stderr
    pages = records(output)
    assert {page["url"].rpartition("/")[2] for page in pages} == {"0", "2", "4", "8"}
    assert all(list(page) == list(PageItem.__dataclass_fields__) for page in pages)
    assert pages[0]["title"].endswith("页")
    assert sorted(query(output, "SELECT * FROM pages")) == sorted(tuple(page.values()) for page in pages)


def test_every_fetch_is_recorded_with_its_outcome(mixed):
    output, _ = mixed
    rows = query(output, "SELECT url, status, error, outcome, relevance, bytes, elapsed_ms FROM fetched")
    found = {url.partition("/")[2].split("/", 2)[-1]: rest for url, *rest in rows}
    assert len(rows) == 10
    assert found["page/0"][:4] == [200, None, "relevant", 2.5]
    assert found["page/1"][:4] == [200, None, "off_topic", 0.5]
    assert found["page/8"][2] == "relevant"
    assert found["old/8"][:3] == [301, None, "redirect"]
    assert found["page/13"][:3] == [200, "RuntimeError", "spider_error"]
    assert found["image/1"][:3] == [200, None, "not_html"]
    assert found["missing"][:3] == [404, None, "http_error"]
    assert found["hangup"][:3] == [None, "DownloadFailedError", "error"]
    assert found["page/0"][4] > 2000
    assert 0 < found["page/0"][5] < 10_000


def test_summary_has_the_documented_fields(mixed):
    output, _ = mixed
    got = summary(output)
    documented = {
        *("crawl", "topic", "policy", "finish_reason", "elapsed_seconds", "pages", "relevant", "harvest_rate"),
        *("relevance_sum", "urls_discovered", "urls_duplicate", "cache_hit_rate", "redis_round_trips"),
        *("bytes_downloaded", "servers", "errors"),
    }
    assert documented <= set(got)
    assert (got["crawl"], got["finish_reason"], got["policy"]) == ("small", "finished", "capability")
    assert (got["pages"], got["relevant"], got["harvest_rate"], got["relevance_sum"]) == (5, 4, 0.8, 10.5)
    assert got["errors"]["download"] == {"DownloadFailedError": 1}
    assert got["errors"]["http"] == {"404": 1}
    assert got["errors"]["spider"] == {"RuntimeError": 1}
    assert got["errors"]["total"] == 3
    assert (got["resumed"], got["pages_total"], got["relevant_total"]) == (False, 5, 4)
    assert got["bytes_downloaded"] > 10_000


def test_items_of_the_users_own_go_to_feeds_only(mixed):
    output, _ = mixed
    assert {"plain": "dict"} in records(output.parent, "own.jsonl")
    assert all("plain" not in page for page in records(output))


def test_a_clean_end_leaves_finished_files_only(mixed):
    output, _ = mixed
    names = {path.name for path in output.iterdir()} - {
        "crawl.sqlite-shm",
        "crawl.sqlite-wal",
    }  # of readers in this test
    assert names == {"pages.jsonl", "crawl.sqlite", "summary.json", ".lock", ".lock-door"}


def test_progress_and_summary_are_plain_log_lines_without_a_terminal(mixed):
    _, done = mixed
    assert "[topicspider.summary] INFO: On topic: 4 (harvest rate 80.0%)" in done.stderr
    assert "\x1b" not in done.stderr
    with site(delay_seconds=0.3) as slow:
        done = crawl(slow, mixed[0].parent / "slow", even_pages(8), settings={"OUTPUT_PROGRESS_SECONDS": 0.2})
    assert "[topicspider.panel] INFO: " in done.stderr
    assert "URLs queued, 0 servers open, seen cache 0.0%" in done.stderr


def test_killed_crawl_leaves_readable_files_and_resumes_without_torn_or_double_lines(tmp_path):
    paths = even_pages(150)
    with site(delay_seconds=0.02) as web:
        running = subprocess.Popen(command(web, tmp_path, paths), cwd=ROOT, stderr=subprocess.DEVNULL)
        wait_for(lambda: (tmp_path / "pages.jsonl").exists() and len(records_so_far(tmp_path)) >= 40)
        running.kill()
        running.wait()

        kept = records_so_far(tmp_path)
        assert 40 <= len(kept) < 150
        assert query(tmp_path, "PRAGMA integrity_check") == [("ok",)]
        stored = {url for (url,) in query(tmp_path, "SELECT url FROM pages")}
        assert stored, "some transaction was committed before the kill"
        assert stored <= {page["url"] for page in kept}
        assert summary(tmp_path)["finish_reason"] == "running"

        with (tmp_path / "pages.jsonl").open("ab") as lines:  # a kill inside a write
            lines.write(b'{"url": "http://torn')
        done = crawl(web, tmp_path, paths)

    assert "Cut a torn line of 20 bytes" in done.stderr
    urls = [page["url"] for page in records(tmp_path)]
    assert len(urls) == len(set(urls)) == 150
    assert {url for (url,) in query(tmp_path, "SELECT url FROM pages")} == set(urls)
    assert summary(tmp_path)["resumed"] is True
    assert summary(tmp_path)["relevant_total"] == 150


def records_so_far(output):
    *whole, _ = (output / "pages.jsonl").read_bytes().split(b"\n")
    return [json.loads(line) for line in whole]


def wait_for(condition, seconds=20.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_full_disk_stops_the_crawl_with_whole_lines_and_it_goes_on_when_there_is_room(web, tmp_path):
    limit = 200_000
    done = crawl(web, tmp_path, even_pages(150), file_size_limit=limit)
    assert "STOPPED" in done.stderr
    assert "make room on the disk" in done.stderr
    assert summary(tmp_path)["finish_reason"] == "output_error"
    kept = records(tmp_path)
    assert 0 < len(kept) < 150
    assert query(tmp_path, "PRAGMA integrity_check") == [("ok",)]

    crawl(web, tmp_path, even_pages(150))
    urls = [page["url"] for page in records(tmp_path)]
    assert len(urls) == len(set(urls)) == 150
    assert query(tmp_path, "SELECT count(*) FROM pages") == [(150,)]


def test_output_folder_that_is_a_file_is_one_sentence_and_creates_nothing(web, tmp_path):
    (tmp_path / "taken").write_text("mine")
    done = crawl(web, tmp_path / "taken" / "below", even_pages(1))
    assert done.returncode == 3
    assert "is not a folder: choose another OUTPUT_DIR." in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]
    assert (tmp_path / "taken").read_text() == "mine"


def test_two_processes_in_one_folder_write_beside_each_other_and_lose_nothing(tmp_path):
    with site(delay_seconds=0.1) as web:
        halves = even_pages(40), even_pages(40, first=80)
        both = [
            subprocess.Popen(command(web, tmp_path, half), cwd=ROOT, stderr=subprocess.PIPE, text=True)
            for half in halves
        ]
        assert [process.communicate(timeout=60) and process.returncode for process in both] == [0, 0]
    urls = [page["url"] for name in ("pages.jsonl", "pages-2.jsonl") for page in records(tmp_path, name)]
    assert len(urls) == len(set(urls)) == 80
    for name in ("crawl.sqlite", "crawl-2.sqlite"):
        assert query(tmp_path, "SELECT count(*) FROM pages", name) == [(40,)]
    assert not list(tmp_path.glob("summary-*.json"))


def test_interrupted_crawl_says_so_in_its_summary(tmp_path):
    with site(delay_seconds=0.05) as web:
        running = subprocess.Popen(command(web, tmp_path, even_pages(400)), cwd=ROOT, stderr=subprocess.DEVNULL)
        wait_for(lambda: (tmp_path / "pages.jsonl").exists() and records_so_far(tmp_path))
        running.send_signal(signal.SIGINT)
        assert running.wait(timeout=20) == 0
    assert summary(tmp_path)["finish_reason"] == "shutdown"
    assert len(records(tmp_path)) == query(tmp_path, "SELECT count(*) FROM pages")[0][0]
