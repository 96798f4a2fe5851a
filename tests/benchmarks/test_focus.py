"""The focus benchmark on a tiny web of its own: what must hold of every policy, and of the queues beside the frontier's contract."""

from __future__ import annotations

import itertools
import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extensions.frontier import score
from extensions.frontier.oracle import DictFrontier
from extensions.frontier.records import Candidate, Rules, Settlement
from extensions.scoring import make_model
from tests.benchmarks import focus
from tests.benchmarks.simulation_focus.bound import completions, earliest
from tests.benchmarks.simulation_focus.crawl import crawl
from tests.benchmarks.simulation_focus.facts import FactStore
from tests.benchmarks.simulation_focus.figures import headroom_share, mean_and_interval
from tests.benchmarks.simulation_focus.queues import Capability, Queues
from tests.benchmarks.simulation_focus.servers import Servers
from tests.benchmarks.simulation_focus.task import Task
from tests.benchmarks.simulation_focus.web import StoredWeb

HOSTS, SECTIONS, PAGES = 6, 4, 12
HONEY = "Honey from bees: the beekeeper tends the hive and sells the honey. "
DULL = "Trams run on rails, and rails rust where no tram runs any more. "


def write_topic(folder):
    """Six hosts of four sections; two sections are on topic. Links within a section, some across, some out of the web."""
    rng = random.Random(5)
    web, topic = folder / "web", folder / "topics" / "bees"
    topic.mkdir(parents=True)
    names = [f"h{h}.test/s{s}/p{p}.html" for h in range(HOSTS) for s in range(SECTIONS) for p in range(PAGES)]
    relevant = [name for name in names if name.startswith(("h3.test/s1/", "h5.test/s2/"))]
    for number, name in enumerate(names):
        section = number - number % PAGES
        targets = [names[section + rng.randrange(PAGES)] for _ in range(3)] + [rng.choice(names) for _ in range(2)]
        links = "".join(
            f'<li><a href="https://{target}">{"honey" if target in relevant and rng.random() < 0.7 else "more"}</a></li>'
            for target in targets
        )
        text = HONEY if name in relevant else DULL
        title = "Honey and bees" if name in relevant else f"Trams {number}"
        path = web / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            f'<html lang="en"><title>{title}</title><p>{text * 3}</p><ul>{links}</ul><a href="http://elsewhere.test/">out</a>'
        )
    (topic / "topic.txt").write_text("honey, bees, hive, beekeeper")
    (topic / "relevant.txt").write_text("".join(f"https://{name}\n" for name in relevant))
    (topic / "seeds-far.txt").write_text(f"https://{names[0]}\n")
    (topic / "seeds-near.txt").write_text(f"https://{relevant[0]}\n")
    return web, topic


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    folder = tmp_path_factory.mktemp("focus")
    web, topic = write_topic(folder)
    with FactStore(StoredWeb(web), folder / "cache") as store:
        task = Task.load(
            store,
            "bees",
            topic=topic / "topic.txt",
            labels=topic / "relevant.txt",
            seeds=[topic / "seeds-far.txt"],
            model="vector",
        )
        yield folder, task


def traced(task, name, slots, seed, pages=10_000):
    web = task.store.web
    policy = focus.POLICIES[name](task)
    return crawl(policy, task.seeds, web.server, Servers(web.server_names, seed), slots=slots, pages=pages)


@pytest.mark.parametrize("slots", [1, 4])
@pytest.mark.parametrize("name", focus.POLICIES)
def test_every_policy_fetches_a_page_once_and_only_what_links_lead_to(tiny, name, slots):
    task = tiny[1]
    pages = traced(task, name, slots, seed=1).pages
    assert len(set(pages)) == len(pages) > len(task.labels) / 2
    assert set(pages) <= task.distance.keys()


@pytest.mark.parametrize("name", [name for name in focus.POLICIES if name != "ours-plain"])  # whose tunnel ends
def test_a_crawl_without_a_limit_fetches_all_that_is_reachable(tiny, name):
    task = tiny[1]
    assert len(traced(task, name, 3, seed=1).pages) == len(task.distance)


@pytest.mark.parametrize("name", focus.POLICIES)
def test_equal_arguments_give_equal_crawls(tiny, name):
    one, other = (traced(tiny[1], name, 4, seed=2) for _ in range(2))
    assert one.pages == other.pages
    assert one.seconds == other.seconds
    assert one.seconds == sorted(one.seconds)


@pytest.mark.parametrize("name", focus.POLICIES)
def test_a_server_has_one_request_at_a_time_spaced_by_its_delay(tiny, name):
    task = tiny[1]
    web = task.store.web
    servers = Servers(web.server_names, 3)
    trace = crawl(focus.POLICIES[name](task), task.seeds, web.server, servers, slots=8)
    ended: dict[int, float] = {}
    for page, second in zip(trace.pages, trace.seconds, strict=True):
        server = web.server[page]
        least = (servers.timings[server].delay_ms + servers.response_ms(server, page)) / 1000
        assert second - ended.get(server, -1e9) >= least - 1e-9
        ended[server] = second


