"""How good a link is, all in all: what its words promise (`links`), what its place has held (`linkmodel`), what its words have led to so far (`linkwords`).

The judge remembers the links it has judged, as many as `REMEMBERED`, until their pages have come: from the page's relevance it learns what the link's words were worth, and of a link that waits it can tell what it is worth
by now. It is one agent's memory, and goes with it; what was learned is shared and kept.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from extensions.scoring.linkmodel import LinkFeatures
from extensions.scoring.links import link_quality, lowered, parts_of, url_words, words_of
from extensions.scoring.linkwords import ANCHOR, CONTEXT, URL, buckets

if TYPE_CHECKING:
    from collections.abc import Callable

    from extensions.scoring.linkmodel import LinkModel
    from extensions.scoring.links import LinkMatcher
    from extensions.scoring.linkwords import LinkWords, Words

FALLEN = 0.8
"""A link that is worth less than this part of what was foretold is worth another look at what else there is."""
REMEMBERED = 20_000
"""Links; 500 bytes each, URL included. Links of the best quality are fetched soon, so it is the dull ones that are forgotten: crawls of 4,000 pages do as well with half of them."""
TEXTS = 8_000
"""Texts of each kind whose words are known: menus are the same on all pages of a site. Of the pages of 60 sites in turn, 0.7 of all anchors and URLs are known, 0.55 of the words around them; more texts bring 0.02."""

_Read: TypeAlias = "tuple[float, Words]"
"""What is read in one text of a link: how much of the topic, and which words."""


class _Remembered(NamedTuple):
    """A link as it was judged when it looked best."""

    prior: float
    depth: int
    words: Words


class LinkJudge:
    """See the module's docstring. Without `model` and `words` quality is the prior, and nothing is learned or remembered."""

    def __init__(
        self,
        matcher: LinkMatcher,
        model: LinkModel | None = None,
        words: LinkWords | None = None,
        capacity: int = REMEMBERED,
    ) -> None:
        self.matcher = matcher
        self.model = model
        self.words = words
        self.capacity = capacity
        self._links: dict[str, _Remembered | None] = {}
        """In the order in which they were first met; None where the page has come."""
        remembered = lru_cache(TEXTS)
        self._anchor = remembered(partial(self._read, ANCHOR))
        self._url = remembered(self._read_url)
        self._context = remembered(partial(self._read, CONTEXT))

    def links_of(
        self, parent: float, hops: int, depth: int, *, with_server: bool = False
    ) -> Callable[[str, str, str], float]:
        """A function that tells the quality, 0 to 1, of a page's link from its URL, its anchor and the words around it.

        `parent` is the probability that the page is on topic, `hops` and `depth` are as in `link_quality` and `LinkFeatures`. What the crawl knows of the link's server is part of
        the quality `with_server` only: the frontier is told of it apart.
        """
        model, words = self.model, self.words
        judged = None if model is None else model.quality if with_server else model.within

        def quality(url: str, anchor: str, context: str) -> float:
            in_anchor, words_of_anchor = self._anchor(anchor)
            in_url, words_of_url = self._url(url)
            in_context, words_of_context = self._context(context)
            prior = link_quality(parent=parent, anchor=in_anchor, context=in_context, url=in_url, hops=hops)
            if judged is None:
                return prior
            if words is None:
                return judged(LinkFeatures(prior, url, depth))
            all_words = words_of_anchor + words_of_url + words_of_context
            self._remember(url, prior, depth, all_words)
            return judged(LinkFeatures(prior, url, depth, words.evidence(all_words)))

        return quality

    def learn(self, url: str, relevant: float, asked: str = "") -> None:
        """Take in that the page at `url` was relevant with this probability; `asked` is the link that led to it, if it was redirected."""
        if self.model is None:
            return
        asked = asked or url
        link = self._links.get(asked)
        foretold = None if link is None else self.model.quality(self._features(asked, link))
        told = self.model.learn(LinkFeatures(0.0, url), relevant)
        if link is not None and foretold is not None and self.words is not None:
            self.words.learn(foretold - told, link.words)
            self._links[asked] = None

    def within(self, url: str) -> float | None:
        """What a link that was judged earlier is worth by now within its server; None if it is not remembered."""
        link = self._links.get(url)
        if link is None or self.model is None:
            return None
        return self.model.within(self._features(url, link))

    def fallen(self, url: str, quality: float) -> float | None:
        """What a link is worth by now, if that is clearly less than the `quality` with which it was queued; None if not, or if it is not remembered."""
        now = self.within(url)
        return now if now is not None and now < FALLEN * quality else None

    def _features(self, url: str, link: _Remembered) -> LinkFeatures:
        evidence = 0.0 if self.words is None else self.words.evidence(link.words)
        return LinkFeatures(link.prior, url, link.depth, evidence)

    def _remember(self, url: str, prior: float, depth: int, words: Words) -> None:
        links = self._links
        if url in links:
            known = links[url]
            if known is None or known.prior >= prior:
                return
        elif len(links) >= self.capacity:
            del links[next(iter(links))]
        links[url] = _Remembered(prior, depth, words)

    def _read(self, where: str, text: str) -> _Read:
        lower = lowered(text)
        words = words_of(lower)
        return self.matcher.among(words, lower), buckets(where, words)

    def _read_url(self, url: str) -> _Read:
        """What the server is called counts for the topic; of its worth the server's record knows better than the words of its name."""
        host, path = parts_of(url)
        words = url_words(path)
        return self.matcher.among_url(host, words, path), buckets(URL, words)
