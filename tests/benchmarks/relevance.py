"""How right relevance is: every model on pages whose truth is known, against a classifier trained on that truth.

    python -m tests.benchmarks.relevance --web DIR --labels FILE --topic FILE [--seeds FILE …] [--json OUT]
    python -m tests.benchmarks.relevance --web DIR --topics FOLDER [--json OUT]      # <name>/topic.txt, relevant.txt, seeds-*.txt

The web is a folder of ``<host>/<path>``. Labels are a list of the relevant pages' URLs; where a page stands decides, never its words. All relevant pages are
measured, and a sample of the others: half of it from servers that have relevant pages (near misses), half from elsewhere. Each page of a sample stands for
as many as it was drawn from, so precision, F1 and average precision are those of the whole web.

Two references are trained on the labels, five folds: `trained` has seen other pages of the same servers, so it also learns which servers' own
words go with the label; `trained_elsewhere` has seen no page of the servers that it is asked about, as is the case where a crawl comes to new ones.
`examples` is the product's model with 20 relevant and 20 irrelevant pages, which are not measured. The model `context` learns from page to page where the topic
is at home; it is asked in the order of the sample, which says nothing, and judges the first pages as well as the last. `context+examples` is told of the same 40 pages; `context+seeds` has met the topic's
seeds, as in any crawl of the product. Seeds are measured with no model; where a topic has none, that row is missing.

`calibration_error` tells how far probabilities are from shares: pages in tenths by probability, the difference between a tenth's mean and its share of relevant
pages, averaged over pages. It is that of the sample, in which relevant pages are more frequent than in the web, as in a focused crawl.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from extensions.pages import parse_page
from extensions.scoring import Example, Examples, Topic, make_model, terms
from tests.benchmarks.logistic import Document, TfidfClassifier

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from extensions.pages import Page

FOLDS = 5
TERMS_OF_A_PAGE = 2000
EXAMPLES = 20
PLAIN = ("vector", "boolean", "bm25", "context")
TAUGHT = {"examples": "examples", "context+examples": "context"}
"""Models that are given examples, by what they are called here."""
SEEDED = "context+seeds"
REFERENCES = ("trained", "trained_elsewhere")
MODELS = (*PLAIN, SEEDED, *TAUGHT, *REFERENCES)


@dataclass(frozen=True)
class Labelled:
    """A page, the truth about it, and how many pages of the web it stands for."""

    url: str
    server: str
    title: str
    text: str
    relevant: bool
    weight: float


def figures(
    truth: Sequence[bool], relevance: Sequence[float], chosen: Sequence[bool], weights: Sequence[float]
) -> dict:
    """Precision, recall, F1 of what was chosen, and average precision of the ranking by relevance; ties count as one rank."""
    wanted = sum(weight for right, weight in zip(truth, weights, strict=True) if right)
    picked = sum(weight for choice, weight in zip(chosen, weights, strict=True) if choice)
    hits = sum(weight for right, choice, weight in zip(truth, chosen, weights, strict=True) if right and choice)
    precision, recall = hits / picked if picked else 0.0, hits / wanted if wanted else 0.0
    groups: dict[float, list[float]] = {}
    for right, value, weight in zip(truth, relevance, weights, strict=True):
        group = groups.setdefault(value, [0.0, 0.0])
        group[0] += weight * right
        group[1] += weight
    average = found = seen = 0.0
    for value in sorted(groups, reverse=True):
        found += groups[value][0]
        seen += groups[value][1]
        average += groups[value][0] * found / seen
    return {
        "precision": precision,
        "recall": recall,
        "f1": 2 * precision * recall / (precision + recall) if hits else 0.0,
        "average_precision": average / wanted if wanted else 0.0,
    }


def sample(web: Path, relevant: set[str], negatives: int, seed: int) -> list[Labelled]:
    """All relevant pages and a weighted sample of the others, in an order that says nothing."""
    rng = random.Random(seed)
    rows = sorted(path for path in web.rglob("*") if path.is_file())
    names = {path: path.relative_to(web).as_posix() for path in rows}
    good = [path for path in rows if names[path] in relevant]
    if not good:
        sys.exit("None of the labels names a page of the web: are its files <host>/<path>?")
    servers = {names[path].partition("/")[0] for path in good}
    others = [path for path in rows if names[path] not in relevant]
    near = [path for path in others if names[path].partition("/")[0] in servers]
    far = [path for path in others if names[path].partition("/")[0] not in servers]
    chosen = [(path, True, 1.0) for path in good]
    for pool in (near, far):
        drawn = rng.sample(pool, min(len(pool), negatives // 2))
        chosen += [(path, False, len(pool) / len(drawn)) for path in drawn]
    rng.shuffle(chosen)
    pages = []
    for path, right, weight in chosen:
        page = _page_in(web, names[path])
        pages.append(Labelled(page.url, names[path].partition("/")[0], page.title, page.text, right, weight))
    return pages


def seeds_in(web: Path, files: Iterable[Path]) -> list[Page]:
    """The seeds that these lists name and the web has, each once."""
    names = dict.fromkeys(name for file in files for name in _names(file))
    return [_page_in(web, name) for name in names if (web / name).is_file()]


def _page_in(web: Path, name: str) -> Page:
    return parse_page((web / name).read_bytes(), url=f"https://{name}")


def measure(topic: Topic, pages: list[Labelled], models: Sequence[str], seeds: Sequence[Page] = ()) -> dict[str, dict]:
    """Models and references on labelled pages; beside the figures, the median milliseconds to score a page."""
    not_measured = {seed.url for seed in seeds}
    pages = [page for page in pages if page.url not in not_measured]
    found = {}
    for name in PLAIN:
        if name in models:
            found[name] = _of_model(make_model(name, topic), pages)
    if seeds and SEEDED in models:
        model = make_model("context", topic)
        for seed in seeds:
            model.meet_seed(seed.title, seed.text)
        found[SEEDED] = _of_model(model, pages)
    taught = {right: [page for page in pages if page.relevant == right][:EXAMPLES] for right in (True, False)}
    examples = Examples(tuple(Example(page.title, page.text, right) for right, some in taught.items() for page in some))
    rest = [page for page in pages if page not in taught[True] and page not in taught[False]]
    for name, base in TAUGHT.items():
        if name in models:
            found[name] = _of_model(make_model(base, topic, examples=examples), rest)
    fold_of = _folds_of_servers(pages)
    references: dict[str, Callable[[int, Labelled], int]] = {
        "trained": lambda number, _: number % FOLDS,
        "trained_elsewhere": lambda _, page: fold_of[page.server],
    }
    for name in REFERENCES:
        if name in models:
            found[name] = _trained(pages, [_document(page) for page in pages], references[name])
    return found


def _of_model(model, pages: list[Labelled]) -> dict:
    verdicts, milliseconds = [], []
    for page in pages:
        start = time.perf_counter()
        verdicts.append(model.judge(page.url, page.title, page.text))
        milliseconds.append((time.perf_counter() - start) * 1000)
    truth = [page.relevant for page in pages]
    return figures(
        truth,
        [verdict.relevance for verdict in verdicts],
        [verdict.on_topic for verdict in verdicts],
        [page.weight for page in pages],
    ) | {
        "calibration_error": calibration_error(truth, [model.calibrated(verdict.relevance) for verdict in verdicts]),
        "milliseconds": median(milliseconds),
    }


def calibration_error(truth: Sequence[bool], probabilities: Sequence[float]) -> float:
    """How far the probabilities of a tenth are from its share of relevant pages, averaged over pages."""
    tenths: dict[int, list[float]] = {}
    for right, probability in zip(truth, probabilities, strict=True):
        tenths.setdefault(min(9, int(probability * 10)), []).append(probability - right)
    return sum(abs(sum(differences)) for differences in tenths.values()) / len(truth)


def _document(page: Labelled) -> Document:
    """Terms of title and body; the title's count twice, once as such."""
    title = terms(page.title)
    return dict(Counter(title + terms(page.text)[:TERMS_OF_A_PAGE]) + Counter(f"title {term}" for term in title))


