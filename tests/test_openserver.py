"""What a lease in an agent's hands lets the frontier know, and when."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extensions.frontier.records import Lease, LeasedUrl
from extensions.openserver import HandedOut, OpenServer

SERVER = "http://a.test:80"
ANSWERED, FAILED, DENIED = "answered", "failed", "denied"


def leased(*members: str) -> OpenServer:
    urls = tuple(LeasedUrl(member, quality=0.5, depth=1, hops=0) for member in members)
    return OpenServer.of(Lease(SERVER, 7, 60_000, 1_000, 250.0, 100.0, 300.0, urls))


def hand_out(server: OpenServer) -> HandedOut:
    """As the scheduler does: the server is busy from now on."""
    handed = HandedOut(server, server.waiting.popleft())
    server.busy = True
    server.unfinished += 1
    return handed


def finish(handed: HandedOut, batch: int = 0, how: str = ANSWERED) -> None:
    """Its download has ended and the engine is through with it; its links are in `batch`."""
    server = handed.server
    handed.answered = how == ANSWERED
    handed.downloaded = how != DENIED
    server.busy = False
    server.unfinished -= 1
    handed.batch = batch
    server.through.append(handed)


def fetch(server: OpenServer, batch: int = 0, how: str = ANSWERED) -> HandedOut:
    handed = hand_out(server)
    finish(handed, batch, how)
    return handed


def test_a_lease_that_has_just_arrived_says_nothing():
    server = leased("/1", "/2")
    assert server.settlement(confirmed=0) is None
    assert not server.drained
    assert not server.over


def test_a_page_is_acknowledged_when_the_batch_with_its_links_is_confirmed_and_not_before():
    server = leased("/1", "/2", "/3")
    fetch(server, batch=4)
    fetch(server, batch=5)
    assert server.settlement(confirmed=3) is None
    first = server.settlement(confirmed=4)
    assert (first.done, first.pages, first.release) == (("/1",), 1, False)
    assert server.settlement(confirmed=4) is None, "said once already"
    assert server.settlement(confirmed=5).done == ("/2",)


def test_a_settlement_carries_the_token_and_what_politeness_has_learnt():
    server = leased("/1")
    server.due_ms, server.delay_ms = 5_000, 400.0
    fetch(server)
    settlement = server.settlement(confirmed=0)
    assert (settlement.server, settlement.token) == (SERVER, 7)
    assert (settlement.due_ms, settlement.delay_ms) == (5_000, 400.0)


def test_the_lease_ends_with_its_last_acknowledgement():
    server = leased("/1", "/2")
    fetch(server, batch=1)
    fetch(server, batch=2)
    assert server.over
    assert not server.settlement(confirmed=1).release, "one page still waits for its batch"
    last = server.settlement(confirmed=2)
    assert last.release
    assert last.done == ("/2",)


def test_a_page_in_the_pipelines_keeps_the_lease_although_the_connection_is_over():
    server = leased("/1", "/2")
    fetch(server)
    late = hand_out(server)
    server.busy = False  # downloaded, and not yet through
    assert server.drained
    assert not server.over
    assert not server.settlement(confirmed=0).release
    server.unfinished -= 1
    server.through.append(late)
    assert server.settlement(confirmed=0).release


def test_a_request_that_was_put_back_keeps_the_lease():
    server = leased("/1")
    handed = hand_out(server)
    server.put_back.append((object(), handed))
    server.busy = False
    assert not server.drained
    assert server.settlement(confirmed=0) is None


def test_giving_back_ends_the_lease_with_what_is_confirmed():
    server = leased("/1", "/2", "/3")
    fetch(server, batch=1)
    hand_out(server)
    settlement = server.settlement(confirmed=1, give_back=True)
    assert settlement.release
    assert settlement.done == ("/1",), "the others go back to the queue"


def test_giving_back_an_untouched_lease_releases_it():
    settlement = leased("/1").settlement(confirmed=0, give_back=True)
    assert settlement.release
    assert (settlement.done, settlement.pages, settlement.failures) == ((), 0, 0)


def test_a_page_that_could_not_be_stored_is_not_acknowledged_and_comes_again_when_the_lease_ends():
    server = leased("/1", "/2")
    fetch(server).stored = False
    fetch(server)
    settlement = server.settlement(confirmed=0)
    assert settlement.done == ("/2",)
    assert settlement.release


# Failures in a row


def counted(settlements) -> int:
    """What the frontier makes of them: pages end a row of failures, further failures lengthen it."""
    row = 0
    for settlement in settlements:
        if settlement is not None:
            row = settlement.failures + (0 if settlement.pages else row)
    return row


def test_failures_are_counted_once_however_often_the_server_is_settled():
    server = leased(*"123456")
    said = []
    for batch in range(3):
        fetch(server, batch=batch, how=FAILED)
        said.append(server.settlement(confirmed=batch))
    assert [settlement.failures for settlement in said] == [1, 1, 1]
    assert counted(said) == 3


def test_an_answer_ends_a_row_of_failures():
    server = leased(*"123456")
    for how in (FAILED, FAILED, ANSWERED, FAILED):
        fetch(server, how=how)
    settlement = server.settlement(confirmed=0)
    assert (settlement.pages, settlement.failures) == (1, 1)


def test_a_url_that_was_never_requested_is_no_failure_of_the_server():
    server = leased(*"123456")
    said = []
    for batch, how in enumerate((FAILED, DENIED, DENIED, DENIED)):
        fetch(server, batch=batch, how=how)
        said.append(server.settlement(confirmed=batch))
    assert counted(said) == 1
    assert [settlement.done for settlement in said] == [("1",), ("2",), ("3",), ("4",)]


def test_a_url_that_was_never_requested_does_not_end_a_row_of_failures():
    server = leased(*"123456")
    for how in (FAILED, DENIED, FAILED):
        fetch(server, how=how)
    assert server.settlement(confirmed=0).failures == 2


@given(
    fates=st.lists(st.tuples(st.sampled_from((ANSWERED, FAILED, DENIED)), st.integers(0, 1)), max_size=12),
    asked=st.sets(st.integers(0, 12)),
)
def test_whenever_it_is_settled_every_url_is_acknowledged_once_and_the_row_of_failures_is_the_last_one(fates, asked):
    server = leased(*(f"/{number}" for number in range(len(fates))))
    said, batch = [], 0
    for number, (how, step) in enumerate(fates):
        batch += step
        fetch(server, batch=batch, how=how)
        if number in asked:
            said.append(server.settlement(confirmed=batch - 1))
    said.append(server.settlement(confirmed=batch, give_back=True))
    done = [member for settlement in said if settlement for member in settlement.done]
    assert done == [f"/{number}" for number in range(len(fates))]
    assert sum(settlement.pages for settlement in said if settlement) == sum(how == ANSWERED for how, _ in fates)
    row = 0
    for how, _ in fates:
        row = 0 if how == ANSWERED else row + (how == FAILED)
    assert counted(said) == row
    assert [settlement.release for settlement in said if settlement][-1]


# What was measured


def test_what_was_kept_back_because_the_lease_had_run_out_is_neither_done_nor_a_failure():
    server = leased("/1", "/2")
    for sent in (True, False):
        handed = hand_out(server)
        handed.sent = sent
        finish(handed, how=FAILED)
    settlement = server.settlement(confirmed=0)
    assert settlement.done == ("/1",)
    assert settlement.failures == 1


def test_measurements_are_told_once():
    server = leased("/1", "/2", "/3")
    server.carried = 2
    server.connection_ms.append(80.0)
    server.response_ms += [50.0, 60.0]
    fetch(server)
    fetch(server)
    told = server.settlement(confirmed=0)
    assert (told.connection_ms, told.response_ms, told.carried) == ((80.0,), (50.0, 60.0), 2)
    again = server.settlement(confirmed=0, give_back=True)
    assert (again.connection_ms, again.response_ms, again.carried) == ((), (), None)


@pytest.mark.parametrize("waiting", [0, 1])
def test_a_server_is_open_while_anything_of_it_is_to_be_downloaded(waiting):
    server = leased(*"12"[: waiting + 1])
    handed = hand_out(server)
    assert not server.drained
    finish(handed)
    assert server.drained == (waiting == 0)


def test_a_settlement_tells_what_was_learned_of_its_server_by_then() -> None:
    server, learned = leased("/1", "/2"), {SERVER: 1.5}
    fetch(server)
    assert server.settlement(confirmed=0, odds_of=learned.get).odds == 1.5
    fetch(server)
    learned[SERVER] = 0.25
    last = server.settlement(confirmed=0, odds_of=learned.get)
    assert (last.odds, last.release) == (0.25, True)


def test_a_settlement_tells_no_odds_where_nothing_is_learned() -> None:
    server = leased("/1", "/2")
    fetch(server)
    assert server.settlement(confirmed=0).odds is None
    fetch(server)
    assert server.settlement(confirmed=0, odds_of={}.get).odds is None


def test_what_is_given_back_is_not_handed_out_and_tells_its_worth_when_the_lease_ends():
    server = leased("/1", "/2", "/3")
    assert server.give_back("/2", 0.1)
    assert fetch(server, batch=0).url.member == "/1"
    first = server.settlement(confirmed=0)
    assert (first.release, first.lowered) == (False, ())
    assert fetch(server, batch=0).url.member == "/3"
    last = server.settlement(confirmed=0)
    assert (last.done, last.release, last.lowered) == (("/3",), True, (("/2", 0.1),))


def test_a_lease_of_which_nothing_is_left_to_fetch_is_over():
    server = leased("/1", "/2")
    assert server.give_back("/1", 0.1)
    assert not server.over
    assert server.give_back("/2", 0.2)
    assert server.over
    settlement = server.settlement(confirmed=0)
    assert (settlement.done, settlement.pages, settlement.failures) == ((), 0, 0)
    assert (settlement.release, settlement.lowered) == (True, (("/1", 0.1), ("/2", 0.2)))


def test_what_was_handed_out_already_cannot_be_given_back():
    server = leased("/1", "/2")
    handed = hand_out(server)
    assert not server.give_back("/1", 0.1)
    assert not server.give_back("/nowhere", 0.1)
    finish(handed)
    assert server.settlement(confirmed=0, give_back=True).lowered == ()


def test_what_was_given_back_keeps_its_new_worth_when_the_crawl_ends():
    server = leased("/1", "/2")
    server.give_back("/1", 0.1)
    assert server.settlement(confirmed=0, give_back=True).lowered == (("/1", 0.1),)


def test_what_is_worth_as_much_as_ever_is_not_given_back():
    server = leased("/1")
    assert not server.give_back("/1", 0.9)
    assert not server.give_back("/1", 0.5)
    assert not server.over
    assert server.give_back("/1", 0.4999)
