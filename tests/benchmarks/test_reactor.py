"""The benchmark of blocking times, tiny: it runs, its figures have the names that others rely on, and time is on the right account."""

from __future__ import annotations

import gc
import json
import time
from typing import TYPE_CHECKING

from tests.benchmarks.blocking import ACCOUNTS, Ledger, percentiles
from tests.benchmarks.reactor import main

if TYPE_CHECKING:
    from pathlib import Path


def test_figures_have_their_names_near_and_late(tmp_path: Path) -> None:
    out = tmp_path / "figures.json"
    assert main(["--pages", "10", "--runs", "1", "--json", str(out)]) == 0
    figures = json.loads(out.read_text())
    assert 0 < figures["blocked_ms_p999"] <= figures["blocked_ms_max"]
    for where in ("near", "late"):
        assert figures[where]["pages"] >= 10
        assert all(figures[where][account]["samples"] > 0 for account in ACCOUNTS[:3])
        assert figures[where]["total"]["seconds"] >= figures[where]["frontier"]["seconds"]


def test_time_belongs_to_the_innermost_account() -> None:
    ledger = Ledger()
    ledger.begin("other")
    ledger.begin("frontier")
    ledger.begin("storing")
    time.sleep(0.02)
    ledger.end()
    ledger.end()
    ledger.end()
    ledger.close()
    assert ledger.wall["storing"][0] >= 20
    assert ledger.wall["frontier"][0] < ledger.wall["storing"][0]
    assert ledger.wall["total"][0] >= ledger.wall["storing"][0]
    assert "other" not in ledger.wall


def test_a_collection_of_garbage_is_on_nobody_elses_account() -> None:
    ledger = Ledger()
    gc.callbacks.append(ledger.collector)
    try:
        ledger.begin("frontier")
        gc.collect()
        ledger.end()
        ledger.close()
    finally:
        gc.callbacks.remove(ledger.collector)
    assert ledger.wall["collecting"][0] > ledger.wall["frontier"][0]


def test_percentiles_are_values_that_were_measured() -> None:
    assert percentiles([3.0, 1.0, 2.0]) == {"p50": 2.0, "p99": 3.0, "p999": 3.0, "max": 3.0}
    assert percentiles(range(1000)) == {"p50": 500, "p99": 990, "p999": 999, "max": 999}
    assert percentiles([])["max"] == 0
