"""A web of documentation, made for measurements: pages as heavy, and as rich in links, as those of real projects.

The shape of a `LINK_RICH` page was read off several thousand real ones of 60 to 120 KB: some 88 KB in 1,650 elements, 17,000 characters of text, and about 290
links, most of which everybody has seen. The same table of contents stands on each page of a host, popular pages are linked from everywhere, many
links differ from others in their fragment only, and about 13 a page lead somewhere new, as in a breadth-first crawl of 20,000 real pages.

There are far more URLs than a crawl fetches, as on the web: ``http://d<host>.test/v<version>/p<number>.html``, of which only the number tells
what stands on the page. So a few hundred files are `HOSTS` × `VERSIONS` times as many pages, no two of them at one URL, and each leads with its own links to others.
Every second number is about `TOPIC`. Everything is decided by `seed`.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

TOPIC = "honey, beekeeping, hive"
HOSTS = 40
VERSIONS = 10
SEEDS = 8
BIG_BYTES = 1_100_000
_TOPIC_WORDS = ("honey", "beekeeping", "hive", "hives", "colony", "queen", "swarm", "nectar")
_SYLLABLES = tuple(
    first + vowel for first in ("b", "c", "d", "f", "h", "m", "r", "s", "t", "") for vowel in ("a", "er", "i", "on")
)


@dataclass(frozen=True)
class Shape:
    """How many links of each kind a page has, and how much text."""

    contents: int
    """Links of the navigation: the same on all pages of a host."""
    popular: int
    """Links to pages that everybody links to, with a fragment every second time."""
    rare: int
    """Links to any page of the web: most are new."""
    permalinks: int
    """Bare fragments."""
    words: int
    snippets: int
    """Blocks of highlighted code, which are nothing but small elements."""
    style_rules: int
    """Of the style sheet that stands in the page."""


LINK_RICH = Shape(contents=130, popular=147, rare=13, permalinks=30, words=1600, snippets=24, style_rules=190)
FEW_LINKS = Shape(contents=8, popular=8, rare=4, permalinks=6, words=700, snippets=4, style_rules=30)


@dataclass(frozen=True)
class DocWeb:
    """A web on disk."""

    folder: Path
    """For `tests.localweb`."""
    numbers: int
    rng_seed: int

    @property
    def seeds(self) -> list[str]:
        """Where crawls begin."""
        return [url_of(host, 0, host % self.numbers) for host in range(SEEDS)]

    def urls(self, count: int) -> list[str]:
        """So many URLs of the web, no two alike, in no order."""
        every = HOSTS * VERSIONS * self.numbers
        chosen = random.Random(self.rng_seed + 1).sample(range(every), count)
        return [url_of(one % HOSTS, one // HOSTS % VERSIONS, one // HOSTS // VERSIONS) for one in chosen]


def url_of(host: int, version: int, number: int) -> str:
    """One page."""
    return f"http://d{host}.test/v{version}/p{number}.html"


def documentation(folder: Path, shape: Shape, *, numbers: int, seed: int = 1, big_every: int = 0) -> DocWeb:
    """Write the web into an empty folder. With `big_every` one page in so many is over 1 MB, with as many more links."""
    rng = random.Random(seed)
    words = ["".join(rng.choices(_SYLLABLES, k=rng.randint(1, 4))) for _ in range(4000)]
    writer = _Writer(rng, shape, words, numbers)
    pages, site, web = folder / "pages", folder / "site", folder / "web"
    for made in (pages, site, web):
        made.mkdir(parents=True)
    for number in range(numbers):
        html = writer.page(number, about_topic=number % 2 == 0)
        if big_every and number % big_every == big_every // 2:
            while len(html) < BIG_BYTES:
                html = html.replace("</main>", f"{writer.body(about_topic=False)}</main>")
        (pages / f"p{number}.html").write_text(html)
    for version in range(VERSIONS):
        (site / f"v{version}").symlink_to("../pages")
    for host in range(HOSTS):
        (web / f"d{host}.test").symlink_to("../site")
    return DocWeb(web, numbers, seed)


class _Writer:
    """Makes pages up."""

    def __init__(self, rng: random.Random, shape: Shape, words: list[str], numbers: int) -> None:
        self._rng = rng
        self._shape = shape
        self._words = words
        self._weights = list(accumulate(1 / (rank + 8) for rank in range(len(words))))
        self._numbers = numbers
        items = "".join(
            f'<li class="toctree-l1"><a class="reference internal" href="../v0/p{place % numbers}.html">{self._some(2)}</a></li>\n'
            for place in range(shape.contents)
        )
        self._style = "\n".join(
            f".theme-{rng.choice(words)} > div.{rng.choice(words)} {{ margin: {place % 7}px; padding-left: {place % 5}em }}"
            for place in range(shape.style_rules)
        )
        self._contents = f'<nav role="navigation"><div class="sidebar"><h3>Contents</h3><ul>\n{items}</ul></div></nav>'

    def page(self, number: int, *, about_topic: bool) -> str:
        title = f"Honey and the hive {number}" if about_topic else f"{self._some(3)} {number}"
        return (
            f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>\n'
            '<link rel="stylesheet" href="../_static/style.css"><script src="../_static/doctools.js"></script>\n'
            f"<style>\n{self._style}\n</style></head>\n"
            f"<body>{self._contents}\n<main><h1>{title}</h1>\n{self.body(about_topic=about_topic)}</main>\n"
            "<footer>Made for measurements.</footer></body></html>\n"
        )

    def body(self, *, about_topic: bool) -> str:
        """Paragraphs with links in them, sections, and code."""
        shape, rng = self._shape, self._rng
        links = [self._popular() for _ in range(shape.popular)] + [self._rare() for _ in range(shape.rare)]
        rng.shuffle(links)
        between = max(1, shape.words // (len(links) + 1))
        pieces = []
        for place, link in enumerate(links):
            topical = f" {rng.choice(_TOPIC_WORDS)}" if about_topic and place % 3 == 0 else ""
            anchor = rng.choice(_TOPIC_WORDS) if rng.random() < 0.15 else self._some(rng.randint(1, 3))
            code = f'<code class="xref py py-func docutils literal"><span class="pre">{anchor}</span></code>'
            pieces.append(f'{self._some(between)}{topical} <a class="reference internal" href="{link}">{code}</a>')
        paragraphs = [" ".join(pieces[at : at + 5]) for at in range(0, len(pieces), 5)]
        snippets = [self._snippet() for _ in range(shape.snippets)]
        permalinks = [
            f'<h2 id="s{place}">{self._some(3)}<a class="headerlink" href="#s{place}">¶</a></h2>'
            for place in range(shape.permalinks)
        ]
        blocks = [f"<p>{paragraph}.</p>" for paragraph in paragraphs] + snippets + permalinks
        rng.shuffle(blocks)
        return "\n".join(blocks)

    def _popular(self) -> str:
        """Few pages have most of the links; on this host, or on another."""
        number = min(int(self._rng.paretovariate(0.6)), self._numbers) - 1
        fragment = f"#{self._rng.choice(self._words)}" if self._rng.random() < 0.5 else ""
        if self._rng.random() < 0.8:
            return f"../v0/p{number}.html{fragment}"
        return f"{url_of(min(int(self._rng.paretovariate(1)), HOSTS) - 1, 0, number)}{fragment}"

    def _rare(self) -> str:
        version, number = self._rng.randrange(VERSIONS), self._rng.randrange(self._numbers)
        if self._rng.random() < 0.7:
            return f"../v{version}/p{number}.html"
        return url_of(self._rng.randrange(HOSTS), version, number)

    def _snippet(self) -> str:
        spans = " ".join(f'<span class="n">{word}</span><span class="o">.</span>' for word in self._some(16).split())
        return f'<div class="highlight-python3 notranslate"><div class="highlight"><pre>{spans}\n</pre></div></div>'

    def _some(self, count: int) -> str:
        return " ".join(self._rng.choices(self._words, cum_weights=self._weights, k=count))
