"""The benchmark of whole crawls, tiny: it runs, and its figures have the names that others rely on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from extensions.pages import parse_page
from tests.benchmarks import docweb
from tests.benchmarks.crawl import main
from tests.benchmarks.onecrawl import CRAWLERS

if TYPE_CHECKING:
    from pathlib import Path


def test_figures_have_their_names_and_every_crawler_has_fetched(tmp_path: Path) -> None:
    out = tmp_path / "figures.json"
    assert main(["--workloads", "few_links", "--pages", "10", "--runs", "1", "--json", str(out)]) == 0
    figures = json.loads(out.read_text())["few_links"]
    for name in ("pages_per_second", "pages_per_cpu_second", "cpu_ms_per_page", "connections_per_page"):
        assert set(figures[name]) == set(CRAWLERS)
        assert all(figure > 0 for figure in figures[name].values())
    for name in ("ratio_vs_scrapy", "ratio_vs_scrapy_redis", "share_of_fetch_only", "round_trips_per_page"):
        assert figures[name] > 0
    assert all(pages >= 8 for measured in figures["pages"].values() for pages in measured)
    assert figures["pages"]["fetch_only"] == [10]


def test_a_workload_that_is_none_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--workloads", "many_links"])
    assert "no such workload: many_links" in capsys.readouterr().err


def test_link_rich_pages_are_as_real_ones(tmp_path: Path) -> None:
    web = docweb.documentation(tmp_path, docweb.LINK_RICH, numbers=30)
    known: set[str] = set()
    for url in web.urls(20):
        host, _, path = url.removeprefix("http://").partition("/")
        body = (web.folder / host / path).read_bytes()
        assert 75_000 < len(body) < 100_000
        page = parse_page(body, url=url)
        assert body.count(b"<a ") - body.count(b'href="#') == 290
        assert len(page.text) > 12_000
        known |= {link.url for link in page.links}
    assert len(known) > 200


def test_the_same_seed_makes_the_same_web_and_some_pages_are_big(tmp_path: Path) -> None:
    one, other = (
        docweb.documentation(tmp_path / name, docweb.FEW_LINKS, numbers=4, big_every=4) for name in ("one", "other")
    )
    sizes = []
    for number in range(4):
        path = f"d0.test/v3/p{number}.html"
        assert (one.folder / path).read_bytes() == (other.folder / path).read_bytes()
        sizes.append((one.folder / path).stat().st_size)
    assert sum(size > 1_000_000 for size in sizes) == 1
