"""Campaigns: `-s CAMPAIGN=name` loads one, the command line still wins, and mistakes are told in one sentence."""

from __future__ import annotations

import importlib
import pkgutil
import re
import shutil
import socket
import subprocess
import sys
from dataclasses import fields

import pytest
from scrapy.crawler import Crawler
from scrapy.settings import Settings

import settings.campaigns
from extensions.config import Config
from extensions.errors import ConfigurationError
from extensions.scoring import Topic
from extensions.urls import Canonicaliser
from tests.deployment import copy_project
from topicspider.spiders.topic import TopicSpider, campaign, read_seeds

MODULES = sorted(module.name for module in pkgutil.iter_modules(settings.campaigns.__path__))
CAMPAIGNS = [name for name in MODULES if not name.startswith("_")]


def settings_of(**command_line):
    """The settings of a crawler for the topic spider, as `scrapy crawl topic -s …` makes them."""
    made = Settings()
    made.setmodule("settings.base")
    made.setdict(command_line, priority="cmdline")
    return Crawler(TopicSpider, made).settings


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A copy that tests may add campaigns to, and crawl in."""
    return copy_project(tmp_path_factory.mktemp("project"))


@pytest.fixture
def nobody():
    """An address on this machine where nobody answers, for as long as the test runs."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}/"


def crawl(project, *arguments):
    command = [sys.executable, "-m", "scrapy", "crawl", "topic", *arguments]
    return subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=60)


def crawl_nobody(project, nobody, *arguments):
    """A whole crawl that ends at its seed: connection refused."""
    settings = ("RETRY_TIMES=0", "ROBOTSTXT_OBEY=False", "CRAWL_DELAY=0", "SCHEDULER_FLUSH_ON_START=True")
    return crawl(project, *(part for one in settings for part in ("-s", one)), "-a", f"seeds={nobody}", *arguments)


# Loading


def test_a_campaign_is_loaded_by_its_name():
    got = settings_of(CAMPAIGN="english")
    for name, value in campaign("english").items():
        assert got[name] == value
        assert got.getpriority(name) == 30, "of the spider: above the project, below the command line"
    assert Config.from_settings(got).crawl_of("topic") == "topic-english"


def test_what_a_campaign_leaves_out_is_as_in_the_base_settings():
    assert settings_of(CAMPAIGN="english")["CRAWL_DELAY"] == settings_of()["CRAWL_DELAY"] == 1.0


def test_the_command_line_wins_over_a_campaign():
    got = settings_of(CAMPAIGN="sample", TOPIC_TUNNEL="1", CRAWL_MAX_PAGES="5")
    assert (got.getint("TOPIC_TUNNEL"), got.getint("CRAWL_MAX_PAGES")) == (1, 5)
    assert got["CRAWL_DELAY"] == 0.0, "the campaign counts for the rest"


@pytest.mark.parametrize("nothing", ["", None])
def test_no_campaign_is_no_mistake(nothing):
    assert settings_of(CAMPAIGN=nothing)["TOPIC"] is None


@pytest.mark.parametrize("name", ["nope", "English", "_template", "english.py", "../base", "os", "__init__"])
def test_an_unknown_campaign_lists_the_known_ones(name):
    with pytest.raises(ConfigurationError) as refusal:
        settings_of(CAMPAIGN=name)
    assert str(refusal.value).endswith(f"there are: {', '.join(CAMPAIGNS)}.")
    assert repr(name) in str(refusal.value)


# What is delivered


def test_there_are_the_examples_that_the_readme_speaks_of():
    assert MODULES == ["_template", "chinese", "english", "sample"]


@pytest.mark.parametrize("name", MODULES)
def test_a_campaign_is_a_valid_configuration_with_a_topic_and_seeds(name):
    module = importlib.import_module(f"settings.campaigns.{name}")
    values = {key: value for key, value in vars(module).items() if key.isupper()}
    config = Config.from_settings(Settings(values))
    assert len(Topic.load(config.topic).terms) >= 3
    assert read_seeds(config.seeds, Canonicaliser(config.drop_parameters))
    assert values["CRAWL_MAX_PAGES"] > 0, "an example that never ends is a bad example"


