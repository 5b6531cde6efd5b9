"""What earlier runs said of tests, for ``gpumatrix history show``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pytest_gpumatrix.record.cell_history import CellHistory, TrendPoint
from pytest_gpumatrix.record.outcome import Evidence
from pytest_gpumatrix.render.flaky import history_words
from pytest_gpumatrix.render.numbers import number
from pytest_gpumatrix.render.style import Style
from pytest_gpumatrix.render.text import clean, fit

Cells = Mapping[str, Mapping[str, CellHistory]]  # by test, then device
_BARS = "▁▂▃▄▅▆▇█"
_INDENT = "  "


def render_history(cells: Cells, *, width: int, colour: bool, encoding: str | None, metric: str | None = None) -> str:
    """Each test with its devices: since when it fails, its newest results in order, and its metrics' trends."""
    style = Style.of(width=width, colour=colour, encoding=encoding)
    lines: list[str] = []
    for test, devices in cells.items():
        lines.append(fit(clean(test), style.columns, keep_end=True))
        for device, history in devices.items():
            lines += _device(clean(device), history, style, metric)
    return style.text(lines or ["the history has no native result of it"])


def _device(device: str, history: CellHistory, style: Style, metric: str | None) -> Iterator[str]:
    words = history_words(history) or "no failure in a row, and none that a rerun mended"
    yield fit(f"{_INDENT}{device}: {words}", style.columns)
    marks = "".join(style.marks.mark(item.outcome, Evidence.NATIVE) for item in history.results)
    yield fit(f"{_INDENT * 2}{marks}  the newest last", style.columns)
    for name, points in history.trends.items():
        if points and metric in (None, name):
            yield fit(f"{_INDENT * 2}{_trend(clean(name), points, style)}", style.columns)


def _trend(name: str, points: Sequence[TrendPoint], style: Style) -> str:
    first, last = points[0], points[-1]
    if len(points) == 1:
        return f"{name}: {number(first.value)} at {_short(first)}"
    ends = f"{number(first.value)} at {_short(first)} -> {number(last.value)} at {_short(last)}"
    try:
        _BARS.encode(style.encoding)
    except (UnicodeEncodeError, LookupError):
        return f"{name}: {ends}"
    return f"{name}: {ends}  {_bars([point.value for point in points])}"


def _short(point: TrendPoint) -> str:
    return clean(point.commit[:12]) or "this run"


def _bars(values: Sequence[float]) -> str:
    """A block per value, from the lowest to the highest."""
    low, high = min(values), max(values)
    step = (high - low) / (len(_BARS) - 1) or 1.0
    return "".join(_BARS[min(round((value - low) / step), len(_BARS) - 1)] for value in values)
