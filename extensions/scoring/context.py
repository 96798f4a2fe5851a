"""The model `context`: a page's words, and what the crawl has seen of the place where it stands.

Sites keep to their subjects. A page of few words in the middle of a manual on the topic is on topic, though it hardly names it; a page that mentions the topic
somewhere in a big site about other things often is not. So the words' probability p of each page (by `coverage`, or `examples`) goes into the records of its server and of
the folders above it (`places`), and the page is judged by the whole:

    share f   = mean p of the page's folder, this page included; each folder starts as K pages of the mean of the one above, the server at the crawl's
    level l   = mean share of the folders in which pages were relevant by their words
    logit     = BIAS + WORDS·logit p + SHARE·logit f − LEVEL·logit l + ADDRESS·coverage of the topic by the URL's words
    relevance = logistic(logit), which lies between logit p − LESS and logit p + logit f − logit BASE

The level is what makes one threshold do. How often pages on topic name it depends on the words one happened to choose: nearly always for a single common one,
on every fifth page for rare phrases. Relevant places stand out from the rest in both cases, but in the second at a third of the height.

The bounds are for places where pages of all subjects stand side by side, as in an encyclopaedia or a forum, and against drift. The upper one is Bayes' rule, for a page from a place
where a share f is on topic, given that p was meant for one where BASE is: a page without any of the words is not on topic unless half of its place is. The lower one
leaves a page that is full of the topic on topic wherever it stands.

Where the topic's words are scarce even at home, those of the seeds' pages help out (`expansion`).
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from extensions.scoring.expansion import Expansion
from extensions.scoring.links import LinkMatcher
from extensions.scoring.models import Model, Relevance
from extensions.scoring.places import Places
from extensions.scoring.segment import terms

if TYPE_CHECKING:
    from extensions.scoring.coverage import CoverageModel

BIAS, WORDS, SHARE, LEVEL, ADDRESS = 1.7, 0.09, 1.75, 1.3, 1.4
"""Fitted on 17 topics, for F1 in three orders of the pages (breadth-first, a focused crawl's, random), and scaled to be a probability; on 21 others mean F1 rises by as
much, from 0.40 to 0.54 where pages come in the order of a crawl."""
LESS, BASE = 2.0, 0.05
"""Without these bounds F1 would be 0.06 to 0.11 higher on sites that keep to one subject, and in a folder where every twentieth page is on topic 0.2 instead of 0.4."""

_WORD = re.compile(r"\w")


class ContextModel(Model):
    """Relevance as a probability from the words' verdict and the place. It learns from each page it judges, so what it says depends on what came before."""

    def __init__(self, words: CoverageModel, threshold: float = 0.5) -> None:
        self.words = words
        self.topic = words.topic
        self.threshold = threshold
        self._matcher = LinkMatcher(words.topic)
        self._places = self.memory = Places()
        self._expansion = self.seeds = Expansion(words.topic)

    def meet(self, url: str, title: str, text: str) -> None:
        """The words' model may have been told about this URL."""
        self.words.meet(url, title, text)

    def meet_seed(self, title: str, text: str) -> None:
        """See `Model`. What a seed adds is weighed by the user's words, not by what other seeds have added to them."""
        self.words.add({})
        self._expansion.take_in(terms(title), terms(text), self.words.score(title, text).relevance)

    def score(self, title: str, text: str) -> Relevance:
        """A page that stands nowhere: its words alone."""
        found = self.words.score(title, text)
        return Relevance(
            found.relevance, found.title_similarity, found.body_similarity, found.relevance > self.threshold
        )

    def judge(self, url: str, title: str, text: str) -> Relevance:
        """See `Model`; relevance is 0 to 1. A page without any words belongs nowhere, and says nothing of its place."""
        self.meet(url, title, text)
        if not _WORD.search(title) and not _WORD.search(text):
            return self.score(title, text)
        self.words.add(self._expansion.gains(self._places.level))
        found = self.words.score(title, text)
        share, level = self._places.take_in(url, found.relevance)
        words = _logit(found.relevance)
        logit = BIAS + WORDS * words + SHARE * _logit(share) - LEVEL * _logit(level) + ADDRESS * self._matcher.url(url)
        logit = max(words - LESS, min(words + _logit(share) - _logit(BASE), logit))
        relevance = 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, logit))))
        return Relevance(
            relevance,
            found.title_similarity,
            found.body_similarity,
            relevance > self.threshold,
            words=found.relevance,
        )


def _logit(probability: float) -> float:
    probability = min(1.0 - 1e-13, max(1e-13, probability))
    return math.log(probability / (1.0 - probability))