@pytest.mark.parametrize("name", MODULES)
def test_a_campaign_holds_constants_only(name):
    module = importlib.import_module(f"settings.campaigns.{name}")
    assert module.__doc__
    assert [key for key in vars(module) if not key.isupper() and not key.startswith("__")] == []


def test_only_the_sample_campaign_hurries():
    hurried = [
        name for name in CAMPAIGNS if {"CRAWL_DELAY", "CRAWL_DELAY_FACTOR", "ROBOTSTXT_OBEY"} & set(campaign(name))
    ]
    assert hurried == ["sample"]


def test_what_the_template_offers_as_a_comment_is_a_setting():
    """Uncommenting a line must do what it says."""
    source = importlib.import_module("settings.campaigns._template").__loader__.get_source(
        "settings.campaigns._template"
    )
    offered = dict(re.findall(r"^# ([A-Z_]+) = ([^#\n]+?)\s*(?:#.*)?$", source, re.MULTILINE))
    assert {"TOPIC_TUNNEL", "CRAWL_MAX_RELEVANT", "DEPTH_LIMIT", "OUTPUT_DIR"} <= set(offered)
    ours = {item.metadata["name"] for item in fields(Config)}
    assert set(offered) <= ours | set(settings_of())
    Config.from_settings(Settings({name: value.strip('"') for name, value in offered.items()}))


# The command


def test_an_unknown_campaign_ends_the_command_with_status_2_and_no_traceback(project):
    done = crawl(project, "-s", "CAMPAIGN=nope")
    assert done.returncode == 2
    last = done.stderr.strip().splitlines()[-1]
    assert last.endswith(f"There is no campaign 'nope' in settings/campaigns; there are: {', '.join(CAMPAIGNS)}.")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("TOPIC = 'rust\n", "SyntaxError"),
        ("import nowhere_to_be_found\n", "No module named 'nowhere_to_be_found'"),
        ("TOPIC = UNDEFINED\n", "name 'UNDEFINED' is not defined"),
    ],
)
def test_a_campaign_that_cannot_be_read_is_told_in_a_sentence(project, source, says):
    module = project / "settings" / "campaigns" / "broken.py"
    module.write_text(source)
    try:
        done = crawl(project, "-s", "CAMPAIGN=broken")
    finally:
        module.unlink()
    assert done.returncode == 2
    assert "campaign 'broken'" in done.stderr.strip().splitlines()[-1]
    assert says in done.stderr.strip().splitlines()[-1]
    assert "Traceback" not in done.stderr


def test_a_misspelt_setting_in_a_campaign_is_told_in_a_sentence(project, nobody):
    module = project / "settings" / "campaigns" / "misspelt.py"
    module.write_text('TOPIC = "rust"\nTOPIC_TUNEL = 3\n')
    try:
        done = crawl_nobody(project, nobody, "-s", "CAMPAIGN=misspelt")
    finally:
        module.unlink()
    assert done.returncode != 0
    assert "There is no setting TOPIC_TUNEL; did you mean TOPIC_TUNNEL?" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (project / "output").exists(), "nothing is half-created"


def test_a_copy_of_the_template_is_a_campaign_that_crawls(project, nobody, tmp_path):
    """Found by its name at once; its crawl, its user agent and its results are its own, and the command line wins."""
    campaigns = project / "settings" / "campaigns"
    shutil.copy(campaigns / "_template.py", campaigns / "gardening.py")
    try:
        done = crawl_nobody(
            project, nobody, "-s", "CAMPAIGN=gardening", "-s", f"OUTPUT_DIR={tmp_path}", "-a", "topic=roses"
        )
    finally:
        (campaigns / "gardening.py").unlink()
    assert done.returncode == 1
    assert "could be fetched" in done.stderr, "of its seeds, none"
    assert "(+you@example.org)" in done.stderr
    assert "Crawl: topic-gardening, finished" in done.stderr
    assert "Topic: roses" in done.stderr
    assert "Traceback" not in done.stderr
    assert (tmp_path / "summary.json").exists()
