"""How evenly partitions spread over agents, how many move when one comes or goes, and what it costs; four rivals in the same call.

    python -m tests.benchmarks.assignment [--trials N] [--agents 2,8,100] [--partitions 64,4096] [--json FILE]

``stratified`` is `extensions.frontier.assignment`; ``independent`` the same race with independent hashes, the textbook's weighted
rendezvous; ``circle`` UbiCrawler's, with `POINTS` points per unit of capacity and the partitions evenly spaced; ``modulo`` gives
partition p to slot p mod n, an agent having as many slots as capacity. Each trial has agents of other names.

JSON: `balance` (per `method, capacities, agents, partitions`: `largest_share_over_fair`, mean over the trials;
`largest_share_over_fair_worst`; `coefficient_of_variation`), `moves` (per `method, change, agents, partitions`: `moved`, `ideal`,
`between_others`, shares of all partitions), `cost` (per `agents, partitions`: milliseconds `first`, `again`, `one_joins`, `order`).
"""

from __future__ import annotations

import argparse
import json
from bisect import bisect
from itertools import product
from math import log1p, sqrt
from pathlib import Path
from statistics import fmean
from time import perf_counter
from typing import TYPE_CHECKING, Any

from mmh3 import mmh3_x64_128_utupledigest
from rich.console import Console
from rich.table import Table

from extensions.frontier.assignment import Assignment

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Owners = list[str]
    Method = Callable[[Mapping[str, int], int], Owners]

POINTS = 100
CAPACITIES = {"equal": (1,), "1:2:4:8": (1, 2, 4, 8)}
REPEATS = 5


def stratified(capacities: Mapping[str, int], partitions: int) -> Owners:
    assignment = Assignment(capacities, partitions)
    return [str(assignment.owner(partition)) for partition in range(partitions)]


def independent(capacities: Mapping[str, int], partitions: int) -> Owners:
    names = list(capacities)
    races = []
    for name, capacity in capacities.items():
        key = name.encode()
        draws = ((mmh3_x64_128_utupledigest(key, part)[0] >> 12) + 0.5 for part in range(partitions))
        races.append([-log1p(-draw / (1 << 52)) / capacity for draw in draws])
    return [names[arrivals.index(min(arrivals))] for arrivals in zip(*races, strict=True)]


