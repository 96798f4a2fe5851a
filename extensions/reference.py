"""The reference of the project's own settings as a Markdown table: the README's, made from the declarations in `config`.

``python -c "from extensions.reference import reference; print(reference())"`` prints it; a test compares the README with it.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from extensions.config import Config

if TYPE_CHECKING:
    from collections.abc import Iterator

    from extensions.config import Parser

NO_VALUE = "\0"
"""A string that every parser refuses, but for those that take any string."""


def reference() -> str:
    """One row per setting in the order of the alphabet: name, default, allowed values, meaning. No newline at the end."""
    return "\n".join(["| Setting | Default | Value | Meaning |", "|---|---|---|---|", *_rows()])


def allowed(parser: Parser) -> str:
    """The values that a parser takes, in the words in which it refuses others."""
    for wrong in (NO_VALUE, object()):
        try:
            parser(wrong)
        except ValueError as error:
            return str(error)
    raise AssertionError(f"{parser} takes anything")


def _rows() -> Iterator[str]:
    for field in sorted(fields(Config), key=lambda field: str(field.metadata["name"])):
        about = field.metadata
        cells = (f"`{about['name']}`", _default(field.default), allowed(about["parser"]), about["doc"])
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _default(value: Any) -> str:
    """A default as one writes it behind ``-s NAME=``; nothing for an empty one."""
    if isinstance(value, float):
        value = f"{value:g}"
    elif isinstance(value, tuple):
        value = ",".join(value)
    return "" if value is None or value == "" else f"`{value}`"
