"""Topic crawls by the real command, as processes to be disturbed, and what they must have brought home in the end.

write_web(folder)                                   # PAGES pages on HOSTS hosts, all on topic
with LocalWeb(folder, latency_ms=10) as web:
    one = TopicCrawl(tmp_path / "crawl", web, REDIS_URL=…)
    with one.started() as run:
        run.wait_for_pages(40)
        …                                           # the fault
        assert run.ended() == 0
    one.check_pages(expected())                     # each page once, no torn line
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tests.localweb.web import LocalWeb, write_site
from tests.running import HURRY, PROJECT

if TYPE_CHECKING:
    import signal
    from collections.abc import Callable, Iterator
    from pathlib import Path

HOSTS = 6
PAGES = 240
BRANCHES = 4
SECONDS = 60.0
"""How long anything may take; what takes longer is taken for stuck."""
TEXT = "Beekeeping is the keeping of bees for their honey, and honey is what they are kept for. "
BEGUN = "The crawl pauses and goes on when Redis answers again."
ENDED = "Redis answers again after"


def url_of(number: int, hosts: int = HOSTS) -> str:
    return f"http://h{number % hosts}.test/{number}"


def expected(pages: int = PAGES, hosts: int = HOSTS) -> set[str]:
    """The URLs of a whole web."""
    return {url_of(number, hosts) for number in range(pages)}


def write_web(folder: Path, pages: int = PAGES, hosts: int = HOSTS) -> Path:
    """Pages 0 to pages-1, spread over the hosts; each leads to four later ones, on other hosts mostly, and back to the first."""
    for number in range(pages):
        children = [n for n in range(BRANCHES * number + 1, BRANCHES * (number + 1) + 1) if n < pages]
        links = " ".join(f'<a href="{url_of(n, hosts)}">honey {n}</a>' for n in (*children, 0))
        html = (
            f'<html lang="en"><title>Beekeeping and honey, page {number}</title><p>{TEXT * 3}</p><p>{links}</p></html>'
        )
        write_site(folder, f"h{number % hosts}.test", {f"/{number}": html})
    return folder


def wait_until(condition: Callable[[], bool], report: Callable[[], str], seconds: float = SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, report()
        time.sleep(0.01)


class Run:
    """One process of ``scrapy crawl topic``; its log is read all the time, so it never waits for a reader."""

    def __init__(self, crawl: TopicCrawl, process: subprocess.Popen[str]) -> None:
        self.crawl = crawl
        self.process = process
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def log(self) -> str:
        return "".join(self.lines)

    def wait_for_pages(self, count: int) -> None:
        """Until so many pages are stored, in all runs of the crawl; the run must not end before."""
        wait_until(lambda: self.crawl.stored() >= count or self.process.poll() is not None, lambda: self.log)
        assert self.process.poll() is None, f"the run ended too early:\n{self.log[-5000:]}"

    def wait_for_line(self, text: str) -> None:
        """Until the log has it."""
        wait_until(lambda: text in self.log, lambda: f"{text!r} is missing:\n{self.log[-5000:]}")

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def kill(self) -> None:
        """As kill -9."""
        self.process.kill()
        self.process.wait()
        self._reader.join()

    def ended(self, seconds: float = SECONDS) -> int:
        """The exit status."""
        try:
            status = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it goes on and on:\n{self.log[-5000:]}") from None
        self._reader.join()
        return status

    def check_told(self, outages: int) -> None:
        """So many outages, each told once when it began and once when it was over, and no traceback."""
        told = [line for line in self.lines if BEGUN in line or ENDED in line]
        assert len(told) == 2 * outages, self.log[-5000:]
        assert all(BEGUN in line for line in told[::2]), told
        assert all(ENDED in line for line in told[1::2]), told
        errors = [line for line in self.lines if " ERROR: " in line]
        assert len(errors) == outages, self.log[-5000:]
        assert "Traceback" not in self.log, self.log[-5000:]

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)


class TopicCrawl:
    """A folder with a crawl of its own, results in ``out``, to be started as often as it takes."""

    def __init__(self, folder: Path, web: LocalWeb, **settings: Any) -> None:
        self.folder = folder
        self.out = folder / "out"
        self.web = web
        self.settings = HURRY | {"FRONTIER_CRAWL": "disturbed", "OUTPUT_DIR": "out", "STATS_DUMP": "False"} | settings
        folder.mkdir(parents=True)
        (folder / "scrapy.cfg").write_text("[settings]\ndefault = settings.base\n")

    @contextmanager
    def started(self, *, limits: Callable[[], None] | None = None, **settings: Any) -> Iterator[Run]:
        """The same command each time."""
        chosen = self.settings | self.web.settings() | settings
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "scrapy", "crawl", "topic"),
                *("-a", "topic=beekeeping, honey", "-a", f"seeds={url_of(0)}"),
                *(part for name, value in chosen.items() for part in ("-s", f"{name}={value}")),
            ],
            cwd=self.folder,
            env=os.environ | {"PYTHONPATH": str(PROJECT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            preexec_fn=limits,
            start_new_session=True,
        )
        run = Run(self, process)
        try:
            yield run
        finally:
            run.kill()

    def finish(self, **settings: Any) -> Run:
        """Run to the end, which must be a good one."""
        with self.started(**settings) as run:
            assert run.ended() == 0, run.log[-5000:]
        assert self.summary()["finish_reason"] == "finished", run.log[-5000:]
        return run

    def stored(self) -> int:
        """Whole lines in ``pages.jsonl`` at this moment."""
        path = self.out / "pages.jsonl"
        return path.read_bytes().count(b"\n") if path.exists() else 0

    def summary(self) -> dict[str, Any]:
        return json.loads((self.out / "summary.json").read_text("utf-8"))

    def check_pages(self, pages: set[str]) -> None:
        """Exactly these are stored, each in a whole line of its own."""
        text = (self.out / "pages.jsonl").read_text("utf-8")
        assert text.endswith("\n"), "the last line is torn"
        urls = [json.loads(line)["url"] for line in text.splitlines()]
        assert len(urls) == len(set(urls)), "a page is stored twice"
        missing, surplus = pages - set(urls), set(urls) - pages
        assert (len(missing), len(surplus)) == (0, 0), (sorted(missing)[:5], sorted(surplus)[:5])

    def fetched(self) -> Counter[str]:
        """How often each URL was requested, robots.txt apart."""
        return Counter(
            f"http://{record['host']}{record['path']}"
            for record in self.web.access_log()
            if record["path"] != "/robots.txt"
        )

    def repeated(self) -> set[str]:
        """What was requested more than once."""
        return {url for url, times in self.fetched().items() if times > 1}
