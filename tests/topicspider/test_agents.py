"""The figures of a crawl by several agents, from records as the scheduler gives them."""

import json
from types import SimpleNamespace

import pytest
from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.settings import Settings
from scrapy.statscollectors import MemoryStatsCollector

from extensions.frontier.records import AgentRecord
from topicspider.agents import Agents, leases
from topicspider.figures import Figures, errors
from topicspider.panel import PanelExtension
from topicspider.summary import SummaryExtension, rows


def record(name, joined_ms, beat_ms, stats, *, left=False):
    return AgentRecord(name, "", 8, joined_ms, beat_ms, left, stats)


ANNA = record(
    "anna",
    5_000,
    20_000,
    {
        "topic/pages": 30,
        "topic/relevant": 10,
        "seen/lookups": 100,
        "seen/hits": 90,
        "frontier/queued": 7,
        "frontier/servers": 4,
        "frontier/open_servers": 2,
        "downloader/response_status_count/404": 1,
        "request_depth_max": 3,
    },
)
BERT = record(
    "bert",
    1_000,
    19_000,
    {
        "topic/pages": 60,
        "topic/relevant": 20,
        "seen/lookups": 300,
        "seen/hits": 30,
        "frontier/queued": 9,
        "frontier/servers": 5,
        "frontier/open_servers": 3,
        "frontier/leased": 6,
        "frontier/leases_lost": 4,
        "frontier/reclaimed": 9,
        "downloader/response_status_count/404": 2,
        "request_depth_max": 2,
    },
)
CARL = record("carl", 2_000, 4_000, {"topic/pages": 10, "frontier/open_servers": 5})
DORA = record("dora", 9_000, 9_500, {"frontier/open_servers": 5}, left=True)
ALL = Agents((ANNA, BERT, CARL, DORA), lease_seconds=15.0)


def test_what_agents_count_is_added_and_what_they_see_of_the_frontier_is_not():
    figures = Figures.read(ALL.merged())
    assert (figures.pages, figures.relevant, figures.harvest_rate) == (100, 30, 0.3)
    assert figures.cache_hit_rate == 120 / 400
    assert (figures.queued, figures.servers) == (7, 4)
    assert ALL.merged()["frontier/leased"] == 6
    assert ALL.merged()["request_depth_max"] == 3
    assert errors(ALL.merged())["http"] == {"404": 3}


def test_servers_of_agents_that_have_gone_are_not_open():
    assert Figures.read(ALL.merged()).open_servers == 5


def test_time_runs_from_the_first_join_to_the_last_sign_of_life():
    assert ALL.elapsed_seconds == 19.0


def test_each_agent_has_its_share_and_state_in_the_order_of_joining():
    shares = ALL.shares()
    assert [(share["name"], share["share"], share["state"]) for share in shares] == [
        ("bert", 0.6, "running"),
        ("carl", 0.1, "lost"),
        ("anna", 0.3, "running"),
        ("dora", 0.0, "ended"),
    ]
    assert shares[0]["leases_lost"] == 4
    assert "reclaimed" not in shares[0], "it is the whole frontier's"
    assert leases(ALL.merged()) == {"leases_lost": 4, "reclaimed": 9}
    assert (shares[0]["elapsed_seconds"], shares[0]["pages"], shares[0]["relevant"]) == (18.0, 60, 20)
    assert "leases_lost" not in shares[1]


def test_totals_count_the_earlier_runs_of_each_folder_once():
    def agent(name, folder, before, stored, pages):
        stats = {"output/folder": folder, "output/folder_pages_before": before, "output/folder_stored": stored}
        return record(name, 0, 0, stats | {"topic/pages": pages})

    # The second of a folder finds what the first has stored of this run already.
    agents = Agents((agent("a", 1, 105, 60, 20), agent("b", 1, 100, 59, 30), agent("c", 2, 40, 7, 50)), 15.0)
    assert agents.totals() == (20 + 30 + 50 + 100 + 40, 60 + 7)


class Small(Spider):
    name = "small"


