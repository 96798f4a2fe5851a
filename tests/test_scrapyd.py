"""A real scrapyd in an empty folder: the egg deployed with `scrapyd-deploy`, jobs run to their end, cancelled, and resumed."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlencode
from urllib.request import ProxyHandler, build_opener

import pytest
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as NoRedis
from redis.retry import Retry

from extensions.frontier.embedded import EmbeddedRedis
from tests.deployment import DEPLOY, copy_project

pytestmark = pytest.mark.timeout(120)

SECONDS = 40
"""How long anything may take; all of it takes a few."""
BOOK = 12
"""Pages of the site that has an end."""
TEXT = "A git branch points to a commit. Merge a branch, rebase it, or open a pull request to the repository of the project. "
HURRY = {"CRAWL_DELAY": "0", "CRAWL_DELAY_FACTOR": "0", "TELNETCONSOLE_ENABLED": "0"}

CONF = """
[scrapyd]
bind_address = 127.0.0.1
http_port = {port}
poll_interval = 0.1
max_proc = 2
eggs_dir = eggs
logs_dir = logs
dbs_dir = dbs
"""


class Site(ThreadingHTTPServer):
    """Two books on version control: pages of /book/ have an end, those of /endless/ do not. Notes what it was asked for."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Page)
        self.asked = Counter()
        self.url = f"http://127.0.0.1:{self.server_port}"


