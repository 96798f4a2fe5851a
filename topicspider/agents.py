"""The crawl as a whole: the stats of all agents of its present run, put together, whichever machine they run on.

What an agent counts for itself is added up. What each of them sees of the one frontier, or of the folder that they share, is not: there
the value of the agent that asks counts, or the greatest one where it has none. Stats are numbers by Scrapy's names.

Other schedulers know of no agents; then this process is the crawl.
"""

from __future__ import annotations

import socket
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from extensions.frontier.records import AgentRecord
from topicspider.figures import Figures

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scrapy.crawler import Crawler

    from topicspider.figures import Stats

OF_THE_FRONTIER = {
    f"frontier/{name}" for name in ("queued", "leased", "servers", "settled", "reclaimed", "refused", "expired")
}
"""Each agent sees the whole."""
OF_THE_LIVING = {"frontier/open_servers"}
GREATEST = {"request_depth_max", "elapsed_time_seconds", "memusage/max", "memusage/startup"}
LEASES = ("leases_lost", "leases_expired", "settlements_refused", "reclaimed", "refused", "expired", "kept_back")


@dataclass(frozen=True, slots=True)
class Agents:
    """The agents of a run, this process first. `lease_seconds` is how long one may be silent before it counts as lost."""

    records: tuple[AgentRecord, ...]
    lease_seconds: float
    ended: bool = False
    """Whether this process has ended its part."""

    @classmethod
    def of(cls, crawler: Crawler, began_ms: int, now_ms: int, lease_seconds: float, *, ended: bool = False) -> Agents:
        """Those that the crawler's scheduler knows of. The instants are of this process's clock, used where it knows of none."""
        scheduler = getattr(crawler.engine, "scheduler", None)
        records: tuple[AgentRecord, ...] = getattr(scheduler, "agents", ())
        if not records:
            assert crawler.stats is not None
            name, stats = socket.gethostname(), crawler.stats.get_stats()
            records = (AgentRecord(name, "", 0, began_ms, now_ms, stats=stats),)
        return cls(records, lease_seconds, ended)

    @property
    def own(self) -> AgentRecord:
        """This process."""
        return self.records[0]

    @property
    def several(self) -> bool:
        """Whether the crawl has, or had, other agents."""
        return len(self.records) > 1

    @property
    def first(self) -> AgentRecord:
        """Who began the run."""
        return min(self.records, key=lambda record: record.joined_ms)

    @property
    def elapsed_seconds(self) -> float:
        """From the first agent's beginning to the last sign of life."""
        return (max(record.beat_ms for record in self.records) - self.first.joined_ms) / 1000

    def state(self, record: AgentRecord) -> str:
        """``running``, ``ended``, or ``lost``: silent for so long that the others have taken over its leases."""
        if record is self.own:
            return "ended" if self.ended else "running"
        if record.left:
            return "ended"
        silent_ms = self.own.beat_ms - record.beat_ms
        return "running" if silent_ms < self.lease_seconds * 1000 else "lost"

    @property
    def running(self) -> int:
        """How many are at work."""
        return sum(self.state(record) == "running" for record in self.records)

    def merged(self) -> dict[str, float]:
        """The run's stats."""
        return merged(
            [record.stats for record in self.records],
            [self.state(record) == "running" for record in self.records],
        )

    def totals(self) -> tuple[int, int]:
        """Pages scored and pages stored, earlier runs in the same folders included.

        A folder's share of the earlier runs is what its first agent found there; what is stored in it now, what the best informed of
        its agents knows.
        """
        before: dict[float, list[float]] = defaultdict(list)
        stored: dict[float, list[float]] = defaultdict(list)
        loose = 0.0
        for record in self.records:
            folder = record.stats.get("output/folder", 0)
            if "output/folder_pages_before" in record.stats:
                before[folder].append(record.stats["output/folder_pages_before"])
            if "output/folder_stored" in record.stats:
                stored[folder].append(record.stats["output/folder_stored"])
            else:
                loose += record.stats.get("output/relevant_total", record.stats.get("topic/relevant", 0))
        scored = sum(record.stats.get("topic/pages", 0) for record in self.records)
        return int(scored + sum(map(min, before.values()))), int(loose + sum(map(max, stored.values())))

    def shares(self) -> list[dict[str, Any]]:
        """One entry an agent, in the order in which they joined."""
        pages = sum(int(record.stats.get("topic/pages", 0)) for record in self.records)
        return [self._share(record, pages) for record in sorted(self.records, key=lambda record: record.joined_ms)]

    def _share(self, record: AgentRecord, all_pages: int) -> dict[str, Any]:
        figures = Figures.read(record.stats)
        entry = {
            "name": record.name,
            "pages": figures.pages,
            "relevant": figures.relevant,
            "share": round(figures.pages / all_pages, 4) if all_pages else 0.0,
            "elapsed_seconds": round((record.beat_ms - record.joined_ms) / 1000, 3),
            "state": self.state(record),
        }
        own = {key: value for key, value in record.stats.items() if key not in OF_THE_FRONTIER}
        return entry | leases(own)


def leases(stats: Stats) -> dict[str, int]:
    """What went wrong, or was put right, with leases; only what there is."""
    return {name: int(stats[f"frontier/{name}"]) for name in LEASES if f"frontier/{name}" in stats}


def merged(stats: Sequence[Mapping[str, Any]], living: Sequence[bool]) -> dict[str, float]:
    """The stats of several agents, the one that asks first, as if they were one. What is no number is left out."""
    whole: dict[str, float] = {}
    for one, lives in zip(stats, living, strict=True):
        for key, value in one.items():
            if not isinstance(value, (int, float)):
                continue
            if key in OF_THE_FRONTIER:
                if key not in stats[0]:
                    whole[key] = max(value, whole.get(key, 0))
            elif key in GREATEST:
                whole[key] = max(value, whole.get(key, 0))
            elif lives or key not in OF_THE_LIVING:
                whole[key] = whole.get(key, 0) + value
    return whole | {key: stats[0][key] for key in OF_THE_FRONTIER if key in stats[0]}