def _folds_of_servers(pages: Iterable[Labelled]) -> dict[str, int]:
    """Servers in folds with about as many relevant pages each."""
    relevant = Counter({page.server: 0 for page in pages})
    relevant.update(page.server for page in pages if page.relevant)
    sizes, fold_of = [0] * FOLDS, {}
    for position, (server, number) in enumerate(relevant.most_common()):
        fold = sizes.index(min(sizes)) if number else position % FOLDS
        fold_of[server] = fold
        sizes[fold] += number
    return fold_of


def _trained(pages: list[Labelled], documents: list[Document], fold_of: Callable[[int, Labelled], int]) -> dict:
    folds = [fold_of(number, page) for number, page in enumerate(pages)]
    logits = [0.0] * len(pages)
    for fold in range(FOLDS):
        inside = [number for number, its in enumerate(folds) if its != fold]
        classifier = TfidfClassifier()
        classifier.fit([documents[number] for number in inside], [pages[number].relevant for number in inside])
        for number, its in enumerate(folds):
            if its == fold:
                logits[number] = classifier.logit(documents[number])
    weights = [page.weight for page in pages]
    return figures([page.relevant for page in pages], logits, [logit > 0 for logit in logits], weights)


def _names(path: Path) -> list[str]:
    """The pages of a list of URLs, as files of the web."""
    lines = (line.strip() for line in path.read_text("utf-8-sig").splitlines())
    return [_name(line) for line in lines if line and not line.startswith("#")]


