"""The simulator keeps to physics, to politeness and to the frontier's contract, and its bound is one."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from extensions.frontier.oracle import DictFrontier
from extensions.frontier.records import Candidate, Policy, Rules, Settlement
from tests.benchmarks import scheduling
from tests.benchmarks.simulation.bound import bounds, earliest
from tests.benchmarks.simulation.crawl import PATIENCE_SECONDS, Crawl
from tests.benchmarks.simulation.curves import curve_of, instants_of
from tests.benchmarks.simulation.ranking import Ranking
from tests.benchmarks.simulation.web import Web, make_web

if TYPE_CHECKING:
    from pathlib import Path

    from tests.benchmarks.simulation.crawl import Trace

CONNECTIONS = 6
ALMOST = 1e-9
WEBS = [
    (seed, quality, delay, informed)
    for seed in (1, 2, 3)
    for quality in ("zipf", "pagerank")
    for delay in (0.0, 0.5)
    for informed in (False, True)
]


def small_web(seed: int, quality: str = "zipf", delay: float = 0.0) -> Web:
    return make_web(seed, quality, servers=25, pages=600, delay_seconds=delay)


def rules(policy: Policy, delay: float = 0.0) -> Rules:
    return Rules(policy=policy, delay_ms=delay * 1000)


def crawl(web: Web, policy: Policy, delay: float = 0.0, *, informed: bool = False) -> Trace:
    return Crawl(web, Ranking(rules(policy, delay), informed=informed), CONNECTIONS).run()


every_policy = pytest.mark.parametrize("policy", Policy)
every_delay = pytest.mark.parametrize("delay", [0.0, 0.5, PATIENCE_SECONDS])


# The crawl


@every_policy
@every_delay
def test_every_page_is_fetched_once(policy: Policy, delay: float) -> None:
    web = small_web(1, delay=delay)
    trace = crawl(web, policy, delay)
    assert sorted(fetch.page for fetch in trace.fetches) == list(range(600))
    assert sorted(page for lease in trace.leases for page in lease.pages) == list(range(600))


@every_policy
@every_delay
def test_server_gets_one_request_at_a_time_and_its_crawl_delay_between(policy: Policy, delay: float) -> None:
    web = small_web(2, delay=delay)
    ended: dict[int, float] = {}
    for fetch in sorted(crawl(web, policy, delay).fetches, key=lambda fetch: fetch.sent):
        place = web.server_of[fetch.page]
        if place in ended:
            assert fetch.sent >= ended[place] + web.servers[place].delay_seconds - ALMOST
        ended[place] = fetch.ended


@every_policy
def test_page_takes_its_response_time_and_is_asked_for_after_a_page_that_links_to_it(policy: Policy) -> None:
    web = small_web(3)
    known = dict.fromkeys(web.seeds, 0.0)
    for fetch in crawl(web, policy).fetches:
        assert fetch.ended - fetch.sent == pytest.approx(web.response_seconds[fetch.page])
        assert fetch.sent >= known[fetch.page]
        for target in web.links[fetch.page]:
            known.setdefault(target, fetch.ended)


@every_policy
@every_delay
def test_no_more_servers_are_open_than_there_are_connections(policy: Policy, delay: float) -> None:
    web = small_web(1, delay=delay)
    trace = crawl(web, policy, delay)
    ended = {fetch.page: fetch.ended for fetch in trace.fetches}
    changes = [(lease.began, 1) for lease in trace.leases]
    changes += [(ended[lease.pages[-1]], -1) for lease in trace.leases]
    open_now = most = 0
    for _, change in sorted(changes):
        open_now += change
        most = max(most, open_now)
    assert most == CONNECTIONS


def test_connection_that_its_server_closes_is_opened_anew() -> None:
    web = small_web(1)
    trace = crawl(web, Policy.PERFORMANCE)
    needed = sum(-(-len(lease.pages) // web.servers[lease.server].requests_per_connection) for lease in trace.leases)
    assert trace.connections == needed > len(trace.leases)


def test_same_seed_gives_the_same_crawl() -> None:
    assert crawl(small_web(4), Policy.CAPABILITY) == crawl(small_web(4), Policy.CAPABILITY)
    assert crawl(small_web(4), Policy.CAPABILITY) != crawl(small_web(5), Policy.CAPABILITY)


@every_policy
@pytest.mark.parametrize("delay", [0.0, 0.25])
def test_leases_are_those_of_the_frontiers_oracle(policy: Policy, delay: float) -> None:
    """The oracle, told the same at the same instants, opens the same servers for the same URLs. Its clock counts milliseconds, so the web's times are whole ones."""
    web = _in_whole_milliseconds(make_web(6, "zipf", servers=12, pages=150, delay_seconds=delay))
    trace = crawl(web, policy, delay)
    oracle = DictFrontier(rules(policy, delay))
    oracle.admit(0, [_candidate(web, page) for page in web.seeds])
    ended = {fetch.page: fetch for fetch in trace.fetches}
    events = defaultdict(list)
    for fetch in trace.fetches:
        events[_ms(fetch.ended)].append(fetch)
    expected = defaultdict(list)
    for lease in trace.leases:
        expected[_ms(lease.began)].append((web.servers[lease.server].name, [_member(page) for page in lease.pages]))
    held = {}
    last_of = {lease.pages[-1]: lease for lease in trace.leases}
    free = CONNECTIONS
    for now in sorted({0, *events, *expected}):
        for fetch in events[now]:
            oracle.admit(now, [_candidate(web, page) for page in web.links[fetch.page]])
            if fetch.page in last_of:
                oracle.settle(now, _settlement(web, last_of[fetch.page], held, ended, now))
                free += 1
        leases, _ = oracle.lease(now, "agent", free, 10**9)
        free -= len(leases)
        held |= {lease.server: lease.token for lease in leases}
        assert [(lease.server, [url.member for url in lease.urls]) for lease in leases] == expected[now]
    assert oracle.stats().settled == 150


