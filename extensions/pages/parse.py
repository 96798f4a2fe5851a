"""One parse of an HTML page: title, main text, language, links with the words around them, and what the page asks of robots.

The tree is built by lexbor in C and walked once. Nothing here raises, whatever the bytes; what would take lexbor minutes is
made flat first (`taming`).

How the walk works: the visible text is collected in document order into one stream, in which each link leaves a mark where it begins and one where
it ends, and so does each aside. White space is normalised once, with the marks in it; the main text, anchors and contexts are then slices of what is left without them. As the walk tells where an element begins, but not where it
ends, a text node that says so is inserted behind the elements whose end matters.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from selectolax.lexbor import LexborHTMLParser, LexborNode, create_tag

from extensions.pages.decode import decode
from extensions.pages.language import language
from extensions.pages.links import Link, Resolver
from extensions.pages.taming import is_wild, tame

CONTEXT = 80
"""Characters before and after a link that count as the words around it: about twelve English words each."""

MAX_ANCHOR = 300
MAX_TITLE = 500
MAX_LINE = 150
_WORD = 16  # a word cut in two is left out if it is no longer than this; Chinese has no spaces to look for


@dataclass(frozen=True, slots=True)
class Page:
    """What one page says: everything the crawl needs of it, and no tree."""

    url: str
    base: str
    """What its links are relative to."""
    title: str
    text: str
    """The main text, white space normalised; without navigation, headers, footers and asides where the page marks them as such."""
    language: str
    """"en", "zh", …, or "" if nothing tells."""
    encoding: str
    """Python's name of the codec that made the text."""
    links: tuple[Link, ...] = ()
    """In the order of the page, each URL once; without links to the page itself and its parts."""
    noindex: bool = False
    nofollow: bool = False
    canonical: str = ""
    """The absolute URL under which the page wants to be known, or ""."""
    bad_links: int = 0
    """References that should lead to a page and cannot: no host, malformed, too long. (`mailto:` and its like are no links at all.)"""


def parse_page(body: bytes, *, url: str, declared: str | None = None) -> Page:
    """Parse an HTML page that was fetched from `url`, an absolute http URL.

    `declared` is the charset that the HTTP header names, right or wrong. Raises `ValueError` for a `url` that is none; never
    for a `body`.
    """
    if is_wild(body):
        body = tame(body)
    markup, encoding = decode(body, declared)
    # UTF-8 is what lexbor reads: the bytes as they came save it an encoding.
    tree = LexborHTMLParser(body if encoding == "utf-8" and "\ufffd" not in markup else markup)
    walk = _Walk(url)
    if tree.root is not None:
        walk.over(tree.root)
    return walk.page(encoding)


def parse_text(body: bytes, *, url: str, declared: str | None = None) -> Page:
    """The same for plain text: its first line, if it is a short one, is the title; there are no links."""
    text, encoding = decode(body, declared)
    first = text.lstrip("\ufeff \t\r\n").partition("\n")[0]
    content = _flat(text)
    return Page(
        url=url,
        base=url,
        title=_flat(first) if len(first) <= MAX_LINE else "",
        text=content,
        language=language(None, content),
        encoding=encoding,
    )


class _Is:
    """What an element means to the walk. Plain numbers: an enumeration's compare ten times slower."""

    PART = 1
    """Its text does not continue what stands before."""
    PARAGRAPH = 2
    """Nor does what stands behind it continue its text. (After a part comes another part, or the end of what holds them.)"""
    DIVISION = 3
    """A paragraph that may be an aside, by its role."""
    LINK = 4
    FRAME = 5
    IMAGE = 6
    ASIDE = 7
    HIDDEN = 8
    TITLE = 9
    META = 10
    RELATION = 11
    BASE = 12
    ROOT = 13


_MEANING = {
    _Is.PART: "body br button dd dt figcaption hr iframe input label legend li optgroup option select summary tbody td textarea tfoot th thead tr",
    _Is.PARAGRAPH: "address article blockquote caption center details dialog dir dl fieldset figure form h1 h2 h3 h4 h5 h6 hgroup main menu "
    "ol p pre section table ul",
    _Is.DIVISION: "div",
    _Is.LINK: "a area",
    _Is.FRAME: "frame",
    _Is.IMAGE: "img",
    _Is.ASIDE: "nav header footer aside",
    _Is.HIDDEN: "script style noscript template svg",
    _Is.TITLE: "title",
    _Is.META: "meta",
    _Is.RELATION: "link",
    _Is.BASE: "base",
    _Is.ROOT: "html",
}
# Numbers compare faster than names. They are lexbor's own and differ between its versions, so it is asked for them.
_IS = {create_tag(name).tag_id: meaning for meaning, names in _MEANING.items() for name in names.split()}
_ROLES = {"navigation", "banner", "contentinfo", "complementary", "search"}

