"""What `make crawl` does around its two crawls, with a Scrapy project that is small enough to fail in every way on demand."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.localweb.sample import build
from tests.localweb.web import PROJECT

SPIDER = """
import json, os, pathlib, scrapy

class Topic(scrapy.Spider):
    name = "topic"
    start_urls = ["http://www.python.test/"]
    pages = 0

    def parse(self, response):
        self.pages += 1
        if self.settings.getfloat("SLOW"):
            print("CRAWLING", os.getpid(), flush=True)
        yield from response.follow_all(css="a")

    def closed(self, reason):
        folder = pathlib.Path(self.settings["OUTPUT_DIR"])
        folder.mkdir(parents=True)
        rate = 0.25 if self.settings["FRONTIER_POLICY"] == "breadth_first" else 0.5
        summary = {"pages": self.pages, "relevant": int(self.pages * rate), "harvest_rate": rate, "elapsed_seconds": 1.0}
        if not os.environ.get("NO_SUMMARY"):
            (folder / "summary.json").write_text(json.dumps({**summary, "finish_reason": reason}))
"""
SETTINGS = """
import os
BOT_NAME = "mini"
SPIDER_MODULES = ["spiders"]
TELNETCONSOLE_ENABLED = False
LOG_LEVEL = "ERROR"
SLOW = float(os.environ.get("SLOW", 0))
DOWNLOAD_DELAY = SLOW
ROBOTSTXT_OBEY = False
"""
DEMO = "import sys, pathlib; from tests.localweb.demo import run; sys.exit(run(pages=5, project=pathlib.Path('.').resolve()))"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "scrapy.cfg").write_text("[settings]\ndefault = mini_settings\n")
    (folder / "mini_settings.py").write_text(SETTINGS)
    (folder / "spiders").mkdir()
    (folder / "spiders/__init__.py").write_text(SPIDER)
    return folder


@pytest.fixture(scope="module", autouse=True)
def small_sample(project: Path) -> None:
    # The demo would build all of it: here a small one, under the mark of the whole one.
    from tests.localweb import sample

    build(project / sample.FOLDER, distributions=["queuelib"], areas=["json"], limit=3)
    facts = project / sample.FOLDER / "sample.json"
    content = json.loads(facts.read_text())
    content["fingerprint"] = sample._fingerprint(None, None, sample.MODULES_PER_SERVER)
    facts.write_text(json.dumps(content))


def start(project: Path, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", DEMO],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(PROJECT), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def test_demo_prints_both_harvest_rates_and_where_the_results_are(project: Path) -> None:
    stale = project / "output/topic-sample/stale.txt"
    stale.parent.mkdir(parents=True)
    stale.touch()
    process = start(project)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0, output
    assert "50.0%" in output
    assert "25.0%" in output
    assert "output/topic-sample/" in output
    assert not stale.exists()


@pytest.mark.parametrize(
    ("environment", "says"),
    [
        ({"NO_SUMMARY": "1"}, "left no summary.json"),
        ({"SCRAPY_SETTINGS_MODULE": "no_such_module"}, "ended with status 1"),
    ],
)
def test_failed_crawl_is_a_sentence_and_a_status(project: Path, environment: dict[str, str], says: str) -> None:
    process = start(project, **environment)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    assert says in output


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_demo_stops_the_crawl_gracefully_and_the_server(project: Path, number: signal.Signals) -> None:
    process = start(project, SLOW="0.3")
    assert process.stdout is not None
    line = next(line for line in process.stdout if line.startswith("CRAWLING"))
    process.send_signal(number)
    output = process.stdout.read()
    assert process.wait(30) == 130, output
    process.stdout.close()
    assert "Stopped." in output
    summary = json.loads((project / "output/topic-sample/summary.json").read_text())
    assert summary["finish_reason"] == "shutdown"
    deadline = time.monotonic() + 5
    while Path(f"/proc/{line.split()[1]}").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not Path(f"/proc/{line.split()[1]}").exists()
