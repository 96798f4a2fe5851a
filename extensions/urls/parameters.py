"""Which parameters name a visit and not a page: the names and ``prefix*`` patterns of the setting, ready to be asked."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from extensions.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterable


class VisitParameters:
    """Names of tracking and session parameters. Case is ignored; ``*`` at the end of a name stands for any ending."""

    __slots__ = ("_names", "_prefixes")

    def __init__(self, names: Iterable[str]) -> None:
        wanted = {name.strip().lower() for name in names}
        for name in wanted:
            if not name or "*" in name[:-1] or re.search(r"[&=;/?#%\s]", name):
                raise ConfigurationError(
                    f"URL_DROP_PARAMETERS holds {name!r}, but must be parameter names, with * at their end only."
                )
        self._names = frozenset(name for name in wanted if not name.endswith("*"))
        self._prefixes = tuple(sorted(name[:-1] for name in wanted if name.endswith("*")))

    def __bool__(self) -> bool:
        return bool(self._names or self._prefixes)

    def __contains__(self, name: str) -> bool:
        name = name.lower()
        return name in self._names or name.startswith(self._prefixes)
