"""The benchmark of download handlers, tiny: it runs, and its figures have the names that others rely on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.benchmarks.handlers import WAYS, Way, download, main

if TYPE_CHECKING:
    from pathlib import Path


def test_figures_have_their_names_and_connections_are_kept(tmp_path: Path) -> None:
    out = tmp_path / "figures.json"
    arguments = ["--ways", "ours_tls", "--sizes", "few_links", "--pages", "40", "--runs", "1"]
    assert main([*arguments, "--json", str(out)]) == 0
    figures = json.loads(out.read_text())["few_links"]
    for name in ("cpu_ms_per_page", "pages_per_second", "start_cpu_seconds", "web_share"):
        assert set(figures[name]) == {"ours_tls"}
        assert all(figure > 0 for figure in figures[name].values())
    assert figures["connections_per_page"] == {"ours_tls": 16 / 40}
    assert set(figures["cpu_ms_per_connection"]) == {"ours_tls"}


def test_a_server_that_ends_its_connections_gets_one_for_each_page() -> None:
    assert download(WAYS["http11"], b"<p>page", 20, close=True).connections == 20


@pytest.mark.skipif(not WAYS["http2_tls"].possible, reason="h2 and priority are not installed")
def test_http2_carries_all_pages_of_a_server_on_one_connection() -> None:
    assert download(WAYS["http2_tls"], b"<p>page", 40).connections == 16


def test_pages_that_are_missing_are_an_error() -> None:
    nobody = Way("scrapy.core.downloader.handlers.http11.HTTP11DownloadHandler", settings={"DOWNLOAD_MAXSIZE": 3})
    with pytest.raises(RuntimeError, match="0 of 2 pages"):
        download(nobody, b"<p>page", 2)


def test_a_way_that_is_none_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--ways", "http9"])
    assert "not known: http9" in capsys.readouterr().err
