"""A line chart as SVG, with a logarithmic horizontal axis: enough for a benchmark's curves, and no plotting library."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

WIDTH, HEIGHT = 760, 460
LEFT, RIGHT, TOP, BOTTOM = 70, 150, 46, 60
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#5f5f5f", "#e69f00")
"""Told apart by the colour-blind as well (Okabe and Ito)."""
DASHES = ("", "7 3", "2 3", "9 3 2 3")


def line_chart(
    curves: Mapping[str, Mapping[float, float]],
    *,
    title: str,
    x_label: str,
    y_label: str,
    marks: Mapping[str, float] | None = None,
) -> str:
    """The document. Curves are name → {x: y}, x > 0; the vertical axis begins at 0; `marks` are vertical lines, name → x."""
    xs = sorted({x for points in curves.values() for x in points})
    if not xs or xs[0] <= 0:
        raise ValueError("A chart needs points, and a logarithmic axis needs them right of 0")
    low, high = math.log2(xs[0]), math.log2(xs[-1])
    most = max((y for points in curves.values() for y in points.values()), default=0)
    step = _step(most)
    top = max(step, math.ceil(most / step - 1e-9) * step)

    def across(x: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * ((math.log2(x) - low) / (high - low) if high > low else 0.5)

    def up(y: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * y / top

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        _text(LEFT, 24, title, anchor="start", extra='font-size="15"'),
    ]
    for tick in range(round(top / step) + 1):
        y = up(tick * step)
        parts.append(_line(LEFT, y, WIDTH - RIGHT, y, "#e4e4e4"))
        parts.append(_text(LEFT - 8, y + 4, f"{tick * step:g}", anchor="end"))
    last = -math.inf
    for x in xs:
        if across(x) - last < 48:
            continue
        last = across(x)
        parts.append(_line(last, HEIGHT - BOTTOM, last, HEIGHT - BOTTOM + 5, "#444"))
        parts.append(_text(last, HEIGHT - BOTTOM + 20, _short(x)))
    parts.append(_line(LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM, "#444"))
    parts.append(_line(LEFT, TOP, LEFT, HEIGHT - BOTTOM, "#444"))
    parts.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, x_label))
    middle = (TOP + HEIGHT - BOTTOM) / 2
    parts.append(_text(20, middle, y_label, extra=f'transform="rotate(-90 20 {middle})"'))
    for name, x in (marks or {}).items():
        if xs[0] <= x <= xs[-1]:
            parts.append(_line(across(x), TOP, across(x), HEIGHT - BOTTOM, "#999", dash="4 4"))
            parts.append(_text(across(x) + 4, TOP + 12, name, anchor="start", extra='fill="#666"'))
    for number, (name, points) in enumerate(curves.items()):
        colour, dash = COLOURS[number % len(COLOURS)], DASHES[number % len(DASHES)]
        path = " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y in sorted(points.items()))
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dashes}/>')
        y = TOP + 8 + 20 * number
        parts.append(_line(WIDTH - RIGHT + 18, y, WIDTH - RIGHT + 46, y, colour, dash=dash, width=2))
        parts.append(_text(WIDTH - RIGHT + 54, y + 4, name, anchor="start"))
    return "\n".join([*parts, "</svg>"]) + "\n"


def _step(most: float) -> float:
    """The distance of round numbers, five to ten of which cover the axis."""
    if most <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(most))
    return next(part * power for part in (0.1, 0.2, 0.5, 1.0) if most / (part * power) <= 10)


def _short(x: float) -> str:
    for unit, letter in ((1_000_000, " M"), (1_000, " k")):
        if x >= unit:
            return f"{x / unit:.3g}{letter}"
    return f"{x:g}"


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, *, dash: str = "", width: float = 1) -> str:
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
        f'stroke="{colour}" stroke-width="{width}"{dashes}/>'
    )


def _text(x: float, y: float, words: str, *, anchor: str = "middle", extra: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {extra}>{escape(words)}</text>'
