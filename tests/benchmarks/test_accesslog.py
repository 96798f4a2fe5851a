"""The checker of access logs finds what is wrong in a log that is known to be wrong, and nothing in one that is right."""

from __future__ import annotations

import http.client
from typing import Any

import pytest

from tests.benchmarks.accesslog import fetched, repeated, requests_per_page, violations
from tests.localweb.web import LocalWeb, write_site

DELAY_MS = 50.0


def request(start: float, end: float, path: str = "/", **more: Any) -> dict[str, Any]:
    """A line of the log."""
    return {
        "start_ms": start,
        "end_ms": end,
        "scheme": "http",
        "host": "a.test",
        "port": 80,
        "path": path,
        "status": 200,
    } | more


def kinds(*records: dict[str, Any], **options: Any) -> list[str]:
    return [violation.kind for violation in violations(records, crawl_delay_ms=DELAY_MS, **options)]


def test_requests_that_keep_the_delay_are_no_violation():
    assert kinds(request(0, 10), request(60, 70), request(120, 500), request(550, 560)) == []


def test_requests_that_overlap_are_found():
    assert kinds(request(0, 100), request(90, 95)) == ["overlap"]


def test_a_request_within_another_is_found_also_behind_a_short_one():
    assert kinds(request(0, 1000), request(200, 210), request(300, 310)) == ["overlap", "overlap"]


def test_a_request_before_the_delay_is_over_is_found():
    (found,) = violations([request(0, 10, "/a"), request(40, 50, "/b")], crawl_delay_ms=DELAY_MS)
    assert (found.kind, found.server, found.paths, found.gap_ms) == ("early", "http://a.test", ("/a", "/b"), 30)
    assert "/b" in str(found)


def test_the_order_of_lines_does_not_matter():
    assert kinds(request(40, 50), request(0, 10)) == ["early"]


@pytest.mark.parametrize(("gap", "found"), [(46, []), (44, ["early"])])
def test_clocks_are_granted_a_few_milliseconds(gap, found):
    assert kinds(request(0, 10), request(10 + gap, 100)) == found


@pytest.mark.parametrize("other", [{"host": "b.test"}, {"port": 8080}, {"scheme": "https", "port": 443}])
def test_other_servers_are_left_out_of_account(other):
    assert kinds(request(0, 100), request(50, 60, **other)) == []


def test_robots_txt_is_a_request_like_any_other():
    assert kinds(request(0, 10, "/robots.txt"), request(20, 30)) == ["early"]
    assert kinds(request(0, 10), request(20, 30, "/robots.txt")) == ["early"]


def test_what_robots_txt_asks_for_holds_from_when_it_was_read():
    asked = {"crawl_delays_ms": {"a.test": 200.0}}
    before = [request(0, 10), request(70, 80)]
    assert kinds(*before, request(140, 150, "/robots.txt"), request(400, 410), **asked) == []
    assert kinds(*before, request(140, 150, "/robots.txt"), request(210, 220), **asked) == ["early"]
    assert kinds(*before, request(140, 150, "/robots.txt", status=404), request(210, 220), **asked) == []


def test_what_robots_txt_asks_for_never_shortens_the_delay():
    assert kinds(request(0, 10, "/robots.txt"), request(30, 40), crawl_delays_ms={"a.test": 5.0}) == ["early"]


def test_pages_are_counted_by_url_and_robots_txt_is_none():
    log = [request(0, 1, "/robots.txt"), request(2, 3), request(4, 5), request(6, 7, "/x", status=0)]
    assert requests_per_page(log) == {"http://a.test/": 2, "http://a.test/x": 1}
    assert repeated(log) == 1
    assert fetched(log) == {"http://a.test/"}


def test_a_real_log_of_a_rude_client_is_found_out_and_of_a_polite_one_is_not(tmp_path):
    write_site(tmp_path, "a.test", {"/": "a"})
    write_site(tmp_path, "b.test", {"/": "b"})
    with LocalWeb(tmp_path, latency_ms=100) as web:
        connections = [http.client.HTTPConnection("127.0.0.1", web.http_port) for _ in range(2)]
        for connection in connections:  # both at once
            connection.request("GET", "/", headers={"Host": "a.test"})
        for connection in connections:
            connection.getresponse().read()
        for _ in range(2):  # one after the other, without a delay
            connections[0].request("GET", "/", headers={"Host": "b.test"})
            connections[0].getresponse().read()
        log = web.access_log()
        for connection in connections:
            connection.close()
    assert [(one.kind, one.server) for one in violations(log, crawl_delay_ms=10_000)] == [
        ("overlap", "http://a.test"),
        ("early", "http://b.test"),
    ]
    assert [one.kind for one in violations(log, crawl_delay_ms=0)] == ["overlap"]
