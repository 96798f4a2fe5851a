"""What Redis has acknowledged within the last seconds, to be said again if Redis forgets it.

A Redis that is killed, or whose replica takes over, may lose the last second or two of what it had acknowledged (its append-only file is
written behind, and so are replicas). Every verb may be repeated, so each agent keeps what it said for long enough, and says it again to a Redis that has
been restarted: links of a page that is done are not lost with it.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from extensions.frontier.records import Candidate, Settlement

KEPT_SECONDS = 5.0
"""More than the two seconds for which Redis may hold back a write to its append-only file."""
MOST_CANDIDATES = 100_000


class Journal:
    """Candidates and settlements of the last `KEPT_SECONDS`, and a little longer."""

    def __init__(self) -> None:
        self._entries: deque[tuple[float, Sequence[Candidate], Sequence[Settlement]]] = deque()
        self._candidates = 0

    def note(self, candidates: Sequence[Candidate], settlements: Sequence[Settlement]) -> None:
        """Redis has acknowledged these just now."""
        now = time.monotonic()
        if candidates or settlements:
            self._entries.append((now, candidates, settlements))
            self._candidates += len(candidates)
        while self._entries and (now - self._entries[0][0] > KEPT_SECONDS or self._candidates > MOST_CANDIDATES):
            self._candidates -= len(self._entries.popleft()[1])

    def candidates(self) -> list[Candidate]:
        """All that were admitted, oldest first."""
        return [one for _, candidates, _ in self._entries for one in candidates]

    def settlements(self) -> list[Settlement]:
        """All that were settled, oldest first; what they counted and measured is not said twice, and their leases may be forgotten."""
        return [
            replace(one, pages=0, failures=0, connection_ms=(), response_ms=(), carried=None, again=True)
            for _, _, settlements in self._entries
            for one in settlements
        ]