class Page(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked[self.path] += 1
        _, book, number = (self.path + "//").split("/")[:3]
        if not number.isdigit() or book not in ("book", "endless"):
            self.send_error(404)
            return
        if book == "endless":
            time.sleep(0.03)  # long enough to be cancelled in
        following = [n for n in range(int(number) + 1, int(number) + 4) if n < BOOK or book == "endless"]
        links = " ".join(f'<a href="/{book}/{n}">git branch {n}</a>' for n in following)
        body = f"<title>Version control with git, page {number}</title><p>{TEXT * 5}</p><p>{links}</p>".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


class Scrapyd:
    """Scrapyd's web service, and what it left in its folder."""

    def __init__(self, folder, port):
        self.folder = folder
        self.url = f"http://127.0.0.1:{port}/"
        self.opener = build_opener(ProxyHandler({}))

    def ask(self, service, **fields):
        return self._reply(f"{self.url}{service}.json?{urlencode(fields)}")

    def tell(self, service, **fields):
        return self._reply(f"{self.url}{service}.json", urlencode(fields, doseq=True).encode())

    def _reply(self, url, data=None):
        with self.opener.open(url, data, timeout=10) as response:
            reply = json.load(response)
        assert reply["status"] == "ok", reply
        return reply

    def schedule(self, seeds, output, **settings):
        settings = HURRY | {"OUTPUT_DIR": str(output)} | settings
        pairs = [f"{name}={value}" for name, value in settings.items()]
        return self.tell("schedule", project="topicspider", spider="topic", seeds=seeds, setting=pairs)["jobid"]

    def state(self, job):
        jobs = self.ask("listjobs")
        return next(state for state in ("pending", "running", "finished") if job in {one["id"] for one in jobs[state]})

    def wait_for_the_end(self, job):
        wait_until(lambda: self.state(job) == "finished", lambda: self.log(job))

    def log_of(self, job):
        """What a user sees of a job."""
        path = self.folder / "logs" / "topicspider" / "topic" / f"{job}.log"
        return path.read_text("utf-8") if path.exists() else "(the job wrote no log)"

    def log(self, job):
        """That, and what scrapyd says of all jobs."""
        return self.log_of(job) + (self.folder / "scrapyd.log").read_text("utf-8")


def wait_until(condition, report):
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline, report()
        time.sleep(0.05)


@contextmanager
def running_scrapyd(folder, port, environment):
    """Start it, and leave none of its processes behind: not it, not its jobs, not their Redis."""
    (folder / "scrapyd.conf").write_text(CONF.format(port=port))
    with (folder / "scrapyd.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "scrapyd"],
            cwd=folder,
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(10)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        with suppress(NoRedis), redis_of(folder) as client:
            client.shutdown(nosave=True)


def redis_of(folder):
    """The private Redis of the jobs: its folder is below scrapyd's own, as there is no project folder."""
    path = str(EmbeddedRedis(folder / ".scrapy" / "redis").socket)
    return Redis(unix_socket_path=path, retry=Retry(NoBackoff(), 0))


def is_up(folder):
    with redis_of(folder) as client:
        try:
            return client.ping()
        except NoRedis:
            return False


@pytest.fixture(scope="module")
def site():
    with Site() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()


@pytest.fixture(scope="module")
def scrapyd(tmp_path_factory):
    """A scrapyd that has the egg, deployed as scrapy.cfg says; the project's folder is not where it runs."""
    folder = tmp_path_factory.mktemp("scrapyd")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    home = tmp_path_factory.mktemp("home")
    environment = {
        name: value
        for name, value in os.environ.items()
        if not re.match(r"SCRAPY|PYTHON(PATH|STARTUP)|REDIS|.*_proxy$", name, re.IGNORECASE)
    } | {"HOME": str(home)}
    with running_scrapyd(folder, port, environment) as process:
        server = Scrapyd(folder, port)

        def answers():
            assert process.poll() is None, (folder / "scrapyd.log").read_text()
            with suppress(OSError):
                return server.ask("daemonstatus")

        wait_until(answers, (folder / "scrapyd.log").read_text)
        project = copy_project(tmp_path_factory.mktemp("project"))
        target = (project / "scrapy.cfg").read_text()
        assert "http://localhost:6800/" in target
        (project / "scrapy.cfg").write_text(target.replace("http://localhost:6800/", server.url))
        done = subprocess.run(DEPLOY, cwd=project, env=environment, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr + done.stdout
        reply = json.loads(done.stdout)
        assert reply.get("spiders") == 1, reply["message"]
        yield server


def pages(output):
    """Whole lines: the job may be writing."""
    path = output / "pages.jsonl"
    return [json.loads(line) for line in path.read_text("utf-8").split("\n")[:-1]] if path.exists() else []


def summary(output):
    return json.loads((output / "summary.json").read_text("utf-8"))


def test_the_egg_shows_scrapyd_its_spider(scrapyd):
    assert scrapyd.ask("listprojects")["projects"] == ["topicspider"]
    assert scrapyd.ask("listspiders", project="topicspider")["spiders"] == ["topic"]


def test_a_job_of_a_campaign_runs_to_its_end_and_stores_its_pages(scrapyd, site, tmp_path):
    job = scrapyd.schedule(f"{site.url}/book/0", tmp_path, CAMPAIGN="english")
    scrapyd.wait_for_the_end(job)
    log = scrapyd.log(job)
    assert "Traceback" not in log
    assert " ERROR: " not in log
    assert "Process finished" in log, "its exit status is 0"
    found = summary(tmp_path)
    assert (found["crawl"], found["finish_reason"], found["pages"]) == ("topic-english", "finished", BOOK), log
    assert {page["url"] for page in pages(tmp_path)} == {f"{site.url}/book/{number}" for number in range(BOOK)}
    assert (scrapyd.folder / ".scrapy" / "redis" / "appendonly.aof").exists(), "the job had a private Redis"
    assert not is_up(scrapyd.folder), "and it ended with the job"


def test_a_cancelled_job_ends_cleanly_and_the_next_one_resumes_it(scrapyd, site, tmp_path):
    crawl = {"CAMPAIGN": "english", "FRONTIER_CRAWL": "cancelled"}
    job = scrapyd.schedule(f"{site.url}/endless/0", tmp_path, **crawl)
    wait_until(lambda: len(pages(tmp_path)) >= 5, lambda: scrapyd.log(job))
    assert scrapyd.tell("cancel", project="topicspider", job=job)["prevstate"] == "running"
    scrapyd.wait_for_the_end(job)
    log = scrapyd.log(job)
    assert "Traceback" not in log
    assert " ERROR: " not in log
    first = summary(tmp_path)
    assert first["finish_reason"] == "shutdown"
    assert len(pages(tmp_path)) == first["pages"] == first["relevant"], "what was fetched is stored"
    assert not is_up(scrapyd.folder)

    job = scrapyd.schedule(f"{site.url}/endless/0", tmp_path, **crawl, CLOSESPIDER_PAGECOUNT=5)
    scrapyd.wait_for_the_end(job)
    second = summary(tmp_path)
    assert second["finish_reason"] == "closespider_pagecount", scrapyd.log(job)
    assert second["resumed"] is True
    assert second["pages_total"] == first["pages"] + second["pages"] == len(pages(tmp_path))
    twice = {path for path, count in site.asked.items() if count > 1 and path.startswith("/endless/")}
    assert not twice, "what was fetched before the cancellation is not fetched again"


def test_two_jobs_share_one_private_redis_and_nothing_else(scrapyd, site, tmp_path):
    outputs = {name: tmp_path / name for name in ("one", "other")}
    jobs = [
        scrapyd.schedule(f"{site.url}/book/{place}", output, CAMPAIGN="english", FRONTIER_CRAWL=name)
        for place, (name, output) in zip((0, BOOK - 3), outputs.items(), strict=True)
    ]
    for job in jobs:
        scrapyd.wait_for_the_end(job)
    assert [summary(output)["pages"] for output in outputs.values()] == [BOOK, 3]
    assert not is_up(scrapyd.folder)


def test_a_mistake_in_a_job_is_in_its_log_as_one_sentence(scrapyd, site, tmp_path):
    job = scrapyd.schedule(f"{site.url}/book/0", tmp_path / "none", CAMPAIGN="englsh")
    scrapyd.wait_for_the_end(job)
    sentence = "There is no campaign 'englsh' in settings/campaigns; there are: chinese, english, sample."
    assert sentence in scrapyd.log_of(job).splitlines()[-1]
    assert "Process died: exitstatus=2" in scrapyd.log(job)
    assert "Traceback" not in scrapyd.log(job)
    assert not (tmp_path / "none").exists()
