"""Who is at work on a crawl, and what is whose: agents that only meet in Redis."""

from __future__ import annotations

import asyncio
import itertools

import pytest
from redis.asyncio import Redis

from extensions.errors import ConfigurationError
from extensions.frontier.registry import Registry
from extensions.membership import Membership

LEASE_MS = 1000
names = itertools.count()


@pytest.fixture
def crew(redis_server):
    """Makes agents of one crawl; `run` runs what they do."""
    with asyncio.Runner() as runner:
        client = Redis.from_url(redis_server.url)
        crawl = f"membership{next(names)}"

        class Crew:
            run = staticmethod(runner.run)

            @staticmethod
            def agent(name, place="here", capacity=10, partitions=32):
                return Membership(
                    Registry(client, crawl),
                    name=name,
                    place=place,
                    capacity=capacity,
                    lease_ms=LEASE_MS,
                    partitions=partitions,
                )

            def joined(self, *names, now_ms=0, **more):
                agents = [self.agent(name, **more) for name in names]
                for agent in agents:
                    self.run(agent.look(now_ms))
                    self.run(agent.join(now_ms))
                self.beat(now_ms, *agents)
                return agents

            def beat(self, now_ms, *agents, **stats):
                for _ in range(2):  # the second time each has heard of all
                    for agent in agents:
                        self.run(agent.beat(now_ms, stats))

        yield Crew()
        runner.run(client.aclose())


def test_one_agent_has_everything(crew):
    (anna,) = crew.joined("anna")
    assert (anna.mine, anna.others, anna.company) == (tuple(range(32)), (), ())


def test_agents_divide_the_partitions_without_talking_about_them(crew):
    agents = crew.joined("anna", "bert", "cleo")
    assert sorted(part for agent in agents for part in agent.mine) == list(range(32))
    assert all(sorted(agent.mine + agent.others) == list(range(32)) for agent in agents)


def test_an_agent_of_more_capacity_has_more(crew):
    (anna,) = crew.joined("anna", capacity=1, partitions=512)
    (bert,) = crew.joined("bert", capacity=9, partitions=512)
    crew.beat(0, anna, bert)
    assert len(bert.mine) > 4 * len(anna.mine)


def test_a_single_partition_is_everybodys(crew):
    agents = crew.joined("anna", "bert", partitions=1)
    assert all((agent.mine, agent.others) == ((0,), ()) for agent in agents)


def test_an_agent_that_is_not_heard_of_for_a_lease_is_dead_and_only_its_partitions_move(crew):
    anna, bert, cleo = crew.joined("anna", "bert", "cleo")
    had = set(anna.mine)
    crew.beat(LEASE_MS - 1, anna, bert)
    assert cleo.name in anna.company
    crew.beat(LEASE_MS, anna, bert)
    assert anna.company == ("bert",)
    assert had <= set(anna.mine)
    assert sorted(anna.mine + bert.mine) == list(range(32))


def test_an_agent_that_leaves_is_gone_at_once_and_remembered_in_the_run(crew):
    anna, bert = crew.joined("anna", "bert")
    crew.run(anna.leave(10, {"pages": 7}))
    crew.beat(10, bert)
    assert bert.company == ()
    assert bert.mine == tuple(range(32))
    (mine, left) = bert.records(10, {"pages": 3})
    assert (mine.name, mine.stats, mine.left) == ("bert", {"pages": 3}, False)
    assert (left.name, left.stats, left.left) == ("anna", {"pages": 7}, True)


def test_who_finds_nobody_at_work_begins_a_new_run(crew):
    (anna,) = crew.joined("anna")
    crew.run(anna.leave(0, {"pages": 7}))
    (bert,) = crew.joined("bert")
    assert [record.name for record in bert.records(0, {})] == ["bert"]


def test_a_killed_agent_that_starts_again_keeps_what_it_had_done_in_the_run(crew):
    anna, bert = crew.joined("anna", "bert")
    crew.beat(5, bert, pages=7)
    (again,) = crew.joined("bert", now_ms=50)
    assert sorted(record.stats.get("pages", 0) for record in again.records(50, {"pages": 1})) == [0, 1, 7]
    assert anna.company == ("bert",)


def test_a_name_belongs_to_one_process_wherever_it_runs(crew):
    crew.joined("anna")
    namesake = crew.agent("anna", place="another machine")
    with pytest.raises(ConfigurationError, match="FRONTIER_AGENT of its own"):
        crew.run(namesake.look(LEASE_MS - 1))
    crew.run(namesake.look(LEASE_MS))
