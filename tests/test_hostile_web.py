"""A crawl of the worst of the web: everything is counted, nothing is fatal, and every good page among it is stored."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

import pytest

from tests.localweb.web import LocalWeb, write_site
from tests.running import HURRY, PROJECT

if TYPE_CHECKING:
    from pathlib import Path

GOOD = "<title>The python language</title><p>All about python, the programming language python.</p>"
CHINESE = "<title>python 编程语言</title><p>这是关于 python 编程语言的网页，介绍 python 程序设计。</p>"
LONG_HOST = "a" * 300 + ".test"
BAD_LINKS = (
    "javascript:void(0)", "JavaScript:alert('python')", "mailto:a@b.test", "data:text/html,python", "tel:+1", "about:blank",
    "http://[::1", "http://[python]/", "//", "///", "http://", "http:", ":", "://python", "?", "#", "",
    "http://a.test:99999/", "http://a.test:-1/", "http://a.test:port/", "http://.test/", "http://a..test/", "http://%/", "http://a b.test/",
    "http://user:pass@:80/", f"http://{LONG_HOST}/", "http://" + "a" * 64 + ".test/", "http://xn--a.test/", "http://xn--\udc80.test/",
    "http://good.test/" + "x" * 8192, "http://good.test/\x00\x01\x1f", "http://good.test/%00%zz%", "http://good.test/\ud800",
    "http://good.test/a\nb\tc", "\x0bhttp://good.test/tab", "http://good.test\\back\\slash", "ftp://good.test/", "http://１２７.0.0.1:1/",
    "http://good.test/../../../..", "http://good.test/?" + "&".join(f"q{n}=python" for n in range(300)), "http://0x7f.1:1/", "python",
)  # fmt: skip
BAD_PLACES = (
    "javascript:alert(1)", "http://[::1", "//", "http://a.test:99999/", f"http://{LONG_HOST}/", "http://" + "a" * 64 + ".test/",
    "ftp://good.test/", "http://good.test/" + "y" * 8192, "http://", "http://a b.test/", "",
)  # fmt: skip


def attribute(link: str) -> str:
    return link.replace("&", "&amp;").replace('"', "&quot;")


def links(*urls: str) -> str:
    return "".join(f'<a href="{attribute(url)}">python</a>\n' for url in urls)


def bad_bodies() -> dict[str, bytes]:
    """Path → body of a page that a browser would frown at. What holds the topic's words may be stored, and may not."""
    noise = random.Random(7).randbytes(200_000)
    return {
        "/empty": b"",
        "/blank": b" \n\t ",
        "/noise": noise,
        "/noise-with-words": noise + GOOD.encode() + noise,
        "/zeros": b"\0" * 100_000,
        "/image": b"\x89PNG\r\n\x1a\n" + noise,
        "/one-line": b"<p>" + b"python language " * (10 * 2**20 // 16),
        "/one-word": b"<p>" + b"p" * (10 * 2**20),
        "/one-tag": b"<a href='" + b"p" * (2 * 2**20),
        "/deep": b"<div>" * 100_000 + b"python" + b"</div>" * 100_000,
        "/deep-links": b"<a href='/x'>" * 100_000,
        "/attributes": b"<p " + b" ".join(b"a%d=python" % n for n in range(50_000)) + b">python",
        "/entities": b"&amp;&#0;&#x110000;&#xD800;&#99999999999999;&bogus;" * 10_000,
        "/unclosed": b"<html><head><title>python<body><p>python <b><i><a href='/x'>python</p></td></html></body><!-- <![CDATA[",
        "/surrogates": b"<title>python</title>\xed\xa0\x80\xff\xfe\xfd python language",
        "/utf-16": GOOD.encode("utf-16"),
        "/utf-7": b"<meta charset=utf-7>+ADw-script+AD4- python",
        "/no-such-charset": b"<meta charset='\x00nonsense'>" + GOOD.encode(),
        "/xml.xml": b"<?xml version='1.0' encoding='x'?><!DOCTYPE a [<!ENTITY a 'python'><!ENTITY b '&a;&a;'>]><a>&b;</a>",
        "/base": b"<base href='http://[::1'><base href='javascript:'>"
        + links("good", "http://good.test/after-base").encode(),
        "/meta-robots": b"<meta name=robots content='\x00,,noindex;NONE'>" + GOOD.encode(),
        "/refresh": b"<meta http-equiv=refresh content='0; url=/refresh'>",
        "/refresh-a": b"<meta http-equiv=refresh content='0; url=/refresh-b'>",
        "/refresh-b": b"<meta http-equiv=refresh content='0; url=/refresh-a'>",
        "/refresh-nowhere": b"<meta http-equiv=refresh content='0; url=http://[::1'>",
        "/refresh-odd": b"<meta http-equiv=refresh content='1e999; url='>" + GOOD.encode(),
        "/links": f"<title>python</title><p>python language</p>{links(*BAD_LINKS, 'http://good.test/after-links')}".encode(
            "utf-8", "surrogatepass"
        ),
    }


def faults() -> list[dict[str, Any]]:
    """What goes wrong on the wire."""
    return [
        {"path": "/loop", "kind": "redirect"},
        {"path": "/loop-a", "kind": "redirect", "location": "/loop-b"},
        {"path": "/loop-b", "kind": "redirect", "location": "/loop-a"},
        *({"path": f"/chain-{n}", "kind": "redirect", "location": f"/chain-{n + 1}"} for n in range(8)),
        *({"path": f"/place-{n}", "kind": "redirect", "location": place} for n, place in enumerate(BAD_PLACES)),
        {"path": "/reset", "kind": "reset"},
        {"path": "/hang", "kind": "hang"},
        {"path": "/truncated", "kind": "truncate"},
        {"path": "/bomb", "kind": "gzip"},
        {"path": "/not-gzip", "kind": "status", "status": 200, "body": GOOD, "headers": {"Content-Encoding": "gzip"}},
        {
            "path": "/not-br",
            "kind": "status",
            "status": 200,
            "body": GOOD,
            "headers": {"Content-Encoding": "br, bogus"},
        },
        {"path": "/broken", "kind": "status", "status": 500},
        {"path": "/teapot", "kind": "status", "status": 418},
        {"path": "/odd-status", "kind": "status", "status": 799, "body": GOOD},
        {"path": "/busy", "kind": "status", "status": 503, "headers": {"Retry-After": "99999999999999999999999999"}},
        {"path": "/busy-2", "kind": "status", "status": 429, "headers": {"Retry-After": "-\u00b2 soon"}},
        {"path": "/gbk", "kind": "charset", "charset": "utf-8"},
        {"path": "/utf-8", "kind": "charset", "charset": "gbk"},
        {"path": "/unknown-charset", "kind": "charset", "charset": "klingon"},
    ]


ON_THE_WIRE = {
    "/truncated": GOOD.encode() * 20,
    "/bomb": b"\0" * (40 << 20),
    "/gbk": CHINESE.encode("gbk"),
    "/utf-8": CHINESE.encode(),
    "/unknown-charset": GOOD.encode(),
}
BAD_ROBOTS = {
    "robots-noise.test": "\x00\x01 Dis\u00e4llow: \n:::\nUser-agent\nDisallow\nCrawl-delay: \u00b2\n" * 50,
    "robots-delay.test": "User-agent: *\nCrawl-delay: -5\nCrawl-delay: abc\nCrawl-delay: 1e400\n",
    "robots-forever.test": "User-agent: *\nCrawl-delay: 999999999999999999999999\n",
    "robots-long.test": "User-agent: *\n" + "Disallow: /" + "*a" * 2000 + "\n" + "Disallow: /x\n" * 20_000,
}
HANGING = {
    "robots-hangs.test": [{"path": "/robots.txt", "kind": "hang"}],
    "robots-resets.test": [{"path": "/robots.txt", "kind": "reset"}],
    "robots-loops.test": [{"path": "/robots.txt", "kind": "redirect"}],
    "robots-lost.test": [{"path": "/robots.txt", "kind": "redirect", "location": "http://[::1"}],
    "robots-broken.test": [{"path": "/robots.txt", "kind": "status", "status": 500}],
}
BEHIND_BAD_ONES = {"http://good.test/after-base", "http://good.test/after-links"}
GOOD_PAGES = {
    *(f"http://good.test/{n}" for n in range(10)),
    *BEHIND_BAD_ONES,
    *(f"http://{host}/" for host in (*BAD_ROBOTS, *HANGING)),
}


class Crawled(NamedTuple):
    status: int
    log: str
    stats: dict[str, Any]
    summary: dict[str, Any]
    pages: dict[str, dict[str, Any]]


def build(folder: Path) -> dict[str, Any]:
    """Write the pages; the behaviour of their servers."""
    for url in GOOD_PAGES:
        parts = urlsplit(url)
        write_site(folder, parts.netloc, {parts.path: GOOD})
    bodies = bad_bodies() | ON_THE_WIRE
    # A few pages a server, so that they are not fetched one after the other.
    paths = sorted({*bodies, *(fault["path"] for fault in faults())} - {"/loop-b", "/refresh-b"})
    on_host = {path: f"bad{number % 6}.test" for number, path in enumerate(paths)}
    for path, body in bodies.items():
        for host in [on_host[path]] if path in on_host else [f"bad{n}.test" for n in range(6)]:
            write_site(folder, host, {path: body})
    seeds = [f"http://{host}{path}" for path, host in on_host.items()]
    write_site(
        folder, "start.test", {"/": GOOD + links("http://gone.test/", *seeds, *sorted(GOOD_PAGES - BEHIND_BAD_ONES))}
    )
    hosts: dict[str, Any] = {f"bad{n}.test": {"faults": faults()} for n in range(6)}
    hosts |= {host: {"robots": text} for host, text in BAD_ROBOTS.items()}
    hosts |= {host: {"faults": plan} for host, plan in HANGING.items()}
    return {"hosts": hosts}


@pytest.fixture(scope="module")
def crawled(tmp_path_factory, redis_server) -> Crawled:
    """The crawl, by the command, to its end."""
    folder = tmp_path_factory.mktemp("hostile")
    behaviour = build(folder / "web")
    project = folder / "project"
    project.mkdir()
    (project / "scrapy.cfg").write_text("[settings]\ndefault = settings.base\n")
    with LocalWeb(folder / "web", behaviour=behaviour, unresolvable=("gone.test",)) as web:
        settings = (
            HURRY
            | web.settings()
            | {
                "REDIS_URL": redis_server.url,
                "FRONTIER_CRAWL": f"hostile-{os.getpid()}",
                "OUTPUT_DIR": "out",
                # By words alone: noise has some, and stands among pages on topic.
                "TOPIC_MODEL": "bm25",
                "DOWNLOAD_TIMEOUT": 2,
                "RETRY_TIMES": 0,
                "REDIRECT_MAX_TIMES": 5,
                "CRAWL_DELAY_MAX": 0.2,
                "FRONTIER_MAX_FAILURES_PER_SERVER": 0,
                "STATS_DUMP": "False",
                "STATS_CLASS": "tests.statsfile.StatsToFile",
            }
        )
        done = subprocess.run(
            [
                *(sys.executable, "-m", "scrapy", "crawl", "topic", "-a", "topic=python, programming language"),
                *("-a", "seeds=http://start.test/"),
                *(part for name, value in settings.items() for part in ("-s", f"{name}={value}")),
            ],
            cwd=project,
            env=os.environ | {"PYTHONPATH": str(PROJECT)},
            capture_output=True,
            timeout=110,
            check=False,
        )
    out = project / "out"
    lines = [json.loads(line) for line in (out / "pages.jsonl").read_text().splitlines()]
    return Crawled(
        done.returncode,
        (done.stderr + done.stdout).decode(errors="replace"),
        json.loads((project / "stats.json").read_text()),
        json.loads((out / "summary.json").read_text()),
        {line["url"]: line for line in lines},
    )


def test_the_crawl_ends_as_any_other(crawled):
    assert crawled.status == 0, crawled.log[-5000:]
    assert crawled.stats["finish_reason"] == crawled.summary["finish_reason"] == "finished"
    assert crawled.stats["frontier/queued"] == crawled.stats["frontier/leased"] == 0
    assert crawled.stats["frontier/settled"] == crawled.stats["frontier/urls_discovered"]


def test_every_good_page_is_stored_also_those_that_only_bad_ones_link_to(crawled):
    assert set(crawled.pages) >= GOOD_PAGES


def test_no_page_costs_a_traceback(crawled):
    assert "Traceback" not in crawled.log, crawled.log[crawled.log.index("Traceback") - 500 :][:3000]
    assert "spider_exceptions/count" not in crawled.stats


@pytest.mark.parametrize("path", ["gbk", "utf-8"])
def test_a_page_with_the_charset_of_another_is_read_as_it_was_meant(crawled, path):
    stored = {url.rpartition("/")[2]: page for url, page in crawled.pages.items()}
    assert stored[path]["title"] == "python 编程语言"
    assert "python 编程语言的网页" in stored[path]["text"]


@pytest.mark.parametrize("path", ["utf-16", "no-such-charset", "unknown-charset", "surrogates", "refresh-odd", "links"])
def test_a_page_that_is_good_but_for_its_form_is_stored(crawled, path):
    assert path in {url.rpartition("/")[2] for url in crawled.pages}


def test_a_page_that_is_none_is_not_stored(crawled):
    stored = {url.rpartition("/")[2] for url in crawled.pages}
    assert not stored & {"empty", "blank", "noise", "zeros", "image", "bomb", "truncated", "entities", "deep-links"}


@pytest.mark.parametrize(
    ("stat", "least"),
    [
        ("downloader/exception_type_count/scrapy.exceptions.CannotResolveHostError", 2),
        ("downloader/exception_type_count/scrapy.exceptions.DownloadFailedError", 2),
        ("downloader/exception_type_count/scrapy.exceptions.DownloadTimeoutError", 2),
        ("downloader/exception_type_count/scrapy.exceptions.ResponseDataLossError", 1),
        *((f"downloader/response_status_count/{status}", 1) for status in (404, 418, 429, 500, 503, 799)),
        ("redirect/malformed", 5),
        ("redirect/too_many", 1),
        ("links/malformed", 10),
        ("links/too_long", 1),
        ("frontier/uncrawlable", 3),
        ("dupefilter/filtered", 4),  # the loops
        ("politeness/retry_after", 2),
    ],
)
def test_what_went_wrong_is_counted(crawled, stat, least):
    assert crawled.stats[stat] >= least


def test_the_summary_counts_errors_by_their_kind(crawled):
    kinds = crawled.summary["errors"]
    assert {"CannotResolveHostError", "DownloadTimeoutError", "DownloadFailedError"} <= set(kinds["download"])
    assert kinds["spider"] == {}
    assert kinds["total"] >= 20


def test_a_fault_of_the_web_is_told_in_a_line(crawled):
    assert re.search(r"Error downloading <GET \S+/hang>: DownloadTimeoutError: Getting \S+ took longer", crawled.log)
