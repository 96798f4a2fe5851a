"""The faults a user can do something about. Each message is one sentence that says what to do."""

from __future__ import annotations


class CrawlError(Exception):
    """A fault with a remedy: shown to the user as its message, without a traceback."""


class ConfigurationError(CrawlError):
    """A setting, an argument or a campaign is wrong; the message says what is allowed."""


class FrontierUnavailable(CrawlError):
    """Redis cannot be reached, refuses to serve, is too old, or cannot be started."""


class FrontierBroken(CrawlError):
    """Redis refuses what the frontier asks of it, and waiting will not mend it: no permission, a key of another kind, a script's error."""


class UnserialisableRequest(CrawlError):
    """A request holds something that cannot cross a process boundary; the message names the request and the part."""


class OutputError(CrawlError):
    """A result could not be stored (disk full, folder not writable): the page must not be acknowledged."""
