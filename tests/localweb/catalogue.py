"""Which servers the sample web has, and which modules each one documents.

One server per installed distribution (``aiohttp.test``, over https), one per package of the standard library
(``asyncio.python.test``) and one per area of its single modules (``networking.python.test``), all over http. Nothing is imported
to find out: module names come from the files. Modules that act on import, tests and private modules are left out.
"""

from __future__ import annotations

import importlib.util
import pkgutil
import re
import sys
from dataclasses import dataclass, field
from importlib import metadata
from importlib.machinery import EXTENSION_SUFFIXES, SOURCE_SUFFIXES
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

HUB = "http://www.python.test"

# Single modules of the standard library by area, after the chapters of its reference.
AREAS = {
    "text": "string difflib textwrap unicodedata stringprep readline rlcompleter",
    "data": "struct codecs datetime calendar heapq bisect array weakref types copy pprint reprlib enum graphlib",
    "numbers": "numbers math cmath decimal fractions random statistics",
    "functional": "itertools functools operator",
    "files": "os pathlib posixpath ntpath fileinput stat filecmp tempfile glob fnmatch linecache shutil io",
    "persistence": "pickle copyreg shelve marshal pickletools",
    "archives": "zlib gzip bz2 lzma zipfile tarfile",
    "formats": "csv configparser netrc plistlib mimetypes base64 binascii quopri uuid",
    "crypto": "hashlib hmac secrets",
    "system": "time argparse getopt getpass platform errno optparse signal mmap fcntl resource syslog pwd grp pty tty termios",
    "concurrency": "threading subprocess sched queue contextvars",
    "networking": "socket ssl select selectors socketserver ipaddress ftplib poplib imaplib smtplib nntplib telnetlib webbrowser",
    "development": "doctest pydoc typing bdb faulthandler pdb timeit trace tracemalloc cProfile profile pstats",
    "runtime": "sys sysconfig builtins warnings dataclasses contextlib abc atexit traceback gc inspect code codeop site",
    "importing": "zipimport pkgutil modulefinder runpy zipapp",
    "language": "ast symtable token keyword tokenize tabnanny pyclbr py_compile compileall dis opcode",
    "multimedia": "wave colorsys gettext locale cmd shlex",
}

# What the sample campaign is about has room for more of its modules, so that its topic is a sixth of the web and not a tenth.
ROOMY = {"twisted": 3, "aiohttp": 2}

# These act when imported (a browser opens, a poem is printed), need a display, or are of no use to a reader.
ACTIVE = frozenset(
    {"antigravity", "this", "idlelib", "turtledemo", "turtle", "test", "distutils", "pydoc_data", "lib2to3"}
)
# Scripts, and what only makes sense inside a test run or an installation.
SCRIPTS = frozenset({"conftest", "setup", "tests", "test", "testing", "_vendor", "vendor", "reactor", "entrypoints"})


@dataclass(slots=True)
class Server:
    """A server of the sample web; `modules` are the ones it documents, its packages first."""

    url: str
    name: str
    title: str
    modules: list[str]
    distribution: str | None = None
    version: str = ""
    requires: list[str] = field(default_factory=list)
    project_urls: list[str] = field(default_factory=list)
    classifiers: list[str] = field(default_factory=list)

    @property
    def host(self) -> str:
        """The name without the scheme."""
        return self.url.partition("://")[2]


def servers(distributions: Collection[str] | None, areas: Collection[str] | None, limit: int) -> list[Server]:
    """All servers in order of their names, or those named, with at most `limit` modules each (a few may have more)."""
    return [*_standard_library(areas, limit), *_distributions(distributions, limit)]


def normalised(name: str) -> str:
    """A distribution's name the way package indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def header(headers: metadata.PackageMetadata, name: str) -> str:
    """The first value of a header of a distribution's metadata; empty if there is none."""
    return str(next(iter(headers.get_all(name) or ()), "")).strip()


def documented(module: str) -> bool:
    """Whether a module is to be read about, and can be imported without consequences."""
    parts = module.split(".")
    return parts[0] not in ACTIVE and all(
        part.isidentifier() and not part.startswith(("_", "test_")) and part not in SCRIPTS for part in parts
    )


def chosen(modules: Iterable[str], limit: int) -> list[str]:
    """At most `limit` of the modules: upper levels first, and of each level one module of every package in turn."""
    turns: dict[str, int] = {}
    keys = {}
    for module in sorted(set(modules)):
        parent = module.rpartition(".")[0]
        turns[parent] = turns.get(parent, 0) + 1
        keys[module] = (min(module.count("."), 2), turns[parent], module)
    return sorted(keys, key=keys.__getitem__)[:limit]


def _standard_library(areas: Collection[str] | None, limit: int) -> list[Server]:
    found = []
    for area, names in AREAS.items():
        modules = [name for name in names.split() if _exists(name)]
        found.append(Server(f"http://{area}.python.test", area, f"The {area} modules of Python", modules[:limit]))
    for name in sorted(sys.stdlib_module_names):
        if documented(name) and (modules := _package(name)):
            title = f"{name}, a package of Python's standard library"
            found.append(Server(f"http://{name.replace('_', '-')}.python.test", name, title, chosen(modules, limit)))
    return [server for server in found if areas is None or server.name in areas]


def _exists(name: str) -> bool:
    return name in sys.stdlib_module_names and importlib.util.find_spec(name) is not None


def _package(name: str) -> list[str]:
    """The modules of a package of the standard library, itself included; none if it is no package or not installed."""
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        return []
    modules = [name]
    waiting = [(name, list(spec.submodule_search_locations))]
    while waiting:
        package, folders = waiting.pop()
        for item in pkgutil.iter_modules(folders, package + "."):
            if documented(item.name):
                modules.append(item.name)
                if item.ispkg:
                    waiting.append((item.name, [f"{folder}/{item.name.rpartition('.')[2]}" for folder in folders]))
    return modules


def _distributions(names: Collection[str] | None, limit: int) -> list[Server]:
    wanted = None if names is None else {normalised(name) for name in names}
    found = {}
    for item in metadata.distributions():
        name = normalised(item.name)
        if name in found or (wanted is not None and name not in wanted):
            continue
        headers = item.metadata
        summary = header(headers, "Summary")
        urls = [part.rpartition(",")[2].strip() for part in headers.get_all("Project-URL") or []]
        found[name] = Server(
            url=f"https://{name}.test",
            name=name,
            title=f"{item.name}: {summary}" if summary and summary != "UNKNOWN" else item.name,
            modules=chosen(_modules_of(item), limit * ROOMY.get(name, 1)),
            distribution=item.name,
            version=item.version,
            requires=sorted(
                {normalised(match[0]) for each in item.requires or [] if (match := re.match(r"[\w.-]+", each))}
            ),
            project_urls=[url for url in [header(headers, "Home-page"), *urls] if url.startswith("http")],
            classifiers=headers.get_all("Classifier") or [],
        )
    return [found[name] for name in sorted(found)]


def _modules_of(item: metadata.Distribution) -> list[str]:
    modules = []
    for file in item.files or []:
        suffix = next((end for end in (*EXTENSION_SUFFIXES, *SOURCE_SUFFIXES) if file.name.endswith(end)), None)
        if suffix is None or file.parts[0] == "..":
            continue
        parts = [*file.parts[:-1], file.name.removesuffix(suffix)]
        module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if module and documented(module):
            modules.append(module)
    return modules
