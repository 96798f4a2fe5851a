"""Who this process is among the agents of a crawl: a name that a restarted agent gets again.

The name is made of the machine, the project's folder and the first number whose lock file nobody holds. The operating system
releases the lock when the process dies, however it dies: so whoever takes a number knows that its former holder is dead, and may take
back that agent's leases at once instead of waiting for them to expire. The folder goes by a random word that is kept in it, its `place`:
containers that have the same host name and the same paths are told apart by it.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import socket
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


class AgentName:
    """A name held from `take` to `free`."""

    def __init__(self, folder: Path, crawl: str, name: str = "") -> None:
        self._folder = folder.absolute()
        self._crawl = crawl
        self.name = name
        self.place = ""
        self._lock: IO[bytes] | None = None

    def take(self) -> str:
        """The first free name, or the given one. Raises OSError if the folder is not writable."""
        self._folder.mkdir(parents=True, exist_ok=True)
        machine = re.sub(r"[^A-Za-z0-9.-]", "-", socket.gethostname())[:40]
        self.place = _place_of(self._folder)
        number = 1
        while True:
            lock = (self._folder / f"{self._crawl}.{self.name or number}.lock").open("wb")
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                lock.close()
                if self.name:
                    raise
                number += 1
                continue
            self._lock = lock
            self.name = self.name or f"{machine}-{self.place[:6]}-{number}"
            return self.name

    def free(self) -> None:
        """Give the name back."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None


def _place_of(folder: Path) -> str:
    """The folder's word, made up by whoever needs it first."""
    file = folder / "place"
    if not file.exists():
        mine = folder / f".place.{os.getpid()}.{secrets.token_hex(4)}"
        mine.write_text(secrets.token_hex(16))
        try:
            os.link(mine, file)  # unless another process was faster; whoever reads finds the whole word
        except FileExistsError:
            pass
        finally:
            mine.unlink()
    return file.read_text()
