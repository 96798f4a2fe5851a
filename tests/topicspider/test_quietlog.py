"""Which tracebacks are worth a user's while: those of faults of code."""

from __future__ import annotations

import logging

import pytest
from scrapy import Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import CannotResolveHostError, DropItem, NotConfigured, ResponseDataLossError
from scrapy.http import Request, Response
from scrapy.logformatter import LogFormatter

from topicspider.quietlog import CLEANING_UP, FILTERED, HeldBack, QuietLogExtension, QuietLogFormatter


@pytest.fixture
def crawler():
    made = Crawler(Spider, {"LOG_LEVEL": "INFO"})
    made.spider = Spider("quiet")
    return made


@pytest.fixture
def quiet(crawler):
    extension = QuietLogExtension.from_crawler(crawler)
    yield extension
    extension.engine_stopped()


def told(caplog, name, error, spider):
    """What the log says of an error, and whether with a traceback."""
    logging.getLogger(name).error("Error downloading %(url)s", {"url": "u"}, exc_info=error, extra={"spider": spider})
    record = caplog.records[-1]
    return record.getMessage(), record.exc_info is not None


@pytest.mark.parametrize("name", FILTERED)
@pytest.mark.usefixtures("quiet")
def test_a_network_error_is_one_line_with_its_text(caplog, crawler, name):
    message = "no such\n  host"
    assert told(caplog, name, CannotResolveHostError(message), crawler.spider) == (
        "Error downloading u: CannotResolveHostError: no such host",
        False,
    )
    assert told(caplog, name, ResponseDataLossError(), crawler.spider) == (
        "Error downloading u: ResponseDataLossError",
        False,
    )
    assert told(caplog, name, ConnectionResetError("u"), crawler.spider) == ("Error downloading u", False)


@pytest.mark.parametrize("error", [ValueError("x"), FileNotFoundError("x"), KeyError("x"), RuntimeError()])
@pytest.mark.usefixtures("quiet")
def test_a_fault_of_code_keeps_its_traceback(caplog, crawler, error):
    assert told(caplog, FILTERED[0], error, crawler.spider) == ("Error downloading u", True)


@pytest.mark.usefixtures("quiet")
def test_another_crawl_in_the_process_is_left_alone(caplog):
    assert told(caplog, FILTERED[0], CannotResolveHostError("x"), Spider("other")) == ("Error downloading u", True)


def test_when_the_crawl_is_over_all_is_as_before(caplog, crawler, quiet):
    quiet.engine_stopped()
    assert told(caplog, FILTERED[0], CannotResolveHostError("x"), crawler.spider) == ("Error downloading u", True)


@pytest.mark.parametrize("level", ["DEBUG", "10", 10])
def test_who_asks_for_everything_gets_everything(level):
    with pytest.raises(NotConfigured):
        QuietLogExtension.from_crawler(Crawler(Spider, {"LOG_LEVEL": level}))


def test_no_line_is_put_together_for_what_went_well_unless_everything_is_asked_for():
    request, response = Request("http://a.test/"), Response("http://a.test/")
    for level, told in (("INFO", False), ("WARNING", False), ("DEBUG", True), ("10", True)):
        made = Crawler(Spider, {"LOG_LEVEL": level})
        made.spider = Spider("quiet")
        formatter = QuietLogFormatter.from_crawler(made)
        assert (formatter.crawled(request, response, made.spider) is not None) is told
        assert (formatter.scraped({}, response, made.spider) is not None) is told
        dropped = DropItem("dull", log_level="WARNING")
        assert formatter.dropped({}, dropped, response, made.spider) == LogFormatter().dropped(
            {}, dropped, response, made.spider
        )


def test_what_scrapy_stumbles_over_is_told_unless_it_follows_from_a_fault_that_is(caplog, crawler):
    for drop, expected in ((True, 0), (False, 1)):
        caplog.clear()
        held = HeldBack(crawler)
        logging.getLogger(CLEANING_UP[0]).error("Scraper close failure", exc_info=RuntimeError("no slot"))
        assert not caplog.records
        if drop:
            held.drop()
        held.release()
        assert len(caplog.records) == expected


def test_nothing_is_held_back_once_the_crawl_has_opened(caplog, crawler):
    held = HeldBack(crawler)
    crawler.signals.send_catch_log(signals.spider_opened, spider=crawler.spider)
    assert told(caplog, CLEANING_UP[0], RuntimeError(), crawler.spider)[1]
    held.release()