# Marks are control characters that no text has a use for. A page that has them all the same loses them.
_LINK_BEGINS, _LINK_ENDS, _ASIDE_BEGINS, _ASIDE_ENDS, _HIDDEN_ENDS = "\x01\x02\x03\x04\x05"
_MARKS = {_LINK_BEGINS, _LINK_ENDS, _ASIDE_BEGINS, _ASIDE_ENDS, _HIDDEN_ENDS}
_NO_MARKS = dict.fromkeys(map(ord, _MARKS))
_MARK = re.compile("([\x01\x02\x03\x04])")


class _Walk:
    """The state of one walk over one tree, and the page that comes of it."""

    __slots__ = ("_asides", "_base", "_canonical", "_found", "_lang", "_robots", "_stream", "_title", "_url")

    def __init__(self, url: str) -> None:
        self._url = url
        self._base: str | None = None
        self._canonical: str | None = None
        self._lang: str | None = None
        self._robots = ""
        self._title = ""
        self._stream: list[str] = []
        self._asides = 0
        """How many there are; one within another is part of it."""
        self._found: list[tuple[str, bool, str]] = []
        """Of each link its reference, whether it says nofollow, and what stands for a text that it lacks."""

    def over(self, root: LexborNode) -> None:  # noqa: C901, PLR0912, PLR0915 - one loop is most of what a page costs; calls would double it
        stream, found = self._stream, self._found
        meaning_of = _IS.get
        part, division, link = _Is.PART, _Is.DIVISION, _Is.LINK
        add = stream.append
        depth = hidden = open_links = 0
        for node in root.traverse(include_text=True):
            text = node.text_content
            if text is not None:
                if len(text) == 1 and text in _MARKS:
                    if text == _LINK_ENDS:
                        open_links = max(0, open_links - 1)
                        add(_LINK_ENDS)
                    elif text == _ASIDE_ENDS and depth:
                        depth -= 1
                        if not depth:
                            add(_ASIDE_ENDS)
                    elif text == _HIDDEN_ENDS:
                        hidden = max(0, hidden - 1)
                elif not hidden:
                    add(text)
                continue
            meaning = meaning_of(node.tag_id)
            if meaning is None:
                continue
            if meaning <= division:
                add(" ")
                if meaning != part:
                    node.insert_after(b" ")
                    if meaning == division and node.attrs.get("role") in _ROLES:
                        meaning = _Is.ASIDE
            elif meaning == link:
                attributes = node.attributes
                reference = attributes.get("href")
                if reference and reference[0] != "#":  # a third of all references stay on the page
                    nofollow = "nofollow" in (attributes.get("rel") or "").lower()
                    instead = attributes.get("alt") or attributes.get("title") or attributes.get("aria-label") or ""
                    found.append((reference, nofollow, instead))
                    add(_LINK_BEGINS)
                    open_links += 1
                    node.insert_after(_LINK_ENDS)
            elif meaning == _Is.IMAGE:
                if open_links:
                    add(f" {node.attributes.get('alt') or ''} ")
            elif meaning == _Is.HIDDEN:
                hidden += 1
                node.insert_after(_HIDDEN_ENDS)
            elif meaning == _Is.TITLE:
                if not self._title and not hidden:  # images have titles too
                    self._title = _flat(node.text_lexbor())
                hidden += 1
                node.insert_after(_HIDDEN_ENDS)
            elif meaning != _Is.ASIDE:
                self._declares(meaning, node.attributes)
            if meaning == _Is.ASIDE:
                add(" ")
                if not depth:
                    add(_ASIDE_BEGINS)
                    self._asides += 1
                depth += 1
                node.insert_after(_ASIDE_ENDS)

    def _declares(self, meaning: int, attributes: dict[str, str | None]) -> None:
        """Take in what an element without text says about the page."""
        if meaning == _Is.META:
            if (attributes.get("name") or "").lower() == "robots":
                self._robots += "," + (attributes.get("content") or "").lower()
        elif meaning == _Is.RELATION:
            if self._canonical is None and "canonical" in (attributes.get("rel") or "").lower().split():
                self._canonical = attributes.get("href")
        elif meaning == _Is.BASE:
            if self._base is None:
                self._base = attributes.get("href")
        elif meaning == _Is.FRAME:
            self._found.append(
                (attributes.get("src") or "", False, attributes.get("title") or attributes.get("name") or "")
            )
            self._stream += (_LINK_BEGINS, _LINK_ENDS)
        elif meaning == _Is.ROOT:
            self._lang = attributes.get("lang") or attributes.get("xml:lang")

    def page(self, encoding: str) -> Page:
        """The page as far as the walk has come."""
        resolver = Resolver(self._url)
        base = (self._base and resolver.resolve(self._base)) or self._url
        if base != self._url:
            resolver = Resolver(base)
        plain, anchors, text = _taken_apart(self._whole_stream())
        links, bad = self._links(plain, anchors, resolver)
        robots = set(self._robots.replace(",", " ").split())
        return Page(
            url=self._url,
            base=base,
            title=self._title[:MAX_TITLE],
            text=text,
            language=language(self._lang, text),
            encoding=encoding,
            links=links,
            noindex=not robots.isdisjoint(("noindex", "none")),
            nofollow=not robots.isdisjoint(("nofollow", "none")),
            canonical=(self._canonical and resolver.resolve(self._canonical)) or "",
            bad_links=bad,
        )

    def _whole_stream(self) -> str:
        """The text with its marks, white space normalised."""
        stream = "".join(self._stream)
        if (stream.count(_LINK_BEGINS), stream.count(_ASIDE_BEGINS)) != (len(self._found), self._asides):
            stream = "".join(piece if piece in _MARKS else piece.translate(_NO_MARKS) for piece in self._stream)
        return _flat(stream)

    def _links(self, plain: str, anchors: list[tuple[int, int]], resolver: Resolver) -> tuple[tuple[Link, ...], int]:
        """The links in order, each URL once with the texts of all its anchors; and how many references are unusable."""
        links: dict[str, Link] = {}
        here = self._url.partition("#")[0]
        bad = 0
        for (reference, nofollow, instead), (begin, end) in zip(self._found, anchors, strict=True):
            url = resolver.resolve(reference)
            if url is None:
                bad += 1
                continue
            if not url or url == here:
                continue
            anchor = (plain[begin:end].strip() or _flat(instead))[:MAX_ANCHOR]
            known = links.get(url)
            if known is None:
                links[url] = Link(url, anchor, _context(plain, begin, end), nofollow)
            elif (anchor and anchor not in known.anchor) or known.nofollow != nofollow:
                joined = known.anchor if anchor in known.anchor else f"{known.anchor} {anchor}".strip()[:MAX_ANCHOR]
                links[url] = Link(url, joined, known.context, known.nofollow and nofollow)
        return tuple(links.values()), bad


