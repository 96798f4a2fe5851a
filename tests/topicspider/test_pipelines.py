"""The pipelines by themselves, with real files."""

import asyncio
import json
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
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
from topicspider.pipelines.stored import StoredPages, url_key

OLD_SCHEMA = """
BEGIN;
CREATE TABLE pages (
    url TEXT PRIMARY KEY,
    title TEXT NOT NULL,
    relevance REAL NOT NULL,
    title_similarity REAL NOT NULL,
    body_similarity REAL NOT NULL,
    quality REAL NOT NULL,
    depth INTEGER NOT NULL,
    host TEXT NOT NULL,
    port INTEGER NOT NULL,
    content_type TEXT NOT NULL,
    content_length INTEGER NOT NULL,
    downloaded_at TEXT NOT NULL,
    language TEXT NOT NULL,
    referrer TEXT NOT NULL,
    text TEXT NOT NULL,
    canonical TEXT NOT NULL
);
CREATE TABLE fetched (
    id INTEGER PRIMARY KEY,
    url TEXT NOT NULL,
    status INTEGER,
    error TEXT,
    outcome TEXT NOT NULL,
    relevance REAL,
    depth INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    elapsed_ms REAL,
    fetched_at TEXT NOT NULL
);
CREATE INDEX fetched_url ON fetched (url);
PRAGMA user_version = 1;
COMMIT;
"""


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


