"""How relevant a fetched page is: the vector space model and the Boolean model on title and body.

Each model has a scale of its own, and a probability that means the same in all of them (`Model.calibrated`). In these two it was measured on the pages of 17 topics,
English and Chinese, of 1 to 13 words: half of the weight on all relevant pages with a sample of the others, half on the first 5,000 pages of focused crawls, which is
where `bm25` and `context` are probabilities. A logistic curve of two or three constants was fitted, so that mean differences from the shares of relevant pages
are, on 21 other topics, 0.15 for `vector` and 0.12 for `boolean`, before 0.17 and 0.14 in the sample. (`bm25` and `context` have 0.14 and 0.12 there.)
Closer than this no curve comes: what a page without any of the words is worth differs from topic to topic, by whether the words were well chosen.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from extensions.scoring.segment import terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from extensions.scoring.learner import Learner
    from extensions.scoring.topic import Term, Topic

TITLE_WEIGHT = 4.0
VECTOR_BIAS, VECTOR_ROOT = -2.3, 2.65
"""Of `VectorModel.calibrated`, in logits."""
BOOLEAN_BIAS, BOOLEAN_SHARE, BOOLEAN_NUMBER = -3.4, 4.5, 0.6
"""Of `BooleanModel.calibrated`, in logits."""


@dataclass(frozen=True, slots=True)
class Relevance:
    """A page's relevance in its model's scale, the similarities it comes from, and the verdict."""

    relevance: float
    title_similarity: float
    body_similarity: float
    on_topic: bool
    words: float | None = None
    """The relevance of the page's own words, where more than these went into `relevance`."""


class Model(ABC):
    """Measures pages against a topic. A page is on topic if its relevance exceeds `threshold`."""

    memory: Learner | None = None
    """What is kept of the pages judged, to be saved and shared; None where `judge` does not depend on the pages before."""

    seeds: Learner | None = None
    """What is kept of the seeds' pages, to be saved and shared as well; None where `meet_seed` does nothing."""

    threshold: float
    highest: float = 1.0
    """The greatest relevance there is."""

    @abstractmethod
    def score(self, title: str, text: str) -> Relevance:
        """The relevance of a page from its title and its body, neither of which repeats the other."""

    def judge(self, url: str, title: str, text: str) -> Relevance:
        """The relevance of a page fetched from `url`. A model may learn from it: ask once for each page, in the order in which they come."""
        self.meet(url, title, text)
        return self.score(title, text)

    def meet(self, url: str, title: str, text: str) -> None:  # noqa: B027 - most models have nothing to learn
        """Called with each page before it is scored: a model that was told about this URL can learn from it."""

    def meet_seed(self, title: str, text: str) -> None:  # noqa: B027 - most models take seeds for pages like all others
        """Called with the page of each seed, before it is judged: somebody thought that it, or what it leads to, is on topic."""

    def calibrated(self, relevance: float) -> float:
        """The probability that a page of this relevance is on topic, whatever the threshold: 0 to 1, rising with relevance, the same scale for all models."""
        return relevance

    def relevance_at(self, calibrated: float) -> float:
        """The relevance that has this probability; where there is none, a number on the right side of all there are."""
        return calibrated

    def probability(self, relevance: float) -> float:
        """How sure a page of this relevance is to be on topic as the threshold has it: the calibrated probability, with its odds scaled so that ½ lies at the threshold."""
        return _logistic(_logit(self.calibrated(relevance)) - _logit(self.calibrated(self.threshold)))

    def of_words(self, found: Relevance) -> float:
        """The probability that a page is on topic by its own words alone: what is news of a place, and not what the place made of them."""
        return self.probability(found.relevance if found.words is None else found.words)

    def promise(self, found: Relevance) -> float:
        """What a page lets us expect of its links, 0 to 1: the probability that it is on topic, by its words or with its surroundings, whichever is greater.

        A page about the topic in a place that is not is a way to others like it.
        """
        return max(self.probability(found.relevance), self.of_words(found))

    def ends_tunnel(self, found: Relevance) -> bool:
        """Whether the row of off-topic pages ends here: at a page on topic, and at one whose words are, wherever it stands. `promise` above ½, without its rounding."""
        return found.on_topic or (found.words is not None and self.of_words(found) > 0.5)


