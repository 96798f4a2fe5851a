"""The pipelines by themselves, with real files."""

import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy import Request, Spider
from scrapy import signals as scrapy_signals
from scrapy.crawler import Crawler
from scrapy.http import HtmlResponse
from scrapy.signalmanager import SignalManager
from scrapy.statscollectors import MemoryStatsCollector

from extensions import signals
from extensions.errors import ConfigurationError, OutputError
from topicspider.items import PageItem
from topicspider.pipelines.database import DatabasePipeline
from topicspider.pipelines.folder import OutputFolder
from topicspider.pipelines.pages import PagesPipeline, encode
from topicspider.pipelines.stored import url_key


@pytest.fixture
def folder(tmp_path):
    with closing(OutputFolder(tmp_path / "output")) as folder:
        yield folder


@pytest.fixture
def stats():
    class Small(Spider):
        name = "small"

    return MemoryStatsCollector(Crawler(Small))


async def pages_pipeline(folder, stats):
    pipeline = PagesPipeline(folder, stats)
    await pipeline.open_spider()
    return pipeline


def database_pipeline(folder, stats, manager=None):
    pipeline = DatabasePipeline(folder, manager or SignalManager(), stats)
    pipeline.open_spider()
    return pipeline


def count(folder, table="pages"):
    with closing(sqlite3.connect(folder.path("crawl.sqlite"))) as database:
        return database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]


@given(st.builds(PageItem, url=st.text(), title=st.text(), text=st.text()))
def test_any_text_is_one_line_that_reads_back_the_same(item):
    line = encode(item)
    assert line.count(b"\n") == 1
    assert json.loads(line.decode()) == item.as_record()


def test_lone_surrogate_is_kept_as_an_escape_in_valid_utf8():
    assert json.loads(encode(PageItem("http://a/", title="\ud800")).decode("utf-8"))["title"] == "\ud800"


async def test_page_is_on_disk_as_soon_as_it_is_processed(folder, stats):
    pipeline = await pages_pipeline(folder, stats)
    await pipeline.process_item(PageItem("http://a/"))
    assert json.loads(folder.path("pages.jsonl").read_bytes())["url"] == "http://a/"
    await pipeline.close_spider()


async def test_page_of_an_earlier_run_is_not_written_again(folder, stats):
    odd = 'http://a/"\\ü?q=%22'
    for _ in range(2):
        pipeline = await pages_pipeline(folder, stats)
        for url in ("http://a/", odd, odd):
            await pipeline.process_item(PageItem(url))
        await pipeline.close_spider()
    lines = folder.path("pages.jsonl").read_bytes().splitlines()
    assert [json.loads(line)["url"] for line in lines] == ["http://a/", odd]
    assert stats.get_value("output/pages_already_stored") == 4


async def test_page_that_a_neighbour_wrote_is_not_written_again(folder, stats):
    folder.open()
    (folder.root / "pages-2.jsonl").write_bytes(encode(PageItem("http://a/")) + b'{"url": "http://to')
    pipeline = await pages_pipeline(folder, stats)
    await pipeline.process_item(PageItem("http://a/"))
    await pipeline.close_spider()
    assert folder.path("pages.jsonl").read_bytes() == b""
    assert (folder.root / "pages-2.jsonl").read_bytes().endswith(b'{"url": "http://to')


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
async def test_device_without_room_is_an_output_error(folder, stats):
    folder.open()
    folder.path("pages.jsonl").symlink_to("/dev/full")
    pipeline = await pages_pipeline(folder, stats)
    for _ in range(2):  # the page has not been taken for written
        with pytest.raises(OutputError, match="make room on the disk"):
            await pipeline.process_item(PageItem("http://a/"))
    await pipeline.close_spider()


async def test_file_name_taken_by_a_folder_is_an_output_error(folder, stats):
    folder.open()
    folder.path("pages.jsonl").mkdir()
    with pytest.raises(OutputError, match="choose another OUTPUT_DIR"):
        await pages_pipeline(folder, stats)