def _name(url: str) -> str:
    parts = urlsplit(url if "://" in url else f"https://{url}")
    return parts.netloc + parts.path + (f"?{parts.query}" if parts.query else "")


def main(arguments: Sequence[str] | None = None) -> dict:
    """Run, print a table, return what the JSON holds: of one topic its models, of a folder of topics these by name, and their means."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--web", type=Path, required=True)
    parser.add_argument("--labels", type=Path)
    parser.add_argument("--topic", help="words, or a file of words; default: topic.txt beside the labels")
    parser.add_argument("--seeds", type=Path, nargs="+", default=(), help="lists of URLs, for one topic")
    parser.add_argument("--topics", type=Path)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=MODELS, help="the references take longest")
    parser.add_argument("--negatives", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args(arguments)
    if bool(given.labels) == bool(given.topics):
        parser.error("give either --labels, for one topic, or --topics, a folder of them")
    if given.seeds and given.topics:
        parser.error("--seeds goes with --labels; with --topics, seeds are in the topics' folders")
    jobs: dict[str, tuple[Topic, Path, Sequence[Path]]]
    if given.topics:
        jobs = {
            folder.name: (
                Topic.load(f"@{folder / 'topic.txt'}"),
                folder / "relevant.txt",
                sorted(folder.glob("seeds-*.txt")),
            )
            for folder in sorted(file.parent for file in given.topics.glob("*/topic.txt"))
        }
    else:
        words = given.topic or str(given.labels.parent / "topic.txt")
        topic = Topic.load(f"@{words}" if Path(words).is_file() else words)
        jobs = {"topic": (topic, given.labels, given.seeds)}
    results = {}
    for name, (topic, labels, lists) in jobs.items():
        pages = sample(given.web, set(_names(labels)), given.negatives, given.seed)
        results[name] = measure(topic, pages, given.models, seeds_in(given.web, lists))
        _print(name, results[name])
    if given.topics and results:
        some = next(iter(results.values()))
        results["mean"] = {
            model: {key: mean(result[model][key] for result in results.values()) for key in some[model]}
            for model in some
            if all(model in result for result in results.values())
        }
        _print("mean", results["mean"])
    output = results if given.topics else results["topic"]
    if given.json:
        given.json.write_text(json.dumps(output, indent=2) + "\n", "utf-8")
    return output


def _print(name: str, models: dict[str, dict]) -> None:
    print(
        f"{name:18} {'precision':>9} {'recall':>7} {'F1':>7} {'average precision':>18} {'calibration error':>18} {'ms a page':>10}"
    )
    for model, got in models.items():
        print(
            f"  {model:16} {got['precision']:9.3f} {got['recall']:7.3f} {got['f1']:7.3f} {got['average_precision']:18.3f} {_optional(got.get('calibration_error')):>18} {_optional(got.get('milliseconds')):>10}",
            flush=True,
        )


def _optional(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


if __name__ == "__main__":
    main()
