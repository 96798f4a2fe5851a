"""One task for all policies: a topic, the labels, the seeds; what can be reached, and how the product judges a page."""

from __future__ import annotations

import copy
import hashlib
from typing import TYPE_CHECKING, NamedTuple, Self

import extensions.scoring
from extensions.scoring import LinkMatcher, Topic, make_model
from tests.benchmarks.simulation_focus.facts import source_digest

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tests.benchmarks.simulation_focus.facts import Facts, FactStore


class Verdict(NamedTuple):
    """What the crawl's own relevance model says of a page; `probability` is what the page promises of its links, `words` what it says itself; at `ends_tunnel` off-topic pages are counted anew."""

    on_topic: bool
    probability: float
    words: float
    ends_tunnel: bool


class Task:
    """A topic on a stored web.

    `labels` is the truth, the relevant pages that can be reached from the seeds: policies other than the clairvoyant ones are
    not shown it. `model` names one of the product's relevance models; "labels" stands for one that is always right, to tell
    what better relevance would bring.
    """

    def __init__(
        self, store: FactStore, name: str, topic: Topic, relevant: Iterable[int], seeds: Iterable[int], model: str
    ) -> None:
        self.store = store
        self.name = name
        self.seeds = list(dict.fromkeys(seeds))
        self.distance = store.reachable(self.seeds)
        self.labels = frozenset(page for page in relevant if page in self.distance)
        self.topic = topic
        self.topic_file: Path | None = None
        self._model_name = model
        self.model = None if model == "labels" else make_model(model, topic)
        self.matcher = LinkMatcher(topic)
        sources = source_digest(extensions.scoring)
        self._key = hashlib.sha256(f"{sources} {model} {topic}".encode()).hexdigest()[:16]
        self._verdicts = self._kept()
        self._new: dict[int, Verdict] = {}
        self._facts: dict[int, Facts] = {}

    def anew(self) -> Self:
        """The task for one more crawl: a model whose verdicts depend on the pages before starts afresh."""
        if self.model is None or self.model.memory is None:
            return self
        again = copy.copy(self)
        again.model = make_model(self._model_name, self.topic)
        again._verdicts, again._new = {}, {}
        return again

    @classmethod
    def load(cls, store: FactStore, name: str, *, topic: Path, labels: Path, seeds: Iterable[Path], model: str) -> Task:
        """A task from files: the topic as the TOPIC setting takes it, labels and seeds one URL a line."""
        found = [_numbers(store, path) for path in seeds]
        task = cls(
            store,
            name,
            Topic.load(f"@{topic}"),
            _numbers(store, labels),
            [page for pages in found for page in pages],
            model,
        )
        task.topic_file = topic
        return task

    def facts(self, page: int) -> Facts:
        """What the page says."""
        known = self._facts.get(page)
        if known is None:
            known = self._facts[page] = self.store.of(page)
        return known

    def verdict(self, page: int) -> Verdict:
        """How the crawl judges the page."""
        known = self._verdicts.get(page)
        if known is None:
            known = self._verdicts[page] = self._new[page] = self._judge(page)
        return known

    def keep_verdicts(self) -> None:
        """Put the verdicts so far on disk, beside the facts."""
        if self.model is not None and self.model.memory is None:
            self.store.keep_verdicts(
                self._key, {page: (found.on_topic, found.probability) for page, found in self._new.items()}
            )
        self._new = {}

    def _kept(self) -> dict[int, Verdict]:
        if self.model is None or self.model.memory is not None:
            return {}
        return {
            page: Verdict(on_topic, probability, probability, on_topic)
            for page, (on_topic, probability) in self.store.verdicts(self._key)
        }

    def _judge(self, page: int) -> Verdict:
        if self.model is None:
            relevant = page in self.labels
            return Verdict(relevant, float(relevant), float(relevant), relevant)
        facts = self.facts(page)
        if page in self.seeds:
            self.model.meet_seed(facts.title, facts.text)
        found = self.model.judge(self.store.web.url(page), facts.title, facts.text)
        model = self.model
        return Verdict(found.on_topic, model.promise(found), model.of_words(found), model.ends_tunnel(found))


def _numbers(store: FactStore, path: Path) -> list[int]:
    """The pages that a file names, one URL a line; what is not in the web is passed over."""
    lines = (line.strip() for line in path.read_text("utf-8-sig").splitlines())
    found = (store.web.number(line) for line in lines if line and not line.startswith("#"))
    return [page for page in found if page >= 0]