async def test_other_items_pass_untouched(folder, stats):
    pages, database = await pages_pipeline(folder, stats), database_pipeline(folder, stats)
    for item in ({"url": "http://a/"}, "anything"):
        assert await pages.process_item(item) is item
        assert database.process_item(item) is item
    await pages.close_spider()
    await database.close_spider()
    assert folder.path("pages.jsonl").read_bytes() == b""
    assert count(folder) == 0


async def test_settling_commits_what_waits(folder, stats):
    manager = SignalManager()
    pipeline = database_pipeline(folder, stats, manager)
    pipeline.process_item(PageItem("http://a/"))
    assert count(folder) == 0
    manager.send_catch_log(signals.settling)
    assert count(folder) == 1
    assert stats.get_value("output/relevant_total") == 1
    await pipeline.close_spider()


async def test_settling_after_the_end_is_quiet_when_everything_is_stored(folder, stats):
    manager = SignalManager()
    pipeline = database_pipeline(folder, stats, manager)
    pipeline.process_item(PageItem("http://a/"))
    await pipeline.close_spider()
    assert [result for _, result in manager.send_catch_log(signals.settling)] == [None]


async def test_settling_raises_until_the_database_can_be_written(folder, stats):
    pipeline = database_pipeline(folder, stats)
    with closing(sqlite3.connect(folder.path("crawl.sqlite"), isolation_level=None)) as other:
        pipeline._connection.execute("PRAGMA busy_timeout = 10")
        other.execute("BEGIN IMMEDIATE")
        pipeline.process_item(PageItem("http://a/"))
        for _ in range(2):
            with pytest.raises(OutputError, match="database is locked"):
                pipeline.commit()
    pipeline.commit()
    assert count(folder) == 1
    await pipeline.close_spider()


async def test_end_that_cannot_store_lets_nothing_be_acknowledged(folder, stats):
    manager = SignalManager()
    pipeline = database_pipeline(folder, stats, manager)
    with closing(sqlite3.connect(folder.path("crawl.sqlite"), isolation_level=None)) as other:
        pipeline._connection.execute("PRAGMA busy_timeout = 10")
        other.execute("BEGIN IMMEDIATE")
        pipeline.process_item(PageItem("http://a/"))
        with pytest.raises(OutputError):
            await pipeline.close_spider()
    [(_, result)] = manager.send_catch_log(signals.settling, dont_log=OutputError)
    assert isinstance(result.value, OutputError)


async def test_page_stored_before_keeps_its_first_values_and_counts_once(folder, stats):
    for title in ("first", "second"):
        pipeline = database_pipeline(folder, stats)
        pipeline.process_item(PageItem("http://a/", title=title))
        await pipeline.close_spider()
    with closing(sqlite3.connect(folder.path("crawl.sqlite"))) as database:
        assert database.execute("SELECT title FROM pages").fetchall() == [("first",)]
    assert stats.get_value("output/relevant_total") == 1


async def test_odd_values_do_not_hold_up_the_transaction(folder, stats):
    pipeline = database_pipeline(folder, stats)
    pipeline.process_item(PageItem("http://a/\udcff", title="\ud800", content_length=10**30, text="\0"))
    await pipeline.close_spider()
    assert count(folder) == 1


def test_columns_are_the_fields_of_a_page(folder, stats):
    connection = database_pipeline(folder, stats)._connection
    assert [row[1] for row in connection.execute("PRAGMA table_info(pages)")] == list(PageItem.__dataclass_fields__)


@pytest.mark.parametrize("content", [b"not a database at all, but a text of some length" * 30, None])
def test_database_of_another_make_is_refused_unchanged(folder, stats, content):
    folder.open()
    path = folder.path("crawl.sqlite")
    if content is None:
        with closing(sqlite3.connect(path)) as database:
            database.executescript("CREATE TABLE mine (a); PRAGMA user_version = 7")
    else:
        path.write_bytes(content)
    before = path.read_bytes()
    with pytest.raises(OutputError, match="choose another OUTPUT_DIR"):
        database_pipeline(folder, stats)
    assert path.read_bytes() == before