@pytest.mark.parametrize("name", ["best-first", "link-classifier", "ours"])
def test_crawls_learn_the_words_of_their_seeds_and_of_no_other_page(tiny, name):
    folder, other = tiny
    topic = folder / "topics" / "bees"
    files = {"topic": topic / "topic.txt", "labels": topic / "relevant.txt", "seeds": [topic / "seeds-near.txt"]}
    task = Task.load(other.store, "bees", **files, model="context")
    traced(task, name, 1, seed=1, pages=40)
    alone = make_model("context", task.topic)
    seed = task.facts(task.seeds[0])
    alone.meet_seed(seed.title, seed.text)
    assert task.model.seeds.state() == alone.seeds.state() != make_model("context", task.topic).seeds.state()


def test_the_oracle_is_never_below_another_policy_by_pages(tiny):
    found = focus.run(tiny[1], list(focus.POLICIES), pages=80, slots=4, repeat=0).found
    best = max(figures.recall_area for figures in found.values())
    assert found["oracle"].recall_area == best > found["breadth-first"].recall_area
    assert found["oracle"].recall_area_in_time >= found["breadth-first"].recall_area_in_time


@pytest.mark.parametrize("repeat", range(3))
def test_no_policy_exceeds_the_bound_in_time(tiny, repeat):
    found, bound = focus.run(tiny[1], list(focus.POLICIES), pages=80, slots=4, repeat=repeat)
    assert max(figures.recall_area_in_time for figures in found.values()) <= bound
    assert found["oracle"].recall_area_in_time > 0.5 * bound


@given(st.lists(st.tuples(st.floats(0, 10), st.floats(0.1, 5)), max_size=5))
def test_the_bound_completes_no_job_later_than_any_order_does(jobs):
    best = completions(jobs)
    for order in itertools.permutations(jobs):
        now, ends = 0.0, []
        for released, work in order:
            now = max(now, released) + work
            ends.append(now)
        assert all(least <= end + 1e-9 for least, end in zip(best, ends, strict=True))


def test_the_bound_does_not_wait_for_what_has_not_come_yet():
    # A long job alone at first; two short ones come and are served in between.
    assert completions([(0.0, 10.0), (1.0, 1.0), (1.5, 1.0)]) == [2.0, 3.0, 12.0]


def test_the_quickest_way_to_a_page_is_never_beaten(tiny):
    task = tiny[1]
    web = task.store.web
    servers = Servers(web.server_names, 4)
    arrivals = earliest(task, servers)
    assert arrivals.at.keys() == task.distance.keys()
    for name in ("breadth-first", "oracle", "ours"):
        trace = crawl(focus.POLICIES[name](task), task.seeds, web.server, servers, slots=8)
        for page, second in zip(trace.pages, trace.seconds, strict=True):
            assert second * 1000 >= arrivals.at[page] - 1e-6


def test_a_server_that_turns_out_rich_is_ranked_before_others_with_all_that_is_queued_there():
    ranking = Capability(Rules())
    queues = Queues(ranking, 2)
    for server, quality in ((0, 0.3), (1, 0.5)):
        queues.put(server, server, -score.pack(True, quality, 0, 0, 0))
    ranking.odds[0] = 5.0
    queues.rank_anew(0)
    assert [lease.server for lease in queues.lease(0.0, 2)] == [0, 1]


def test_a_server_that_nobody_else_wants_is_explored_by_its_hubs_unless_it_is_rich():
    def opened(*others: int, odds: float = 1.0) -> list[int]:
        ranking = Capability(Rules(explore=1.0), {0: 2, 1: 0, 2: 2, 3: 0}.__getitem__)
        ranking.odds[0] = odds
        queues = Queues(ranking, 2)
        for page, quality in enumerate((0.62, 0.6, 0.61)):
            queues.put(0, page, -score.pack(True, quality, page, 0, 0))
        for page in others:
            queues.put(1, page, -score.pack(True, 0.1, 0, 0, 0))
        return [page for _, page in queues.lease(0.0, 1)[0].urls]

    assert opened() == [1, 0]
    assert opened(3) == opened(odds=2.0) == [0, 2, 1]


def test_the_command_line_reports_every_policy_as_json(tiny, capsys):
    folder = tiny[0]
    out = folder / "out.json"
    arguments = ["--web", folder / "web", "--topics", folder / "topics", "--pages", 60, "--slots", 4, "--repeats", 2]
    focus.main([str(part) for part in [*arguments, "--cache", folder / "cache", "--workers", 1, "--json", out]])
    told = json.loads(out.read_text())
    assert [task["task"] for task in told["tasks"]] == ["bees far", "bees near+far"]
    assert "headroom share" not in capsys.readouterr().err
    for task in told["tasks"]:
        assert {"headroom_share", "best_baseline", "ahead_of_every_baseline"} <= task.keys()
        for found in task["policies"].values():
            assert 0.0 <= found["recall_area"] <= 1.0
            recalls = [recall for _, recall, _ in found["curve"]]
            assert recalls == sorted(recalls)
            assert found["curve"][-1][0] == 60
    assert told["mean"]["far"]["headroom_share_pages"]["mean"] <= 1.0


