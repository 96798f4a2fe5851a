"""What a crawl learns, of links and of places: each crawler has its learners, which the relevance middleware teaches and asks and the agent's upkeep shares with the others and keeps."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import msgpack

from extensions.frontier.lessons import Lessons
from extensions.scoring import LinkModel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from redis.asyncio import Redis
    from scrapy.crawler import Crawler

    from extensions.frontier.records import Lease
    from extensions.scoring import Learner, LinkJudge

logger = logging.getLogger(__name__)

LINKS = "links"

_learners: WeakKeyDictionary[Crawler, dict[str, Learner]] = WeakKeyDictionary()
_judges: WeakKeyDictionary[Crawler, LinkJudge] = WeakKeyDictionary()
# Scrapy builds scheduler and middlewares apart from each other; what they share hangs on the crawler, and goes with it.


def learners_of(crawler: Crawler) -> Mapping[str, Learner]:
    """All that learns in this crawler, by the name under which it is shared; complete once the middlewares are built."""
    return _learners.get(crawler, {})


def learn_in(crawler: Crawler, name: str, learner: Learner) -> None:
    """From now on this learner is shared and kept as well. Names are the same in all agents."""
    _learners.setdefault(crawler, {})[name] = learner


def link_model_of(crawler: Crawler) -> LinkModel:
    """The crawler's model of links, the same for all who ask."""
    model = learners_of(crawler).get(LINKS)
    if not isinstance(model, LinkModel):
        learn_in(crawler, LINKS, model := LinkModel())
    return model


def odds_of(crawler: Crawler, server: str) -> float | None:
    """By what the odds of all links to a server are to be multiplied, as far as the crawl has learned; None as long as nothing was learned, or nobody does."""
    model = learners_of(crawler).get(LINKS)
    return model.odds(server) if model and isinstance(model, LinkModel) else None


def judge_in(crawler: Crawler, judge: LinkJudge) -> None:
    """From now on this judge tells what leased links are worth by now."""
    _judges[crawler] = judge


def fallen(crawler: Crawler, lease: Lease) -> Iterator[tuple[str, float]]:
    """Which URLs of a lease are worth clearly less by now than when they were queued, and how much; nothing where nobody learns."""
    judge = _judges.get(crawler)
    if judge is not None:
        for url in lease.urls:
            # Other members stand for requests that no link led to.
            now = judge.fallen(lease.server + url.member, url.quality) if url.member[0] == "/" else None
            if now is not None:
                yield url.member, now


class SharedLearning:
    """The way of what was learned to Redis and back: one lesson, and one state, for all learners. Each method raises `FrontierUnavailable` when Redis does not serve."""

    def __init__(self, learners: Mapping[str, Learner], client: Redis, crawl: str, agent: str) -> None:
        self._learners = learners
        self._lessons = Lessons(client, crawl, agent)

    async def recall(self) -> None:
        """What this crawl has learned before, by whomever."""
        self._hear(await self._lessons.recall())

    async def share(self) -> None:
        """Tell what is new here and hear what is new elsewhere: two round trips at most."""
        self._hear(await self._lessons.exchange(self._packed(lambda learner: learner.changes())))

    async def keep(self) -> None:
        """Save the whole with the crawl. What nobody learns any more, since the settings have changed, is not part of it."""
        await self.share()
        if state := self._packed(lambda learner: learner.state() if len(learner) else b""):
            await self._lessons.keep(state)

    def _packed(self, said_by: Callable[[Learner], bytes]) -> bytes:
        """What each learner says, by its name; empty if none says anything."""
        said = {name: part for name, learner in self._learners.items() if (part := said_by(learner))}
        packed: bytes = msgpack.packb(said) if said else b""
        return packed

    def _hear(self, lessons: list[bytes]) -> None:
        faults: dict[str, None] = {}
        for lesson in lessons:
            try:
                parts = _parts(lesson)
            except ValueError as error:
                faults[str(error)] = None
                continue
            for name, learner in self._learners.items():
                try:
                    learner.merge(parts.get(name, b""))
                except ValueError as error:
                    faults[str(error)] = None
        for fault in faults:
            logger.warning("Some of what was learned earlier cannot be used: %s", fault)


def _parts(lesson: bytes) -> dict[str, bytes]:
    """What was told, by the learners' names. Raises `ValueError` for what `SharedLearning` did not write."""
    try:
        parts = msgpack.unpackb(lesson)
    except (ValueError, msgpack.UnpackException) as error:
        raise ValueError("these bytes are no lesson") from error
    if not isinstance(parts, dict) or not all(isinstance(part, bytes) for part in parts.values()):
        raise ValueError("a lesson of another version of this project")
    return parts
