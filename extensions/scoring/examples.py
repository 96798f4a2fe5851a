"""The model `examples`: what the topic's words say of a page, corrected by pages that a person called relevant or irrelevant.

A logistic regression on hashed words, trained in a moment by stochastic gradient descent with AdaGrad's step sizes (Duchi, Hazan, Singer 2011). The model `bm25`
is one of its inputs, with weight 1 before anything is learned: few examples change little, many decide.
"""

from __future__ import annotations

import math
import random
from array import array
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import mmh3

from extensions.errors import ConfigurationError
from extensions.pages import parse_page, parse_text
from extensions.scoring.background import rarity
from extensions.scoring.coverage import CoverageModel
from extensions.scoring.models import Relevance, cosine, occurrences
from extensions.scoring.segment import terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from extensions.scoring.topic import Topic

SLOTS = 1 << 18
"""Weights; two words that share one are rare enough not to matter. 4 MB with their step sizes."""
RATE, PASSES = 0.5, 20
SCARCE = 1.5
"""Logits taken off what the examples say, when there are many: they are half relevant, more or less, and the web is not. Measured on five topics, 20 pages of
each kind: F1 rises by 0.01 to 0.43, mean from 0.51 to 0.73; anything from 1 to 2.5 does."""
SOME = 4
"""Examples at which half of it is taken off."""
FIRM = 4.0
"""Logits beyond which the topic's words do not count more, so that examples can overrule them."""

Vector = list[tuple[int, float]]
"""Slot and value; the slots are different from each other."""


@dataclass(frozen=True, slots=True)
class Example:
    """A page's words, and whether the page is on topic."""

    title: str
    text: str
    relevant: bool


@dataclass(frozen=True)
class Examples:
    """Pages that are at hand, and URLs whose pages count as examples when the crawl meets them."""

    pages: tuple[Example, ...] = ()
    urls: dict[str, bool] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.pages or self.urls)

    @classmethod
    def load(cls, path: str | Path) -> Examples:
        """Read a file of lines ``+ page`` (relevant) and ``- page`` (not); lines with # are comments.

        A page is an http URL, or an HTML or text file, relative to the file that names it. Raises `ConfigurationError`.
        """
        path = Path(path)
        pages: list[Example] = []
        urls: dict[str, bool] = {}
        for number, line in enumerate(_read(path).decode("utf-8-sig", "replace").splitlines(), 1):
            sign, _, name = line.strip().partition(" ")
            name = name.strip()
            if not sign or sign.startswith("#"):
                continue
            if sign not in ("+", "-") or not name:
                raise ConfigurationError(
                    f"Line {number} of {path} is {line[:80]!r}; write + or -, a space, and a URL or a file's name."
                )
            relevant = sign == "+"
            if name.startswith(("http://", "https://")):
                urls[_bare(name)] = relevant
            else:
                file = path.parent / name
                parse = parse_text if file.suffix.lower() == ".txt" else parse_page
                page = parse(_read(file), url="http://example.invalid/")
                pages.append(Example(page.title, page.text, relevant))
        return cls(tuple(pages), urls)


class ExamplesModel(CoverageModel):
    """Relevance as a probability; the more examples of both kinds, the less the topic's words decide."""

    def __init__(self, topic: Topic, examples: Examples, threshold: float = 0.5) -> None:
        self._known: list[tuple[Vector, float, bool]] = []
        super().__init__(topic, threshold)
        self._weights = array("d", bytes(8 * SLOTS))
        self._steps = array("d", bytes(8 * SLOTS))
        self._awaited = dict(examples.urls)
        self._trained = 0
        self.learn(examples.pages)

    def add(self, gains: Mapping[str, float]) -> None:
        """See `CoverageModel`; nothing once there are examples, which tell better what other words mean."""
        super().add({} if self._known else gains)

    def meet(self, url: str, title: str, text: str) -> None:
        """Learn from a page whose URL is an example, once. A crawl that is resumed does not meet its pages again; pages in files it always has."""
        if self._awaited:
            relevant = self._awaited.pop(_bare(url), None)
            if relevant is not None:
                self.learn([Example(title, text, relevant)])

    def learn(self, pages: Iterable[Example]) -> None:
        """Add examples, and train on all from the start whenever a tenth more are known: so all the training together costs ten times the last."""
        self.add({})
        for page in pages:
            title, body = terms(page.title), terms(page.text)
            self._known.append((_vector(title, body), self._from_words(title, body), page.relevant))
        if len(self._known) <= 1.1 * self._trained or not self._known:
            return
        self._trained = len(self._known)
        numbers = Counter(relevant for _, _, relevant in self._known)
        self._weights = array("d", bytes(8 * SLOTS))
        self._steps = array("d", bytes(8 * SLOTS))
        # Both kinds weigh the same together, however many there are of each, but no example more than four times another.
        worth = {kind: min(4.0, max(numbers.values()) / number) for kind, number in numbers.items()}
        order = list(range(len(self._known)))
        shuffle = random.Random(0).shuffle
        for _ in range(PASSES):
            shuffle(order)
            for index in order:
                vector, offset, relevant = self._known[index]
                error = float(relevant) - _logistic(offset + self._dot(vector))
                self._step(vector, error * worth[relevant])

    def score(self, title: str, text: str) -> Relevance:
        """See `Model`; relevance is 0 to 1."""
        title_terms, body_terms = terms(title), terms(text)
        logit = self._from_words(title_terms, body_terms)
        if self._known:
            logit += self._dot(_vector(title_terms, body_terms))
            logit -= SCARCE * self._trained / (self._trained + SOME)
        relevance = _logistic(logit)
        weights = self.topic.terms
        b, c = (cosine(occurrences(weights, part), weights) for part in (title_terms, body_terms))
        return Relevance(relevance, b, c, relevance > self.threshold)

    def _from_words(self, title: Sequence[str], body: Sequence[str]) -> float:
        return max(-FIRM, min(FIRM, self.logit(title, body)))

    def _dot(self, vector: Vector) -> float:
        weights = self._weights
        return sum([weights[slot] * value for slot, value in vector])

    def _step(self, vector: Vector, error: float) -> None:
        weights, steps = self._weights, self._steps
        for slot, value in vector:
            gradient = error * value
            steps[slot] += gradient * gradient
            weights[slot] += RATE * gradient / (1e-3 + math.sqrt(steps[slot]))


def _vector(title: Sequence[str], body: Sequence[str]) -> Vector:
    """The page's words as a vector of length 1 (and a constant): (1 + ln count) × rarity, those of the title apart from the body's."""
    values: dict[int, float] = {}
    for part, (page, share) in enumerate(((title, 1.5), (body, 1.0))):
        for stem, count in Counter(page).items():
            slot = mmh3.hash(stem, part, signed=False) % (SLOTS - 1) + 1
            values[slot] = values.get(slot, 0.0) + share * (1.0 + math.log(count)) * rarity(stem)
    length = math.sqrt(sum([value * value for value in values.values()])) or 1.0
    return [(0, 0.3), *((slot, value / length) for slot, value in values.items())]


def _logistic(logit: float) -> float:
    return 1.0 / (1.0 + math.exp(-max(-700.0, min(700.0, logit))))


def _bare(url: str) -> str:
    """A URL without scheme, fragment and final slash: how people give it and how servers answer differ in these."""
    return url.partition("#")[0].partition("://")[2].rstrip("/").lower()


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigurationError(
            f"The examples in {path} cannot be read ({error.strerror}); check the path."
        ) from error
