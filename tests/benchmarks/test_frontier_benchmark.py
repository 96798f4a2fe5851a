"""The benchmark of the frontier runs, tells what was asked for, and its ground is what it says."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.benchmarks.frontier import main
from tests.benchmarks.links import LENGTH, Pages
from tests.benchmarks.rounds import measure
from tests.conftest import redis_binary

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.skipif(redis_binary() is None, reason="no Redis server")
def test_quick_run_writes_the_figures_under_the_names_of_the_issue(tmp_path: Path):
    file = tmp_path / "figures.json"
    assert main(["--quick", "--json", str(file)]) == 0
    figures = json.loads(file.read_text())
    for name in (
        "admit_per_second",
        "lease_settle_per_second",
        "ratio_admit_vs_scrapy_redis",
        "ratio_lease_vs_scrapy_redis",
    ):
        assert figures[name] > 0
    assert figures["ratio_admit_vs_scrapy_redis"] == pytest.approx(
        figures["admit_per_second"] / figures["scrapy_redis"]["enqueue_per_second"], rel=0.01
    )
    # A URL of 80 characters is there, though perhaps not its server's name. So few of them do not outweigh a table of Redis that doubles.
    for name in ("bytes_per_queued_url_without_referrer", "bytes_per_queued_url"):
        assert 40 < figures[name] < 400
    assert figures["cost_ratio_10m_vs_100k"].keys() == {"admit", "lease"}
    assert figures["sizes"]["large"] == 3_000


def test_pages_are_the_same_for_one_seed_and_urls_have_one_length():
    pages = Pages(10, known=0.6, seed=5).take(20)
    assert pages == Pages(10, known=0.6, seed=5).take(20)
    assert {len(url) for page in pages for url in (page.url, *(link for link, _ in page.links))} == {LENGTH}


def test_share_of_known_links_is_what_was_asked_for():
    urls = [url for page in Pages(50, known=0.6, seed=1).take(200) for url, _ in page.links]
    assert 1 - len(set(urls)) / len(urls) == pytest.approx(0.6, abs=0.03)
    fresh = [url for page in Pages(50, seed=1).take(50) for url, _ in page.links]
    assert len(set(fresh)) == len(fresh)


def test_rivals_take_turns_and_what_they_prepare_is_not_counted():
    said = []

    def rival(name: str, things: int):
        def prepare():
            said.append(f"prepare {name}")
            return lambda: said.append(name) or things

        return prepare

    clock = iter(range(1000))
    costs = measure({"a": rival("a", 1), "b": rival("b", 2)}, 2, cpu=lambda: float(next(clock)))
    assert said == ["prepare a", "a", "prepare b", "b"] * 3
    assert (costs["a"].cpu_seconds, costs["b"].cpu_seconds) == (1.0, 0.5)


def test_rival_that_does_nothing_is_an_error():
    with pytest.raises(RuntimeError, match="idler has done nothing"):
        measure({"idler": lambda: lambda: 0}, 1)
