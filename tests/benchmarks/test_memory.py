"""The benchmark of memory, tiny: it runs, and its figures have the names that others rely on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.benchmarks.memory import main
from tests.conftest import redis_binary

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.skipif(redis_binary() is None, reason="no Redis server")
def test_figures_have_their_names_and_the_queue_is_still_there_after_the_crawl(tmp_path: Path) -> None:
    out = tmp_path / "figures.json"
    assert main(["--queued", "2000,20000", "--pages", "8", "--long", "2", "--json", str(out)]) == 0
    figures = json.loads(out.read_text())
    assert figures["peak_memory_mb"].keys() == {"2000", "20000"}
    assert all(20 < found < 1000 for found in figures["peak_memory_mb"].values())
    peaks = figures["peak_memory_mb"]
    assert figures["growth"] == pytest.approx(peaks["20000"] / peaks["2000"] - 1, abs=0.01)
    assert figures["long_pages"] == 16
    assert figures["long_peak_memory_mb"] > 20
