"""What Redis refuses, told in one sentence with its remedy, and whether waiting will mend it.

A transient fault becomes `FrontierUnavailable`: the crawl keeps what it holds and tries again. Any other becomes `FrontierBroken`.

Redis begins an error with a code in capitals. Up to 6.2 an error within a script carries the code of the command that failed further in
(``Error running script …: -OOM command not allowed``); a script that is refused for want of memory or for a replica has written nothing.
"""

from __future__ import annotations

import re

from redis.exceptions import (
    AskError,
    AuthenticationError,
    BusyLoadingError,
    ClusterDownError,
    ConnectionError,  # noqa: A004 - Redis's own; the built-in one is an OSError
    MasterDownError,
    MovedError,
    NoPermissionError,
    NoScriptError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisClusterException,
    RedisError,
    TimeoutError,  # noqa: A004 - likewise
    TryAgainError,
)

from extensions.errors import CrawlError, FrontierBroken, FrontierUnavailable

REDIS_FAULTS = (RedisError, RedisClusterException, OSError)
"""What a client raises; the faults of a whole Cluster are no `RedisError`."""

TRANSIENT = {
    "OOM": "Redis has no memory left: raise its maxmemory",
    "READONLY": "This Redis is a replica and takes no writes: REDIS_URL must lead to the master",
    "LOADING": "Redis is still loading its data",
    "BUSY": "Redis is busy with somebody's long script: wait, or end it with SCRIPT KILL",
    "MASTERDOWN": "This Redis is a replica that has lost its master: bring the master back",
    "CLUSTERDOWN": "Part of the Redis Cluster has no master: a replica has to be promoted, or the node started again",
    "TRYAGAIN": "The Redis Cluster is moving these keys to another node",
    "ASK": "The Redis Cluster is moving these keys to another node",
    "MOVED": "The Redis Cluster has moved these keys to another node",
    "MISCONF": "Redis cannot write to its disk: make room there, or look into its log",
    "NOREPLICAS": "Redis misses the replicas that its min-replicas-to-write asks for: start them",
    "UNBLOCKED": "Redis let go of a call half-way, since it is no longer a master",
    "NOSCRIPT": "Redis has forgotten the frontier's scripts twice in a row, as it does when it restarts",
}
LASTING = {
    "NOAUTH": "Redis wants a password: put it into REDIS_URL or REDIS_PARAMS",
    "NOPERM": "The Redis user may not do what the frontier needs: allow it EVALSHA, SCRIPT, MULTI, hashes, streams, SCAN and the keys frontier:*",
    "WRONGTYPE": "A key of the frontier holds something else in Redis: begin again with -s SCHEDULER_FLUSH_ON_START=True",
}
CODE_OF: tuple[tuple[type[Exception], str], ...] = (
    # redis-py takes the code off the errors that it has a class for. Subclasses first.
    (AuthenticationError, "NOAUTH"),
    (NoPermissionError, "NOPERM"),
    (BusyLoadingError, "LOADING"),
    (OutOfMemoryError, "OOM"),
    (ReadOnlyError, "READONLY"),
    (MasterDownError, "MASTERDOWN"),
    (ClusterDownError, "CLUSTERDOWN"),
    (TryAgainError, "TRYAGAIN"),
    (MovedError, "MOVED"),
    (AskError, "ASK"),
    (NoScriptError, "NOSCRIPT"),
)
CODE = re.compile(r"^([A-Z]{3,}) |[: ]-([A-Z]{3,}) ")
NOT_LOCAL = "non local key"
"""Of a script in a slot that is being moved: some of its keys are at the other node already."""


def fault_of(error: Exception) -> CrawlError:
    """The sentence for an error of Redis or of the way to it."""
    code = _code(error)
    if code in TRANSIENT:
        return FrontierUnavailable(f"{TRANSIENT[code]} ({code}); the crawl waits.")
    if code in LASTING:
        return FrontierBroken(f"{LASTING[code]} ({code}: {error}).")
    said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if isinstance(error, (TimeoutError, OSError)) and "imeout" in type(error).__name__:
        return FrontierUnavailable(f"Redis does not answer in time ({said}); the crawl waits.")
    if isinstance(error, RedisClusterException):
        return FrontierUnavailable(f"The Redis Cluster cannot be reached as a whole ({said}); the crawl waits.")
    if isinstance(error, (ConnectionError, OSError)):
        return FrontierUnavailable(f"Redis cannot be reached ({said}); the crawl waits.")
    return FrontierBroken(f"Redis refuses what the frontier asks of it, and waiting will not help ({said}).")


def _code(error: Exception) -> str:
    for kind, code in CODE_OF:
        if isinstance(error, kind):
            return code
    text = str(error)
    if NOT_LOCAL in text:
        return "TRYAGAIN"
    codes = [one or other for one, other in CODE.findall(text)]
    return next((code for code in codes if code in TRANSIENT or code in LASTING), "")
