"""Link quality that learns during the crawl: what the folders of a server have held so far corrects what a link's words promise.

Pages on one topic stand together: in a section of a site, below one folder. So each server and each folder has a record, n pages fetched with relevance
r in sum, and a link is judged by the records on its path, each shrunk towards the one above it (empirical Bayes, as for rare words in
back-off models):

    p(folder) = (r + K·p(folder above)) / (n + K),   p(above all servers) = m = max(mean relevance so far, OPTIMISM)
    logit within  = logit prior + evidence + depth·ln DEPTH_DECAY + FOLDERS·(logit p(folder) − logit p(server))
    logit quality = logit within + ln odds(server),   ln odds(server) = logit p(server) − logit m

where `prior` is `links.link_quality` and `evidence` that of the link's words as far as it was learned (`linkwords`). A server nobody has tried stands at m, which is optimistic: one tried in vain falls below it, so a
crawl that finds nothing goes on to other servers and folders instead of emptying one (optimism in the face of uncertainty, the idea of UCB). Before the first page is
learned the model is the prior, less the depth's part.

A quality is computed once, when its URL is queued, and what is learned later should still count. Therefore it comes in two factors: `within` orders the URLs
of one server among themselves and goes into the queue; `odds` is one number for the server, which can be told anew whenever something was learned, and moves
all that is queued there at once (`adjusted` puts the two together).

A page's relevance by its words is itself uncertain, and where it stands is evidence as well: a page without the topic's words in a folder of relevant ones is rather relevant than not.
So what is learned is the page's relevance given both (co-training of two views, Blum and Mitchell 1998): logit r = logit relevance + TRUST·(logit p(folder) − logit m).

Records only ever add up. So agents can share what they learn by sending each other sums (`changes`, `merge`), in any order.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import msgpack

K = 2.0
"""Pages of its own that weigh as much in a folder's estimate as the folder above."""
OPTIMISM = 0.2
TRUST = 1.0
"""How much of what is known of a folder counts when one of its pages is judged; 0: only the page's own words do."""
FOLDERS = 0.5
"""How much of what is known of a folder beyond its server counts when a link is judged: less than all, as the words of links that lead there often tell the same."""
DEPTH_DECAY = 0.8
"""What is left of the odds with each link from a seed: among links of which nothing is known, the shallow ones first."""
_DECAYED = tuple(DEPTH_DECAY**depth for depth in range(101))
LEAST, MOST = 1e-3, 1.0 - 1e-3
"""Bounds of a prior: no link is hopeless, none certain."""
DEEPEST = 6
"""Folders of a path that have records."""
CAPACITY = 200_000
"""Records kept; a hundred bytes each, or two."""
FORMAT = 1


class LinkFeatures(NamedTuple):
    """What is known of a link before it is fetched. `url` is canonical; `prior` the hand-made quality, 0 to 1; `evidence` what its words have led to, in logits."""

    prior: float
    url: str
    depth: int = 0
    evidence: float = 0.0


