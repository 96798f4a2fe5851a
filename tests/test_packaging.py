"""The egg that `scrapyd-deploy` builds: all that a crawl needs is in it, and works from inside the zip."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from configparser import ConfigParser
from pathlib import PurePosixPath
from zipfile import ZipFile

import pytest

from tests.deployment import PROJECT, build_egg, copy_project

PACKAGES = ("settings", "topicspider", "extensions")

ADMIT_AND_LEASE = """
import asyncio
import json
from redis.asyncio import Redis
from extensions.frontier.records import Candidate, Rules
from extensions.frontier.redis import RedisFrontier


async def main(url, crawl):
    async with Redis.from_url(url) as client:
        frontier = RedisFrontier(client, crawl, Rules())
        admission = await frontier.admit(0, [Candidate("http://a", "/", 1, 2, 0.5)])
        (lease,), _ = await frontier.lease(0, "agent", 1, 1000)
        await frontier.clear()
        print(json.dumps([admission.admitted, lease.server, [url.member for url in lease.urls]]))


asyncio.run(main(*sys.argv[2:]))
"""

IMPORT_EVERYTHING = """
import importlib
import pkgutil

found = [
    module.name
    for package in sys.argv[2:]
    for module in pkgutil.walk_packages(importlib.import_module(package).__path__, package + ".")
]
for name in found:
    assert importlib.import_module(name).__spec__.origin.startswith(sys.argv[1]), name
print(*found)
"""

SCORE = """
from extensions.scoring import Topic, make_model

for topic, title, text in [
    ("compost", "The compost heap", "All of the compost that is in a heap is good for the soil."),
    ("微服务", "微服务架构", "微服务是一种架构风格，服务之间通过消息队列通信。"),
]:
    assert make_model("vector", Topic.load(topic), None).score(title, text).on_topic, topic
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return copy_project(tmp_path_factory.mktemp("project"))


@pytest.fixture(scope="module")
def egg(project, tmp_path_factory):
    return build_egg(project, tmp_path_factory.mktemp("egg") / "project.egg")


@pytest.fixture
def run_from_egg(egg, tmp_path):
    """Run a program in an empty folder, isolated: the egg is all it can know of the project."""

    def run(program, *arguments):
        command = [sys.executable, "-I", "-c", f"import sys\nsys.path.insert(0, sys.argv[1])\n{program}"]
        done = subprocess.run(
            [*command, str(egg), *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        assert not list(tmp_path.iterdir()), "it left something behind"
        return done.stdout

    return run


def test_every_file_of_the_packages_is_in_the_egg(project, egg):
    """Scripts in Lua, lists of words and campaigns with them, whatever kind of file is added one day."""
    expected = {
        str(PurePosixPath(path.relative_to(project)))
        for package in PACKAGES
        for path in (project / package).rglob("*")
        if path.is_file()
    }
    assert {PurePosixPath(name).suffix for name in expected} >= {".py", ".lua"}
    assert expected <= set(ZipFile(egg).namelist())


def test_campaigns_and_scripts_are_where_the_code_looks_for_them(egg):
    names = set(ZipFile(egg).namelist())
    assert {f"settings/campaigns/{name}.py" for name in ("__init__", "_template", "chinese", "english")} <= names
    verbs = ("common", "admit", "lease", "settle", "renew", "reclaim", "peek")
    assert {f"extensions/frontier/lua/{name}.lua" for name in verbs} <= names


def test_nothing_else_is_in_the_egg(egg):
    """No tests, no build folder, no state of a crawl."""
    assert {PurePosixPath(name).parts[0] for name in ZipFile(egg).namelist()} == {"EGG-INFO", *PACKAGES}


def test_the_entry_point_names_the_settings(egg):
    points = ConfigParser()
    points.read_string(ZipFile(egg).read("EGG-INFO/entry_points.txt").decode())
    assert {name: dict(points[name]) for name in points.sections()} == {"scrapy": {"settings": "settings.base"}}


def test_the_eggs_requirements_are_those_of_the_requirements_file(egg):
    required = ZipFile(egg).read("EGG-INFO/requires.txt").decode().partition("\n[")[0]
    names = re.compile(r"^[\w-]+", re.MULTILINE)
    assert set(names.findall(required)) == set(names.findall((PROJECT / "requirements.txt").read_text())) != set()


def test_building_needs_no_more_than_a_two_line_setup():
    lines = [line for line in (PROJECT / "setup.py").read_text().splitlines() if line]
    assert lines == ["from setuptools import setup", "setup()"]


def test_the_frontier_opens_from_the_egg(run_from_egg, redis_server):
    printed = run_from_egg(ADMIT_AND_LEASE, redis_server.url, "egg")
    assert json.loads(printed) == [1, "http://a", ["/"]]


def test_every_module_can_be_imported_from_the_egg(run_from_egg):
    found = run_from_egg(IMPORT_EVERYTHING, *PACKAGES).split()
    assert {"settings.campaigns.english", "topicspider.spiders.topic", "extensions.frontier.redis"} <= set(found)


def test_pages_are_scored_with_the_word_lists_in_the_egg(run_from_egg):
    run_from_egg(SCORE)
