"""What an agent holds: no page is acknowledged before its links have arrived, whatever order things happen in."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from scrapy import Request

from extensions.frontier.oracle import DictFrontier
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


def looking(worth):
    """Holdings that give back what is worth less than half of what it was queued with."""
    return Holdings(look=lambda lease: [(m, worth[m]) for m, q, *_ in lease.urls if worth.get(m, 1.0) < q / 2])


def lease_of(frontier, *qualities):
    frontier.admit(0, [Candidate(SERVER, f"/{n}", 0, n, quality) for n, quality in enumerate(qualities)])
    ((found,), _) = frontier.lease(0, "agent", 1, 1000)
    return found


def queued(frontier):
    return [(url.member, round(url.quality, 2)) for row in frontier.peek(9) for url in row.head]


def test_what_is_worth_clearly_less_by_now_is_not_fetched_but_queued_again_for_what_it_is_worth():
    frontier = DictFrontier()
    holdings = looking({"/0": 0.1})
    found = lease_of(frontier, 0.9, 0.8)
    assert [url.member for url in found.urls] == ["/0", "/1"]
    assert [url.member for url in holdings.opened(found).waiting] == ["/1"]
    holdings.finished(hand_out(holdings))
    (settlement,) = holdings.settlements()
    assert frontier.settle(0, settlement)
    assert queued(frontier) == [("/0", 0.1)]
    assert [url.member for url in holdings.opened(lease_of(frontier)).waiting] == ["/0"], (
        "worth what it was queued with"
    )


def test_a_server_of_whose_urls_none_is_worth_fetching_any_more_is_released_at_once():
    frontier = DictFrontier()
    holdings = looking({"/0": 0.1, "/1": 0.2})
    server = holdings.opened(lease_of(frontier, 0.9, 0.8))
    assert server.drained
    assert holdings.unsettled
    (settlement,) = holdings.settlements()
    assert holdings.empty
    assert frontier.settle(0, settlement)
    assert queued(frontier) == [("/1", 0.2), ("/0", 0.1)]


def test_a_server_of_which_all_is_given_back_is_kept_until_the_request_of_its_lost_lease_has_ended():
    worth = {}
    holdings = looking(worth)
    late = holdings.opened(lease(2, token=1))
    hand_out(holdings)
    late.busy = True
    holdings.lost(SERVER, token=1)
    worth |= {"/0": 0.1, "/1": 0.1}
    holdings.opened(lease(2, token=2))
    assert holdings.settlements() == []
    holdings.left_late(late)
    (settlement,) = holdings.settlements()
    assert (settlement.token, settlement.release) == (2, True)
