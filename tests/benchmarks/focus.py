"""How much of what is relevant a crawl brings home, by pages and by seconds, against the policies of the field and an oracle.

::

    python -m tests.benchmarks.focus --web DIR --topic FILE --labels FILE --seeds FILE [--tables DIR] [--policies …] [--pages N]
    python -m tests.benchmarks.focus --web DIR --topics FOLDER [--seed-sets far near+far] [--repeats K] [--json OUT]

`--topics` names a folder with one folder per topic: topic.txt, relevant.txt, seeds-NAME.txt; a seed set is one NAME or several with ``+``. The
labels are the truth: a page is relevant if its URL is among them, whatever the crawl's own model says. Crawls run in virtual time
(`simulation_focus`): one with one connection and equal servers, where only the order of pages counts, and one with `--slots`
connections to servers of different speed and crawl delay, for as long as breadth-first takes for `--pages` pages. Repeats draw other servers and another order of the seeds.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import random
import statistics
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from extensions.config import Config
from tests.benchmarks.simulation_focus import baselines
from tests.benchmarks.simulation_focus.bound import area_bound, earliest
from tests.benchmarks.simulation_focus.clairvoyant import Clairvoyant, NearestFirst, Punctual
from tests.benchmarks.simulation_focus.crawl import crawl
from tests.benchmarks.simulation_focus.facts import FactStore
from tests.benchmarks.simulation_focus.figures import Figures, as_json, comparison, figures, mean_and_interval
from tests.benchmarks.simulation_focus.ours import PLACES, PLAIN, Ours
from tests.benchmarks.simulation_focus.servers import Servers
from tests.benchmarks.simulation_focus.sockets import on_sockets
from tests.benchmarks.simulation_focus.task import Task
from tests.benchmarks.simulation_focus.web import StoredWeb

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tests.benchmarks.simulation_focus.crawl import Policy

POLICIES: dict[str, Callable[[Task], Policy]] = {
    "breadth-first": baselines.BreadthFirst,
    "best-first": baselines.BestFirst,
    "shark-search": baselines.SharkSearch,
    "best-n-first": baselines.BestNFirst,
    "opic": baselines.Opic,
    "link-classifier": baselines.LinkClassifier,
    "ours-plain": functools.partial(Ours, learning=PLAIN),
    "ours-places": functools.partial(Ours, learning=PLACES),
    "ours": Ours,
    "oracle-nearest": NearestFirst,
    "oracle": Clairvoyant,
}
SHARES = ("headroom_share", "headroom_share_nearest", "headroom_share_bound")
"""Of the distance to the oracle, to the plainer one, and (in time) to what no crawl exceeds."""
SLOTS = 64
"""CONCURRENT_REQUESTS of the product's settings."""
AREAS = {"pages": "recall_area", "time": "recall_area_in_time"}


def main(arguments: Sequence[str] | None = None) -> dict[str, Any]:
    """Run what the command line asks for, print a table, and return what `--json` writes."""
    options = _options(arguments)
    web = StoredWeb(options.web, options.tables or (options.web if (options.web / "pages.tsv").exists() else None))
    with tempfile.TemporaryDirectory() as temporary:
        cache = options.cache or Path(temporary)
        with FactStore(web, cache, options.workers) as store:
            results = [_result(task, options) for task in _tasks(store, options)]
    told: dict[str, Any] = {"tasks": results, "mean": _means(results)}
    _print_means(told["mean"])
    if options.json:
        options.json.write_text(json.dumps(told, indent=1) + "\n", "utf-8")
    return told


class Repeat(NamedTuple):
    """What one repeat of one task gave: figures by policy, and the area in time that no crawl exceeds."""

    found: dict[str, Figures]
    bound_in_time: float


