"""What anything that learns from a crawl offers, so that what it learned can be saved and shared without knowing what it is."""

from __future__ import annotations

from typing import Protocol


class Learner(Protocol):
    """Holds sums, which only ever add up: agents may hear of each other's in any order."""

    def changes(self) -> bytes:
        """What was learned here since the last call, for `merge` elsewhere; empty if nothing was."""

    def merge(self, changes: bytes) -> None:
        """Take in what `changes` or `state` wrote. Raises `ValueError` for anything else, and is unchanged then."""

    def state(self) -> bytes:
        """All that was learned, here and elsewhere: what one that knows nothing has to `merge` to know as much."""

    def __len__(self) -> int:
        """How many records there are."""
