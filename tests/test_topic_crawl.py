"""The topic's side of whole crawls, by the real command: what is stored, where links lead, in which order, and how a crawl ends and goes on."""

from __future__ import annotations

import json
import os
import re
import resource
import sqlite3
import subprocess
import sys
import threading
import time
import uuid
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import msgpack
import pytest
import redis

from extensions.frontier.records import Rules
from extensions.pages import parse_page
from extensions.scoring import CoverageModel, LinkFeatures, LinkMatcher, LinkModel, Topic, link_quality, make_model
from extensions.scoring.expansion import Expansion
from extensions.scoring.places import Places
from tests.localweb.web import LocalWeb, write_site
from tests.running import HURRY, PROJECT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

TOPIC = "beekeeping, honey"
GOOD, DULL = "Beekeeping and honey", "Weather"
TEXTS = {
    GOOD: "Beekeeping is the keeping of bees for their honey, and honey is what they are kept for.",
    DULL: "It rains again, and the wind comes from the sea; tomorrow it will be the same as it was.",
}

PRODUCTS = " Nectar for the apiary, propolis for varroa; the smoker comes last."
"""Words that go with the topic, and none of its own."""


def page(title: str, *links: str, text: str | None = None, head: str = "") -> str:
    """A page of that title. A link is ``url`` with a dull anchor or ``url anchor``; each stands in a paragraph of its own."""
    anchors = (link.partition(" ") for link in links)
    body = "".join(f'<p><a href="{url}">{anchor or "more"}</a></p>\n' for url, _, anchor in anchors)
    text = TEXTS[title] if text is None else text
    return f'<html lang="en"><head><title>{title}</title>{head}</head><body><p>{text}</p>\n{body}</body></html>'


@dataclass
class Run:
    """What one command left."""

    status: int
    log: str
    stats: dict[str, Any]
    summary: dict[str, Any]


