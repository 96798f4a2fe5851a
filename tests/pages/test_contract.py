"""What a page promises its readers, whatever the bytes; with BeautifulSoup as the second opinion on real pages."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import urldefrag, urljoin

import pytest
from bs4 import BeautifulSoup
from hypothesis import example, given, settings
from hypothesis import strategies as st

from extensions.pages import Page, parse_page, parse_text

URL = "http://rust.test/en/book/index.html"
CHINESE = "网络爬虫按照一定的规则自动地抓取万维网上的信息，这是我们在这里学习的内容，也可以说是一个程序。" * 4
TRADITIONAL = "網路爬蟲是一種自動瀏覽網頁的程式，我們可以說這個系統會對網站的內容進行學習和整理。" * 4
JAPANESE = "ウェブをクロールするプログラムについて、ここではその使い方を説明しています。" * 4
FRENCH = "Le café est fermé à cause de l'été; où êtes-vous allés, mes élèves préférés? " * 4


def page(html: str, url: str = URL) -> Page:
    return parse_page(html.encode(), url=url)


def urls(html: str, url: str = URL) -> list[str]:
    return [link.url for link in page(html, url).links]


def invariants(parsed: Page) -> None:
    for link in parsed.links:
        assert re.match(r"https?://[^/?#]", link.url)
        assert "#" not in link.url
        assert len(link.url) <= 4096
        assert not re.search("[\x00-\x1f\x7f]", link.url)
    assert len({link.url for link in parsed.links}) == len(parsed.links)
    for text in (parsed.title, parsed.text, *(link.anchor for link in parsed.links)):
        assert text == " ".join(text.split())


@given(
    st.binary(max_size=2000), st.sampled_from([None, "utf-8", "gbk", "big5", "latin-1", "no-such", "rot13", "utf-16"])
)
@example(b"\xff\xfe", None)
@example(b"\x00" * 100, "utf-8")
def test_no_bytes_make_it_raise(body: bytes, declared: str | None) -> None:
    invariants(parse_page(body, url=URL, declared=declared))
    invariants(parse_text(body, url=URL, declared=declared))


_PIECES = st.sampled_from(
    ["<a href=", "'", '"', ">", "</a>", "<b>", "<nav>", "</nav>", "<table>", "<td>", "<base href=", "http://", "//", "[::1", "../", "?", "#", "&#2;", "\x01", "<!--", "<script>", "<template>", "<svg>", "<title>", "\x00", "中", " "]
)  # fmt: skip


@given(st.lists(_PIECES | st.text(max_size=6), max_size=60).map("".join))
@settings(max_examples=300)
def test_no_markup_makes_it_raise(html: str) -> None:
    invariants(parse_page(html.encode(errors="replace"), url=URL))


@given(st.text(max_size=40))
def test_any_href_is_a_link_to_http_without_fragment_or_none(href: str) -> None:
    quoted = href.replace("&", "&amp;").replace('"', "&quot;").encode(errors="replace").decode()
    invariants(page(f'<a href="{quoted}">x</a>'))


@pytest.mark.parametrize(
    "body",
    [b"", b"a" * 10_000_000, b"<div>" * 100_000, b"<b>" * 100_000 + b"x", b"<a href=x>" * 100_000, b"<nav>" * 100_000, b"<a " + b"x " * 100_000,
     b"<a href=x><table><tr><td>" * 20_000, bytes(range(256)) * 400],
    ids=["empty", "one line", "nested div", "nested b", "open links", "nested nav", "attributes", "links in tables", "binary"],
)  # fmt: skip
@pytest.mark.timeout(10)
def test_a_page_built_to_hang_a_parser_does_not(body: bytes) -> None:
    invariants(parse_page(body, url=URL))


@pytest.mark.parametrize(
    "href",
    ["javascript:void(0)", "http://[::1", "//", "http://", "/" + "x" * 8000, "http://h.test:99999/", "http://a\x01b/"],
)
def test_a_link_that_cannot_lead_anywhere_is_counted(href: str) -> None:
    parsed = page(f'<a href="{href}">x</a>')
    assert (parsed.links, parsed.bad_links) == ((), 1)


@pytest.mark.parametrize("href", ["mailto:a@b.test", "tel:+4912", "data:text/html,x", "#top", ""])
def test_what_leads_to_no_page_is_neither_a_link_nor_a_bad_one(href: str) -> None:
    parsed = page(f'<a href="{href}">x</a>')
    assert (parsed.links, parsed.bad_links) == ((), 0)


@pytest.mark.parametrize(
    "href",
    ["https://h.test/a?b=c", "/x/y", "z.html", "./z.html", "../z.html", "../../z", "../../../z", "a/../b", "?q=1", "//other.test/x", "a;b", "..", "."],
)  # fmt: skip
def test_relative_links_resolve_as_the_standard_library_says(href: str) -> None:
    assert urls(f'<a href="{href}#f">x</a>') == [urljoin(URL, href)]


def test_links_of_a_page_are_relative_to_its_base_element() -> None:
    parsed = page('<base href="/other/"><link rel=canonical href="home"><a href="x">x</a>')
    assert (parsed.base, parsed.canonical) == ("http://rust.test/other/", "http://rust.test/other/home")
    assert parsed.links[0].url == "http://rust.test/other/x"


def test_a_base_that_leads_nowhere_is_ignored() -> None:
    assert urls('<base href="http://[::1"><a href="x">x</a>') == ["http://rust.test/en/book/x"]


def test_two_links_to_one_url_are_one_with_both_anchors() -> None:
    (link,) = page('<a href="x#1" rel=nofollow>Ownership</a> and <a href="x#2">borrowing</a>').links
    assert (link.anchor, link.nofollow) == ("Ownership borrowing", False)


def test_context_is_the_words_on_both_sides_of_the_link() -> None:
    (link,) = page("<p>Read the <a href=x>Rust <b>b</b>ook</a> <i>first</i>, please.").links
    assert (link.anchor, link.context) == ("Rust book", "Read the first, please.")


@pytest.mark.parametrize(("content", "noindex", "nofollow"), [("NOINDEX", True, False), ("index, nofollow", False, True), ("none", True, True), ("all", False, False)])  # fmt: skip
def test_meta_robots_is_read(content: str, noindex: bool, nofollow: bool) -> None:
    parsed = page(f'<meta name="Robots" content="{content}"><p>text')
    assert (parsed.noindex, parsed.nofollow) == (noindex, nofollow)


def test_main_text_leaves_out_what_frames_it() -> None:
    parsed = page(
        "<nav>menu</nav><header>logo</header><script>x()</script><main><td>a<td>b<p>w<b>o</b>rd</main><aside>ad</aside><footer>imprint</footer>"
    )
    assert parsed.text.split() == ["ab", "word"] or parsed.text.split() == ["a", "b", "word"]


@pytest.mark.parametrize(
    ("text", "true", "label"),
    [(CHINESE, "gbk", "utf-8"), (CHINESE, "utf-8", "gbk"), (CHINESE, "gb18030", "iso-8859-1"), (TRADITIONAL, "big5", "utf-8"), (TRADITIONAL, "big5", "gb2312"),
     (JAPANESE, "shift_jis", "utf-8"), (JAPANESE, "euc_jp", "iso-8859-1"), (FRENCH, "cp1252", "utf-8"), (FRENCH, "utf-8", "iso-8859-1"), (FRENCH, "cp1252", "gbk")],
)  # fmt: skip
@pytest.mark.parametrize("where", ["header", "meta"])
def test_a_wrong_charset_does_not_spoil_the_text(text: str, true: str, label: str, where: str) -> None:
    meta = f'<meta charset="{label}">' if where == "meta" else ""
    body = f"<html><head>{meta}<title>x</title></head><body><p>{text}</p></body></html>".encode(true)
    assert parse_page(body, url=URL, declared=label if where == "header" else None).text == " ".join(text.split())


@pytest.mark.parametrize(
    ("declared", "text", "expected"),
    [("en", CHINESE, "zh"), ("", CHINESE, "zh"), ("zh-Hant-TW", TRADITIONAL, "zh"), ("en", JAPANESE, "ja"), ("", "the cat and the dog are in the house of the king", "en"),
     ("", "der Hund und die Katze sind nicht in dem Haus", "de"), ("", FRENCH, "fr"), ("", "el perro y los gatos no son de la casa", "es"), ("pt-BR", "abc", "pt"),
     ("", "Это русский текст о программе", "ru"), ("%lang%", "", "")],
)  # fmt: skip
def test_language_is_the_declared_one_unless_the_script_says_otherwise(declared: str, text: str, expected: str) -> None:
    assert page(f'<html lang="{declared}"><body><p>{text}').language == expected


def _real_pages() -> list[Path]:
    """Thirty HTML pages of the shared web, unpacked, spread over its servers."""
    folder = Path(os.environ.get("TOPICSPIDER_WEB", "/nonexistent"))
    servers = sorted(path for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []
    picked = (
        min(filter(Path.is_file, server.rglob("*.html")), default=None)
        for server in servers[:: max(1, len(servers) // 30)]
    )
    return [path for path in picked if path is not None]


@pytest.mark.filterwarnings("ignore::bs4.XMLParsedAsHTMLWarning")
def test_real_pages_read_as_beautifulsoup_reads_them() -> None:
    pages = _real_pages()
    if not pages:
        pytest.skip("TOPICSPIDER_WEB names no folder of unpacked pages (<host>/<path>)")
    for path in pages:
        body = path.read_bytes()
        parsed = parse_page(body, url=URL)
        soup = BeautifulSoup(body, "lxml", from_encoding=parsed.encoding)
        if soup.title and soup.title.get_text().strip():
            assert parsed.title == " ".join(soup.title.get_text().split())[:500], path
        expected = {urldefrag(urljoin(parsed.base, a["href"].strip())).url for a in soup.find_all(["a", "area"], href=True) if not a["href"].startswith("#")}  # fmt: skip
        expected = {url for url in expected if url.startswith("http")} - {URL}
        found = {link.url for link in parsed.links}
        assert len(expected ^ found) <= 0.02 * len(expected) + 1, (path, sorted(expected ^ found)[:5])
        words = set(re.findall(r"\w+", soup.get_text() + soup.get_text(" ")))
        # The oracle either joins all blocks or parts all letters in bold, so both of its texts count.
        strangers = {word for word in re.findall(r"\w+", parsed.text) if word not in words}
        assert len(strangers) <= 0.1 * len(words) + 5, (path, sorted(strangers)[:9])
