"""The one number by which a URL queue is sorted, packed from four and unpacked again.

Everything a URL queue knows of a URL but its name and its payload is in this number, so that a sorted set is the whole
queue. It has 53 bits, exactly what a double holds, because that is what Redis sorts by. Greater is fetched first:

===================  =======================================================================================
ordered by quality   quality (14 bits), 2²⁵−1 − sequence (25), depth (10), hops (4): the best, the oldest of equals
first in, first out  2²⁵−1 − sequence (25), quality (14), depth (10), hops (4): the oldest
===================  =======================================================================================

`sequence` counts the insertions into a queue and stays at its greatest value; depth and hops are capped likewise.
"""

from __future__ import annotations

from typing import NamedTuple

from extensions.frontier.records import MAX_DEPTH, MAX_HOPS, MAX_SEQUENCE, QUALITY_STEPS

QUALITY_BITS, SEQUENCE_BITS, DEPTH_BITS, HOPS_BITS = 14, 25, 10, 4
QUALITY_BELOW = {True: SEQUENCE_BITS + DEPTH_BITS + HOPS_BITS, False: DEPTH_BITS + HOPS_BITS}
"""How many bits are below the quality where it comes first, and where the sequence does."""


class Fields(NamedTuple):
    """What a score says: quality from 0 to 1 in the queue's resolution, and the rest as it was capped."""

    quality: float
    sequence: int
    depth: int
    hops: int


def steps(quality: float) -> int:
    """The quality, 0 to 1, in the queue's resolution: 0 to `QUALITY_STEPS`."""
    return int(quality * QUALITY_STEPS + 0.5)


def pack(by_quality: bool, quality: float, sequence: int, depth: int, hops: int) -> int:
    """The score of a URL; `by_quality` is the policy's `orders_by_quality`."""
    age = MAX_SEQUENCE - min(sequence, MAX_SEQUENCE)
    major = steps(quality) << SEQUENCE_BITS | age if by_quality else age << QUALITY_BITS | steps(quality)
    return (major << DEPTH_BITS | min(depth, MAX_DEPTH)) << HOPS_BITS | min(hops, MAX_HOPS)


def unpack(by_quality: bool, score: int) -> Fields:
    """What `pack` was given, in the queue's resolution and capped."""
    rest, hops = divmod(score, 1 << HOPS_BITS)
    major, depth = divmod(rest, 1 << DEPTH_BITS)
    if by_quality:
        quality, age = divmod(major, 1 << SEQUENCE_BITS)
    else:
        age, quality = divmod(major, 1 << QUALITY_BITS)
    return Fields(quality / QUALITY_STEPS, MAX_SEQUENCE - age, depth, hops)