def circle(capacities: Mapping[str, int], partitions: int) -> Owners:
    points = sorted(
        (mmh3_x64_128_utupledigest(name.encode(), point)[0], name)
        for name, capacity in capacities.items()
        for point in range(POINTS * capacity)
    )
    places = [place for place, _ in points]
    step = (1 << 64) // partitions
    return [points[bisect(places, part * step + step // 2) % len(points)][1] for part in range(partitions)]


def modulo(capacities: Mapping[str, int], partitions: int) -> Owners:
    slots = [name for name, capacity in capacities.items() for _ in range(capacity)]
    return [slots[part % len(slots)] for part in range(partitions)]


METHODS: dict[str, Method] = {
    "stratified": stratified,
    "independent": independent,
    "circle": circle,
    "modulo": modulo,
}


def crew(trial: int, agents: int, weights: tuple[int, ...]) -> dict[str, int]:
    return {f"crawler-{trial}-{number}": weights[number % len(weights)] for number in range(agents)}


def balance(method: str, capacities: str, agents: int, partitions: int, trials: int) -> dict[str, Any]:
    largest, squares = [], []
    for trial in range(trials):
        live = crew(trial, agents, CAPACITIES[capacities])
        counts = dict.fromkeys(live, 0)
        for owner in METHODS[method](live, partitions):
            counts[owner] += 1
        total = sum(live.values())
        over_fair = [counts[name] * total / (partitions * capacity) for name, capacity in live.items()]
        largest.append(max(over_fair))
        squares.append(fmean((ratio - 1) ** 2 for ratio in over_fair))
    return {
        "method": method,
        "capacities": capacities,
        "agents": agents,
        "partitions": partitions,
        "largest_share_over_fair": round(fmean(largest), 3),
        "largest_share_over_fair_worst": round(max(largest), 3),
        "coefficient_of_variation": round(sqrt(fmean(squares)), 4),
    }


def moves(method: str, change: str, agents: int, partitions: int, trials: int) -> dict[str, Any]:
    """One agent in the middle joins the others, leaves them, or doubles its capacity."""
    moved, strangers = 0, 0
    one = agents // 2
    for trial in range(trials):
        live = crew(trial, agents, (1,))
        name = f"crawler-{trial}-{one}"
        rest = {other: capacity for other, capacity in live.items() if other != name}
        before, after = {"join": (rest, live), "leave": (live, rest), "double": (live, live | {name: 2})}[change]
        pairs = list(zip(METHODS[method](before, partitions), METHODS[method](after, partitions), strict=True))
        moved += sum(old != new for old, new in pairs)
        strangers += sum(old != new and name not in {old, new} for old, new in pairs)
    ideal = {"join": 1 / agents, "leave": 1 / agents, "double": 2 / (agents + 1) - 1 / agents}[change]
    return {
        "method": method,
        "change": change,
        "agents": agents,
        "partitions": partitions,
        "moved": round(moved / trials / partitions, 4),
        "ideal": round(ideal, 4),
        "between_others": round(strangers / trials / partitions, 4),
    }


def cost(agents: int, partitions: int) -> dict[str, Any]:
    """Least milliseconds of a few runs: of agents never seen before, of the same again, of one that joins; and of an idle agent's order."""
    figures: dict[str, list[float]] = {"first": [], "again": [], "one_joins": [], "order": []}
    for run in range(REPEATS):
        live = {f"worker-{agents}-{run}-{number}": 1 for number in range(agents)}
        assignment = Assignment(live, partitions)
        steps = {
            "first": lambda live=live, run=run: Assignment({f"{name}-stranger": 1 for name in live}, partitions),
            "again": lambda live=live: Assignment(live, partitions),
            "one_joins": lambda live=live, run=run: Assignment(live | {f"newcomer-{agents}-{run}": 1}, partitions),
            "order": lambda assignment=assignment, run=run: assignment.order(f"worker-{agents}-{run}-0"),
        }
        for name in ("again", "one_joins", "order", "first"):  # the first of all pushes the others out of memory
            begin = perf_counter()
            steps[name]()
            figures[name].append(1000 * (perf_counter() - begin))
    return {"agents": agents, "partitions": partitions} | {name: round(min(ms), 2) for name, ms in figures.items()}


def show(
    console: Console,
    title: str,
    rows: list[dict[str, Any]],
    keys: tuple[str, ...],
    value: Callable[[dict[str, Any]], str],
) -> None:
    """One line per combination of `keys`, one column per method."""
    table = Table(title=title, title_justify="left")
    for key in (*keys, *METHODS):
        table.add_column(key, justify="right")
    lines: dict[tuple[Any, ...], dict[str, str]] = {}
    for row in rows:
        lines.setdefault(tuple(row[key] for key in keys), {})[row["method"]] = value(row)
    for line, cells in lines.items():
        table.add_row(*map(str, line), *(cells[method] for method in METHODS))
    console.print(table)


def numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.assignment", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--agents", type=numbers, default=[2, 4, 8, 16, 32, 100], help="numbers of agents, with commas")
    parser.add_argument(
        "--partitions", type=numbers, default=[64, 256, 1024, 4096], help="numbers of partitions, with commas"
    )
    parser.add_argument("--trials", type=int, default=10, help="sets of agents for each figure")
    parser.add_argument("--json", type=Path, help="file for the figures")
    options = parser.parse_args()

    balances = [
        balance(method, capacities, agents, partitions, options.trials)
        for capacities, partitions, agents, method in product(CAPACITIES, options.partitions, options.agents, METHODS)
    ]
    most = max(options.partitions)
    movements = [
        moves(method, change, agents, most, min(options.trials, 3))
        for change, agents, method in product(("join", "leave", "double"), options.agents, METHODS)
    ]
    costs = [cost(agents, most) for agents in options.agents]

    console = Console(width=110)
    show(
        console,
        "Balance: largest share over fair share, mean of the trials / coefficient of variation",
        balances,
        ("capacities", "partitions", "agents"),
        lambda row: f"{row['largest_share_over_fair']:.2f} / {row['coefficient_of_variation']:.3f}",
    )
    show(
        console,
        f"Moves of {most} partitions: share moved / of which between agents that have no part in the change",
        movements,
        ("change", "agents", "ideal"),
        lambda row: f"{row['moved']:.3f} / {row['between_others']:.3f}",
    )
    columns = ("agents", "first", "again", "one_joins", "order")
    table = Table(*columns, title=f"Cost with {most} partitions, milliseconds", title_justify="left")
    for row in costs:
        table.add_row(*(str(row[column]) for column in columns))
    console.print(table)
    if options.json:
        options.json.write_text(
            json.dumps({"balance": balances, "moves": movements, "cost": costs}, indent=1) + "\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
