"""What an operator sees, on a real pseudo-terminal."""

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import time
from contextlib import contextmanager

import pytest

from tests.topicspider.crawling import ROOT, command, even_pages, site
from topicspider.figures import Figures, clock, errors
from topicspider.panel import Rates, line_of


@contextmanager
def on_a_terminal(arguments, columns=100):
    """The process with its stderr on a terminal, and the terminal's other end."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))
    environment = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES", "NO_COLOR")}
    process = subprocess.Popen(
        arguments, cwd=ROOT, stdout=subprocess.PIPE, stderr=slave, env=environment | {"TERM": "xterm-256color"}
    )
    os.close(slave)
    try:
        yield process, master
    finally:
        process.kill()
        process.communicate()
        os.close(master)


def read(master, until=None, seconds=30.0):
    """What the terminal got, until its text has a pattern or to the end."""
    got, deadline = b"", time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            part = os.read(master, 65536)
        except OSError:  # the last writer has gone
            break
        got += part
        if until and re.search(until, plain(got.decode(errors="replace"))):
            break
    return got.decode(errors="replace")


def plain(screen):
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen)


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    with site(delay_seconds=0.1) as url:
        paths = [*even_pages(80), "/page/13"]
        arguments = command(url, tmp_path_factory.mktemp("panel"), paths, raises=True)
        with on_a_terminal(arguments) as (process, master):
            screen = read(master)
            stdout, _ = process.communicate(timeout=20)
            return screen, stdout, process.returncode


def test_live_panel_shows_the_figures_moving(watched):
    screen, _, code = watched
    assert code == 0
    pages = [int(found) for found in re.findall(r"│ pages (\d+)", plain(screen))]
    assert len(set(pages)) >= 3
    assert pages == sorted(pages)
    for label in ("on topic", "harvest rate", "pages/s", "queued", "open servers", "seen cache", "elapsed"):
        assert re.search(rf"{label} [\d.:]+", plain(screen)), label


def test_log_lines_scroll_above_the_panel_unwrapped(watched):
    screen, _, _ = watched
    assert "RuntimeError: " + "thirteen" * 40 in screen
    assert "INFO: Closing spider (finished)" in screen


def test_terminal_is_given_back_with_a_table_at_the_end(watched):
    screen, stdout, _ = watched
    after = plain(screen).rpartition("Spider closed (finished)")[2]
    assert "│ pages " not in after
    assert re.search(r"On topic +│ 80 \(harvest rate 100\.0%\)", after)
    assert screen.rfind("\x1b[?25h") >= screen.rfind("\x1b[?25l")
    assert stdout == b""


def test_interrupt_ends_the_crawl_and_the_panel(tmp_path):
    with site(delay_seconds=0.1) as url, on_a_terminal(command(url, tmp_path, even_pages(500))) as (process, master):
        read(master, until=r"│ pages [1-9]")  # before the first page, Scrapy itself may not close the spider
        process.send_signal(signal.SIGINT)
        screen = plain(read(master))
        assert process.wait(timeout=20) == 0
    assert "Received SIGINT" in screen
    assert "shutdown after 0:00:0" in screen


def test_recent_rate_forgets_and_overall_rate_does_not():
    rates = Rates(0.0, recent_seconds=10.0)
    for second in range(1, 21):
        rates.update(float(second), second * 5)
    assert rates.update(21.0, 100) == (pytest.approx(4.5), pytest.approx(100 / 21))
    for second in range(22, 33):
        recent, overall = rates.update(float(second), 100)
    assert recent == 0.0
    assert overall == pytest.approx(100 / 32)


def test_figures_of_no_stats_are_zero_and_readable():
    assert line_of(Figures.read({}), 0.0, 0.0, 3725.9) == (
        "0 pages, 0 on topic (harvest rate 0.0%), 0.0 pages/s (0.0 overall), 0 URLs queued, 0 servers open, "
        "seen cache 0.0%, 1:02:05"
    )
    assert clock(0) == "0:00:00"


def test_missing_robots_file_and_forbidden_page_are_no_errors():
    got = errors(
        {
            "downloader/exception_type_count/scrapy.exceptions.IgnoreRequest": 4,
            "downloader/exception_type_count/a.TimeoutError": 1,
            "downloader/exception_type_count/b.TimeoutError": 1,
            "downloader/response_status_count/200": 50,
            "downloader/response_status_count/404": 3,
            "downloader/response_status_count/503": 2,
            "robotstxt/response_status_count/404": 3,
            "spider_exceptions/count": 1,
            "spider_exceptions/ValueError": 1,
            "log_count/ERROR": 6,
        }
    )
    assert got == {
        "total": 5,
        "download": {"TimeoutError": 2},
        "http": {"503": 2},
        "spider": {"ValueError": 1},
        "logged": 6,
    }
