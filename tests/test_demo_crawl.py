"""`make crawl` as a newcomer sees it: the demo, in a clone of its own, on the whole sample web."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from tests.localweb import sample
from tests.running import PROJECT

if TYPE_CHECKING:
    from pathlib import Path

CODE = ("settings", "topicspider", "extensions", "tests")


@dataclass
class Demo:
    """What the command left."""

    status: int
    output: str
    clone: Path

    def summary(self, crawl: str) -> dict[str, Any]:
        return json.loads((self.clone / "output" / crawl / "summary.json").read_text())


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    """The command to its end. It takes the project's sample web where that is built already, and leaves it there where it is not."""
    clone = tmp_path_factory.mktemp("clone")
    for name in CODE:
        shutil.copytree(PROJECT / name, clone / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(PROJECT / "scrapy.cfg", clone)
    done = subprocess.run(
        [sys.executable, "-m", "tests.localweb", "demo", "--folder", str(PROJECT / sample.FOLDER)],
        cwd=clone,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"COLUMNS": "120"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=220,
        check=False,
    )
    return Demo(done.returncode, done.stdout, clone)


def test_the_demo_ends_well_with_at_least_200_pages(demo):
    assert demo.status == 0, demo.output[-5000:]
    summary = demo.summary("topic-sample")
    assert summary["finish_reason"] in ("finished", "page_limit")
    assert summary["pages"] >= 200
    assert (summary["errors"]["logged"], summary["errors"]["spider"]) == (0, {})
    assert "Traceback" not in demo.output


def test_it_harvests_clearly_more_than_breadth_first_on_as_many_pages(demo):
    focused, breadth_first = demo.summary("topic-sample"), demo.summary("sample-breadth_first")
    assert breadth_first["policy"] == "breadth_first"
    assert breadth_first["pages"] == pytest.approx(focused["pages"], rel=0.1)
    assert focused["harvest_rate"] > 1.3 * breadth_first["harvest_rate"]
    assert focused["harvest_rate"] > breadth_first["harvest_rate"] + 0.1


def test_it_prints_both_harvest_rates_and_where_the_results_are(demo):
    rates = [f"{demo.summary(crawl)['harvest_rate']:.1%}" for crawl in ("topic-sample", "sample-breadth_first")]
    printed = re.findall(r"(by topic|breadth-first)\D+[\d,]+\D+[\d,]+\D+([\d.]+%)", demo.output)
    assert printed == [("by topic", rates[0]), ("breadth-first", rates[1])]
    assert "output/topic-sample/" in demo.output
    stored = (demo.clone / "output/topic-sample/pages.jsonl").read_text().splitlines()
    assert len({json.loads(line)["url"] for line in stored}) == len(stored) > 50
