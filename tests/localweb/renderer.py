"""Renders many modules and descriptions with a few worker processes, none of which can hang or crash the caller.

A task that takes too long, or kills its worker, has no result: the worker is replaced and the next task goes on. A worker is also
replaced after a number of tasks, because imported modules pile up in it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
import tempfile
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PROJECT = Path(__file__).resolve().parents[2]
TASKS_PER_WORKER = 200
LINE_BYTES = 64 << 20

Task = dict[str, str]
Result = dict[str, Any]


def render(
    tasks: Sequence[Task],
    *,
    workers: int = 2,
    timeout_seconds: float = 15.0,
    progress: Callable[[int, int], None] = lambda done, all_: None,
) -> list[Result]:
    """The result of each task, in the tasks' order; a failed one is ``{"error": …}``. `progress` gets (done, all)."""
    return asyncio.run(_render(tasks, workers, timeout_seconds, progress))


async def _render(
    tasks: Sequence[Task], workers: int, timeout_seconds: float, progress: Callable[[int, int], None]
) -> list[Result]:
    results: list[Result] = [{} for _ in tasks]
    waiting = deque(range(len(tasks)))
    done = 0

    async def work(home: str) -> None:
        nonlocal done
        worker = Worker(home)
        try:
            while waiting:
                number = waiting.popleft()
                results[number] = await worker.result(tasks[number], timeout_seconds)
                done += 1
                progress(done, len(tasks))
        finally:
            await worker.end()

    with tempfile.TemporaryDirectory(prefix="sampleweb-") as home:
        async with asyncio.TaskGroup() as group:
            for _ in range(max(1, workers)):
                group.create_task(work(home))
    return results


class Worker:
    """A process of `render_worker`, started when there is work."""

    def __init__(self, home: str) -> None:
        self._home = home
        self._process: asyncio.subprocess.Process | None = None
        self._tasks = 0

    async def result(self, task: Task, timeout_seconds: float) -> Result:
        """The task's result, or why there is none."""
        process = await self._ready()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(task).encode() + b"\n")
            async with asyncio.timeout(timeout_seconds):
                line = await process.stdout.readline()
        except TimeoutError:
            await self.end()
            return {"error": f"no result within {timeout_seconds:g} s"}
        except (ConnectionError, ValueError):  # it is gone, or its page is longer than any page should be
            line = b""
        if not line.endswith(b"\n"):
            await self.end()
            return {"error": "the worker died of it"}
        answer: Result = json.loads(line)
        return answer

    async def end(self) -> None:
        """Kill the process; the next task starts another."""
        if self._process:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            # communicate() and not wait(): it also reads what is left in the pipe, which would otherwise stay open.
            await self._process.communicate()
            self._process = None

    async def _ready(self) -> asyncio.subprocess.Process:
        if self._tasks >= TASKS_PER_WORKER:
            await self.end()
        if self._process is None:
            self._tasks = 0
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "tests.localweb.render_worker"),
                cwd=self._home,
                # Little of the caller's environment: a module finds no display, no home and no credentials.
                env={"PATH": os.defpath, "PYTHONPATH": str(PROJECT), "HOME": self._home, "PYTHONHASHSEED": "0"},
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                limit=LINE_BYTES,
                start_new_session=True,
            )
        self._tasks += 1
        return self._process
