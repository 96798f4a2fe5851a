"""Agents of one crawl as real processes of ``scrapy crawl topic``, to be killed, stopped, and started again.

with Agents(4, folder, web, seed_url, settings, shared=False) as agents:
    agents[0].kill()                    # kill -9
    agents[0].start()                   # the same command again
    agents[1].stop()                    # SIGSTOP
    agents[1].go_on()                   # SIGCONT

Agents have a project and an output folder each, as on machines of their own, or with `shared` one for all, as on one machine. Nothing
is left running, however the block is left.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from threading import Lock
from typing import TYPE_CHECKING, Any, Self

from tests.benchmarks.webs import TOPIC
from tests.localweb.web import PROJECT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from tests.localweb.web import LocalWeb

STOP_SECONDS = 20.0


class Agent:
    """One place where the command runs, again and again."""

    def __init__(self, name: str, folder: Path, command: list[str]) -> None:
        self.name = name
        self.folder = folder
        self.out = folder / "out"
        self.log = folder / f"{name}.log"
        self.stopped = False
        """By SIGSTOP."""
        self.ended_at = 0.0
        """When its process was first found to have ended, in seconds of the epoch."""
        self.starts = 0
        self._command = command
        self._changing = Lock()
        """One thread restarts it while another looks at it."""
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def running(self) -> bool:
        """Whether the process is there, stopped or not."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        """Of the last process."""
        assert self._process is not None, "the agent was never started"
        return self._process.pid

    @property
    def status(self) -> int | None:
        """The last process's exit status; None while it runs, negative for a signal."""
        with self._changing:
            status = None if self._process is None else self._process.poll()
            if status is not None and not self.ended_at:
                self.ended_at = time.time()
            return status

    def start(self) -> None:
        """Run the command; its log is added to `log`."""
        assert not self.running, "the agent is at work"
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "scrapy.cfg").write_text("[settings]\ndefault = settings.base\n")
        self.starts += 1
        with self._changing:
            self.stopped, self.ended_at = False, 0.0
            with self.log.open("ab") as log:
                # Its own session: Ctrl-C is for the benchmark, which ends its agents itself.
                self._process = subprocess.Popen(
                    self._command,
                    cwd=self.folder,
                    env=os.environ | {"PYTHONPATH": str(PROJECT)},
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )

    def kill(self) -> None:
        """SIGKILL, and wait until it is gone."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def interrupt(self) -> None:
        """SIGINT: end in good order."""
        self._signal(signal.SIGINT)

    def stop(self) -> None:
        """SIGSTOP."""
        self._signal(signal.SIGSTOP)
        self.stopped = True

    def go_on(self) -> None:
        """SIGCONT."""
        self._signal(signal.SIGCONT)
        self.stopped = False

    def wait(self, seconds: float) -> int | None:
        """The exit status; None if it has not ended by then."""
        assert self._process is not None
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        return self.status

    def _signal(self, number: signal.Signals) -> None:
        if self.running and self._process is not None:
            self._process.send_signal(number)


class Agents:
    """So many agents of one crawl; started when the block is entered."""

    def __init__(
        self,
        count: int,
        folder: Path,
        web: LocalWeb,
        seed_url: str,
        settings: Mapping[str, Any],
        *,
        shared: bool = False,
    ) -> None:
        chosen = {"OUTPUT_DIR": "out", **web.settings(), **settings}
        command = [
            *(sys.executable, "-m", "scrapy", "crawl", "topic"),
            *("-a", f"topic={TOPIC}", "-a", f"seeds={seed_url}"),
            *(part for name, value in chosen.items() for part in ("-s", f"{name}={value}")),
        ]
        names = [f"agent-{number}" for number in range(1, count + 1)]
        self._agents = [Agent(name, folder / ("agents" if shared else name), command) for name in names]

    def __enter__(self) -> Self:
        try:
            for agent in self._agents:
                agent.start()
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def __iter__(self) -> Iterator[Agent]:
        return iter(self._agents)

    def __getitem__(self, place: int) -> Agent:
        return self._agents[place]

    def __len__(self) -> int:
        return len(self._agents)

    def kill(self) -> None:
        """End all that runs."""
        for agent in self._agents:
            agent.kill()

    def finish(self) -> None:
        """End all in good order, and those that do not end in time anyhow."""
        for agent in self._agents:
            agent.interrupt()
        deadline = time.monotonic() + STOP_SECONDS
        for agent in self._agents:
            agent.wait(max(0.0, deadline - time.monotonic()))
        self.kill()

    @property
    def outputs(self) -> list[Path]:
        """The folders with results."""
        return sorted({agent.out for agent in self._agents})