@dataclass
class Project:
    """An empty folder that is a Scrapy project, with a crawl of its own in the tests' Redis and results in ``out``."""

    folder: Path
    settings: dict[str, Any]
    seeds: str = "http://a.test/"
    topic: str = TOPIC
    runs: list[Run] = field(default_factory=list)

    def start(
        self, web: LocalWeb, *arguments: str, limits: Callable[[], None] | None = None, **settings: Any
    ) -> subprocess.Popen[str]:
        """Begin ``scrapy crawl topic``."""
        self.folder.mkdir(exist_ok=True)
        (self.folder / "scrapy.cfg").write_text("[settings]\ndefault = settings.base\n")
        given = [f"topic={self.topic}", f"seeds={self.seeds}", *arguments]
        chosen = self.settings | web.settings() | settings
        return subprocess.Popen(
            [
                *(sys.executable, "-m", "scrapy", "crawl", "topic"),
                *(part for argument in given for part in ("-a", argument)),
                *(part for name, value in chosen.items() for part in ("-s", f"{name}={value}")),
            ],
            cwd=self.folder,
            env=os.environ | {"PYTHONPATH": str(PROJECT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            preexec_fn=limits,
        )

    def run(self, web: LocalWeb, *arguments: str, status: int = 0, **options: Any) -> Run:
        """The command to its end, which it is expected to come to with this exit status."""
        process = self.start(web, *arguments, **options)
        try:
            log, _ = process.communicate(timeout=60)
        finally:
            process.kill()
        assert process.returncode == status, log[-5000:]
        done = Run(status, log, read(self.folder / "stats.json"), read(self.out / "summary.json"))
        self.runs.append(done)
        return done

    @property
    def out(self) -> Path:
        return self.folder / "out"

    def lines(self) -> list[dict[str, Any]]:
        """The stored pages in the order in which they were stored; a torn line fails the test."""
        text = (self.out / "pages.jsonl").read_text()
        assert not text or text.endswith("\n")
        return [json.loads(line) for line in text.splitlines()]

    def pages(self) -> dict[str, dict[str, Any]]:
        """The same by URL, each of which may be there once."""
        lines = self.lines()
        found = {line["url"]: line for line in lines}
        assert len(found) == len(lines)
        return found

    def paths(self) -> set[str]:
        """The stored pages' paths."""
        return {url.partition(".test")[2] for url in self.pages()}

    def fetched(self) -> dict[str, dict[str, Any]]:
        """The table of fetches by URL, the last one of each."""
        with closing(sqlite3.connect(self.out / "crawl.sqlite")) as connection:
            connection.row_factory = sqlite3.Row
            return {row["url"]: dict(row) for row in connection.execute("SELECT * FROM fetched ORDER BY id")}


def read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text()) if path.exists() else {}


def requested(web: LocalWeb, host: str | None = None) -> list[str]:
    """The paths of all requests but those for robots.txt, in their order."""
    records = sorted(web.access_log(), key=lambda record: record["start_ms"])
    return [record["path"] for record in records if record["path"] != "/robots.txt" and host in (None, record["host"])]


def project_in(folder: Path, redis_server: Any, name: str, **settings: Any) -> Project:
    base = {
        "REDIS_URL": redis_server.url,
        "FRONTIER_CRAWL": f"{re.sub(r'[^A-Za-z0-9]+', '-', name)[:60]}-{uuid.uuid4().hex}",
        "OUTPUT_DIR": "out",
        "STATS_CLASS": "tests.statsfile.StatsToFile",
        "STATS_DUMP": "False",
    }
    return Project(folder / "project", HURRY | base | settings)


@pytest.fixture
def project(tmp_path, redis_server, request) -> Project:
    return project_in(tmp_path, redis_server, request.node.name)


# One crawl, over http and over https, and what it stored

SITE = {
    "/": page(
        GOOD,
        *(
            "/hives all about honey",
            "/weather",
            "/private",
            "/closed",
            "/old",
            "/missing",
            "/secret",
            "/notes.txt",
            "/data.bin",
        ),
    ),
    "/hives": page("Honey", text=TEXTS[GOOD], head='<link rel="canonical" href="/the-hives">'),
    "/weather": page(DULL, "/behind-weather"),
    "/behind-weather": page(GOOD),
    "/private": page(GOOD, "/behind-noindex", head='<meta name="robots" content="noindex">'),
    "/behind-noindex": page(GOOD),
    "/closed": page(GOOD, "/behind-nofollow", head='<meta name="robots" content="nofollow">'),
    "/behind-nofollow": page(GOOD),
    "/new": page(GOOD),
    "/secret": page(GOOD),
    "/notes.txt": "Beekeeping\n\nNotes on honey.",
    "/data.bin": b"\0\1\2" * 100,
    "/robots.txt": "User-agent: *\nDisallow: /secret\n",
}
BEHAVIOUR = {
    "hosts": {
        "a.test": {
            "faults": [{"path": "/old", "kind": "redirect", "location": "/new", "status": 301}],
            "charset": "UTF-8",
        }
    }
}


@dataclass
class Crawled:
    """A crawl that has ended, for many tests to look at."""

    root: str
    port: int
    run: Run
    pages: dict[str, dict[str, Any]]
    fetched: dict[str, dict[str, Any]]
    requested: list[str]
    began: datetime


@pytest.fixture(scope="module", params=["http", "https"])
def crawled(request, tmp_path_factory, redis_server) -> Crawled:
    folder = tmp_path_factory.mktemp(request.param)
    write_site(folder / "web", "a.test", SITE)
    root = f"{request.param}://a.test"
    project = project_in(folder, redis_server, f"whole-{request.param}")
    project.seeds = f"{root}/"
    began = datetime.now(UTC)
    with LocalWeb(folder / "web", behaviour=BEHAVIOUR) as web:
        # By words alone: so relevance does not depend on the order of the pages.
        run = project.run(web, TOPIC_MODEL="bm25")
        asked = requested(web)
        assert {record["scheme"] for record in web.access_log()} == {request.param}
    return Crawled(root, 443 if request.param == "https" else 80, run, project.pages(), project.fetched(), asked, began)


def test_relevant_pages_are_stored_and_no_others(crawled):
    paths = {"/", "/hives", "/behind-weather", "/closed", "/behind-noindex", "/new", "/notes.txt"}
    assert set(crawled.pages) == {crawled.root + path for path in paths}


def test_a_stored_page_has_every_documented_field(crawled):
    stored = dict(crawled.pages[f"{crawled.root}/hives"])
    moment = datetime.fromisoformat(stored.pop("downloaded_at"))
    assert timedelta() <= moment - crawled.began + timedelta(milliseconds=1) < timedelta(seconds=60)
    start = parse_page(SITE["/"].encode(), url=f"{crawled.root}/", declared=None)
    topic = Topic.load(TOPIC)
    model = CoverageModel(topic)
    link = next(link for link in start.links if link.url.endswith("/hives"))
    matcher = LinkMatcher(topic)
    prior = link_quality(
        parent=model.score(start.title, start.text).relevance,
        anchor=matcher.text("all about honey"),
        context=matcher.text(link.context),
        url=matcher.url(link.url),
        hops=0,
    )
    quality = LinkModel().quality(LinkFeatures(prior, link.url, 1))  # nothing was learned before its links were found
    # Title: one of two words of equal weight, 1/√2. Body: beekeeping half as often as honey, 1.5/(√1.25·√2).
    title_similarity, body_similarity = 0.707107, 0.948683
    assert stored == {
        "url": f"{crawled.root}/hives",
        "title": "Honey",
        "relevance": pytest.approx(model.score("Honey", TEXTS[GOOD]).relevance, abs=1e-5),
        "probability": pytest.approx(model.score("Honey", TEXTS[GOOD]).relevance, abs=1e-5),
        "title_similarity": title_similarity,
        "body_similarity": body_similarity,
        "quality": pytest.approx(quality, abs=1e-4),
        "depth": 1,
        "host": "a.test",
        "port": crawled.port,
        "content_type": "text/html",
        "content_length": len(SITE["/hives"]),
        "language": "en",
        "referrer": f"{crawled.root}/",
        "text": TEXTS[GOOD],
        "canonical": f"{crawled.root}/the-hives",
    }


def test_a_seed_has_the_quality_of_a_certainty_and_no_referrer(crawled):
    seed = crawled.pages[f"{crawled.root}/"]
    assert (seed["quality"], seed["depth"], seed["referrer"]) == (1.0, 0, "")


@pytest.mark.parametrize(
    ("path", "outcome", "status"),
    [
        ("/robots.txt", "robots", 200),
        ("/hives", "relevant", 200),
        ("/weather", "off_topic", 200),
        ("/notes.txt", "relevant", 200),
        ("/old", "redirect", 301),
        ("/missing", "http_error", 404),
        ("/secret", "denied", None),
    ],
)
def test_every_fetch_is_in_the_database_with_its_outcome(crawled, path, outcome, status):
    row = crawled.fetched[crawled.root + path]
    assert (row["outcome"], row["status"]) == (outcome, status)
    scored = outcome in ("relevant", "off_topic")
    assert (row["relevance"] is not None) == scored
    if path in SITE and status:
        assert row["bytes"] == len(SITE[path])
    assert (row["elapsed_ms"] is not None) == (status is not None)


def test_an_off_topic_page_keeps_its_relevance_in_the_database(crawled):
    assert crawled.fetched[f"{crawled.root}/weather"]["relevance"] < 0.1
    assert crawled.fetched[f"{crawled.root}/hives"]["relevance"] == crawled.pages[f"{crawled.root}/hives"]["relevance"]


def test_links_of_a_page_that_is_not_to_be_indexed_are_followed(crawled):
    assert f"{crawled.root}/private" not in crawled.pages
    assert crawled.pages[f"{crawled.root}/behind-noindex"]["referrer"] == f"{crawled.root}/private"
    assert crawled.run.stats["topic/noindex"] == 1


def test_links_of_a_page_that_asks_for_it_are_not_followed(crawled):
    assert f"{crawled.root}/closed" in crawled.pages
    assert "/behind-nofollow" not in crawled.requested
    assert crawled.run.stats["links/nofollow"] == 1


def test_what_robots_txt_forbids_is_not_requested(crawled):
    assert "/secret" not in crawled.requested
    assert not [path for path, times in Counter(crawled.requested).items() if times > 1]


def test_the_summary_agrees_with_what_was_stored(crawled):
    summary = crawled.run.summary
    assert summary["finish_reason"] == "finished"
    assert summary["topic"] == TOPIC
    assert summary["relevant_total"] == len(crawled.pages)
    assert summary["urls_discovered"] == crawled.run.stats["frontier/urls_discovered"] == 13
    assert summary["harvest_rate"] == pytest.approx(summary["relevant"] / summary["pages"], abs=1e-4)


# Tunnels


def tunnels(most: int) -> dict[str, str]:
    """From the first page on, ways to honey through 1 to `most` dull pages, and from there through as many again."""
    site = {"/": page(GOOD, *(f"/{way}/1" for way in range(1, most + 1)))}
    for way in range(1, most + 1):
        steps = [f"/{way}/{step}" for step in range(1, way + 1)] + [f"/{way}/honey"]
        steps += [f"/{way}/{way + step}" for step in range(1, way + 1)] + [f"/{way}/more-honey"]
        for here, there in pairwise(steps):
            site[here] = page(GOOD if "honey" in here else DULL, there)
        site[steps[-1]] = page(GOOD)
    return site


@pytest.mark.parametrize("tunnel", [0, 1, 3])
def test_exactly_so_many_off_topic_pages_in_a_row_are_gone_through(tmp_path, project, tunnel):
    write_site(tmp_path / "web", "a.test", tunnels(4))
    with LocalWeb(tmp_path / "web") as web:
        run = project.run(web, TOPIC_TUNNEL=tunnel)
        dull = {way: [path for path in requested(web) if re.fullmatch(rf"/{way}/\d+", path)] for way in range(1, 5)}
    open_ways = range(1, tunnel + 1)
    assert project.paths() == {"/"} | {f"/{way}/{end}" for way in open_ways for end in ("honey", "more-honey")}
    # One page further each: that it is off topic is known only when it is there.
    assert {way: len(paths) for way, paths in dull.items()} == {
        way: 2 * way if way <= tunnel else tunnel + 1 for way in range(1, 5)
    }
    assert run.stats["links/beyond_tunnel"] == 4 - tunnel


# Charsets and models


def test_a_chinese_topic_finds_pages_in_gbk_whatever_their_servers_say(tmp_path, project):
    text = "养蜂是饲养蜜蜂以获取蜂蜜的行业。本页介绍蜜蜂的生活以及养蜂的方法，还有中国各地的蜂蜜。"
    html = '<html><head>{}<title>养蜂与蜜蜂</title></head><body><p>{}</p><a href="{}">蜜蜂</a></body></html>'
    meta = '<meta charset="gbk">'
    following = ("http://declared.test/", "http://lying.test/", "http://dull.test/", "/")
    for host, head, link in zip(("a.test", "declared.test", "lying.test"), (meta, "", ""), following, strict=False):
        write_site(tmp_path / "web", host, {"/": html.format(head, text, link).encode("gbk")})
    write_site(tmp_path / "web", "dull.test", {"/": "<title>天气</title><p>今天下雨，明天也下雨。".encode("gbk")})
    behaviour = {
        "hosts": {
            "declared.test": {"charset": "gbk"},
            "lying.test": {"charset": "utf-8"},
            "dull.test": {"charset": "gbk"},
        }
    }
    project.topic = "养蜂, 蜜蜂"
    with LocalWeb(tmp_path / "web", behaviour=behaviour) as web:
        project.run(web)
    pages = project.pages()
    assert set(pages) == {"http://a.test/", "http://declared.test/", "http://lying.test/"}
    for stored in pages.values():
        assert stored["title"] == "养蜂与蜜蜂"
        assert stored["text"].startswith(text)
        assert stored["language"] == "zh"
        assert 0.9 < stored["relevance"] <= 1
    assert project.fetched()["http://dull.test/"]["outcome"] == "off_topic"


@pytest.mark.parametrize(
    ("settings", "stored"),
    [
        ({"TOPIC_MODEL": "vector"}, {"/title": 4.5, "/two": 2.828427}),
        ({"TOPIC_MODEL": "vector", "TOPIC_THRESHOLD": 3}, {"/title": 4.5}),
        ({"TOPIC_MODEL": "boolean"}, {"/title": 4, "/two": 2, "/body": 3}),
        ({"TOPIC_MODEL": "boolean", "TOPIC_THRESHOLD": 2}, {"/title": 4, "/body": 3}),
        ({"TOPIC_MODEL": "vector", "TOPIC_THRESHOLD": "94%"}, {"/title": 4.5}),
        ({"TOPIC_MODEL": "boolean", "TOPIC_THRESHOLD": "60%"}, {"/title": 4, "/body": 3}),
    ],
    ids=["vector", "vector above 3", "boolean", "boolean above 2", "vector, 94% sure", "boolean, 60% sure"],
)
def test_the_model_and_its_threshold_decide_what_is_relevant(tmp_path, project, settings, stored):
    project.topic = "bees, honey, wax, hives"
    four = "bees honey wax hives"
    write_site(
        tmp_path / "web",
        "a.test",
        {
            "/title": page(four, text="bees"),
            "/two": page("honey wax", text=""),
            "/body": page("Weather", text="bees, wax and honey"),
            "/one": page("Weather", text="wax"),
        },
    )
    project.seeds = ",".join(f"http://a.test/{path}" for path in ("title", "two", "body", "one"))
    with LocalWeb(tmp_path / "web") as web:
        project.run(web, **settings)
    pages = project.pages()
    assert {path.partition(".test")[2]: line["relevance"] for path, line in pages.items()} == stored
    model = make_model(settings["TOPIC_MODEL"], Topic.parse(project.topic))
    for line in pages.values():
        assert line["probability"] == pytest.approx(model.calibrated(line["relevance"]), abs=1e-5)


# Limits


def row(pages: int) -> dict[str, str]:
    """On-topic pages, each with a link to the next."""
    return {"/": page(GOOD, "/1")} | {f"/{number}": page(GOOD, f"/{number + 1}") for number in range(1, pages)}


@pytest.mark.parametrize(
    ("limit", "reason", "least", "most"),
    [
        ("depth=3", "finished", 4, 4),
        ("pages=4", "page_limit", 4, 5),
        ("relevant=4", "relevant_limit", 4, 5),
        ("minutes=0.02", "closespider_timeout", 2, 30),
    ],
)
def test_a_limit_ends_the_crawl_and_the_summary_says_which(tmp_path, project, limit, reason, least, most):
    write_site(tmp_path / "web", "a.test", row(60))
    with LocalWeb(tmp_path / "web", latency_ms=80 if "minutes" in limit else 0) as web:
        run = project.run(web, limit)
    assert run.summary["finish_reason"] == reason
    assert least <= run.summary["pages"] <= most
    assert len(project.pages()) == run.summary["pages"]
    assert run.summary["elapsed_seconds"] < 5


def test_off_topic_pages_do_not_count_for_the_limit_of_relevant_ones(tmp_path, project):
    site = {"/": page(GOOD, *(f"/d{n}" for n in range(5)), "/1")} | {f"/d{n}": page(DULL) for n in range(5)}
    write_site(tmp_path / "web", "a.test", row(30) | site)
    with LocalWeb(tmp_path / "web") as web:
        run = project.run(web, "relevant=3", FRONTIER_POLICY="breadth_first", CONCURRENT_REQUESTS=1)
    assert run.summary["finish_reason"] == "relevant_limit"
    assert 3 <= run.summary["relevant"] <= 4
    assert run.summary["pages"] >= 8


# Going on


def tree(pages: int, size: int = 0) -> dict[str, str]:
    """On-topic pages, each with links to up to three later ones and to the first."""

    def name(number: int) -> str:
        return f"/{number}" if number else "/"

    return {
        name(number): page(
            GOOD,
            *(name(child) for child in range(3 * number + 1, 3 * number + 4) if child < pages),
            "/",
            text=f"{TEXTS[GOOD]} Page {number}. {'Honey! ' * (size // 7)}",
        )
        for number in range(pages)
    }


def test_a_crawl_that_was_stopped_goes_on_and_fetches_nothing_twice(tmp_path, project):
    site = tree(40)
    write_site(tmp_path / "web", "a.test", site)
    with LocalWeb(tmp_path / "web") as web:
        first = project.run(web, "pages=12")
        stored = project.lines()
        second = project.run(web)
        assert sorted(requested(web)) == sorted(site)
        third = project.run(web)
        assert len(requested(web)) == len(site)
    assert first.summary["finish_reason"] == "page_limit"
    assert 12 <= len(stored) < 40
    assert project.lines()[: len(stored)] == stored
    assert project.paths() == set(site)
    assert (second.summary["resumed"], second.summary["pages_total"], second.summary["relevant_total"]) == (
        True,
        40,
        40,
    )
    assert second.summary["pages"] == 40 - first.summary["pages"]
    assert third.summary["pages"] == 0
    assert "Earlier runs of this crawl have fetched all there was" in third.log


def without_circumstances(lines: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """What does not depend on when, and by which way, a page was reached."""
    circumstances = ("downloaded_at", "quality", "referrer", "depth", "relevance")
    kept = [{name: value for name, value in line.items() if name not in circumstances} for line in lines]
    return sorted(kept, key=lambda line: line["url"])


def test_a_killed_crawl_goes_on_to_the_same_pages_as_an_undisturbed_one(tmp_path, project, redis_server):
    site = tree(60)
    write_site(tmp_path / "web", "a.test", site)
    (tmp_path / "other").mkdir()
    undisturbed = project_in(tmp_path / "other", redis_server, "undisturbed")
    with LocalWeb(tmp_path / "web", latency_ms=10) as web:
        undisturbed.run(web)
        before = len(requested(web))
        process = project.start(web)
        file = project.out / "pages.jsonl"
        deadline = time.monotonic() + 30
        while not (file.exists() and file.read_bytes().count(b"\n") >= 20) and time.monotonic() < deadline:
            time.sleep(0.005)
        process.kill()
        process.communicate()
        assert 20 <= file.read_bytes().count(b"\n") < 60
        with file.open("ab") as torn:
            torn.write(b'{"url": "http://a.test/59", "tit')  # where the kill might have come
        run = project.run(web)
        asked_again = len(requested(web)) - before - len(site)
    assert run.summary["finish_reason"] == "finished"
    assert without_circumstances(project.lines()) == without_circumstances(undisturbed.lines())
    assert asked_again < 30, "only what was not acknowledged is fetched again"


ONLY_PAGES = {"ITEM_PIPELINES": json.dumps({"topicspider.pipelines.pages.PagesPipeline": 800})}


@pytest.mark.parametrize(("pipelines", "full"), [({}, "crawl.sqlite"), (ONLY_PAGES, "pages.jsonl")])
def test_a_full_disk_stops_the_crawl_with_a_sentence_and_the_next_run_stores_the_rest(
    tmp_path, project, pipelines, full
):
    site = tree(40, size=8000)
    write_site(tmp_path / "web", "a.test", site)

    def no_big_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, 150_000))

    with LocalWeb(tmp_path / "web") as web:
        stopped = project.run(web, status=1, limits=no_big_files, **pipelines)
        stored = project.lines()
        again = project.run(web, **pipelines)
    told = re.findall(r"\[extensions\.scheduler\] ERROR: (.*)", stopped.log)
    assert len(told) == 1, stopped.log
    assert "Traceback" not in stopped.log
    assert f"{full}' cannot be written (" in told[0]
    assert told[0].endswith("make room on the disk and start the crawl again, it goes on where it stopped.")
    assert stopped.summary["finish_reason"] == "output_error"
    assert len(stored) < len(site)
    assert project.lines()[: len(stored)] == stored
    assert again.summary["finish_reason"] == "finished"
    assert project.paths() == set(site)
    if not pipelines:
        with closing(sqlite3.connect(project.out / "crawl.sqlite")) as connection:
            assert connection.execute("SELECT count(*) FROM pages").fetchone() == (len(site),)


