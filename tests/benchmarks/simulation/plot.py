"""Curves as one SVG file, without a plotting library."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WIDTH, HEIGHT, LEFT, TOP = 560, 360, 40, 30
COLOURS = ("#888888", "#1b6ca8", "#c8553d", "#588b8b", "#e0a030", "#7a4ea3", "#3d8b37")


def svg(title: str, curves: Mapping[str, Sequence[float]]) -> str:
    """A drawing of shares, 0 to 1, over the time, 0 to 1; every curve begins at (0, 0)."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH + 220} {HEIGHT + 70}" font-family="sans-serif" font-size="12">',
        f'<rect width="100%" height="100%" fill="white"/><text x="{LEFT}" y="18">{escape(title)}</text>',
    ]
    for tenth in range(11):
        x, y = LEFT + WIDTH * tenth / 10, TOP + HEIGHT * (1 - tenth / 10)
        parts.append(f'<path d="M{LEFT},{y:.1f}H{LEFT + WIDTH}M{x:.1f},{TOP}V{TOP + HEIGHT}" stroke="#e4e4e4"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{tenth / 10:.1f}</text>')
        parts.append(f'<text x="{x:.1f}" y="{TOP + HEIGHT + 16}" text-anchor="middle">{tenth / 10:.1f}</text>')
    for place, (name, shares) in enumerate(curves.items()):
        colour = COLOURS[place % len(COLOURS)]
        points = " ".join(
            f"{LEFT + WIDTH * step / len(shares):.1f},{TOP + HEIGHT * (1 - share):.1f}"
            for step, share in enumerate((0.0, *shares))
        )
        y = TOP + 14 + 18 * place
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.append(f'<path d="M{LEFT + WIDTH + 14},{y - 4}h20" stroke="{colour}" stroke-width="3"/>')
        parts.append(f'<text x="{LEFT + WIDTH + 40}" y="{y}">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>\n"])
