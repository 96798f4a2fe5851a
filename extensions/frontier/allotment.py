"""Which partitions to ask for how many servers, so that the best ones come first over all partitions and few calls are made.

A script sees one partition, so the order over all of them is put together here: each lease call also tells how many servers are still
ready in its partition and the ranks of the first few, and the next request goes where the greatest ranks are. What other agents have
admitted meanwhile shows when a view is refreshed, after `REFRESH_MS` at the latest.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

HEADS = 8
"""Ranks that a lease call tells of the servers that stay ready."""
REFRESH_MS = 1000


@dataclass(frozen=True, slots=True)
class Ask:
    """A lease call on one partition: for how many servers, overdue by how many milliseconds at least."""

    partition: int
    servers: int
    overdue_ms: int = 0


@dataclass(frozen=True, slots=True)
class PartitionView:
    """What a lease call told of its partition, as it was after the call."""

    partition: int
    next_due_ms: int | None
    queued: int
    leased: int
    ready: int
    ranks: tuple[float, ...]


class Allotment:
    """What one agent knows of the partitions that it leases from."""

    def __init__(self) -> None:
        self._views: dict[int, PartitionView] = {}
        self._seen_ms: dict[int, int] = {}
        self._touched: set[int] = set()

    def saw(self, now_ms: int, views: Iterable[PartitionView]) -> None:
        """Take note of replies."""
        for view in views:
            self._views[view.partition] = view
            self._seen_ms[view.partition] = now_ms

    def touch(self, partitions: Iterable[int]) -> None:
        """Something has been admitted or settled there: it may be ready now."""
        self._touched.update(partitions)

    def next_due_ms(self, mine: Iterable[int]) -> int | None:
        """The earliest instant at which a server of these partitions becomes due; None if none waits."""
        dues = (view.next_due_ms for part in mine if (view := self._views.get(part)) is not None)
        return min((due for due in dues if due is not None), default=None)

    def left(self) -> tuple[int, int]:
        """URLs queued and URLs leased in all partitions that have been seen."""
        views = self._views.values()
        return sum(view.queued for view in views), sum(view.leased for view in views)

    def any_ready(self, mine: Iterable[int]) -> bool:
        """Whether a server is known to be ready there."""
        return any(view.ready > 0 for part in mine if (view := self._views.get(part)) is not None)

    def asks(self, now_ms: int, room: int, mine: Collection[int]) -> list[Ask]:
        """How to fill room for so many servers from these partitions. Where more may be ready than is known, ask at least for a new view."""
        if room <= 0:
            return []
        counts = self._best_known(room, mine)
        unsure = [part for part in mine if self._may_have_more(part, now_ms)]
        left = room - sum(counts.values())
        for part in unsure:
            # Unseen only where there is room for one of each; otherwise the view comes first, and then the best of them.
            counts[part] = counts.get(part, 0) + left // len(unsure)
        self._touched.difference_update(unsure)
        return [Ask(part, count) for part, count in sorted(counts.items())]

    def _best_known(self, room: int, mine: Collection[int]) -> dict[int, int]:
        counts: dict[int, int] = {}
        heads = [(-view.ranks[0], part) for part in mine if (view := self._views.get(part)) is not None and view.ranks]
        heapq.heapify(heads)
        while heads and room:
            _, part = heads[0]
            view = self._views[part]
            counts[part] = taken = counts.get(part, 0) + 1
            room -= 1
            if taken < view.ready:
                # Beyond the ranks that were told, the last of them is the best guess.
                heapq.heapreplace(heads, (-view.ranks[min(taken, len(view.ranks) - 1)], part))
            else:
                heapq.heappop(heads)
        return counts

    def _may_have_more(self, part: int, now_ms: int) -> bool:
        view = self._views.get(part)
        return (
            view is None
            or part in self._touched
            or (view.next_due_ms is not None and view.next_due_ms <= now_ms)
            or now_ms - self._seen_ms[part] >= REFRESH_MS
        )
