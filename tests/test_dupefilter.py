from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest
from scrapy import Request, Spider
from scrapy.dupefilters import RFPDupeFilter
from scrapy.utils.misc import build_from_crawler, load_object
from scrapy.utils.test import get_crawler

from extensions.dupefilter import CachedDupeFilter
from extensions.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
OURS = {
    "DUPEFILTER_CLASS": "extensions.dupefilter.CachedDupeFilter",
    "REQUEST_FINGERPRINTER_CLASS": "extensions.fingerprint.CanonicalFingerprinter",
}


def dupe_filter(cls: type = CachedDupeFilter, **settings: Any) -> Any:
    crawler = get_crawler(settings_dict=OURS | settings)
    crawler.request_fingerprinter = build_from_crawler(
        load_object(crawler.settings["REQUEST_FINGERPRINTER_CLASS"]), crawler
    )
    return build_from_crawler(cls, crawler)


def test_a_request_is_seen_the_second_time() -> None:
    seen = dupe_filter()
    urls = [
        "http://a/",
        "http://a/b",
        "http://a/#top",
        "HTTP://A:80",
        "http://a/b?utm_source=x",
        "http://b/",
        "http://a/",
    ]
    assert [seen.request_seen(Request(url)) for url in urls] == [False, False, True, True, True, False, True]


def test_the_exact_test_remembers_what_the_cache_has_forgotten() -> None:
    seen = dupe_filter(SEEN_CACHE_SIZE=1)
    urls = [f"http://a/{number}" for number in range(50)]
    assert not any(seen.request_seen(Request(url)) for url in urls)
    assert all(seen.request_seen(Request(url)) for url in urls)


def test_a_url_in_the_cache_does_not_hide_a_post_to_it() -> None:
    seen = dupe_filter()
    posts = [Request("http://a/", method="POST", body=body) for body in ("1", "2", "1")]
    assert not seen.request_seen(Request("http://a/"))
    assert [seen.request_seen(post) for post in posts] == [False, False, True]


def test_a_link_that_passed_the_link_filter_is_no_duplicate_as_a_request() -> None:
    seen = dupe_filter()
    assert seen.filter.is_news("http://a/", 0.5)
    assert not seen.request_seen(Request("http://a/"))


def test_the_cache_lets_a_clearly_better_request_pass() -> None:
    seen = dupe_filter()
    request = Request("http://a/")
    assert [seen.cache_says_seen(request, quality) for quality in (0.25, 0.25, 0.75, 0.5)] == [False, True, False, True]


@pytest.mark.parametrize(
    "fingerprinter", [OURS["REQUEST_FINGERPRINTER_CLASS"], "scrapy.utils.request.RequestFingerprinter"]
)
def test_a_later_run_of_the_job_knows_what_an_earlier_one_saw(tmp_path: Path, fingerprinter: str) -> None:
    settings = {"JOBDIR": str(tmp_path), "REQUEST_FINGERPRINTER_CLASS": fingerprinter}
    for known in (False, True):
        seen = dupe_filter(**settings)
        seen.open()
        assert [seen.request_seen(Request(f"http://a/{number}")) for number in range(20)] == [known] * 20
        seen.close("finished")


def test_a_job_begun_with_scrapys_filter_goes_on_with_this_one_and_back(tmp_path: Path) -> None:
    settings = {"JOBDIR": str(tmp_path)}
    theirs = dupe_filter(RFPDupeFilter, **settings)
    assert not theirs.request_seen(Request("http://a/1"))
    theirs.close("shutdown")
    ours = dupe_filter(**settings)
    ours.open()
    assert ours.request_seen(Request("http://a/1"))
    assert not ours.request_seen(Request("http://a/2"))
    ours.close("shutdown")
    theirs = dupe_filter(RFPDupeFilter, **settings)
    assert all(theirs.request_seen(Request(f"http://a/{number}")) for number in (1, 2))
    theirs.close("finished")


def test_a_record_cut_short_by_a_kill_does_not_garble_later_ones(tmp_path: Path) -> None:
    for count in (3, 6):
        seen = dupe_filter(JOBDIR=str(tmp_path))
        seen.open()
        for number in range(count):
            seen.request_seen(Request(f"http://a/{number}"))
        seen.close("finished")
        with (tmp_path / "requests.seen").open("ab") as file:
            file.write(b"\0\x10abc")
    seen = dupe_filter(JOBDIR=str(tmp_path))
    seen.open()
    assert [seen.request_seen(Request(f"http://a/{number}")) for number in range(7)] == [True] * 6 + [False]
    seen.close("finished")


