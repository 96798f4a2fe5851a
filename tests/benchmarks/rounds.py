"""Rivals measured in turn, so that whatever else the machine does meets them alike."""

from __future__ import annotations

import gc
import time
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Job = Callable[[], int]
    """Does some things and returns how many."""


@dataclass(frozen=True)
class Cost:
    """Of one thing, the median over the rounds."""

    seconds: float
    cpu_seconds: float
    """Of all processes that were asked for. Where others share the processors it tells more than time does."""

    @property
    def per_second(self) -> float:
        return 1 / self.seconds

    def times_faster_than(self, other: Cost) -> float:
        return other.seconds / self.seconds

    def times_less_cpu_than(self, other: Cost) -> float:
        return other.cpu_seconds / self.cpu_seconds


def measure(
    rivals: Mapping[str, Callable[[], Job]], rounds: int, cpu: Callable[[], float] = time.process_time
) -> dict[str, Cost]:
    """Name → what one thing costs. Each rival first prepares, uncounted, then does its job, once a round.

    The first round warms up and does not count. Garbage is collected between the jobs and not during them.
    """
    spent: dict[str, list[tuple[float, float]]] = {name: [] for name in rivals}
    for number in range(rounds + 1):
        for name, prepare in rivals.items():
            job = prepare()
            gc.collect()
            gc.disable()
            try:
                cpu_before, began = cpu(), time.perf_counter()
                done = job()
                took, cpu_took = time.perf_counter() - began, cpu() - cpu_before
            finally:
                gc.enable()
            if number and done:
                spent[name].append((took / done, cpu_took / done))
    for name, times in spent.items():
        if not times:
            raise RuntimeError(f"{name} has done nothing")
    return {
        name: Cost(median(each for each, _ in times), median(each for _, each in times))
        for name, times in spent.items()
    }