# Order


@pytest.mark.parametrize(("policy", "first"), [("capability", "/9"), ("quality", "/9"), ("breadth_first", "/1")])
def test_a_page_behind_a_relevant_anchor_comes_before_pages_behind_dull_ones(tmp_path, project, policy, first):
    links = [*(f"/{number}" for number in range(1, 9)), "/9 honey from beekeeping"]
    write_site(tmp_path / "web", "a.test", {"/": page(GOOD, *links)} | {f"/{n}": page(GOOD) for n in range(1, 10)})
    with LocalWeb(tmp_path / "web") as web:
        project.run(web, FRONTIER_POLICY=policy, CONCURRENT_REQUESTS=1)
        order = requested(web)
    assert order[0] == "/"
    assert order[1] == first
    assert sorted(order[1:]) == [f"/{number}" for number in range(1, 10)]


@pytest.mark.parametrize(("policy", "first"), [("capability", "b.test"), ("breadth_first", "c.test")])
def test_a_server_with_promising_pages_comes_before_one_with_dull_ones(tmp_path, project, policy, first):
    links = [
        *(f"http://c.test/{number}" for number in range(1, 4)),
        "http://b.test/1 honey",
        "http://b.test/2 beekeeping",
    ]
    write_site(tmp_path / "web", "a.test", {"/": page(GOOD, *links)})
    for host in ("b.test", "c.test"):
        write_site(tmp_path / "web", host, {f"/{number}": page(GOOD) for number in range(1, 4)})
    with LocalWeb(tmp_path / "web") as web:
        project.run(web, FRONTIER_POLICY=policy, CONCURRENT_REQUESTS=1, FRONTIER_PARTITIONS=1)
        hosts = [record["host"] for record in sorted(web.access_log(), key=lambda record: record["start_ms"])]
    assert hosts[2] == first
    assert Counter(hosts) == {"a.test": 2, "b.test": 3, "c.test": 4}


