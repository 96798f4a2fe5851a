"""The two things about Scrapy's engine that have no public door, in one place.

Scrapy has no signal for "this request is through": downloaded, its callback run, its items out of the pipelines, its requests
enqueued. The engine itself knows: a request is in its slot's ``inprogress`` from the moment the scheduler hands it out until all that is
over, whatever way it ends. And a scheduler that has nothing due now but something in 300 ms has no way to be asked again before the
engine's heartbeat of 5 s. Both need the engine's slot, a private attribute since Scrapy 1; ``tests/test_engine.py`` pins what is used of
it, and requirements.txt bounds Scrapy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from scrapy import Request
    from scrapy.core.engine import ExecutionEngine


def in_progress(engine: ExecutionEngine) -> AbstractSet[Request]:
    """The requests that the engine has been handed and is not through with."""
    slot = engine._slot  # noqa: SLF001 - the reason is above
    return slot.inprogress if slot is not None else frozenset()


def wake(engine: ExecutionEngine | None) -> None:
    """Have the engine ask the scheduler again, in the next turn of the loop."""
    slot = engine._slot if engine is not None else None  # noqa: SLF001 - the reason is above
    if slot is not None and slot.closing is None:
        slot.nextcall.schedule()