class VectorModel(Model):
    """A = 4·B + C, 0 to 5, with B the cosine of topic and title and C that of topic and body.

    A phrase counts where its words stand consecutively, and only there: its single words are other words' neighbours on most pages of the
    web ("pattern" without "matching"), and since counts are relative to the most frequent term, even a small fraction for them would make
    a page without any phrase look like one that is full of them. Links, which have few words, take single words as a hint (`links`).
    """

    highest = TITLE_WEIGHT + 1.0

    def __init__(self, topic: Topic, threshold: float = 2.0) -> None:
        self.topic = topic
        self.threshold = threshold

    def score(self, title: str, text: str) -> Relevance:
        """See `Model`; relevance is 0 to 5."""
        b, c = (cosine(occurrences(self.topic.terms, terms(part)), self.topic.terms) for part in (title, text))
        a = TITLE_WEIGHT * b + c
        return Relevance(a, b, c, a > self.threshold)

    def calibrated(self, relevance: float) -> float:
        """See `Model`: logistic in √A, since the first occurrences tell most. 9 % at 0, 81 % at the usual threshold, 97 % at 5."""
        return _logistic(VECTOR_BIAS + VECTOR_ROOT * math.copysign(math.sqrt(abs(relevance)), relevance))

    def relevance_at(self, calibrated: float) -> float:
        """See `Model`."""
        root = (_logit(calibrated) - VECTOR_BIAS) / VECTOR_ROOT
        return root * abs(root)


class BooleanModel(Model):
    """The number of the topic's words, those of its phrases singly, that the page has in title or body.

    By default a page needs at least half of them: the threshold is ⌈n/2⌉ − 1, so one word of one or two, five of ten.
    The similarities are the shares of the topic's words found in the title and in the body.
    """

    def __init__(self, topic: Topic, threshold: float | None = None) -> None:
        self.words = frozenset(stem for term in topic.terms for stem in term)
        self.threshold = (len(self.words) + 1) // 2 - 1 if threshold is None else threshold
        self.highest = float(len(self.words))
        self._bias = BOOLEAN_BIAS + BOOLEAN_NUMBER * math.log(len(self.words))

    def score(self, title: str, text: str) -> Relevance:
        """See `Model`; relevance is 0 to the number of the topic's words."""
        in_title, in_body = (self.words.intersection(terms(part)) for part in (title, text))
        found = len(in_title | in_body)
        number = len(self.words)
        return Relevance(float(found), len(in_title) / number, len(in_body) / number, found > self.threshold)

    def calibrated(self, relevance: float) -> float:
        """See `Model`: logistic in the share of the words found, and in the logarithm of their number, as many together tell more than one alone.

        From none to all of the words: 3 to 75 % of one word, 8 to 89 % of five, 12 to 92 % of ten.
        """
        return _logistic(self._bias + BOOLEAN_SHARE * relevance / self.highest)

    def relevance_at(self, calibrated: float) -> float:
        """See `Model`."""
        return (_logit(calibrated) - self._bias) / BOOLEAN_SHARE * self.highest


def occurrences(topic_terms: Iterable[Term], page: list[str]) -> dict[Term, int]:
    """How often each term of a topic occurs in a page's terms; those that do not are left out."""
    counts = Counter(page)
    found = {term: counts[term[0]] if len(term) == 1 else _consecutive(term, page, counts) for term in topic_terms}
    return {term: count for term, count in found.items() if count}


def cosine(counts: Mapping[Term, int], weights: Mapping[Term, float]) -> float:
    """Cosine of the vectors (xᵢ·wᵢ) and (wᵢ), with xᵢ = countᵢ / the greatest count; 0 if nothing was counted."""
    if not counts:
        return 0.0
    greatest = max(counts.values())
    page = {term: count / greatest * weights[term] for term, count in counts.items()}
    product = math.fsum(component * weights[term] for term, component in page.items())
    lengths = math.hypot(*page.values()) * math.hypot(*weights.values())
    return min(1.0, product / lengths)


def _consecutive(term: Term, page: list[str], counts: Mapping[str, int]) -> int:
    """How often a phrase stands in a list of terms."""
    if not all(counts[stem] for stem in term):
        return 0
    # From one occurrence of the first word to the next: the search in between runs in C.
    found, start, phrase = 0, 0, list(term)
    for _ in range(counts[term[0]]):
        start = page.index(term[0], start)
        found += page[start : start + len(phrase)] == phrase
        start += 1
    return found


def _logistic(logit: float) -> float:
    return 1.0 / (1.0 + math.exp(-max(-700.0, min(700.0, logit))))


def _logit(probability: float) -> float:
    probability = min(1.0 - 1e-13, max(1e-13, probability))
    return math.log(probability / (1.0 - probability))