def test_a_link_found_again_with_better_evidence_is_raised(tmp_path, project):
    dull = [f"http://b.test/{number}" for number in range(1, 9)]
    again = page(GOOD, "http://b.test/7 honey, beekeeping")
    write_site(tmp_path / "web", "a.test", {"/": page(GOOD, *dull, "http://c.test/again honey, beekeeping")})
    write_site(tmp_path / "web", "c.test", {"/again": again})
    write_site(tmp_path / "web", "b.test", {f"/{number}": page(GOOD) for number in range(1, 9)})
    with LocalWeb(tmp_path / "web") as web:
        # Unhurried, so that b.test is not leased between the download of /again and its parsing.
        run = project.run(web, CONCURRENT_REQUESTS=1, FRONTIER_FLUSH_SECONDS=0.3)
        assert requested(web)[:3] == ["/", "/again", "/7"]
    assert run.stats["frontier/raised"] == 1
    raised, other = (project.pages()[f"http://b.test/{number}"] for number in (7, 8))
    assert raised["quality"] > other["quality"] + 0.2


# The operator's contact


@pytest.mark.parametrize(
    ("seeds", "contact", "warned"),
    [
        ("http://a.test/", "", False),
        ("http://www.bees.org/,http://honey.org/", "", True),
        ("http://www.bees.org/,http://honey.org/", "keeper@bees.org", False),
    ],
)
def test_a_crawl_of_the_open_web_without_a_contact_is_told_so_once(tmp_path, project, seeds, contact, warned):
    project.seeds = seeds
    for host in ("a.test", "www.bees.org", "honey.org"):
        write_site(tmp_path / "web", host, {"/": page(GOOD)})
    with LocalWeb(tmp_path / "web") as web:
        run = project.run(web, CRAWL_CONTACT=contact)
    assert run.log.count("No CRAWL_CONTACT is set") == warned
    assert run.summary["relevant"] == len(seeds.split(","))