def crawler_with(records, folder, **stats):
    """A crawler whose scheduler knows these agents; nothing runs."""
    crawler = Crawler(Small, Settings({"OUTPUT_DIR": str(folder), "OUTPUT_PROGRESS_SECONDS": 10}))
    crawler.stats = MemoryStatsCollector(crawler)
    crawler.spider = Small.from_crawler(crawler)
    for key, value in stats.items():
        crawler.stats.set_value(key.replace("__", "/"), value)
    crawler.engine = SimpleNamespace(scheduler=SimpleNamespace(agents=tuple(records)))
    return crawler


async def summary_of(records, folder, reason="shutdown", **stats):
    extension = SummaryExtension.from_crawler(crawler_with(records, folder, **stats))
    extension.spider_opened()
    extension.spider_closed(reason)
    extension._folder.close()
    return json.loads((folder / "summary.json").read_text())


async def test_summary_is_of_the_crawl_and_a_second_file_of_the_agent(tmp_path):
    whole = await summary_of(ALL.records, tmp_path, topic__pages=30, topic__relevant=10)
    assert (whole["pages"], whole["harvest_rate"], whole["cache_hit_rate"]) == (100, 0.3, 0.3)
    assert whole["started_at"] == "1970-01-01T00:00:01.000+00:00"
    own = json.loads((tmp_path / "summary-anna.json").read_text())
    assert list(own) == list(whole)
    assert (own["pages"], own["finish_reason"]) == (30, "shutdown")
    assert [agent["name"] for agent in own["agents"]] == ["anna"]
    assert {path.name for path in tmp_path.glob("*.json")} == {"summary.json", "summary-anna.json"}
    table = dict(rows(whole))
    assert table["Agent bert"].startswith("60 pages (60.0%), 20 on topic, running after 0:00:18, 4 leases lost")


@pytest.mark.parametrize(
    ("others", "reason", "expected"),
    [
        ([BERT], "shutdown", "running"),  # the crawl goes on without this agent
        ([BERT], "finished", "finished"),  # an empty frontier is the end for all
        ([CARL, DORA], "page_limit", "page_limit"),
    ],
)
async def test_crawl_has_ended_when_nobody_goes_on(tmp_path, others, reason, expected):
    assert (await summary_of([ANNA, *others], tmp_path, reason))["finish_reason"] == expected


async def test_agent_that_ended_first_does_not_overwrite_what_the_last_knew(tmp_path):
    left = {
        name: record(name, joined, 20_000, {"topic/pages": pages}, left=True)
        for name, joined, pages in (("anna", 1, 30), ("bert", 2, 61))
    }
    before = record("bert", 2, 19_000, {"topic/pages": 60})
    assert (await summary_of([left["anna"], before], tmp_path))["pages"] == 90
    assert (await summary_of([left["bert"], left["anna"]], tmp_path))["pages"] == 91
    assert (await summary_of([left["anna"], before], tmp_path))["pages"] == 91
    later_run = [record("anna", 70_000, 80_000, {"topic/pages": 5}), record("bert", 71_000, 80_000, {})]
    assert (await summary_of(later_run, tmp_path))["pages"] == 5


async def test_alone_or_with_another_scheduler_there_is_one_file_and_one_agent(tmp_path):
    got = await summary_of([], tmp_path, "finished", topic__pages=4)
    assert [(agent["pages"], agent["share"], agent["state"]) for agent in got["agents"]] == [(4, 1.0, "ended")]
    assert [path.name for path in tmp_path.glob("*.json")] == ["summary.json"]
    assert not any(label.startswith("Agent") for label, _ in rows(got))


async def test_progress_lines_show_the_crawls_totals_and_how_many_work_on_it(tmp_path, caplog):
    caplog.set_level("INFO")
    panel = PanelExtension.from_crawler(crawler_with(ALL.records, tmp_path))
    panel._refresh()
    assert "2 agents: 100 pages, 30 on topic (harvest rate 30.0%), 0.0 pages/s (5.3 overall), 7 URLs" in caplog.text