async def test_outcome_learned_after_a_commit_replaces_the_row(folder, stats):
    manager = SignalManager()
    pipeline = database_pipeline(folder, stats, manager)
    request = Request("http://a/", meta={"depth": 3})
    response = HtmlResponse("http://a/", request=request, body=b"<p>")
    manager.send_catch_log(scrapy_signals.response_downloaded, response=response, request=request)
    manager.send_catch_log(scrapy_signals.response_received, response=response, request=request)
    manager.send_catch_log(signals.settling)
    item = PageItem("http://a/", relevance=2.5)
    manager.send_catch_log(signals.page_scored, response=response, item=item, on_topic=True)
    await pipeline.close_spider()
    with closing(sqlite3.connect(folder.path("crawl.sqlite"))) as database:
        rows = database.execute("SELECT outcome, relevance, depth, bytes FROM fetched").fetchall()
    assert rows == [("relevant", 2.5, 3, 3)]
    assert stats.get_value("output/pages_total") == 1


async def test_forbidden_request_is_denied_and_a_page_of_several_items_counts_once(folder, stats):
    manager = SignalManager()
    pipeline = database_pipeline(folder, stats, manager)
    manager.send_catch_log(signals.fetch_failed, request=Request("http://a/private"), reason="IgnoreRequest")
    request = Request("http://a/")
    response = HtmlResponse("http://a/", request=request)
    for item in ({"relevance": 2.5, "own": 1}, {"own": 2}):
        manager.send_catch_log(signals.page_scored, response=response, item=item, on_topic=True)
    await pipeline.close_spider()
    with closing(sqlite3.connect(folder.path("crawl.sqlite"))) as database:
        rows = database.execute("SELECT url, outcome FROM fetched ORDER BY id").fetchall()
    assert rows == [("http://a/private", "denied"), ("http://a/", "relevant")]
    assert stats.get_value("output/pages_total") == 1


def test_folder_of_a_living_process_gives_the_next_one_a_number_and_takes_it_back(tmp_path):
    with closing(OutputFolder(tmp_path)) as first, closing(OutputFolder(tmp_path)) as second:
        first.open()
        second.open()
        assert first.path("pages.jsonl").name == "pages.jsonl"
        assert second.path("pages.jsonl").name == "pages-2.jsonl"
        first.close()
        with closing(OutputFolder(tmp_path)) as third:
            third.open()
            assert third.number == 1


def test_checking_creates_nothing(tmp_path):
    OutputFolder(tmp_path / "a" / "b").check()
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").touch()
    with pytest.raises(ConfigurationError, match="is not a folder"):
        OutputFolder(tmp_path / "file").check()
    (tmp_path / "nowhere").symlink_to(tmp_path / "gone")
    with pytest.raises(ConfigurationError, match="is not a folder"):
        OutputFolder(tmp_path / "nowhere").check()


def test_url_keys_are_spread_over_64_bits():
    keys = {url_key(f"http://a/{number}") for number in range(10_000)}
    assert len(keys) == 10_000
    assert max(keys).bit_length() == 64


async def test_storing_a_page_costs_the_event_loop_little(folder, stats):
    """The budget is 0.2 ms a page; the bound leaves room for a machine that others use."""
    manager = SignalManager()
    pages, database = await pages_pipeline(folder, stats), database_pipeline(folder, stats, manager)
    text = "some words of a page's main text, " * 150
    began = time.process_time()
    page_count = 1000
    for number in range(page_count):
        request = Request(f"http://a/{number}")
        response = HtmlResponse(request.url, request=request)
        item = PageItem(request.url, relevance=2.5, text=text)
        manager.send_catch_log(scrapy_signals.response_downloaded, response=response, request=request)
        manager.send_catch_log(scrapy_signals.response_received, response=response, request=request)
        manager.send_catch_log(signals.page_scored, response=response, item=item, on_topic=True)
        await pages.process_item(item)
        database.process_item(item)
        if number % 10 == 9:
            manager.send_catch_log(signals.settling)
    cost_ms = (time.process_time() - began) * 1000 / page_count
    assert cost_ms < 1.0
    await pages.close_spider()
    await database.close_spider()