@pytest.mark.parametrize(("debug", "lines"), [(False, 1), (True, 3)])
def test_the_first_duplicate_is_logged_and_all_are_counted(
    caplog: pytest.LogCaptureFixture, debug: bool, lines: int
) -> None:
    crawler = get_crawler(Spider, settings_dict=OURS)
    spider = crawler._create_spider("any")
    seen = dupe_filter(DUPEFILTER_DEBUG=debug)
    with caplog.at_level("DEBUG", logger="extensions.dupefilter"):
        for _ in range(3):
            seen.log(Request("http://a/"), spider)
    assert len(caplog.records) == lines
    assert crawler.stats.get_value("dupefilter/filtered") == 3


def test_the_static_policy_reads_its_file(tmp_path: Path) -> None:
    popular = tmp_path / "popular.txt"
    popular.write_text("http://a/\n\nhttp://b/\nhttp://c/\n")
    seen = dupe_filter(SEEN_CACHE_POLICY="static", SEEN_CACHE_FILE=str(popular), SEEN_CACHE_SIZE=2)
    for url in ("http://a/", "http://b/", "http://c/"):
        seen.filter.is_news(url, 0.5)
    assert [seen.filter.is_news(url, 0.5) for url in ("http://a/", "http://b/", "http://c/")] == [False, False, True]


@pytest.mark.parametrize("file", ["", "absent.txt"])
def test_the_static_policy_without_a_file_says_what_to_do(file: str) -> None:
    with pytest.raises(ConfigurationError, match="SEEN_CACHE_FILE"):
        dupe_filter(SEEN_CACHE_POLICY="static", SEEN_CACHE_FILE=file)


PAGES = 24
SPELLINGS = (
    "/page/{}",
    "/page/{}#top",
    "/x/../page/{}",
    "/%70age/{}",
    "/page/{}?utm_source=feed",
    "/page/{};jsessionid=1",
)

CRAWL = """
    import json, sys
    from scrapy import Request, Spider
    from scrapy.crawler import CrawlerProcess

    class LinkSpider(Spider):
        name = "links"

        async def start(self):
            yield Request(sys.argv[1] + "/page/0")

        def parse(self, response):
            for link in response.css("a::attr(href)").getall():
                yield Request(sys.argv[1] + link)

    process = CrawlerProcess(json.loads(sys.argv[2]))
    crawler = process.create_crawler(LinkSpider)
    process.crawl(crawler)
    process.start()
    stats = crawler.stats.get_stats()
    print(json.dumps({name: stats.get(name, 0) for name in
        ("dupefilter/filtered", "downloader/response_count", "finish_reason", "log_count/ERROR")}))
"""


class Site:
    """A ring of pages that link to their neighbours in every spelling; it counts who was fetched."""

    def __init__(self) -> None:
        fetched = self.fetched = Counter[str]()

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                page = self.path.partition("?")[0].partition(";")[0].rpartition("/")[2]
                fetched[page] += 1
                neighbours = [(int(page) + step) % PAGES for step in range(1, 4)]
                links = [spelling.format(other) for other in neighbours for spelling in SPELLINGS]
                body = "".join(f'<a href="{link}">x</a>' for link in links).encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()
    thread = Thread(target=site.server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield site
    site.server.shutdown()
    thread.join()
    site.server.server_close()


def crawl(site: Site, **settings: Any) -> dict[str, Any]:
    base = OURS | {"ROBOTSTXT_OBEY": False, "TELNETCONSOLE_ENABLED": False, "LOG_LEVEL": "WARNING", "DOWNLOAD_DELAY": 0}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(CRAWL), site.url, json.dumps(base | settings)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    stats = json.loads(done.stdout.splitlines()[-1])
    assert stats["log_count/ERROR"] == 0, done.stderr
    return stats


def test_a_crawl_with_scrapys_scheduler_fetches_every_page_once(site: Site) -> None:
    stats = crawl(site, SEEN_CACHE_SIZE=20)
    assert site.fetched == Counter({str(page): 1 for page in range(PAGES)})
    assert stats["dupefilter/filtered"] == PAGES * 3 * len(SPELLINGS) - (PAGES - 1)


def test_a_stopped_crawl_resumes_and_fetches_nothing_twice(site: Site, tmp_path: Path) -> None:
    job = {"JOBDIR": str(tmp_path / "job"), "CONCURRENT_REQUESTS": 1}
    first = crawl(site, CLOSESPIDER_PAGECOUNT=5, **job)
    assert first["finish_reason"] == "closespider_pagecount"
    assert 5 <= len(site.fetched) < PAGES
    second = crawl(site, **job)
    assert second["finish_reason"] == "finished"
    assert site.fetched == Counter({str(page): 1 for page in range(PAGES)})