def _in_whole_milliseconds(web: Web) -> Web:
    servers = tuple(
        replace(
            server,
            connection_seconds=_ms(server.connection_seconds) / 1000,
            delay_seconds=_ms(server.delay_seconds) / 1000,
        )
        for server in web.servers
    )
    return replace(web, servers=servers, response_seconds=tuple(max(1, _ms(r)) / 1000 for r in web.response_seconds))


def _ms(seconds: float) -> int:
    return round(seconds * 1000)


def _member(page: int) -> str:
    return f"/{page}"


def _candidate(web: Web, page: int) -> Candidate:
    return Candidate(web.servers[web.server_of[page]].name, _member(page), 0, page, web.quality[page])


def _settlement(web, lease, held, ended, now) -> Settlement:
    server = web.servers[lease.server]
    allowed, count = server.requests_per_connection, len(lease.pages)
    openings = -(-count // allowed)
    return Settlement(
        server.name,
        held[server.name],
        done=tuple(_member(page) for page in lease.pages),
        pages=count,
        connection_ms=(server.connection_seconds * 1000,) * openings,
        response_ms=tuple((ended[page].ended - ended[page].sent) * 1000 for page in lease.pages),
        carried=allowed if count >= allowed else None,
        delay_ms=server.delay_seconds * 1000,
        due_ms=now + _ms(server.delay_seconds),
        release=True,
    )


# The bound


@pytest.mark.parametrize(("seed", "quality", "delay", "informed"), WEBS)
def test_no_policy_has_more_than_the_clairvoyant_bound_at_any_instant(
    seed: int, quality: str, delay: float, informed: bool
) -> None:
    web = small_web(seed, quality, delay)
    traces = [crawl(web, policy, delay, informed=informed) for policy in Policy]
    instants = [instants_of(web, CONNECTIONS)[-1] * step / 30 for step in range(1, 40)]
    total, count = sum(web.quality), len(web.quality)
    quality_bound = bounds(web, web.quality, CONNECTIONS, instants)
    pages_bound = bounds(web, [1.0] * count, CONNECTIONS, instants)
    for trace in traces:
        curve = curve_of(web, trace, instants)
        assert all(had <= most / total for had, most in zip(curve.quality, quality_bound, strict=True))
        assert all(had <= most / count for had, most in zip(curve.pages, pages_bound, strict=True))


def test_bound_is_reached_where_nothing_has_to_be_chosen() -> None:
    """One server, one connection, all pages alike: the bound is what the crawl has whenever a response has ended."""
    web = _uniform()
    trace = Crawl(web, Ranking(rules(Policy.PERFORMANCE)), 1).run()
    instants = [fetch.ended for fetch in trace.fetches]
    most = bounds(web, [1.0] * 20, 1, instants)
    for count, value in enumerate(most, start=1):
        assert count <= value < count + 1


def _uniform() -> Web:
    web = make_web(1, "zipf", servers=1, pages=20).all_known()
    server = replace(web.servers[0], requests_per_connection=1, connection_seconds=0.125)
    return replace(web, servers=(server,), response_seconds=(0.25,) * 20)


def test_no_page_is_fetched_before_the_instant_that_the_bound_calls_its_earliest() -> None:
    web = small_web(2, delay=0.5)
    soonest = earliest(web)
    for policy in Policy:
        assert all(fetch.ended >= soonest[fetch.page] - ALMOST for fetch in crawl(web, policy, 0.5).fetches)


# The web


def test_web_has_the_published_mix_of_connection_limits_and_reaches_every_page() -> None:
    web = make_web(1, "zipf", servers=500, pages=5000)
    limits = [server.requests_per_connection for server in web.servers]
    assert 0.19 < limits.count(1) / 500 < 0.29
    assert 0.61 < limits.count(100) / 500 < 0.71
    found, heap = set(web.seeds), list(web.seeds)
    while heap:
        new = set(web.links[heap.pop()]) - found
        found |= new
        heap += new
    assert len(found) == 5000


def test_pagerank_satisfies_its_equation() -> None:
    web = make_web(1, "pagerank", servers=20, pages=300)
    flow = [0.0] * 300
    dangling = 0.0
    for page, targets in enumerate(web.links):
        dangling += 0 if targets else web.quality[page]
        for target in targets:
            flow[target] += web.quality[page] / len(targets)
    base = 0.15 * sum(web.quality) / 300 + 0.85 * dangling / 300
    for page, rank in enumerate(web.quality):
        assert rank == pytest.approx(base + 0.85 * flow[page], rel=0.02)


# The command


def test_command_writes_the_figures_under_the_names_of_its_documentation(tmp_path: Path) -> None:
    written, drawn = tmp_path / "figures.json", tmp_path / "curves.svg"
    arguments = ["--quality", "pagerank", "--seed", "3", "--delay", "0.2", "--repeats", "2"]
    arguments += ["--servers", "20", "--pages", "400", "--connections", "5"]
    scheduling.main([*arguments, "--json", str(written), "--svg", str(drawn)])
    figures = json.loads(written.read_text())
    assert figures["seeds"] == [3, 4]
    assert set(figures["policies"]) == set(Policy)
    assert {"without politeness", "without length", "without both", "informed"} <= set(figures["ablations"])
    for each in figures["policies"].values():
        assert list(each["quality_at"]) == list(each["pages_at"]) == [f"{tenth / 10:.1f}" for tenth in range(1, 11)]
        assert 0 < each["area"] < 1
        assert 0 < each["share_of_bound"] <= 1
    assert drawn.read_text().count("<polyline") == 5
