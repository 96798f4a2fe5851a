"""Pages a second against the number of agents, on a web that is slow to answer: what a second agent adds, and an eighth.

    python -m tests.benchmarks.scaling --agents 1,2,4,8 [--seconds 30] [--json FILE]

Every size crawls the same web (`webs.ladder`), with enough hosts for all agents of the largest size, latencies of 100 to 500 ms, robots.txt asked for and a crawl delay.
An agent opens few servers at once, so that it waits for answers and not for the processor. Servers are taken in turn (``FRONTIER_POLICY=breadth_first``), because each size shall
meet the same mix of fast and slow ones; a policy that prefers fast servers would leave the slow ones to the larger sizes.

What is measured is the steady state: the clock runs for `--seconds` once a page of every host has been fetched. Then the agents are interrupted; the web is never
exhausted. The pages are counted in the web's access log, those of each agent in its own results.

``efficiency`` is pages a second over those of perfect scaling, which is the smallest size's, times as many agents. ``largest_share_over_fair`` is the busiest
agent's pages over the mean. The CPU seconds of agents, Redis and web (user and system, from /proc, so on Linux only) and the machine's idle share tell where the
processor becomes the bound: from there on efficiency says something of the machine and nothing of the frontier.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sqlite3
import sys
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from tests.benchmarks.accesslog import ROBOTS, repeated, violations
from tests.benchmarks.agents import Agents
from tests.benchmarks.webs import SETTINGS, Web, ladder
from tests.localweb.web import LocalWeb
from tests.redis_servers import durable_server

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

OPEN_SERVERS = 8
"""CONCURRENT_REQUESTS of each agent."""
HOSTS_PER_AGENT = 3 * OPEN_SERVERS
CRAWL_DELAY_MS = 200.0
PAGES_PER_SLOT_AND_SECOND = 2.5
"""More than a place for an open server can ever give: 1 / (mean latency + most of a crawl delay)."""
WARM_UP_SECONDS = 180.0
PARTITIONS = 64
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Size:
    """What one number of agents did."""

    agents: int
    pages: int
    robots: int
    """Requests for robots.txt, which are none for pages."""
    latency_ms: float
    """Mean of all answers: sizes can be compared if they met the same."""
    seconds: float
    shares: tuple[int, ...]
    """Pages of each agent."""
    cpu_seconds: dict[str, float]
    """Of agents, Redis and web; empty where the system does not tell."""
    idle: float | None
    """Share of the machine's processors that nobody used."""
    violations: int
    repeated: int

    @property
    def pages_per_second(self) -> float:
        """In the steady state."""
        return self.pages / self.seconds

    @property
    def largest_share_over_fair(self) -> float:
        """1 if all agents fetched as much."""
        return max(self.shares) * len(self.shares) / max(1, sum(self.shares))


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status."""
    options = _options(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    console = Console(stderr=True)
    sizes: list[Size] = []
    status = 0
    try:
        with tempfile.TemporaryDirectory(prefix="scaling-") as name:
            folder = Path(name)
            web = web_for(folder / "web", max(options.agents), options.seconds)
            for count in options.agents:
                with console.status(f"{count} agents") as shown:
                    sizes.append(
                        measure(
                            web,
                            folder / str(count),
                            count,
                            options.seconds,
                            lambda words, shown=shown: shown.update(words),  # type: ignore[misc]
                        )
                    )
                console.print(f"{count} agents: {sizes[-1].pages_per_second:.1f} pages a second")
    except KeyboardInterrupt:
        status = 130
    if sizes:
        figures = entries(sizes)
        Console().print(table(figures), *bound(sizes), sep="\n")
        if options.json:
            options.json.write_text(json.dumps(figures, indent=2) + "\n")
    return status


def web_for(folder: Path, most_agents: int, seconds: float) -> Web:
    """Hosts for the largest size, and pages for the smallest, whose warm-up takes longest, and for the largest, which is fastest."""
    hosts = HOSTS_PER_AGENT * most_agents
    warm_up_pages = 4 * hosts
    pages = warm_up_pages + most_agents * OPEN_SERVERS * PAGES_PER_SLOT_AND_SECOND * (seconds + 5)
    return ladder(folder, hosts=hosts, pages_per_host=int(pages / hosts) + 1)


def measure(web: Web, folder: Path, count: int, seconds: float, tell: Callable[[str], object]) -> Size:
    """Crawl with so many agents until the steady state has been measured."""
    settings = SETTINGS | {
        "FRONTIER_CRAWL": "scaling",
        "FRONTIER_POLICY": "breadth_first",
        "FRONTIER_PARTITIONS": PARTITIONS,
        "CONCURRENT_REQUESTS": OPEN_SERVERS,
        "CRAWL_DELAY": CRAWL_DELAY_MS / 1000,
        "CRAWL_DELAY_FACTOR": 0,
        "OUTPUT_PROGRESS_SECONDS": 0,
    }
    with (
        LocalWeb(web.folder, behaviour=web.behaviour) as server,
        durable_server() as redis,
        Agents(count, folder, server, web.seed_url, settings | {"REDIS_URL": redis.url}) as agents,
    ):
        _warm_up(server, agents, len(web.behaviour["hosts"]) + 1, tell)
        assert server._process is not None
        assert redis.process is not None
        pids = {
            "agents": [agent.pid for agent in agents],
            "redis": [redis.process.pid],
            "web": [server._process.pid],
        }
        tell(f"{count} agents: measuring for {seconds:g} s")
        cpu, machine, began = _cpu_seconds(pids), _machine(), time.time()
        time.sleep(seconds)
        cpu_after, machine_after, ended = _cpu_seconds(pids), _machine(), time.time()
        agents.finish()
        log = server.access_log()
        within = [one for one in log if began * 1000 <= one["end_ms"] < ended * 1000]
        pages = sum(one["path"] != ROBOTS for one in within)
        return Size(
            agents=count,
            pages=pages,
            robots=len(within) - pages,
            latency_ms=sum(one["end_ms"] - one["start_ms"] for one in within) / max(1, len(within)),
            seconds=ended - began,
            shares=tuple(_pages_of(out, began, ended) for out in agents.outputs),
            cpu_seconds={name: cpu_after[name] - cpu[name] for name in cpu},
            idle=_idle(machine, machine_after),
            violations=len(violations(log, crawl_delay_ms=CRAWL_DELAY_MS)),
            repeated=repeated(log),
        )


def entries(sizes: Sequence[Size]) -> list[dict[str, Any]]:
    """The figures, an entry per size."""
    first = sizes[0]
    return [
        {
            "agents": size.agents,
            "pages_per_second": round(size.pages_per_second, 2),
            "perfect_pages_per_second": round(perfect(first, size), 2),
            "efficiency": round(size.pages_per_second / perfect(first, size), 3) if perfect(first, size) else 0.0,
            "largest_share_over_fair": round(size.largest_share_over_fair, 3),
            "pages": size.pages,
            "robots_requests": size.robots,
            "mean_latency_ms": round(size.latency_ms, 1),
            "seconds": round(size.seconds, 1),
            "cpu_seconds": {name: round(used, 2) for name, used in size.cpu_seconds.items()},
            "cpu_idle": None if size.idle is None else round(size.idle, 3),
            "politeness_violations": size.violations,
            "pages_repeated": size.repeated,
        }
        for size in sizes
    ]


def perfect(first: Size, size: Size) -> float:
    """Pages a second if each agent did as much as in the smallest size."""
    return first.pages_per_second * size.agents / first.agents


def table(figures: Sequence[dict[str, Any]]) -> Table:
    """The same for a terminal, with CPU seconds a second."""
    shown = Table(title=f"Agents on a web of 100 to 500 ms, {OPEN_SERVERS} servers open in each")
    for name in ("agents", "pages/s", "perfect", "efficiency", "largest share", "CPU agents", "Redis", "web", "idle"):
        shown.add_column(name, justify="right")
    for one in figures:
        cpu = [f"{used / one['seconds']:.2f}" for used in one["cpu_seconds"].values()] or ["?"] * 3
        shown.add_row(
            str(one["agents"]),
            f"{one['pages_per_second']:.1f}",
            f"{one['perfect_pages_per_second']:.1f}",
            f"{one['efficiency']:.3f}",
            f"{one['largest_share_over_fair']:.3f}",
            *cpu,
            "?" if one["cpu_idle"] is None else f"{one['cpu_idle']:.0%}",
        )
    return shown


def bound(sizes: Sequence[Size]) -> list[str]:
    """From how many agents on the processor is what they wait for, by what the largest size used."""
    last = sizes[-1]
    used = sum(last.cpu_seconds.values())
    if not used or not last.pages:
        return []
    cores = os.cpu_count() or 1
    most = cores * last.pages / used
    parts = ", ".join(f"{name} {1000 * seconds / last.pages:.1f} ms" for name, seconds in last.cpu_seconds.items())
    agents = most * last.agents / last.pages_per_second
    return [
        f"A page takes {1000 * used / last.pages:.1f} ms of CPU ({parts}).",
        f"{cores} cores are spent at {most:.0f} pages a second, which is what {agents:.0f} such agents fetch.",
    ]


def _warm_up(server: LocalWeb, agents: Agents, hosts: int, tell: Callable[[str], object]) -> None:
    deadline = time.monotonic() + WARM_UP_SECONDS
    while True:
        met = len({one["host"] for one in server.access_log() if one["path"] != ROBOTS})
        tell(f"{len(agents)} agents: {met} of {hosts} hosts met")
        if met >= hosts:
            return
        ended = [agent for agent in agents if not agent.running]
        if ended or time.monotonic() > deadline:
            last = (ended or list(agents))[0].log.read_text("utf-8", "replace")[-3000:]
            raise RuntimeError(f"The crawl does not get on ({met} of {hosts} hosts met):\n{last}")
        time.sleep(0.5)


def _pages_of(out: Path, began: float, ended: float) -> int:
    first, last = (
        datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "")
        for at in (began, ended)
    )
    with closing(sqlite3.connect(out / "crawl.sqlite")) as connection:
        rows = connection.execute(
            "SELECT count(*) FROM fetched WHERE outcome IN ('relevant', 'off_topic') AND fetched_at >= ? AND fetched_at < ?",
            (first, last),
        )
        (count,) = rows.fetchone()
    return int(count)


def _cpu_seconds(pids: dict[str, list[int]]) -> dict[str, float]:
    try:
        return {name: sum(map(_of_process, group)) for name, group in pids.items()}
    except OSError:
        return {}


def _of_process(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def _machine() -> list[int] | None:
    try:
        return [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    except OSError:
        return None


def _idle(before: list[int] | None, after: list[int] | None) -> float | None:
    if before is None or after is None:
        return None
    spent = [new - old for old, new in zip(before, after, strict=True)]
    return (spent[3] + spent[4]) / max(1, sum(spent))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.scaling", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--agents", type=_sizes, default=(1, 2, 4, 8), help="numbers of agents (default: 1,2,4,8)")
    parser.add_argument("--seconds", type=float, default=30.0, help="to measure each for (default: 30)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    return parser.parse_args(arguments)


def _sizes(text: str) -> tuple[int, ...]:
    sizes = tuple(sorted({int(part) for part in text.split(",")}))
    if sizes[0] < 1:
        raise argparse.ArgumentTypeError("a crawl has one agent at least")
    return sizes


if __name__ == "__main__":
    sys.exit(main())