def _taken_apart(stream: str) -> tuple[str, list[tuple[int, int]], str]:
    """The stream without marks, where in it each link's text begins and ends, and what of it stands outside asides.

    A link within a link ends the outer one's text. A page that is all aside has all of its text outside.
    """
    plain: list[str] = []
    anchors: list[tuple[int, int]] = []
    asides: list[tuple[int, int]] = []
    at = begin = 0
    aside = -1
    begun = False
    space = True
    for piece in _MARK.split(stream):
        if piece == _LINK_BEGINS:
            anchors.append((at, at))
            begin = at
            begun = True
        elif piece == _LINK_ENDS:
            begun = False
        elif piece == _ASIDE_BEGINS:
            aside = at
        elif piece == _ASIDE_ENDS:
            if aside >= 0:
                asides.append((aside, at))
            aside = -1
        elif piece:
            words = piece[1:] if space and piece[0] == " " else piece  # white space on both sides of a mark is one
            plain.append(words)
            at += len(words)
            if begun:
                anchors[-1] = (begin, at)
            space = piece[-1] == " "
    if aside >= 0:  # it has no end: the page was too deep, or too broken
        asides.append((aside, at))
    whole = "".join(plain).rstrip()
    return whole, anchors, _outside(whole, asides) or whole.lstrip()


def _context(plain: str, begin: int, end: int) -> str:
    """The words around a link: whole words where words are told apart by spaces."""
    first = begin - CONTEXT
    first = 0 if first <= 0 else plain.find(" ", first, first + _WORD) + 1 or first
    last = end + CONTEXT
    if last < len(plain):
        cut = plain.rfind(" ", last - _WORD, last)
        last = cut if cut > 0 else last
    return f"{plain[first:begin].rstrip()} {plain[end:last].lstrip()}".strip()


def _outside(text: str, asides: list[tuple[int, int]]) -> str:
    """The text between asides, each of which stands for white space."""
    pieces = []
    end = 0
    for begin, next_end in (*asides, (len(text), 0)):
        pieces.append(text[end:begin].strip())
        end = next_end
    return " ".join(filter(None, pieces))


def _flat(text: str) -> str:
    """With one space for all white space in a row, and none at the ends."""
    return " ".join(text.split())
