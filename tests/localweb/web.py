"""The local web in tests and benchmarks: started before the first request, stopped after the last, its log at hand.

write_site(folder, "a.test", {"/": '<a href="http://b.test/">b</a>'})
with LocalWeb(folder, latency_ms=20) as web:
    subprocess.run([sys.executable, "-m", "scrapy", "crawl", "topic", *web.command_line(), …])
    requests = web.access_log()
"""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from tests.localweb.server import BARRIER_HOST

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

PROJECT = Path(__file__).resolve().parents[2]
START_SECONDS = 30.0
STOP_SECONDS = 5.0


class LocalWeb:
    """A server process for one or more folders of pages; `behaviour` is described in `tests.localweb.behaviour`."""

    def __init__(
        self,
        *folders: Path | str,
        latency_ms: float = 0,
        behaviour: Mapping[str, Any] | None = None,
        log: bool = True,
        tables: Path | str | None = None,
        unresolvable: Collection[str] = (),
    ) -> None:
        self._folders = [str(Path(folder).resolve()) for folder in folders]
        self._latency_ms = latency_ms
        self._behaviour = behaviour
        self._logs = log
        self._tables = tables
        self._unresolvable = list(unresolvable)
        self._process: subprocess.Popen[bytes] | None = None
        self._records: list[dict[str, Any]] = []
        self.http_port = 0
        self.https_port = 0

    def __enter__(self) -> Self:
        self._work = tempfile.TemporaryDirectory(prefix="localweb-")
        try:
            self._start(Path(self._work.name))
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def settings(self) -> dict[str, Any]:
        """The Scrapy settings that lead a crawl here."""
        return {
            "TWISTED_DNS_RESOLVER": "tests.localweb.resolver.LocalWebResolver",
            "LOCALWEB_HTTP_PORT": self.http_port,
            "LOCALWEB_HTTPS_PORT": self.https_port,
            "LOCALWEB_UNRESOLVABLE": ",".join(self._unresolvable),
        }

    def command_line(self) -> list[str]:
        """The same as arguments for `scrapy crawl`."""
        return [part for name, value in self.settings().items() for part in ("-s", f"{name}={value}")]

    def access_log(self) -> list[dict[str, Any]]:
        """One record per request answered until now, in the order in which the answers ended."""
        if self._process and self._process.poll() is None:
            self._barrier()
            self._read_log()
        return list(self._records)

    def stop(self) -> None:
        """End the server process; the access log stays readable. A second call does nothing."""
        if self._process:
            self._process.terminate()
            try:
                self._process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            if self._process.stdin:
                self._process.stdin.close()
            self._read_log()
            self._process = None
            self._work.cleanup()

    def _start(self, work: Path) -> None:
        ready_file, errors = work / "ready.json", work / "errors.txt"
        command = [sys.executable, "-m", "tests.localweb", "serve", *self._folders, "--until-eof"]
        command += ["--latency-ms", str(self._latency_ms), "--ready-file", str(ready_file)]
        if self._logs:
            command += ["--log", str(work / "access.jsonl")]
        if self._tables:
            command += ["--tables", str(Path(self._tables).resolve())]
        if self._behaviour:
            (work / "behaviour.json").write_text(json.dumps(self._behaviour))
            command += ["--behaviour", str(work / "behaviour.json")]
        with errors.open("wb") as stderr:
            # Its own session: Ctrl-C in the terminal is for the crawl, whose last requests still need an answer.
            self._process = subprocess.Popen(
                command,
                cwd=PROJECT,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                start_new_session=True,
            )
        deadline = time.monotonic() + START_SECONDS
        while not ready_file.exists():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"The local web did not start:\n{errors.read_text()}")
            time.sleep(0.01)
        ports = json.loads(ready_file.read_text())
        self.http_port, self.https_port = ports["http_port"], ports["https_port"]

    def _barrier(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.http_port, timeout=START_SECONDS)
        connection.request("GET", "/", headers={"Host": BARRIER_HOST})
        connection.getresponse().read()
        connection.close()

    def _read_log(self) -> None:
        log = Path(self._work.name) / "access.jsonl"
        if log.exists():
            self._records = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]


def write_site(folder: Path, host: str, pages: Mapping[str, str | bytes]) -> None:
    """Write a small site into `folder`: path → page. A path that ends in / is that directory's index.html."""
    for path, page in pages.items():
        file = folder / host / (path.lstrip("/") + ("index.html" if path.endswith("/") else ""))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(page.encode() if isinstance(page, str) else page)