@pytest.mark.parametrize(
    ("contact", "agent"),
    [
        ("keeper@bees.org", "topicspider/0.1 (+keeper@bees.org)"),
        ("", "topicspider/0.1 (focused crawler; no contact given)"),
    ],
)
def test_every_server_is_told_whom_to_reach(tmp_path, project, contact, agent):
    told: list[str | None] = []

    class Server(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            told.append(self.headers["User-Agent"])
            body = page(GOOD).encode()
            self.send_response(404 if self.path == "/robots.txt" else 200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Not on the terminal of the tests."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Server) as server, LocalWeb(tmp_path) as web:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            project.run(web, CRAWL_CONTACT=contact, LOCALWEB_HTTP_PORT=server.server_port)
        finally:
            server.shutdown()
    assert told == [agent, agent], "robots.txt, then the page"
    assert project.paths() == {"/"}


# Scrapy's own scheduler


def test_with_scrapys_own_scheduler_links_become_requests(tmp_path, project):
    site = tree(20) | {"/3": page(DULL, "/10", "/11", "/12", "/dull"), "/dull": page(DULL)}
    write_site(tmp_path / "web", "a.test", site)
    with LocalWeb(tmp_path / "web") as web:
        # By words alone, as the dull pages stand among others on topic.
        run = project.run(web, SCHEDULER="scrapy.core.scheduler.Scheduler", TOPIC_MODEL="bm25")
        assert sorted(requested(web)) == sorted(site)
    assert run.summary["finish_reason"] == "finished"
    assert project.paths() == set(site) - {"/3", "/dull"}
    behind = project.pages()["http://a.test/10"]
    assert (behind["referrer"], behind["depth"]) == ("http://a.test/3", 2)
    assert 0 < behind["quality"] < project.pages()["http://a.test/4"]["quality"] < 1


@pytest.mark.parametrize("learns", [True, False])
def test_links_into_folders_that_held_relevant_pages_come_first_once_that_is_learned(tmp_path, project, learns):
    """Two folders whose links promise the same; what was found behind the first of them decides about the rest."""
    first = [f"/{folder}/{number}" for number in range(4) for folder in ("good", "dull")]
    later = [f"/{folder}/{number}" for number in range(10, 16) for folder in ("dull", "good")]
    site = {"/": page(GOOD, *first)}
    site |= {path: page(GOOD if "good" in path else DULL) for path in [*first, *later]}
    site["/good/3"] = page(GOOD, *later)
    write_site(tmp_path / "web", "a.test", site)
    with LocalWeb(tmp_path / "web") as web:
        project.run(web, TOPIC_LEARN_LINKS=learns, FRONTIER_POLICY="quality")
        log = sorted(web.access_log(), key=lambda record: record["start_ms"])
    order = [record["path"] for record in log if record["path"] in later]
    assert len(order) == len(later)
    dull_first = sum("dull" in path for path in order[:6])
    assert dull_first <= 1 if learns else dull_first >= 2


@pytest.mark.parametrize("learns", [True, False])
def test_a_server_that_turns_out_barren_is_left_for_a_richer_one_that_promised_less(tmp_path, project, learns):
    """All links were queued before anything was learned, those to the barren server with the better quality, and more of them than one lease takes."""
    lease, rest = Rules().requests_per_connection, 10
    barren, rich = [f"/{number}" for number in range(lease + rest)], [f"/{number}" for number in range(rest)]
    links = [f"http://barren.test{path} honey" for path in barren] + [f"http://rich.test{path} more" for path in rich]
    write_site(tmp_path / "web", "a.test", {"/": page(GOOD, *links)})
    write_site(tmp_path / "web", "barren.test", {path: page(DULL) for path in barren})
    write_site(tmp_path / "web", "rich.test", {path: page(GOOD) for path in rich})
    settings = {"FRONTIER_POLICY": "quality", "CONCURRENT_REQUESTS": 1, "FRONTIER_PARTITIONS": 1}
    with LocalWeb(tmp_path / "web") as web:
        # Unhurried, so that nothing is leased between the download of a page and what is learned of it.
        run = project.run(web, TOPIC_LEARN_LINKS=learns, FRONTIER_FLUSH_SECONDS=5, **settings)
        log = sorted(web.access_log(), key=lambda record: record["start_ms"])
    hosts = [record["host"] for record in log if record["path"] != "/robots.txt"][1:]
    assert hosts[:lease] == ["barren.test"] * lease
    first, last = ("rich.test", "barren.test") if learns else ("barren.test", "rich.test")
    assert hosts[lease:] == [first] * rest + [last] * rest
    assert run.stats["topic/relevant"] == 1 + rest


@pytest.mark.parametrize("model", ["bm25", "context"])
def test_what_was_learned_is_kept_with_the_crawl(tmp_path, project, redis_server, model):
    write_site(
        tmp_path / "web", "a.test", {"/": page(GOOD, "/good/1", text=TEXTS[GOOD] + PRODUCTS), "/good/1": page(GOOD)}
    )
    with LocalWeb(tmp_path / "web") as web:
        project.run(web, TOPIC_MODEL=model)
        kept = learned(redis_server, project)
        project.run(web, TOPIC_MODEL=model)
    assert set(kept) == {"links", "words"} | ({"places", "seeds"} if model == "context" else set())
    assert len(LinkModel.from_state(kept["links"])) == 2, "the server and the folder"
    places, seeds = Places(), Expansion(Topic.load(TOPIC))
    places.merge(kept.get("places", b""))
    assert len(places) == (2 if model == "context" else 0)
    seeds.merge(kept.get("seeds", b""))
    assert ("propoli" in seeds.gains(0.0)) == (model == "context")
    assert learned(redis_server, project).get("seeds") == kept.get("seeds"), "a resumed crawl knows its seeds"


def learned(redis_server: Any, project: Project) -> dict[str, bytes]:
    """What was kept with the crawl, by who learned it."""
    with redis.Redis.from_url(redis_server.url) as client:
        state = client.hget(f"frontier:{{{project.settings['FRONTIER_CRAWL']}}}:learned", "state")
    return msgpack.unpackb(state)


@pytest.mark.parametrize(
    ("start", "pushed", "outcome"),
    [
        ("http://a.test/", None, "relevant"),
        ("http://a.test/old", None, "relevant"),
        ("http://rain.test/", "http://a.test/", "relevant"),
        ("http://rain.test/portal", None, "off_topic"),
    ],
    ids=["seed", "redirected", "pushed", "no seed"],
)
def test_words_of_a_seed_tell_what_else_is_on_topic_however_it_came(
    tmp_path, project, redis_server, start, pushed, outcome
):
    """A page without any of the topic's words, found on a page with both kinds. Where that one was found as well, its words are nobody's choice."""
    seed = page(GOOD, "http://kin.test/", text=(TEXTS[GOOD] + PRODUCTS) * 4)
    write_site(tmp_path / "web", "a.test", {"/": seed})
    write_site(tmp_path / "web", "kin.test", {"/": page("Propolis and varroa", text=PRODUCTS * 3)})
    write_site(tmp_path / "web", "rain.test", {"/": page(DULL), "/portal": page(DULL, "http://a.test/")})
    behaviour = {"hosts": {"a.test": {"faults": [{"path": "/old", "kind": "redirect", "location": "/"}]}}}
    project.seeds = start
    key = f"{project.settings['FRONTIER_CRAWL']}:seeds"
    with LocalWeb(tmp_path / "web", behaviour=behaviour) as web, redis.Redis.from_url(redis_server.url) as client:
        if pushed:
            client.lpush(key, pushed)
        project.run(web, REDIS_START_URLS_KEY=key)
    fetched = project.fetched()
    assert fetched["http://a.test/"]["outcome"] == "relevant"
    assert fetched["http://kin.test/"]["outcome"] == outcome


def test_a_page_is_judged_by_what_the_crawl_saw_of_its_place_also_after_a_restart(tmp_path, project, redis_server):
    """By the default model: a page that does not name the topic belongs to the manual on it, and not to the weather report."""
    manual, report = ([f"/doc/{number}" for number in range(8)] for _ in range(2))
    write_site(tmp_path / "web", "bees.test", {path: page(GOOD) for path in manual} | {"/doc/x": page(DULL)})
    write_site(tmp_path / "web", "rain.test", {path: page(DULL) for path in report} | {"/doc/x": page(DULL)})
    project.seeds = ",".join(
        [f"http://bees.test{path}" for path in manual] + [f"http://rain.test{path}" for path in report]
    )
    key = f"{project.settings['FRONTIER_CRAWL']}:seeds"
    with LocalWeb(tmp_path / "web") as web, redis.Redis.from_url(redis_server.url) as client:
        project.run(web, REDIS_START_URLS_KEY=key)
        assert project.paths() == set(manual)
        client.lpush(key, "http://rain.test/doc/x", "http://bees.test/doc/x")
        again = project.run(web, REDIS_START_URLS_KEY=key)
    assert again.summary["pages"] == 2
    fetched = project.fetched()
    outcomes = [fetched[f"http://{host}/doc/x"]["outcome"] for host in ("bees.test", "rain.test")]
    assert outcomes == ["relevant", "off_topic"]
    assert "http://bees.test/doc/x" in project.pages()