def run(task: Task, policies: Sequence[str], pages: int, slots: int, repeat: int) -> Repeat:
    """One repeat of one task with every policy. In time the oracle is the best of all that know the labels, whichever that is here."""
    web = task.store.web
    seeds = list(task.seeds)
    random.Random(repeat).shuffle(seeds)
    equal = Servers(web.server_names, None)
    uneven = Servers(web.server_names, repeat)
    plain = crawl(POLICIES["breadth-first"](task.anew()), seeds, web.server, uneven, slots=slots, pages=pages)
    seconds = plain.seconds[-1]
    arrivals = earliest(task, uneven)
    found = {}
    for name in policies:
        by_page = crawl(POLICIES[name](task.anew()), seeds, web.server, equal, slots=1, pages=pages)
        candidates = [POLICIES[name](task.anew())]
        if name == "oracle":
            candidates += [NearestFirst(task), Punctual(task, arrivals)]
        found[name] = max(
            (
                figures(task.labels, by_page, pages, by_time, seconds)
                for by_time in (
                    crawl(policy, seeds, web.server, uneven, slots=slots, seconds=seconds) for policy in candidates
                )
            ),
            key=lambda figures: figures.recall_area_in_time,
        )
    return Repeat(found, area_bound(task, uneven, seconds, arrivals))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.focus", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--web", type=Path, required=True, help="folder with the pages, laid out as host/path")
    parser.add_argument(
        "--tables", type=Path, help="folder with pages.tsv and redirects.tsv; default: the web's, if there"
    )
    parser.add_argument("--topic", type=Path, help="the topic's words, or a text about it")
    parser.add_argument("--labels", type=Path, help="URLs of the relevant pages, one a line")
    parser.add_argument("--seeds", type=Path, nargs="+", help="URLs to begin at, one a line")
    parser.add_argument("--topics", type=Path, help="a folder with a folder for each topic, instead of the three")
    parser.add_argument("--only", nargs="+", help="topics of that folder to run")
    parser.add_argument("--seed-sets", nargs="+", default=["far", "near+far"], help="which seeds, with --topics")
    parser.add_argument("--policies", nargs="+", choices=POLICIES, default=list(POLICIES))
    parser.add_argument(
        "--model",
        default=Config().model,
        help='relevance model of the crawls (%(default)s); "labels": one that is always right',
    )
    parser.add_argument("--pages", type=int, default=4000)
    parser.add_argument(
        "--sockets", action="store_true", help="also crawl the web over HTTP: the product itself, and plain Scrapy"
    )
    parser.add_argument("--slots", type=int, default=SLOTS, help="connections at once, in the crawls in time")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--cache", type=Path, help="folder for parsed pages; default: a temporary one")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes that parse")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    if not options.topics and not (options.topic and options.labels and options.seeds):
        parser.error("give --topics, or --topic, --labels and --seeds")
    return options


def _tasks(store: FactStore, options: argparse.Namespace) -> Iterator[Task]:
    if not options.topics:
        name = options.topic.parent.name if options.topic.stem == "topic" else options.topic.stem
        yield Task.load(
            store, name, topic=options.topic, labels=options.labels, seeds=options.seeds, model=options.model
        )
        return
    for folder in sorted(path.parent for path in options.topics.glob("*/topic.txt")):
        for seed_set in options.seed_sets if not options.only or folder.name in options.only else ():
            yield Task.load(
                store,
                f"{folder.name} {seed_set}",
                topic=folder / "topic.txt",
                labels=folder / "relevant.txt",
                seeds=[folder / f"seeds-{name}.txt" for name in seed_set.split("+")],
                model=options.model,
            )


