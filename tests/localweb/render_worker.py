"""Renders modules and descriptions in a process of its own: ``python -m tests.localweb.render_worker``.

Importing a stranger's module may print, hang, exit or crash: here it harms nobody but this process. Each line of standard input is
a task, each line of standard output its result, both JSON:

- ``{"module": "asyncio.events"}`` → ``{"html", "title", "synopsis", "uses"}``: pydoc's page body as it stands, and the names of the
  modules whose functions and classes it uses;
- ``{"description": "aiohttp"}`` → ``{"html", "title", "synopsis"}``: a distribution's own description;
- what fails → ``{"error"}``.
"""

from __future__ import annotations

import html
import importlib
import json
import os
import pydoc
import re
import sys
import warnings
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.localweb.catalogue import header


class PageDoc(pydoc.HTMLDoc):
    """pydoc's HTML, without links to files of this machine."""

    def filelink(self, url: str, path: str) -> str:
        """The file's name alone: where it lies is nobody's business."""
        return html.escape(Path(path).name)


def render_module(name: str) -> dict[str, Any]:
    """A module's page."""
    module = importlib.import_module(name)
    documentation = pydoc.getdoc(module)
    synopsis = next((line.strip() for line in documentation.splitlines() if line.strip()), "")
    synopsis = re.sub(r"^[\w.]+ -+ ", "", synopsis)
    return {
        "html": PageDoc().docmodule(module, name),
        "title": f"{name}: {synopsis}" if synopsis else name,
        "synopsis": synopsis,
        "uses": sorted(_uses(module)),
    }


def render_description(name: str) -> dict[str, Any]:
    """A distribution's description; Markdown and reST become HTML, the rest is shown as it is."""
    headers = metadata.metadata(name)
    media_type = header(headers, "Description-Content-Type").partition(";")[0].strip() or "text/x-rst"
    return {
        "html": _markup(header(headers, "Description"), media_type),
        "title": name,
        "synopsis": header(headers, "Summary"),
    }


def _markup(text: str, media_type: str) -> str:
    if media_type == "text/markdown":
        from markdown_it import MarkdownIt

        rendered: str = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
        return rendered
    if media_type == "text/x-rst":
        from docutils.core import publish_parts

        settings = {
            "file_insertion_enabled": False,
            "raw_enabled": False,
            "_disable_config": True,
            "report_level": 5,
            "halt_level": 5,
            "syntax_highlight": "none",
            "math_output": "LaTeX",
        }
        try:
            return str(publish_parts(text, writer="html5", settings_overrides=settings)["html_body"])
        except Exception:  # not reST after all: shown as it is
            pass
    return f"<pre>{html.escape(text)}</pre>"


def _uses(module: ModuleType) -> set[str]:
    used = set()
    for value in list(vars(module).values()):
        name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
        if isinstance(name, str) and name != module.__name__:
            used.add(name)
    return used


def _result(task: dict[str, str]) -> dict[str, Any]:
    try:
        return render_module(task["module"]) if "module" in task else render_description(task["description"])
    except BaseException as error:
        return {"error": f"{type(error).__name__}: {error}"[:300]}


def main() -> None:
    """Work until standard input ends."""
    tasks, results = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb", buffering=0)
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):  # whatever a module reads or prints
        os.dup2(nothing, number)
    warnings.simplefilter("ignore")
    sys.argv = ["pydoc"]
    for line in tasks:
        results.write(json.dumps(_result(json.loads(line))).encode() + b"\n")


if __name__ == "__main__":
    main()