@pytest.fixture
def old_folder(folder):
    """A folder as version 1 left it: pages without `probability`, the second line not yet in the database."""
    folder.open()
    names = [name for name in PageItem.__dataclass_fields__ if name != "probability"]
    records = [
        {name: value for name, value in PageItem(url, relevance=1.0).as_record().items() if name != "probability"}
        for url in ("http://old/1", "http://old/2")
    ]
    folder.path("pages.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    with closing(sqlite3.connect(folder.path("crawl.sqlite"))) as database:
        database.executescript(OLD_SCHEMA)
        row = [records[0][name] for name in names]
        database.execute(f"INSERT INTO pages VALUES ({', '.join('?' * len(row))})", row)
        database.commit()
    return folder


async def test_database_of_version_1_gets_the_column_and_goes_on(old_folder, stats):
    for url in ("http://new/1", "http://new/2"):  # and once more, when it is up to date
        pages, database = await pages_pipeline(old_folder, stats), database_pipeline(old_folder, stats)
        for address in ("http://old/1", url):
            item = PageItem(address, relevance=2.0, probability=0.75, text="text", canonical="http://c/")
            database.process_item(await pages.process_item(item))
        await pages.close_spider()
        await database.close_spider()
    with closing(sqlite3.connect(old_folder.path("crawl.sqlite"))) as database:
        rows = database.execute(
            "SELECT url, relevance, probability, text, canonical FROM pages ORDER BY url"
        ).fetchall()
    assert rows == [
        ("http://new/1", 2.0, 0.75, "text", "http://c/"),
        ("http://new/2", 2.0, 0.75, "text", "http://c/"),
        ("http://old/1", 1.0, None, "", ""),
        ("http://old/2", 1.0, None, "", ""),
    ]
    assert stats.get_value("output/folder_stored") == 4


def test_database_that_only_looks_like_version_1_is_refused_unchanged(folder, stats):
    folder.open()
    with closing(sqlite3.connect(folder.path("crawl.sqlite"))) as database:
        database.executescript("CREATE TABLE mine (a); PRAGMA user_version = 1")
    before = folder.path("crawl.sqlite").read_bytes()
    with pytest.raises(OutputError, match="no such table: pages"):
        database_pipeline(folder, stats)
    assert folder.path("crawl.sqlite").read_bytes() == before


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


@pytest.fixture
def neighbours(tmp_path):
    """Two processes' places in one folder."""
    with closing(OutputFolder(tmp_path / "output")) as first, closing(OutputFolder(tmp_path / "output")) as second:
        first.open()
        second.open()
        yield first, second


def urls_in(folder, *names):
    lines = [line for name in names for line in (folder.root / name).read_bytes().splitlines()]
    return [json.loads(line)["url"] for line in lines]


async def test_page_that_a_neighbour_writes_meanwhile_is_stored_in_one_file_and_one_database(neighbours, stats):
    pages = [await pages_pipeline(folder, stats) for folder in neighbours]
    databases = [database_pipeline(folder, stats) for folder in neighbours]
    for number in range(20):  # in turn, each page offered to both
        for which in (number % 2, 1 - number % 2):
            databases[which].process_item(await pages[which].process_item(PageItem(f"http://a/{number}")))
    for pipeline in (*pages, *databases):
        await pipeline.close_spider()
    assert sorted(urls_in(neighbours[0], "pages.jsonl", "pages-2.jsonl")) == sorted(
        f"http://a/{number}" for number in range(20)
    )
    assert [count(folder) for folder in neighbours] == [10, 10]
    assert stats.get_value("output/folder_stored") == 20


async def test_process_paused_before_its_write_finds_what_was_written_meanwhile(neighbours, stats):
    first, second = [await pages_pipeline(folder, stats) for folder in neighbours]
    async with neighbours[1].alone():
        waiting = asyncio.ensure_future(first.process_item(PageItem("http://a/")))
        await asyncio.sleep(0.05)
        assert not waiting.done()
        second._write(encode(PageItem("http://a/")))  # as from within its own `process_item`
    await waiting
    assert urls_in(neighbours[0], "pages.jsonl", "pages-2.jsonl") == ["http://a/"]
    await first.close_spider()
    await second.close_spider()


async def test_line_that_a_neighbour_has_not_finished_is_no_page_until_it_has(neighbours, stats):
    first = await pages_pipeline(neighbours[0], stats)
    line = encode(PageItem("http://a/"))
    with (neighbours[0].root / "pages-2.jsonl").open("ab", buffering=0) as other:
        other.write(encode(PageItem("http://b/")) + line[:-1])
        first._look()
        assert url_key("http://b/") in first._stored
        assert url_key("http://a/") not in first._stored
        other.write(line[-1:])
    await first.process_item(PageItem("http://a/"))
    await first.close_spider()
    assert urls_in(neighbours[0], "pages.jsonl") == []


async def test_database_of_a_dead_neighbour_is_completed_and_its_torn_line_cut_off(folder, stats):
    folder.open()
    pages = [PageItem(f"http://a/{number}", title=str(number), depth=number) for number in range(3)]
    (folder.root / "pages-2.jsonl").write_bytes(b"".join(map(encode, pages)) + b'{"url": "http://torn')
    first, database = await pages_pipeline(folder, stats), database_pipeline(folder, stats)
    database.process_item(await first.process_item(pages[0]))
    await first.close_spider()
    await database.close_spider()
    assert urls_in(folder, "pages-2.jsonl") == [page.url for page in pages]
    assert count(folder) == 0
    with closing(sqlite3.connect(folder.root / "crawl-2.sqlite")) as other:
        assert other.execute("SELECT title, depth FROM pages ORDER BY url").fetchall() == [("0", 0), ("1", 1), ("2", 2)]


async def test_files_of_a_living_neighbour_are_not_put_right_for_it(neighbours, stats):
    (neighbours[0].root / "pages-2.jsonl").write_bytes(encode(PageItem("http://a/")) + b'{"url": "http://half')
    first, database = await pages_pipeline(neighbours[0], stats), database_pipeline(neighbours[0], stats)
    await first.close_spider()
    await database.close_spider()
    assert (neighbours[0].root / "pages-2.jsonl").read_bytes().endswith(b"half")
    assert not (neighbours[0].root / "crawl-2.sqlite").exists()


async def test_own_database_is_completed_from_lines_whose_pages_others_have_acknowledged(folder, stats):
    folder.open()
    folder.path("pages.jsonl").write_bytes(encode(PageItem("http://a/")) + encode(PageItem("http://b/\ud800")))
    first, database = await pages_pipeline(folder, stats), database_pipeline(folder, stats)
    await first.close_spider()
    await database.close_spider()
    assert count(folder) == 2


def test_looks_at_the_neighbours_from_several_threads_count_every_line_once(tmp_path):
    line = b'{"url": "http://a.test/%d", "text": "' + b"x" * 5000 + b'"}\n'
    (tmp_path / "pages-2.jsonl").write_bytes(b"".join(line % number for number in range(1000)))
    stored = StoredPages(tmp_path / "pages.jsonl")
    with ThreadPoolExecutor(4) as pool:
        for look in [pool.submit(stored.look) for _ in range(4)]:
            look.result()
    assert stored.files["pages-2.jsonl"].pages == len(stored) == 1000
    assert stored.files["pages-2.jsonl"].whole == (tmp_path / "pages-2.jsonl").stat().st_size
