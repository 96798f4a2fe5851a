"""Any sequence of verbs, time steps and agent deaths: the scripts on Redis answer what the oracle answers, to the last bit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from extensions.frontier.oracle import DictFrontier
from extensions.frontier.records import Candidate, Policy, Rules, Settlement

if TYPE_CHECKING:
    from extensions.frontier.contract import Partition
    from extensions.frontier.records import Lease
    from tests.frontier.conftest import PartitionFactory

SERVERS = ["http://a", "http://b", "http://b:81", "http://é"]
MEMBERS = ["/", "/1", "/2/", "/2/3", "/日本", "/4?5=/6/7", "\0post", "\0a/b"]
AGENTS = ["one", "two"]
NOBODYS_TOKEN = 0

qualities = st.sampled_from([0.0, 0.25, 0.3, 0.5, 0.5001, 1.0]) | st.floats(0, 1)
milliseconds = st.sampled_from([0.0, 100.0, 250.5]) | st.floats(0, 1e5)
odds = st.sampled_from([1.0, 0.5, 2.0, 3.7, 1e-6, 1e6, 1e-300, 1e300]) | st.floats(1e-7, 1e7)
instants = st.sampled_from([0, 1, 10, 500, 5000])
few = st.integers(0, 3)


@st.composite
def candidates(draw: st.DrawFn) -> Candidate:
    """Few enough URLs to meet again, and fewer fingerprints than URLs, so that some are taken for others."""
    server, member = draw(st.integers(0, len(SERVERS) - 1)), draw(st.integers(0, len(MEMBERS) - 1))
    fingerprint = (server * len(MEMBERS) + member) % 28 + draw(st.sampled_from([0, 0, 0, 28]))
    return Candidate(
        server=SERVERS[server],
        member=MEMBERS[member],
        bucket=fingerprint % 3,
        remainder=2**32 - 1 - fingerprint,
        quality=draw(qualities),
        depth=draw(st.sampled_from([0, 1, 2, 3, 2000])),
        hops=draw(st.sampled_from([0, 1, 15, 16])),
        force=draw(st.sampled_from([False, False, True])),
        payload=draw(st.sampled_from([b"", b"\x00\xffbody"])),
    )


def rules_of(policy: Policy) -> st.SearchStrategy[Rules]:
    bound = st.sampled_from([0, 0, 1, 2, 5])
    return st.builds(
        Rules,
        policy=st.just(policy),
        max_pending=bound,
        max_pages=bound,
        max_depth=st.sampled_from([0, 2]),
        max_failures=bound,
        requests_per_connection=st.sampled_from([1, 2, 50]),
        connection_ms=milliseconds,
        response_ms=milliseconds,
        delay_ms=st.sampled_from([0.0, 0.5, 250.0, 6000.0]),
        alpha=st.sampled_from([0.8, 0.8, 0.3]),
        pipelining=st.sampled_from([1.0, 1.2]),
        keep_open_ms=st.sampled_from([0.0, 250.0, 5000.0]),
        explore=st.sampled_from([0.0, 0.5, 1.0]),
    )


class Comparison(RuleBasedStateMachine):
    """Says everything twice and compares the answers. The clock of a test goes forward, and once in a while back."""

    def __init__(self, make: PartitionFactory, policy: Policy) -> None:
        super().__init__()
        self.make = make
        self.policy = policy
        self.now_ms = 10_000
        self.leases: list[Lease] = []
        self.stale: list[Lease] = []

    @initialize(data=st.data())
    def begin(self, data: st.DataObject) -> None:
        rules = data.draw(rules_of(self.policy), label="rules")
        self.oracle = DictFrontier(rules)
        self.subject: Partition = self.make(rules)

    def both(self, verb: str, *arguments: Any) -> Any:
        expected = getattr(self.oracle, verb)(*arguments)
        assert getattr(self.subject, verb)(*arguments) == expected
        return expected

    def draw_lease(self, data: st.DataObject) -> tuple[str, int, tuple[str, ...]]:
        """A lease held or lost, or one that never was."""
        lease = data.draw(st.sampled_from([*self.leases[-8:], *self.stale[-3:], None]), label="lease")
        if lease is None:
            return data.draw(st.sampled_from(SERVERS)), NOBODYS_TOKEN, ()
        return lease.server, lease.token, tuple(one.member for one in lease.urls)

    @staticmethod
    def lowered(held: tuple[str, ...]) -> st.SearchStrategy[tuple[tuple[str, float], ...]]:
        """Of URLs held and not, some of them twice."""
        pairs = st.tuples(st.sampled_from([*held, *MEMBERS]), qualities)
        return st.just(()) | st.lists(pairs, max_size=4).map(tuple)

    def forget(self, lost: list[Lease]) -> None:
        self.leases = [lease for lease in self.leases if lease not in lost]
        self.stale += lost

    @rule(batch=st.lists(candidates(), max_size=12))
    def admit(self, batch: list[Candidate]) -> None:
        self.both("admit", self.now_ms, batch)

    @rule(
        agent=st.sampled_from(AGENTS),
        count=few,
        lease_ms=st.sampled_from([1, 500, 60_000]),
        overdue_ms=st.sampled_from([0, 0, 1, 400]),
    )
    def lease(self, agent: str, count: int, lease_ms: int, overdue_ms: int) -> None:
        leases, _ = self.both("lease", self.now_ms, agent, count, lease_ms, overdue_ms)
        self.leases += leases

    @rule(
        data=st.data(),
        pages=few,
        failures=few,
        connection_ms=st.lists(milliseconds, max_size=2),
        response_ms=st.lists(milliseconds, max_size=3),
        carried=st.none() | st.integers(0, 4),
        delay_ms=st.none() | milliseconds,
        wait_ms=instants,
        release=st.booleans(),
        again=st.booleans(),
        odds=st.none() | odds,
    )
    def settle(self, data: st.DataObject, wait_ms: int, **fields: Any) -> None:
        server, token, held = self.draw_lease(data)
        done = data.draw(st.lists(st.sampled_from([*held, *MEMBERS]), max_size=4), label="done")
        fields = {name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}
        lowered = data.draw(self.lowered(held), label="lowered")
        settlement = Settlement(server, token, tuple(done), due_ms=self.now_ms + wait_ms, lowered=lowered, **fields)
        self.both("settle", self.now_ms, settlement)
        if settlement.release:
            self.forget([lease for lease in self.leases if lease.token == token])

    @rule(data=st.data(), odds=st.none() | odds)
    def finish(self, data: st.DataObject, odds: float | None) -> None:
        """The usual end of a lease."""
        server, token, held = self.draw_lease(data)
        self.both("settle", self.now_ms, Settlement(server, token, held, pages=len(held), release=True, odds=odds))
        self.forget([lease for lease in self.leases if lease.token == token])

    @rule(data=st.data(), size=few, lease_ms=st.sampled_from([1, 500, 60_000]))
    def renew(self, data: st.DataObject, size: int, lease_ms: int) -> None:
        leases = [self.draw_lease(data)[:2] for _ in range(size)]
        self.both("renew", self.now_ms, leases, lease_ms)

    @rule()
    def reclaim_what_has_expired(self) -> None:
        self.both("reclaim", self.now_ms)
        self.forget([lease for lease in self.leases if lease.deadline_ms <= self.now_ms])

    @rule(data=st.data(), agent=st.sampled_from(AGENTS), size=few)
    def agent_makes_sure_of_what_it_holds(self, data: st.DataObject, agent: str, size: int) -> None:
        """At its start it holds nothing."""
        held = dict(self.draw_lease(data)[:2] for _ in range(size))
        self.both("reclaim", self.now_ms, agent, list(held.items()))

    @rule()
    def agents_die(self) -> None:
        """Nobody settles or renews what they held; it stays leased until it is reclaimed."""
        self.leases.clear()

    @rule(step_ms=st.sampled_from([0, 1, 100, 500, 1000, 10_000, 100_000, -300]))
    def time_passes(self, step_ms: int) -> None:
        self.now_ms += step_ms

    @rule(count=few, head=few)
    def peek(self, count: int, head: int) -> None:
        self.both("peek", count, head)

    @rule(really=st.integers(0, 19))
    def clear(self, really: int) -> None:
        if really == 19:
            self.both("clear")

    @invariant()
    def they_hold_the_same(self) -> None:
        self.oracle.check()
        self.both("stats")
        self.both("peek", 1000, 1000)


def compare(make: PartitionFactory, policy: Policy, examples: int, steps: int) -> None:
    class Subject(Comparison):
        def __init__(self) -> None:
            super().__init__(make, policy)

    run_state_machine_as_test(
        Subject,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


@pytest.mark.parametrize("policy", Policy)
def test_redis_answers_as_the_oracle_does(redis_partition: PartitionFactory, policy: Policy) -> None:
    compare(redis_partition, policy, examples=100, steps=50)


@pytest.mark.slow
@pytest.mark.parametrize("policy", Policy)
def test_redis_answers_as_the_oracle_does_for_a_long_time(redis_partition: PartitionFactory, policy: Policy) -> None:
    compare(redis_partition, policy, examples=1500, steps=100)


def test_oracle_agrees_with_itself() -> None:
    """Faster, so that more sequences pass `check`; and the comparison itself is shown to hold."""
    compare(DictFrontier, Policy.CAPABILITY, examples=100, steps=50)
