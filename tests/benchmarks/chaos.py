"""Crashes at random, again and again, and whether a crawl keeps its promises: nothing lost, nothing torn, nobody disturbed.

    python -m tests.benchmarks.chaos --trials 20 --seed 1 [--agents 3] [--cluster] [--pages 3000] [--json FILE]

Each trial is a crawl of a local web by real processes, to its end. Faults: an agent is killed and started again; an agent is stopped and goes on,
often after its leases have expired; Redis is killed and started again on its append-only file; Redis is stopped; connections to it are reset;
replies are lost. With ``--cluster`` Redis is a Cluster of six, and masters are killed or stopped until their replicas take over.

Trial n of ``--seed S`` has the seed S + n, so ``--trials 1 --seed`` with the seed that is told repeats it. The exit status is 1 if anything promised was not
kept. `tests.benchmarks.trial` says what is counted, and how.
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from tests.benchmarks.trial import Outcome, Plan, run

if TYPE_CHECKING:
    from collections.abc import Sequence

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status."""
    options = _options(arguments)
    signal.signal(signal.SIGTERM, _interrupt)
    console = Console(stderr=True)
    outcomes: list[Outcome] = []
    status = 0
    try:
        for number in range(options.trials):
            plan = Plan(
                seed=options.seed + number,
                pages=options.pages,
                agents=options.agents,
                faults=options.faults or max(3, options.pages // 250),
                cluster=options.cluster,
            )
            outcomes.append(_trial(plan, f"Trial {number + 1} of {options.trials}", console, options.keep))
    except KeyboardInterrupt:
        console.print("Interrupted; what follows are the trials that were carried out.")
        status = INTERRUPTED
    figures = summary(outcomes)
    Console().print(table(figures))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n")
    return status or int(bool(figures["failed"]))


def summary(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The figures of all trials together; seconds are their sum."""
    kinds = Counter(fault.kind for one in outcomes for fault in one.faults)
    return {
        "trials": len(outcomes),
        "faults": kinds.total(),
        "faults_by_kind": dict(sorted(kinds.items())),
        "pages_expected": sum(one.plan.pages for one in outcomes),
        "pages_lost": sum(len(one.lost) for one in outcomes),
        "pages_repeated": sum(one.repeated for one in outcomes),
        "repeated_allowed": sum(one.repeated_allowed for one in outcomes),
        "politeness_violations": sum(len(one.violations) for one in outcomes),
        "torn_records": sum(one.torn_records for one in outcomes),
        "records_repeated": sum(one.records_repeated for one in outcomes),
        "agents_ended_early": sum(one.ended_early for one in outcomes),
        "agent_restarts": sum(one.restarts for one in outcomes),
        "seconds": round(sum(one.seconds for one in outcomes), 1),
        "failed": [{"seed": one.plan.seed, "why": one.wrong} for one in outcomes if one.wrong],
    }


def table(figures: dict[str, Any]) -> Table:
    """The same for a terminal."""
    shown = Table("", "", title="Chaos", show_header=False)
    shown.columns[1].justify = "right"
    for name, value in figures.items():
        if name == "faults_by_kind":
            for kind, count in value.items():
                shown.add_row(f"  {kind}", f"{count:,}")
        elif name != "failed":
            shown.add_row(name.replace("_", " "), f"{value:,}")
    for one in figures["failed"]:
        shown.add_row(f"failed: seed {one['seed']}", "\n".join(one["why"]))
    return shown


def _trial(plan: Plan, title: str, console: Console, keep: Path | None) -> Outcome:
    folder = Path(tempfile.mkdtemp(prefix="chaos-"))
    kept = False
    try:
        with console.status(title) as shown:
            outcome = run(plan, folder, lambda words: shown.update(f"{title}: {words}"))
        verdict = "; ".join(outcome.wrong) or "all is well"
        console.print(f"{title}, seed {plan.seed}: {len(outcome.faults)} faults, {outcome.seconds:.0f} s, {verdict}")
        if outcome.wrong:
            kept = keep is not None
            lines = [fault.words for fault in outcome.faults] + [str(violation) for violation in outcome.violations]
            console.print(*(f"    {line}" for line in lines), sep="\n")
        return outcome
    finally:
        if keep is not None and kept:
            keep.mkdir(parents=True, exist_ok=True)
            shutil.move(folder, keep / f"seed-{plan.seed}")
        else:
            shutil.rmtree(folder, ignore_errors=True)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.chaos", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--trials", type=int, default=10, help="crawls (default: 10)")
    parser.add_argument("--seed", type=int, default=1, help="of the first trial (default: 1)")
    parser.add_argument("--agents", type=int, default=3, help="processes in each crawl (default: 3)")
    parser.add_argument("--cluster", action="store_true", help="a Redis Cluster of six in place of one Redis")
    parser.add_argument("--pages", type=int, default=3000, help="of the local web (default: 3000)")
    parser.add_argument("--faults", type=int, default=0, help="in each trial (default: one for every 250 pages)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep logs and results of failing trials there")
    return parser.parse_args(arguments)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
