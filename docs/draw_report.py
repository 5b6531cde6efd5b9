"""Draw a terminal report as an SVG: ``gpumatrix report ... | python docs/draw_report.py TITLE > docs/report.svg``.

Reads lines in 16-colour ANSI on standard input. The picture needs no font or file from elsewhere.
"""

from __future__ import annotations

import html
import re
import sys

COLOURS = {"31": "#ff7b72", "32": "#7ee787", "33": "#e3b341"}
TEXT, BACKGROUND, BAR = "#c9d1d9", "#0d1117", "#161b22"
WIDTH, HEIGHT, MARGIN, TOP = 8.4, 18, 16, 44  # of a character, a line, the edge, and the bar with the title: pixels
ESCAPE = re.compile(r"\x1b\[(\d+)m")


def draw(lines: list[str], title: str) -> str:
    """The SVG."""
    columns = max(len(ESCAPE.sub("", line)) for line in lines)
    size = (2 * MARGIN + columns * WIDTH, TOP + MARGIN + len(lines) * HEIGHT)
    rows = [_row(line, TOP + HEIGHT * (number + 1) - 4) for number, line in enumerate(lines)]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size[0]:.0f} {size[1]}" role="img">',
            f"<title>{html.escape(title)}</title>",
            f'<rect width="100%" height="100%" rx="8" fill="{BACKGROUND}"/>',
            f'<path d="M0 32V8a8 8 0 0 1 8-8h{size[0] - 16:.0f}a8 8 0 0 1 8 8v24z" fill="{BAR}"/>',
            '<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="14">',
            f'<text x="{MARGIN}" y="21" fill="{TEXT}">$ {html.escape(title)}</text>',
            *rows,
            "</g>",
            "</svg>",
            "",
        ]
    )


def _row(line: str, y: int) -> str:
    spans, colour, column = [], TEXT, 0
    for number, part in enumerate(ESCAPE.split(line)):
        if number % 2:
            colour = COLOURS.get(part, TEXT)
        elif part:
            # A length, so that the columns stand under each other in any monospaced font.
            place = f'x="{MARGIN + column * WIDTH:.1f}" textLength="{len(part) * WIDTH:.1f}"'
            spans.append(f'<tspan {place} fill="{colour}" xml:space="preserve">{html.escape(part)}</tspan>')
            column += len(part)
    return f'<text y="{y}">{"".join(spans)}</text>'


if __name__ == "__main__":
    sys.stdout.write(draw(sys.stdin.read().rstrip("\n").split("\n"), " ".join(sys.argv[1:])))
