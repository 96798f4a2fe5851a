"""The benchmark of the seen test runs, tells what was asked for, and its ground is what it says."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from extensions.frontier.keys import partition_key
from extensions.frontier.records import Candidate
from extensions.seen import SeenLayout
from extensions.urls import fingerprint
from tests.benchmarks.privateredis import private_redis
from tests.benchmarks.rivals import Ours
from tests.benchmarks.seen import critical_size, main
from tests.benchmarks.seenset import bucket_key, fill_and_test, made_urls
from tests.benchmarks.svg import line_chart
from tests.benchmarks.traces import made_trace, read_trace
from tests.conftest import redis_binary

if TYPE_CHECKING:
    from pathlib import Path

needs_redis = pytest.mark.skipif(redis_binary() is None, reason="no Redis server")


@needs_redis
def test_quick_run_writes_the_figures_under_the_names_of_the_issue_and_a_plot(tmp_path: Path):
    file, plot = tmp_path / "figures.json", tmp_path / "plot.svg"
    assert main(["--quick", "--json", str(file), "--plot", str(plot)]) == 0
    figures = json.loads(file.read_text())
    assert 3 < figures["bytes_per_url"]["20000"] < 8
    assert figures["false_seen_rate"]["20000"] == 0
    assert all(0 < each < 1e6 for each in figures["lookup_ns"].values())
    rates = figures["miss_rate"]
    assert rates.keys() == {"clock", "lru", "random", "static", "min", "infinite"}
    for size, best in rates["min"].items():
        assert rates["infinite"][size] <= best <= min(rates[policy][size] for policy in ("clock", "lru", "random"))
    drawn = ET.fromstring(plot.read_text())
    assert len([one for one in drawn.iter() if one.tag.endswith("polyline")]) == len(rates)


@needs_redis
def test_a_set_that_is_filled_is_the_one_that_admit_fills():
    urls = list(made_urls(60))
    with private_redis() as redis:
        ours = Ours(redis.url)
        try:
            places = [ours.layout.place(fingerprint(*url)) for url in urls]
            ours.admit([Candidate(*url, *place, 0.5) for url, place in zip(urls, places, strict=True)])
            for (server, _), (bucket, remainder) in zip(urls, places, strict=True):
                key = bucket_key(ours.name, ours.frontier.partition_of(server), bucket)
                assert redis.client.sismember(key, remainder)
        finally:
            ours.close()


@needs_redis
def test_mistakes_of_the_seen_test_are_counted():
    # One bucket for 60,000 URLs and as many fresh ones: 1.5 × 60,000² / 2³² pairs meet in 32 bits, which is 1.26 on average, the same in each run.
    with private_redis() as redis:
        found = fill_and_test(redis, 60_000, layout=SeenLayout(0))
    mistaken = sum(_met_before(_remainders(120_000)))
    assert found.false_seen == mistaken > 0
    assert found.tested == 120_000
    assert found.largest_bucket <= 60_000


def _remainders(count: int) -> list[int]:
    return [SeenLayout(0).place(fingerprint(*url))[1] for url in made_urls(count, servers=600)]


def _met_before(remainders: list[int]) -> tuple[int, int]:
    half = len(remainders) // 2
    filled = set(remainders[:half])
    return half - len(filled), sum(one in filled for one in remainders[half:])


def test_made_urls_differ_and_one_server_has_its_share():
    urls = list(made_urls(20_000, share_of_first=0.5))
    assert len(set(urls)) == len(urls)
    assert sum(server == "https://www.site0.example" for server, _ in urls) / len(urls) == pytest.approx(0.5, abs=0.02)


def test_trace_is_read_in_order_from_plain_and_packed_files(tmp_path: Path):
    lines = "https://a.example/\n\nhttps://b.example/é\nhttps://a.example/\n"
    (tmp_path / "trace.txt").write_text(lines, encoding="utf-8")
    with gzip.open(tmp_path / "trace.gz", "wt", encoding="utf-8") as packed:
        packed.write(lines)
    expected = ["https://a.example/", "https://b.example/é", "https://a.example/"]
    assert read_trace(tmp_path / "trace.txt") == read_trace(tmp_path / "trace.gz") == expected
    assert read_trace(tmp_path / "trace.gz", 1) == expected[:1]


def test_made_trace_is_the_same_each_time_and_mostly_known():
    trace = made_trace(20_000)
    assert trace == made_trace(20_000)
    assert 0.3 < 1 - len(set(trace)) / len(trace) < 0.9


def test_critical_size_is_where_doubling_no_longer_pays():
    assert critical_size({1: 1.0, 2: 0.9, 4: 0.4, 8: 0.21, 16: 0.2, 32: 0.2}, floor=0.2) == 8
    assert critical_size({1: 0.9, 2: 0.5, 4: 0.1}, floor=0.1) == 4


def test_chart_places_points_by_the_logarithm_and_escapes_words():
    drawn = line_chart({"a<b": {1: 0.0, 2: 0.5, 4: 1.0}}, title="t & u", x_label="x", y_label="y", marks={"here": 2})
    root = ET.fromstring(drawn)
    (curve,) = [one for one in root.iter() if one.tag.endswith("polyline")]
    points = [tuple(map(float, pair.split(","))) for pair in curve.attrib["points"].split()]
    assert points[1][0] - points[0][0] == pytest.approx(points[2][0] - points[1][0], abs=0.2)
    assert points[0][1] - points[1][1] == pytest.approx(points[1][1] - points[2][1], abs=0.2)
    assert {"a<b", "t & u", "here"} <= {one.text for one in root.iter()}


def test_partition_key_is_the_prefix_of_its_buckets():
    assert bucket_key("c", 3, 5) == partition_key("c", 3).removesuffix("m") + "u:5"
