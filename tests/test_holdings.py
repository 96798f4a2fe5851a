"""What an agent holds: no page is acknowledged before its links have arrived, whatever order things happen in."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from scrapy import Request

from extensions.frontier.records import Candidate, Lease, LeasedUrl
from extensions.holdings import Holdings
from extensions.openserver import HandedOut

SERVER = "http://a.test"


def lease(urls, token=1):
    return Lease(SERVER, token, 1000, 0, 0.0, 0.0, 0.0, tuple(LeasedUrl(f"/{n}", 0.5, 0, 0) for n in range(urls)))


def hand_out(holdings):
    server = holdings.open_servers[SERVER]
    url = server.waiting.popleft()
    request = Request(SERVER + url.member)
    holdings.handed[request] = HandedOut(server, url, answered=True, downloaded=True)
    server.unfinished += 1
    return request


def links(request, count):
    return [Candidate(SERVER, f"{request.url}/{n}", 0, n, 0.5) for n in range(count)]


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("page"), st.integers(0, 3)),
            st.tuples(st.just("depart"), st.integers(1, 4)),
            st.tuples(st.sampled_from(["arrive", "come back", "settle"]), st.just(0)),
        ),
        max_size=60,
    )
)
def test_a_page_is_acknowledged_only_after_its_links_have_arrived(steps):
    holdings = Holdings()
    holdings.opened(lease(100))
    links_of, arrived, acknowledged = {}, set(), []
    on_the_way = None
    for step, number in steps:
        if step == "page" and SERVER in holdings.open_servers:
            request = hand_out(holdings)
            links_of[request.url] = links(request, number)
            holdings.candidates += links_of[request.url]
            holdings.finished(request)
        elif step == "depart" and on_the_way is None:
            on_the_way = holdings.depart(number)
        elif step == "arrive" and on_the_way is not None:
            arrived |= {one.member for one in on_the_way}
            holdings.arrived(on_the_way)
            on_the_way = None
        elif step == "come back" and on_the_way is not None:
            holdings.came_back()
            on_the_way = None
        elif step == "settle" and on_the_way is None:
            for settlement in holdings.settlements():
                acknowledged += settlement.done
        for member in acknowledged:
            assert {link.member for link in links_of[SERVER + member]} <= arrived
    assert len(acknowledged) == len(set(acknowledged))


def test_a_page_without_links_need_not_wait_for_anybody():
    holdings = Holdings()
    holdings.opened(lease(1))
    holdings.finished(hand_out(holdings))
    (settlement,) = holdings.settlements()
    assert settlement.done == ("/0",)
    assert settlement.release
    assert holdings.empty


def test_a_lease_that_somebody_else_has_now_is_held_no_more():
    holdings = Holdings()
    server = holdings.opened(lease(3))
    assert not holdings.lost(SERVER, token=7)
    assert holdings.lost(SERVER, token=1)
    assert server.stale
    assert holdings.empty
    assert not holdings.lost(SERVER, None)


def test_a_lost_lease_takes_the_requests_along_that_waited_for_its_server():
    holdings = Holdings()
    server = holdings.opened(lease(2))
    request = hand_out(holdings)
    server.put_back.append((request, holdings.handed[request]))
    assert holdings.lost(SERVER, token=1)
    assert holdings.empty, "else the crawl would wait for it for ever"
