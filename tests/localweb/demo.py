"""`make crawl`: builds the sample web, crawls it by topic, and compares the harvest with breadth-first on the same number of pages.

Both crawls start afresh, each with its own crawl name and output folder. The first one shows itself on the terminal, the second
runs quietly. Ctrl-C goes to the running crawl, which stops in its own good time; the local web ends after it.
"""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from tests.localweb import sample
from tests.localweb.web import PROJECT, LocalWeb

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import FrameType

CAMPAIGN = "sample"
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True, slots=True)
class Crawl:
    """One crawl of the demo."""

    name: str
    label: str
    settings: dict[str, str] = field(default_factory=dict)

    @property
    def output(self) -> str:
        """Folder of its results, in the project."""
        return f"output/{self.name}"

    def command(self, web: LocalWeb, pages: int) -> list[str]:
        """The command that anybody could type."""
        settings = {
            "CAMPAIGN": CAMPAIGN,
            "FRONTIER_CRAWL": self.name,
            "OUTPUT_DIR": self.output,
            "SCHEDULER_FLUSH_ON_START": "True",
            "CRAWL_MAX_PAGES": str(pages),
            **self.settings,
        }
        options = [part for name, value in settings.items() for part in ("-s", f"{name}={value}")]
        return [sys.executable, "-m", "scrapy", "crawl", "topic", *options, *web.command_line()]


FOCUSED = Crawl("topic-sample", "by topic")
BREADTH_FIRST = Crawl(
    "sample-breadth_first", "breadth-first", {"FRONTIER_POLICY": "breadth_first", "LOG_LEVEL": "WARNING"}
)


def run(folder: Path = sample.FOLDER, *, pages: int = 300, project: Path = PROJECT) -> int:
    """Build the sample in `folder`, crawl it twice with the Scrapy project in `project`, compare the harvests.

    0 if the focused crawl ended well with at least one page; 130 after Ctrl-C; otherwise another number, and a sentence.
    """
    console = Console(soft_wrap=True)
    folder = folder if folder.is_absolute() else project / folder
    try:
        web_on_disk = sample.build(folder, progress=sample.print_progress)
        console.print(f"Sample web: {web_on_disk.describe()}.")
        with LocalWeb(web_on_disk.folder, log=False) as web:
            status = _run(FOCUSED, web, pages, project)
            focused = _summary(FOCUSED, project)
            if status != 0 or not focused.get("pages"):
                console.print(_failure(status, focused), style="red")
                return status or 1
            with console.status("The same again breadth-first, to compare …"), tempfile.TemporaryFile() as output:
                status = _run(BREADTH_FIRST, web, pages, project, output)
                if status != 0:
                    output.seek(0)
                    console.print(output.read().decode(errors="replace")[-3000:], markup=False, highlight=False)
    except KeyboardInterrupt:
        console.print("Stopped.")
        return 130
    _compare(console, focused, _summary(BREADTH_FIRST, project) if status == 0 else {})
    return 0


def _run(crawl: Crawl, web: LocalWeb, pages: int, project: Path, output: IO[bytes] | None = None) -> int:
    """The exit status of a crawl, started afresh; `KeyboardInterrupt` after a crawl that was told to stop."""
    shutil.rmtree(project / crawl.output, ignore_errors=True)
    # A session of its own, and signals passed on: so a crawl gets each of them once, whether the terminal or a program sent it.
    process = subprocess.Popen(
        crawl.command(web, pages),
        cwd=project,
        stdout=output,
        stderr=subprocess.STDOUT if output else None,
        start_new_session=True,
    )
    with _passing_signals(process) as received:
        status = process.wait()
    if received:
        raise KeyboardInterrupt
    return status


@contextmanager
def _passing_signals(process: subprocess.Popen[bytes]) -> Iterator[list[int]]:
    received: list[int] = []

    def pass_on(number: int, _: FrameType | None) -> None:
        received.append(number)
        process.send_signal(signal.SIGINT if number == signal.SIGINT else signal.SIGTERM)

    before = {number: signal.signal(number, pass_on) for number in SIGNALS}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _summary(crawl: Crawl, project: Path) -> dict[str, Any]:
    try:
        summary: dict[str, Any] = json.loads((project / crawl.output / "summary.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return summary


def _failure(status: int, summary: dict[str, Any]) -> str:
    if status:
        return f"The crawl ended with status {status}; what it said last, above, tells why."
    if not summary:
        return f"The crawl left no summary.json in {FOCUSED.output}."
    return f"The crawl fetched no page. Its requests are in {FOCUSED.output}/crawl.sqlite; finish reason: {summary.get('finish_reason')}."


def _compare(console: Console, focused: dict[str, Any], breadth_first: dict[str, Any]) -> None:
    table = Table(title="Harvest of the sample web")
    for column, justify in (
        ("crawl", "left"),
        ("pages", "right"),
        ("on topic", "right"),
        ("harvest rate", "right"),
        ("seconds", "right"),
    ):
        table.add_column(column, justify=justify)  # type: ignore[arg-type]  # the words are rich's own
    for crawl, summary in ((FOCUSED, focused), (BREADTH_FIRST, breadth_first)):
        if summary:
            table.add_row(
                crawl.label,
                f"{summary['pages']:,}",
                f"{summary['relevant']:,}",
                f"{summary['harvest_rate']:.1%}",
                f"{summary['elapsed_seconds']:.1f}",
            )
        else:
            table.add_row(crawl.label, *["failed"] * 4)
    console.print(table)
    console.print(f"Results: {FOCUSED.output}/ (pages.jsonl, crawl.sqlite, summary.json)")