class LinkModel:
    """See the module's docstring. Time per link: about a microsecond; not for several threads at once."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self.capacity = capacity
        self._records: dict[str, list[float]] = {}
        self._changes: dict[str, list[float]] = {}
        self._changed = (0.0, 0.0)
        self._pages = 0.0
        self._relevance = 0.0
        self._shifts: dict[str, tuple[float, float, float]] = {}
        """By folder, what the records of its server and of the folders below add to the logit of a page there, and by what the latter multiply a link's odds; forgotten whenever something is learned."""

    def quality(self, link: LinkFeatures) -> float:
        """The probability, 0 to 1, that the page behind the link is worth its fetch."""
        of_server, _, within = self._shifts_of(link.url)
        return self._corrected(link, math.exp(of_server) * within)

    def within(self, link: LinkFeatures) -> float:
        """The same as if nothing were known of the link's server, only of the folders there: what is queued, since it does not age as the server's record grows."""
        return self._corrected(link, self._shifts_of(link.url)[2])

    def odds(self, server: str) -> float:
        """By what the odds of all links to a server (scheme, host, port) are to be multiplied: above 1 a server richer than an unknown one, below 1 a barren one."""
        return math.exp(self._shifts_of(server + "/")[0])

    def learn(self, link: LinkFeatures, relevant: float) -> float:
        """Take in what a fetched page turned out to be: its relevance as a probability, or 0 and 1; what that is, given where the page stands."""
        if not 0.0 <= relevant <= 1.0:
            raise ValueError(f"relevant is {relevant}, but must be a probability, 0 to 1")
        if 0.0 < relevant < 1.0:
            relevant = _probability(_logit(relevant) + TRUST * math.fsum(self._shifts_of(link.url)[:2]))
        for group in _path(link.url[: link.url.rfind("/")]):
            _add(self._changes, group, 1.0, relevant)
            _add(self._records, group, 1.0, relevant)
        self._changed = (self._changed[0] + 1.0, self._changed[1] + relevant)
        self._total(1.0, relevant)
        return relevant

    def changes(self) -> bytes:
        """What was learned since the last call, for `merge` in other agents' models; empty if nothing was."""
        if not self._changes:
            return b""
        packed: bytes = msgpack.packb((FORMAT, self._changes, *self._changed))
        self._changes, self._changed = {}, (0.0, 0.0)
        return packed

    def merge(self, changes: bytes) -> None:
        """Take in what another agent has learned. Raises `ValueError` for what `changes` did not write."""
        records, pages, relevance = _unpacked(changes) if changes else ({}, 0.0, 0.0)
        for group, record in records.items():
            _add(self._records, group, *record)
        self._total(pages, relevance)

    def state(self) -> bytes:
        """All that was learned, for `from_state`."""
        packed: bytes = msgpack.packb((FORMAT, self._records, self._pages, self._relevance))
        return packed

    @classmethod
    def from_state(cls, state: bytes, capacity: int = CAPACITY) -> LinkModel:
        """The model as it was saved. Raises `ValueError` for what `state` did not write."""
        model = cls(capacity)
        model._records, model._pages, model._relevance = _unpacked(state)
        model._thin_out()
        return model

    def __len__(self) -> int:
        return len(self._records)

    @staticmethod
    def _corrected(link: LinkFeatures, odds: float) -> float:
        prior, _, depth, evidence = link
        prior = LEAST if prior < LEAST else MOST if prior > MOST else prior  # noqa: FURB136 - calls take longer
        if evidence:
            odds *= math.exp(evidence)
        return adjusted(prior, _DECAYED[depth if depth < len(_DECAYED) else -1] * odds)

    def _shifts_of(self, url: str) -> tuple[float, float, float]:
        folder = url[: url.rfind("/")]
        shifts = self._shifts.get(folder)
        if shifts is None:
            if len(self._shifts) >= self.capacity:
                self._shifts.clear()
            shifts = self._shifts[folder] = self._reckon(folder)
        return shifts

    def _reckon(self, folder: str) -> tuple[float, float, float]:
        mean = max(OPTIMISM, self._relevance / self._pages) if self._pages else OPTIMISM
        of_server = estimate = mean
        for place, group in enumerate(_path(folder)):
            record = self._records.get(group)
            if record is None:
                break
            pages, relevance = record
            estimate = (relevance + K * estimate) / (pages + K)
            if place == 0:
                of_server = estimate
        below = _logit(estimate) - _logit(of_server)
        return _logit(of_server) - _logit(mean), below, math.exp(FOLDERS * below)

    def _total(self, pages: float, relevance: float) -> None:
        self._pages += pages
        self._relevance += relevance
        self._shifts.clear()
        self._thin_out()

    def _thin_out(self) -> None:
        """Where there are too many records, forget the half with the fewest pages: their folders are judged by the ones above."""
        if len(self._records) > self.capacity:
            kept = sorted(self._records.items(), key=lambda item: item[1][0], reverse=True)
            self._records = dict(kept[: self.capacity // 2])
        # An agent that shares nothing keeps no sums to share.
        if len(self._changes) > self.capacity:
            self._changes, self._changed = {}, (0.0, 0.0)


def adjusted(quality: float, odds: float) -> float:
    """A quality, 0 to 1, after its odds were multiplied: o·q / (1 + (o − 1)·q)."""
    return odds * quality / (1.0 + (odds - 1.0) * quality)


def _add(records: dict[str, list[float]], group: str, pages: float, relevance: float) -> None:
    record = records.setdefault(group, [0.0, 0.0])
    record[0] += pages
    record[1] += relevance


def _path(folder: str) -> list[str]:
    """The server, then each folder down to this one, at most `DEEPEST` of them: ``https://a.test``, ``https://a.test/b``, …"""
    start = folder.find("://") + 3
    groups = []
    for _ in range(DEEPEST):
        end = folder.find("/", start)
        if end < 0:
            break
        groups.append(folder[:end])
        start = end + 1
    else:
        return groups
    groups.append(folder)
    return groups


def _logit(probability: float) -> float:
    probability = min(MOST, max(LEAST, probability))
    return math.log(probability / (1.0 - probability))


def _probability(logit: float) -> float:
    return 1.0 / (1.0 + math.exp(-logit))


def _unpacked(packed: bytes) -> tuple[dict[str, list[float]], float, float]:
    """Records, and the sums over all pages. Raises `ValueError`."""
    try:
        version, records, pages, relevance = msgpack.unpackb(packed)
        if version == FORMAT:
            return (
                {str(group): [float(n), float(r)] for group, (n, r) in records.items()},
                float(pages),
                float(relevance),
            )
    except (ValueError, TypeError, AttributeError, msgpack.UnpackException) as error:
        raise ValueError("these bytes are no link model") from error
    raise ValueError(f"a link model of format {version!r}, written by another version of this project")