def _result(task: Task, options: argparse.Namespace) -> dict[str, Any]:
    repeats = [run(task, options.policies, options.pages, options.slots, repeat) for repeat in range(options.repeats)]
    task.keep_verdicts()
    result: dict[str, Any] = {
        "task": task.name,
        "reachable": len(task.distance),
        "relevant": len(task.labels),
        "policies": {name: _over_repeats([one.found[name] for one in repeats]) for name in options.policies},
        "bound_in_time": _mean([one.bound_in_time for one in repeats]),
    }
    for unit, area in AREAS.items():
        compared = [comparison(one.found, area, one.bound_in_time if unit == "time" else None) for one in repeats]
        result[unit] = compared[0] | {
            name: _mean([one[name] for one in compared if one.get(name) is not None])
            for name in SHARES
            if name in compared[0]
        }
        for name in ("ahead_of_every_baseline", "never_below_breadth_first"):
            if name in compared[0]:
                result[unit][name] = all(one[name] for one in compared)
    result |= result["pages"]
    if options.sockets:
        result["sockets"] = on_sockets(task, options.tables, options.pages, options.slots)
    _print_task(result)
    return result


def _over_repeats(found: list[Figures]) -> dict[str, Any]:
    """The first repeat's figures and curves; areas as means, with their intervals if there are several."""
    told = as_json(found[0])
    for area in AREAS.values():
        mean, half = mean_and_interval([getattr(one, area) for one in found])
        told[area] = round(mean, 5)
        if half is not None:
            told[f"{area}_interval"] = round(half, 5)
    return told


def _means(results: list[dict[str, Any]]) -> dict[str, Any]:
    """Over tasks, by seed set where tasks have one: each figure with its 95 % interval."""
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for result in results:
        groups[result["task"].partition(" ")[2] or "all"].append(result)
    means: dict[str, Any] = {}
    for group, members in groups.items():
        told: dict[str, Any] = {"tasks": len(members)}
        for unit, area in AREAS.items():
            told[area] = {
                name: _interval([member["policies"][name][area] for member in members])
                for name in members[0]["policies"]
            }
            for name in SHARES:
                shares = [share for member in members if (share := member[unit].get(name)) is not None]
                if shares:
                    told[f"{name}_{unit}"] = _interval(shares)
            for name in ("ahead_of_every_baseline", "never_below_breadth_first"):
                ahead = [member[unit][name] for member in members if name in member[unit]]
                if ahead:
                    told[f"{name}_{unit}"] = all(ahead)
                    told[f"{name}_{unit}_tasks"] = sum(ahead)
        means[group] = told
    return means


def _interval(values: list[float]) -> dict[str, float | None]:
    mean, half = mean_and_interval(values)
    return {"mean": round(mean, 4), "interval": None if half is None else round(half, 4)}


def _mean(values: list[float]) -> float | None:
    return round(statistics.fmean(values), 4) if values else None


def _print_task(result: dict[str, Any]) -> None:
    print(f"{result['task']}: {result['relevant']} relevant of {result['reachable']} reachable pages")
    print(f"  {'policy':16} {'area':>7} {'in time':>8} {'quarter':>8} {'half':>6} {'fetched':>8} {'relevant':>9}")
    for name, found in result["policies"].items():
        quarter, half = (found[key] if found[key] is not None else "-" for key in ("pages_to_quarter", "pages_to_half"))
        areas = f"{found['recall_area']:7.3f} {found['recall_area_in_time']:8.3f}"
        print(f"  {name:16} {areas} {quarter:>8} {half:>6} {found['fetched']:8} {found['relevant']:9}")
    for unit in AREAS:
        told = result[unit]
        if "headroom_share" in told:
            shares = ", ".join(f"{name} {told[name]}" for name in SHARES if name in told)
            print(f"  by {unit}: {shares}, best baseline {told['best_baseline']}", flush=True)
    for name, found in result.get("sockets", {}).items():
        print(f"  on sockets, {name}: {found}", flush=True)


def _print_means(means: dict[str, Any]) -> None:
    for group, told in means.items():
        print(f"mean of {told['tasks']} tasks, seeds {group}:")
        for name, value in told.items():
            if name.startswith(("headroom", "ahead", "never")):
                print(f"  {name}: {value}")


if __name__ == "__main__":
    main()