def test_on_sockets_the_product_itself_is_ahead_of_plain_scrapy(tiny):
    folder = tiny[0]
    out = folder / "sockets.json"
    arguments = ["--web", folder / "web", "--topics", folder / "topics", "--only", "bees", "--seed-sets", "near+far"]
    arguments += ["--policies", "breadth-first", "ours", "--pages", 100, "--slots", 1, "--sockets"]
    focus.main([str(part) for part in [*arguments, "--cache", folder / "cache", "--workers", 1, "--json", out]])
    (told,) = json.loads(out.read_text())["tasks"]
    ours, plain = told["sockets"]["ours"], told["sockets"]["scrapy"]
    assert ours["fetched"] == plain["fetched"] == 100
    # Which of two sections is found first is chance, so how far ahead differs.
    assert 1.0 > ours["recall_area"] > plain["recall_area"] > 0.0
    assert ours["relevant"] > plain["relevant"] > 0


def test_headroom_share_is_zero_at_breadth_first_and_one_at_the_oracle():
    assert headroom_share(0.2, 0.2, 0.8) == 0.0
    assert headroom_share(0.8, 0.2, 0.8) == 1.0
    assert headroom_share(0.5, 0.2, 0.8) == pytest.approx(0.5)
    assert headroom_share(0.2, 0.2, 0.2) is None


def test_the_interval_is_students():
    # Student's t for two degrees of freedom: 4.303.
    assert mean_and_interval([1.0, 2.0, 3.0]) == (2.0, pytest.approx(4.303 / 3**0.5, rel=1e-3))
    assert mean_and_interval([1.0]) == (1.0, None)


told = st.sampled_from([None, 0.5, 3.0])
operations = st.lists(
    st.one_of(
        st.tuples(st.just("admit"), st.integers(0, 3), st.integers(0, 15), st.sampled_from([0.1, 0.4, 0.7, 0.9])),
        st.tuples(st.just("lease"), st.integers(1, 3)),
        st.tuples(st.just("release"), st.integers(0, 3), st.integers(0, 2000), st.sampled_from([90.0, 700.0]), told),
    ),
    max_size=60,
)


@settings(max_examples=150, deadline=None)
@given(operations, st.sampled_from([0.0, 0.5, 1.0]))
def test_the_queues_agree_with_the_frontiers_contract(done, explore):
    rules = Rules(explore=explore)
    frontier = DictFrontier(rules)
    members = ["/deep" * (page % 3) + f"/{page}" for page in range(16)]
    ranking = Capability(rules, lambda page: page % 3)
    queues = Queues(ranking, 4)
    seen: set[tuple[int, int]] = set()
    tokens: dict[int, int] = {}
    now = 1000
    for operation in done:
        now += 100
        if operation[0] == "admit":
            _, server, page, quality = operation
            frontier.admit(now, [Candidate(f"s{server}", members[page], server, page, quality)])
            queue = queues.queues[server]
            old = queue.keys.get(page)
            if old is not None:
                sequence = score.unpack(True, -old).sequence
                if score.steps(quality) > score.steps(score.unpack(True, -old).quality):
                    queues.put(server, page, -score.pack(True, quality, sequence, 0, 0))
            elif (server, page) not in seen:
                if not queue.sequence:
                    ranking.entered(server)
                queues.put(server, page, -score.pack(True, quality, queue.sequence, 0, 0))
                queue.sequence += 1
            seen.add((server, page))
        elif operation[0] == "lease":
            expected, due = frontier.lease(now, "agent", operation[1], 10**9)
            got = queues.lease(now, operation[1])
            assert [(f"s{lease.server}", [members[page] for _, page in lease.urls]) for lease in got] == [
                (lease.server, [url.member for url in lease.urls]) for lease in expected
            ]
            assert queues.next_due_ms() == due
            tokens |= {int(lease.server[1:]): lease.token for lease in expected}
        elif operation[1] in tokens:
            _, server, wait, response_ms, odds = operation
            times = {"connection_ms": (50.0,), "response_ms": (response_ms,), "delay_ms": 0.0, "due_ms": now + wait}
            frontier.settle(
                now,
                Settlement(f"s{server}", tokens.pop(server), tuple(members), pages=1, release=True, odds=odds, **times),
            )
            if odds is not None:
                ranking.odds[server] = odds
            queue = queues.queues[server]
            queue.connection_ms = 50.0 if queue.connection_ms is None else 0.8 * queue.connection_ms + (1 - 0.8) * 50.0
            old_ms = queue.response_ms
            queue.response_ms = response_ms if old_ms is None else 0.8 * old_ms + (1 - 0.8) * response_ms
            queues.release(server, now + wait)
