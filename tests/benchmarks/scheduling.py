"""Which policy brings home most quality in limited time: the scheduling experiment of Cao, Jiang, Singh (2003), in virtual time.

    python -m tests.benchmarks.scheduling --quality zipf|pagerank --seed N [--delay SECONDS] [--repeats K] [--json FILE] [--svg FILE]

A web of 500 servers and 30,000 pages (`simulation.web`) is crawled from ten seeds over 64 connections by each policy. What is the product's: every formula for ranks, lease lengths,
costs and moving averages (`extensions.frontier.policies`), the priors (`records.Rules`), the order within a URL queue with its resolution of quality (`score`). What is the simulator's: the web,
the clock, and queues that are fast in one process; `tests/benchmarks/test_scheduling.py` compares their leases with those of the frontier's oracle.

With ``--delay`` every server is left alone for so long after each response, and a fifth of them ask for two to ten times as much.

``quality_at`` and ``pages_at`` are shares at the tenths of the time (`simulation.curves` says which time), ``area`` is the mean share of quality over it, ``share_of_bound`` that over the area of
what a clairvoyant could have at most (`simulation.bound`). ``behind`` lists the tenths at which capability has less quality than another policy, by more than a thousandth of the whole. The *ablations*
are capability without what goes beyond the paper, and *informed*, which knows every server's true times, and *all known*, for which every URL was queued at the beginning: they tell what learning
and finding cost. With ``--repeats`` everything is the mean over webs of so many seeds, one after the other.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from extensions.frontier.records import Policy, Rules
from tests.benchmarks.simulation.bound import bounds
from tests.benchmarks.simulation.crawl import Crawl
from tests.benchmarks.simulation.curves import Curve, curve_of, instants_of, mean, tenths
from tests.benchmarks.simulation.plot import svg
from tests.benchmarks.simulation.ranking import Ranking
from tests.benchmarks.simulation.web import Web, make_web

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TIE = 0.001
"""Shares that differ by less are called equal: a thousandth of the quality is less than one seed differs from the next."""
BOUND = "clairvoyant bound"


@dataclass(frozen=True, slots=True)
class Experiment:
    """What is crawled and how often."""

    quality: Any
    seed: int
    delay: float = 0.0
    repeats: int = 1
    servers: int = 500
    pages: int = 30_000
    connections: int = 64

    def rankings(self) -> dict[str, Ranking]:
        """The four policies, then capability with parts of it switched off or handed to it."""

        def rules(policy: Policy) -> Rules:
            return Rules(policy=policy, delay_ms=self.delay * 1000)

        found = {policy.value: Ranking(rules(policy)) for policy in Policy}
        capability = rules(Policy.CAPABILITY)
        if self.delay:
            found["without politeness"] = Ranking(capability, politeness=False)
        found["without length"] = Ranking(capability, length=False)
        if self.delay:
            found["without both"] = Ranking(capability, politeness=False, length=False)
        found["informed"] = found["informed, all known"] = Ranking(capability, informed=True)
        return found

    def run(self) -> dict[str, list[Curve]]:
        """The curves of every ranking and of the bound, one for each seed."""
        found: dict[str, list[Curve]] = {BOUND: []}
        for seed in range(self.seed, self.seed + self.repeats):
            web = make_web(seed, self.quality, servers=self.servers, pages=self.pages, delay_seconds=self.delay)
            instants = instants_of(web, self.connections)
            found[BOUND].append(self._bound(web, instants))
            for name, ranking in self.rankings().items():
                trace = Crawl(web.all_known() if "all known" in name else web, ranking, self.connections).run()
                found.setdefault(name, []).append(curve_of(web, trace, instants))
        return found

    def _bound(self, web: Web, instants: Sequence[float]) -> Curve:
        quality = bounds(web, web.quality, self.connections, instants)
        pages = bounds(web, [1.0] * len(web.quality), self.connections, instants)
        total = sum(web.quality)
        return Curve(
            tuple(min(1.0, value / total) for value in quality),
            tuple(min(1.0, value / len(web.quality)) for value in pages),
        )


def behind(curves: Mapping[str, Curve]) -> dict[str, list[str]]:
    """{policy: the tenths at which it is ahead of capability}, those that never are left out."""
    ours = tenths(curves[Policy.CAPABILITY].quality)
    found = {}
    for policy in Policy:
        theirs = tenths(curves[policy].quality)
        if late := [tenth for tenth, share in ours.items() if share < theirs[tenth] - TIE]:
            found[policy.value] = late
    return found


def report(experiment: Experiment, runs: Mapping[str, Sequence[Curve]]) -> dict[str, Any]:
    """The JSON."""
    curves = {name: mean(found) for name, found in runs.items()}
    bound = curves.pop(BOUND)
    figures = {name: curve.as_json(bound) for name, curve in curves.items()}
    for name, each in figures.items():
        each["areas"] = [curve.area for curve in runs[name]]
    policies = [policy.value for policy in Policy]
    seeds = range(experiment.seed, experiment.seed + experiment.repeats)
    return {
        "quality": experiment.quality,
        "seeds": list(seeds),
        "delay_seconds": experiment.delay,
        "servers": experiment.servers,
        "pages": experiment.pages,
        "connections": experiment.connections,
        "policies": {name: figures[name] for name in policies},
        "ablations": {name: each for name, each in figures.items() if name not in policies},
        "bound": bound.as_json(bound),
        "behind": behind(curves),
        "behind_by_seed": {
            seed: late
            for place, seed in enumerate(seeds)
            if (late := behind({name: found[place] for name, found in runs.items()}))
        },
    }


def table(curves: Mapping[str, Curve], title: str) -> Table:
    """Quality and, in brackets, pages at the tenths."""
    found = Table(title=title)
    for column in ("", *(f"{tenth}/10" for tenth in range(1, 11)), "area", "of bound"):
        found.add_column(column, justify="right" if column else "left", no_wrap=True)
    for name, curve in curves.items():
        quality, pages = tenths(curve.quality).values(), tenths(curve.pages).values()
        cells = [f"{gained:.3f} ({fetched:.2f})" for gained, fetched in zip(quality, pages, strict=True)]
        found.add_row(name, *cells, f"{curve.area:.4f}", f"{curve.area / curves[BOUND].area:.3f}")
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.scheduling",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quality", choices=("zipf", "pagerank"), default="zipf")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--delay", type=float, default=0.0, help="crawl delay in seconds")
    parser.add_argument("--repeats", type=int, default=1, help="so many seeds, from --seed on")
    parser.add_argument("--servers", type=int, default=500)
    parser.add_argument("--pages", type=int, default=30_000)
    parser.add_argument("--connections", type=int, default=64, help="servers open at once")
    parser.add_argument("--json", type=Path, help="write the figures there")
    parser.add_argument("--svg", type=Path, help="draw quality over time there")
    options = vars(parser.parse_args(arguments))
    json_file, svg_file = options.pop("json"), options.pop("svg")
    experiment = Experiment(**options)
    runs = experiment.run()
    curves = {name: mean(found) for name, found in runs.items()}
    title = (
        f"{experiment.quality}, {experiment.repeats} seed(s) from {experiment.seed}, crawl delay {experiment.delay:g} s"
    )
    console = Console(width=190)
    console.print(table(curves, f"Quality (pages) at the tenths of the time: {title}"))
    figures = report(experiment, runs)
    console.print(f"Capability is behind another policy, in the mean: {figures['behind'] or 'never'}")
    console.print(f"… seed by seed: {figures['behind_by_seed'] or 'never'}")
    if json_file:
        json_file.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    if svg_file:
        policies = {name: curves[name].quality for name in (BOUND, *(policy.value for policy in Policy))}
        svg_file.write_text(svg(f"Share of quality over time: {title}", policies), encoding="utf-8")


if __name__ == "__main__":
    main()
