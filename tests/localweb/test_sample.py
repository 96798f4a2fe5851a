"""A small sample web, built for real from what is installed, and looked at as a crawler would."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from selectolax.lexbor import LexborHTMLParser

from tests.localweb.catalogue import HUB, Server, chosen, documented, servers
from tests.localweb.renderer import render
from tests.localweb.sample import SampleWeb, build
from tests.localweb.sample_links import Links

if TYPE_CHECKING:
    from collections.abc import Iterator

DISTRIBUTIONS = ["w3lib", "jieba", "queuelib", "rich", "markdown-it-py"]
AREAS = ["asyncio", "networking", "json"]


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> SampleWeb:
    return build(tmp_path_factory.mktemp("sample") / "web", distributions=DISTRIBUTIONS, areas=AREAS, limit=6)


def pages(web: SampleWeb) -> Iterator[tuple[str, LexborHTMLParser]]:
    for file in web.folder.rglob("*.html"):
        yield f"//{file.relative_to(web.folder).as_posix()}", LexborHTMLParser(file.read_bytes())


def read(web: SampleWeb, name: str) -> str:
    return (web.folder / name).read_text(encoding="utf-8")


def test_every_server_has_a_home_and_the_index_links_to_it(web: SampleWeb) -> None:
    assert web.servers == len(DISTRIBUTIONS) + len(AREAS) + 1 == len(list(web.folder.iterdir()))
    index = read(web, "www.python.test/library.html") + read(web, "www.python.test/packages.html")
    for url in [f"https://{name}.test/" for name in DISTRIBUTIONS] + [f"http://{name}.python.test/" for name in AREAS]:
        assert f'href="{url}"' in index
        assert (web.folder / url.split("/")[2] / "index.html").is_file()
    assert web.seeds == (f"{HUB}/",)


def test_every_page_is_counted_and_has_a_title_of_its_own(web: SampleWeb) -> None:
    titles = [node.text() for _, page in pages(web) for node in page.css("title")]
    assert len(titles) == web.pages > 30
    assert all(titles)
    assert len(set(titles)) > 0.9 * len(titles)


def test_links_lead_to_pages_that_are_there_or_within_the_page(web: SampleWeb) -> None:
    between_servers = 0
    for name, page in pages(web):
        for link in page.css("a[href]"):
            href = link.attributes["href"] or ""
            if href.startswith("#"):
                continue
            match = re.fullmatch(r"(?:https?://([^/]+))?(/[^#]*)(#.*)?", href)
            assert match, href
            host = match[1] or name.split("/")[2]
            between_servers += bool(match[1]) and match[1] != name.split("/")[2]
            file = web.folder / host / (match[2].lstrip("/") + ("index.html" if match[2].endswith("/") else ""))
            assert file.is_file(), f"{name} links to {href}"
    assert between_servers > 50


def test_module_pages_are_pydoc_with_the_first_words_as_title(web: SampleWeb) -> None:
    page = read(web, "asyncio.python.test/asyncio.base_events.html")
    title = (
        "asyncio.base_events: Base implementation of event loop | asyncio, a package of Python&#x27;s standard library"
    )
    assert f"<title>{title}</title>" in page
    assert "run_until_complete" in page
    assert 'href="http://networking.python.test/socket.html"' in page


def test_descriptions_in_markdown_and_rest_are_rendered(web: SampleWeb) -> None:
    rest, markdown = read(web, "queuelib.test/index.html"), read(web, "markdown-it-py.test/index.html")
    for page in (rest, markdown):
        assert "<h2" in page
        assert not LexborHTMLParser(page).css("img, script, iframe")
    assert "====" not in rest
    assert "<code" in markdown


def test_chinese_home_page_is_chinese(web: SampleWeb) -> None:
    page = read(web, "jieba.test/index.html")
    assert '<html lang="zh">' in page
    assert "中文分词" in page


def test_no_page_names_folders_of_this_machine(web: SampleWeb) -> None:
    module = read(web, "networking.python.test/socket.html")
    assert "socket.py" in module
    assert "file:" not in module


def test_some_servers_have_robots_rules(web: SampleWeb) -> None:
    assert "Crawl-delay: 0" in read(web, "www.python.test/robots.txt")
    assert "Disallow: /about/" in read(web, "rich.test/robots.txt")
    assert not (web.folder / "w3lib.test/robots.txt").exists()


def test_web_is_kept_until_what_is_asked_for_changes(tmp_path: Path) -> None:
    def again(limit: int) -> SampleWeb:
        return build(tmp_path / "web", distributions=["queuelib"], areas=["json"], limit=limit)

    first = again(2)
    assert not first.reused
    assert again(2).reused
    third = again(1)
    assert not third.reused
    assert third.pages < first.pages
    assert [path.name for path in tmp_path.iterdir()] == ["web"]


def test_what_hangs_crashes_exits_or_prints_is_skipped_and_the_rest_rendered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = {
        "hangs": "import time; time.sleep(60)",
        "crashes": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
        "exits": "raise SystemExit(3)",
        "prints": "'Prints.'\nimport os\nprint('{\"html\": 1}', flush=True)\nos.write(1, b'noise')\ninput_closed = True",
        "reads": "'Reads.'\nimport sys\nsys.stdin.read()",
    }
    for name, source in sources.items():
        (tmp_path / f"{name}.py").write_text(source)
    # The worker's path is the project only; the modules come in where Python itself looks.
    monkeypatch.setattr("tests.localweb.renderer.PROJECT", f"{Path(__file__).resolve().parents[2]}:{tmp_path}")
    results = dict(zip(sources, render([{"module": name} for name in sources], timeout_seconds=1.5), strict=True))
    assert "within 1.5 s" in results["hangs"]["error"]
    assert "died" in results["crashes"]["error"]
    assert "SystemExit" in results["exits"]["error"]
    assert results["prints"]["title"] == "prints: Prints."
    assert results["reads"]["title"] == "reads: Reads."


def test_modules_that_act_on_import_are_left_out() -> None:
    for name in (
        "this",
        "antigravity",
        "idlelib.run",
        "test.support",
        "json.__main__",
        "scrapy.tests.x",
        "conftest",
        "a._b",
    ):
        assert not documented(name), name
    assert documented("asyncio.events")
    assert not any(
        server.modules and server.name in ("this", "antigravity", "idlelib") for server in servers(None, None, 5)
    )


def test_a_server_shows_its_upper_levels_first_and_every_package_in_turn() -> None:
    modules = ["p.b.two", "p", "p.b", "p.a", "p.a.one", "p.a.two", "p.b.one"]
    assert chosen(modules, 10) == ["p", "p.a", "p.b", "p.a.one", "p.b.one", "p.a.two", "p.b.two"]


def test_whole_sample_is_a_web_of_many_servers() -> None:
    found = servers(None, None, 40)
    assert len(found) >= 30
    assert sum(len(server.modules) for server in found) >= 500
    assert len({server.url for server in found}) == len(found)


def test_links_out_of_the_sample_become_text_and_project_sites_their_servers() -> None:
    server = Server(
        "https://a.test", "a", "A", ["a", "a.b"], distribution="A", project_urls=["https://github.com/me/a"]
    )
    links = Links([server], ["a", "a.b"])
    html = (
        '<a href="a.b.html#C">C</a> <a href="gone.html">gone</a> <a href="https://www.github.com/me/a/issues?x=1">issues</a>'
        '<a href="https://example.com/"><img src="x.png">out</a> <a href="http://[::1">bad</a> <a href=".">index</a>'
    )
    assert links.rewired(html, server) == (
        '<a href="/a.b.html#C">C</a> gone <a href="https://a.test/">issues</a>out bad <a href="/">index</a>'
    )
