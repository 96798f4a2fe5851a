"""The fast parser against BeautifulSoup, which shares nothing with it: on pydoc's pages, and on made ones."""

from __future__ import annotations

import importlib
import pydoc
import re
from urllib.parse import urldefrag, urljoin

import pytest
from bs4 import BeautifulSoup
from hypothesis import given
from hypothesis import strategies as st

from extensions.pages import Page, parse_page

URL = "http://docs.test/library/page.html"
SCHEMES = ("http://", "https://")
HIDDEN = ["script", "style", "noscript", "template", "title"]


def by_soup(html: str) -> tuple[str, set[str], list[str]]:
    """Title, URLs of the links, and words of the text, as an independent reader has them."""
    soup = BeautifulSoup(html, "lxml")
    title = " ".join(soup.title.get_text().split()) if soup.title else ""
    absolute = (urldefrag(urljoin(URL, str(a["href"]))).url for a in soup.find_all(["a", "area"], href=True))
    for hidden in soup(HIDDEN):
        hidden.decompose()
    return title, {url for url in absolute if url.startswith(SCHEMES)} - {URL}, re.findall(r"\w+", soup.get_text(" "))


def check(html: str) -> Page:
    page = parse_page(html.encode(), url=URL)
    title, urls, words = by_soup(html)
    assert page.title == title
    assert {link.url for link in page.links} == urls
    # The oracle parts words at every tag, even where one letter is bold: without spaces both texts are the same.
    assert "".join(re.findall(r"\w+", page.text)) == "".join(words)
    return page


@pytest.mark.parametrize("name", ["json", "string", "textwrap", "urllib.parse", "email.message", "asyncio.queues"])
def test_pydoc_pages_read_as_beautifulsoup_reads_them(name: str) -> None:
    module = importlib.import_module(name)
    html = pydoc.HTMLDoc()
    page = check(html.page(f"Python: module {name}", html.document(module)))
    assert page.language == "en"
    assert len(page.text) > 500


inline = st.sampled_from(["b", "i", "em", "code", "span"])
block = st.sampled_from(["p", "div", "ul", "h1", "section", "blockquote"])
words = st.text(st.sampled_from("abcdefg 中文字é"), max_size=12)
links = st.builds(
    lambda href, text: f'<a href="{href}">{text}</a>',
    st.sampled_from(
        ["a.html", "../b.html", "/c/d", "?q=1", "//other.test/x", "https://a.test/y#z", "e/./f", "../../../g", "#top", "mailto:a@b.test", "page.html"]
    ),
    words,
)  # fmt: skip
flow = st.recursive(
    words | links,
    lambda inner: st.builds(lambda tag, parts: f"<{tag}>{''.join(parts)}</{tag}>", inline, st.lists(inner, max_size=3)),
    max_leaves=6,
)
blocks = st.builds(lambda tag, parts: f"<{tag}>{''.join(parts)}</{tag}>", block, st.lists(flow, max_size=4))
hidden = st.builds(lambda tag, text: f"<{tag}>{text}</{tag}>", st.sampled_from(["script", "style"]), words)
pages = st.builds(
    lambda title, parts: f"<html><head><title>{title}</title></head><body>{''.join(parts)}</body></html>",
    words,
    st.lists(blocks | hidden, max_size=8),
)


@given(pages)
def test_made_pages_read_as_beautifulsoup_reads_them(html: str) -> None:
    # A link within a link is the one thing that the two parsers repair differently.
    if not re.search(r"<a [^>]*>(?:(?!</a>).)*<a ", html):
        check(html)


@given(st.lists(words, min_size=1, max_size=6))
def test_blocks_part_words_and_inline_elements_do_not(parts: list[str]) -> None:
    def text(html: str) -> str:
        return parse_page(html.encode(), url=URL).text

    assert text("".join(f"<p>{part}</p>" for part in parts)).split() == " ".join(parts).split()
    assert text("x" + "".join(f"<b>{part}</b>" for part in parts)).split() == ("x" + "".join(parts)).split()


@pytest.mark.parametrize(
    "html", ["<p>one</p>two", "<p>one</p><b>two</b>", "<div>one<div>two</div></div>", "one<br>two", "<td>one<td>two"]
)
def test_what_ends_a_block_ends_a_word(html: str) -> None:
    table = f"<table><tr>{html}</table>" if html.startswith("<td") else html
    assert parse_page(table.encode(), url=URL).text == "one two"
